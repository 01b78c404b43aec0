// Calls into libtorch that tch has no function for. `C_tensor*` of torch-sys is `at::Tensor*`.
//
// No exception leaves this file: each call returns 0, or 1 with the text in gpurun_last_error.

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_fused_sgd.h>

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

namespace {

thread_local std::string last_error;

std::vector<at::Tensor> list(at::Tensor* const* tensors, size_t count) {
  std::vector<at::Tensor> result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i) result.push_back(*tensors[i]);
  return result;
}

template <typename Call>
int guarded(Call call) {
  try {
    at::NoGradGuard no_grad;
    call();
    return 0;
  } catch (const c10::Error& error) {
    last_error = error.what_without_backtrace();
  } catch (const std::exception& error) {
    last_error = error.what();
  } catch (...) {
    last_error = "an exception of unknown type";
  }
  return 1;
}

}  // namespace

extern "C" {

// Mirrors `FusedSgd` in src/shim.rs.
struct FusedSgd {
  double learning_rate;
  double momentum;
  double weight_decay;
  bool nesterov;
  bool first_step;
};

const char* gpurun_last_error() { return last_error.c_str(); }

int gpurun_fused_sgd(at::Tensor* const* parameters, at::Tensor* const* gradients,
                     at::Tensor* const* momenta, size_t count, const FusedSgd* options) {
  return guarded([&] {
    auto p = list(parameters, count), g = list(gradients, count), m = list(momenta, count);
    at::_fused_sgd_(p, g, m, options->weight_decay, options->momentum, options->learning_rate,
                    /*dampening=*/0.0, options->nesterov, /*maximize=*/false, options->first_step);
  });
}

int gpurun_foreach_lerp(at::Tensor* const* targets, at::Tensor* const* sources, size_t count,
                        double weight) {
  return guarded([&] {
    auto t = list(targets, count), s = list(sources, count);
    at::_foreach_lerp_(t, s, weight);
  });
}

int gpurun_clear_gradients(at::Tensor* const* tensors, size_t count) {
  return guarded([&] {
    for (size_t i = 0; i < count; ++i) tensors[i]->mutable_grad().reset();
  });
}
}
