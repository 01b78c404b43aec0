// Optimizer steps on all tensors at once, which tch has no functions for.

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_fused_sgd.h>

#include <cstddef>
#include <vector>

#include "guarded.h"

namespace {

std::vector<at::Tensor> list(at::Tensor* const* tensors, size_t count) {
  std::vector<at::Tensor> result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i) result.push_back(*tensors[i]);
  return result;
}

}  // namespace

extern "C" {

// Mirrors `FusedSgd` in src/shim/optimizer.rs.
struct FusedSgd {
  double learning_rate;
  double momentum;
  double weight_decay;
  bool nesterov;
  bool first_step;
};

int gpurun_fused_sgd(at::Tensor* const* parameters, at::Tensor* const* gradients,
                     at::Tensor* const* momenta, size_t count, const FusedSgd* options) {
  return gpurun::guarded([&] {
    at::NoGradGuard no_grad;
    auto p = list(parameters, count), g = list(gradients, count), m = list(momenta, count);
    at::_fused_sgd_(p, g, m, options->weight_decay, options->momentum, options->learning_rate,
                    /*dampening=*/0.0, options->nesterov, /*maximize=*/false, options->first_step);
  });
}

int gpurun_foreach_lerp(at::Tensor* const* targets, at::Tensor* const* sources, size_t count,
                        double weight) {
  return gpurun::guarded([&] {
    at::NoGradGuard no_grad;
    auto t = list(targets, count), s = list(sources, count);
    at::_foreach_lerp_(t, s, weight);
  });
}

int gpurun_clear_gradients(at::Tensor* const* tensors, size_t count) {
  return gpurun::guarded([&] {
    for (size_t i = 0; i < count; ++i) tensors[i]->mutable_grad().reset();
  });
}
}
