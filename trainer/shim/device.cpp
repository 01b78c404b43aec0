// Memory, streams and modes of a device. No CUDA headers: libtorch's own device interfaces reach the
// CUDA libraries where they were loaded, and fail with a text where not.

#include <ATen/autocast_mode.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstddef>
#include <cstdint>

#include "guarded.h"

namespace {

c10::Device cuda(int index) {
  return c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
}

c10::DeviceAllocator* allocator() { return c10::getDeviceAllocator(c10::DeviceType::CUDA); }

}  // namespace

extern "C" {

// Mirrors `MemoryUse` in src/shim/device.rs, in bytes.
struct MemoryUse {
  int64_t allocated;
  int64_t peak_allocated;
  int64_t reserved;
  int64_t peak_reserved;
  uint64_t free;
  uint64_t total;
  int64_t driver_calls;
};

int gpurun_cuda_memory(int index, MemoryUse* use) {
  return gpurun::guarded([&] {
    auto stats = allocator()->getDeviceStats(cuda(index).index());
    auto memory = allocator()->getMemoryInfo(cuda(index).index());
    *use = {stats.allocated_bytes[0].current, stats.allocated_bytes[0].peak,
            stats.reserved_bytes[0].current,  stats.reserved_bytes[0].peak,
            memory.first,                     memory.second,
            stats.segment[0].allocated + stats.segment[0].freed};
  });
}

int gpurun_cuda_reset_peak(int index) {
  return gpurun::guarded([&] { allocator()->resetPeakStats(cuda(index).index()); });
}

int gpurun_cuda_empty_cache() {
  return gpurun::guarded([&] { allocator()->emptyCache(); });
}

int gpurun_cuda_set_device(int index) {
  return gpurun::guarded(
      [&] { c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).setDevice(cuda(index)); });
}

int gpurun_cuda_stream(int index, void** stream) {
  return gpurun::guarded([&] {
    auto guard = c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA);
    *stream = guard->getStreamNativeHandle(guard->getStream(cuda(index)));
  });
}

// Switches automatic mixed precision on with a type, or off with a negative one, for this thread.
int gpurun_autocast(int is_cuda, int scalar_type) {
  return gpurun::guarded([&] {
    auto device = is_cuda ? at::kCUDA : at::kCPU;
    bool on = scalar_type >= 0;
    if (on) {
      at::autocast::set_autocast_dtype(device, static_cast<at::ScalarType>(scalar_type));
    } else {
      // Weights that were cast for this pass are stale after the optimizer's step.
      at::autocast::clear_cache();
    }
    at::autocast::set_autocast_enabled(device, on);
  });
}

int gpurun_throw_out_of_memory() {
  return gpurun::guarded([&] {
    throw c10::OutOfMemoryError(c10::SourceLocation{__func__, __FILE__, __LINE__},
                                "CUDA out of memory. Tried to allocate 3.00 GiB");
  });
}
}
