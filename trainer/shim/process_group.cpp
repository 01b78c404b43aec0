// Sums and copies among processes: libtorch's own store and Gloo group.

#define USE_C10D_GLOO 1
#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "guarded.h"

namespace {

struct ProcessGroup {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::Backend> gloo;
};

}  // namespace

extern "C" {

// `interface` is the address this process is reached at by the others, or a network interface's name; empty for
// the host name's address.
int gpurun_group_new(const char* host, uint16_t port, int rank, int world, bool is_store_here,
                     const char* interface, bool is_interface_name, int64_t meeting_timeout_ms,
                     int64_t timeout_ms, ProcessGroup** group) {
  return gpurun::guarded([&] {
    auto timeout = std::chrono::milliseconds(timeout_ms);
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = is_store_here;
    options.numWorkers = static_cast<size_t>(world);
    options.waitWorkers = false;
    options.timeout = std::chrono::milliseconds(meeting_timeout_ms);
    c10::intrusive_ptr<c10d::Store> store =
        c10::make_intrusive<c10d::TCPStore>(std::string(host), options);
    auto gloo_options = c10d::ProcessGroupGloo::Options::create(timeout);
    gloo_options->devices.push_back(
        is_interface_name ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
        : *interface      ? c10d::ProcessGroupGloo::createDeviceForHostname(interface)
                          : c10d::ProcessGroupGloo::createDefaultDevice());
    auto rendezvous = c10::make_intrusive<c10d::PrefixStore>(std::string("gpurun/gloo"), store);
    auto gloo =
        c10::make_intrusive<c10d::ProcessGroupGloo>(rendezvous, rank, world, gloo_options);
    *group = new ProcessGroup{store, gloo};
  });
}

void gpurun_group_free(ProcessGroup* group) { delete group; }

int gpurun_group_all_reduce_sum(ProcessGroup* group, at::Tensor* tensor) {
  return gpurun::guarded([&] {
    std::vector<at::Tensor> tensors{*tensor};
    group->gloo->allreduce(tensors)->wait();
  });
}

int gpurun_group_broadcast(ProcessGroup* group, at::Tensor* tensor, int root) {
  return gpurun::guarded([&] {
    std::vector<at::Tensor> tensors{*tensor};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    group->gloo->broadcast(tensors, options)->wait();
  });
}

int gpurun_group_barrier(ProcessGroup* group) {
  return gpurun::guarded([&] { group->gloo->barrier()->wait(); });
}

int gpurun_store_set(ProcessGroup* group, const char* key, const uint8_t* value, size_t length) {
  return gpurun::guarded(
      [&] { group->store->set(key, std::vector<uint8_t>(value, value + length)); });
}

// Waits for the key. `length` is the buffer's on entry and the value's on return, which may be longer.
int gpurun_store_get(ProcessGroup* group, const char* key, int64_t timeout_ms, uint8_t* buffer,
                     size_t* length) {
  return gpurun::guarded([&] {
    group->store->wait({key}, std::chrono::milliseconds(timeout_ms));
    auto value = group->store->get(key);
    std::memcpy(buffer, value.data(), std::min(*length, value.size()));
    *length = value.size();
  });
}
}
