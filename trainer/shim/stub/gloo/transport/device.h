#pragma once

namespace gloo {
namespace transport {
class Device;

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};
}  // namespace transport
}  // namespace gloo
