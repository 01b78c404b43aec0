// Optimizer steps on all tensors at once, which tch has no functions for.

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

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

// Mirrors `FusedAdam` in src/shim/optimizer.rs.
struct FusedAdam {
  double learning_rate;
  double beta1;
  double beta2;
  double weight_decay;
  double epsilon;
  bool decoupled;
};

// `steps` count this step already.
int gpurun_fused_adam(at::Tensor* const* parameters, at::Tensor* const* gradients,
                      at::Tensor* const* averages, at::Tensor* const* squares,
                      at::Tensor* const* steps, size_t count, const FusedAdam* options) {
  return gpurun::guarded([&] {
    at::NoGradGuard no_grad;
    auto p = list(parameters, count), g = list(gradients, count), a = list(averages, count),
         s = list(squares, count), n = list(steps, count);
    if (options->decoupled) {
      at::_fused_adamw_(p, g, a, s, /*max_exp_avg_sqs=*/{}, n, options->learning_rate, options->beta1,
                        options->beta2, options->weight_decay, options->epsilon, /*amsgrad=*/false,
                        /*maximize=*/false);
    } else {
      at::_fused_adam_(p, g, a, s, /*max_exp_avg_sqs=*/{}, n, options->learning_rate, options->beta1,
                       options->beta2, options->weight_decay, options->epsilon, /*amsgrad=*/false,
                       /*maximize=*/false);
    }
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

// Multiplies all in place. `is_finite` tells whether every value was finite before.
int gpurun_unscale(at::Tensor* const* tensors, size_t count, double factor, bool* is_finite) {
  return gpurun::guarded([&] {
    at::NoGradGuard no_grad;
    *is_finite = true;
    if (count == 0) return;
    auto options = tensors[0]->options().dtype(at::kFloat);
    auto found = at::zeros({1}, options);
    at::_amp_foreach_non_finite_check_and_unscale_(list(tensors, count), found,
                                                   at::full({1}, factor, options));
    *is_finite = found.item<float>() == 0;
  });
}

int gpurun_clear_gradients(at::Tensor* const* tensors, size_t count) {
  return gpurun::guarded([&] {
    for (size_t i = 0; i < count; ++i) tensors[i]->mutable_grad().reset();
  });
}
}
