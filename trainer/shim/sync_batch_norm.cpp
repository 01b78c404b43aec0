// Batch normalisation over the batches of all processes (as torch.nn.SyncBatchNorm, which exists for CUDA
// only). The sum among processes is a call back, so that one implementation serves every kind of process
// group.

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "guarded.h"

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Sums the tensor in place over all processes; not 0 means that it failed.
using AllReduceSum = int (*)(const void* group, at::Tensor* tensor);

void all_reduce_sum(AllReduceSum call, const void* group, at::Tensor& tensor) {
  if (call(group, &tensor) != 0)
    throw std::runtime_error("batch statistics could not be summed among the processes");
}

at::Tensor per_channel(const at::Tensor& values) { return values.view({1, -1, 1, 1}); }

struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, at::Tensor running_mean, at::Tensor running_var,
                            double momentum, double epsilon, int64_t call, int64_t group) {
    // Mean and mean square of this process's values, weighted by their number; double precision,
    // because the variance is their difference.
    auto channels = x.size(1);
    auto count = static_cast<double>(x.numel() / std::max<int64_t>(channels, 1));
    auto options = x.options().dtype(at::kDouble);
    auto sums = at::zeros({2 * channels + 1}, options);
    if (count > 0) {
      auto [var, mean] = at::var_mean(x.to(at::toOpMathType(x.scalar_type())), at::IntArrayRef{0, 2, 3}, /*correction=*/0);
      auto wide_mean = mean.to(at::kDouble);
      auto square = var.to(at::kDouble) + wide_mean * wide_mean;
      sums = at::cat({wide_mean * count, square * count, at::full({1}, count, options)});
    }
    all_reduce_sum(reinterpret_cast<AllReduceSum>(call), reinterpret_cast<const void*>(group), sums);
    auto total = sums.slice(0, 2 * channels);
    auto wide_mean = sums.slice(0, 0, channels) / total;
    auto wide_var = (sums.slice(0, channels, 2 * channels) / total - wide_mean * wide_mean).clamp_min(0);
    auto mean = wide_mean.to(weight.scalar_type());
    auto var = wide_var.to(weight.scalar_type());
    running_mean.lerp_(mean, momentum);
    running_var.lerp_((wide_var * (total / (total - 1).clamp_min(1))).to(weight.scalar_type()), momentum);

    context->save_for_backward({x, weight, mean, (var + epsilon).rsqrt(), total});
    context->saved_data["call"] = call;
    context->saved_data["group"] = group;
    return at::batch_norm(x, weight, bias, mean, var, /*training=*/false, momentum, epsilon,
                          /*cudnn_enabled=*/false);
  }

  // With n values of a channel in all processes together, and sums over all of them:
  //   dx = w s (dy - sum(dy) / n - (x - mean) s^2 sum(dy (x - mean)) / n),   s = 1 / sqrt(var + epsilon)
  // The gradients of weight and bias are this process's share: all gradients are summed later.
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    auto saved = context->get_saved_variables();
    auto &x = saved[0], &weight = saved[1], &mean = saved[2], &scale = saved[3], &total = saved[4];
    auto dy = gradients[0];
    auto channels = x.size(1);
    auto kind = at::toOpMathType(x.scalar_type());
    auto sum_dy = at::sum(dy, at::IntArrayRef{0, 2, 3}, /*keepdim=*/false, kind);
    auto sum_dy_x = at::sum(dy * (x - per_channel(mean)), at::IntArrayRef{0, 2, 3}, /*keepdim=*/false, kind);
    auto weight_gradient = sum_dy_x * scale;
    auto bias_gradient = sum_dy;

    auto sums = at::cat({sum_dy, sum_dy_x});
    all_reduce_sum(reinterpret_cast<AllReduceSum>(context->saved_data["call"].toInt()),
                   reinterpret_cast<const void*>(context->saved_data["group"].toInt()), sums);
    auto count = total.to(sums.scalar_type());
    auto mean_dy = sums.slice(0, 0, channels) / count;
    auto mean_dy_x = sums.slice(0, channels) / count;
    auto slope = weight * scale;
    auto curve = slope * scale * scale * mean_dy_x;
    auto offset = curve * mean - slope * mean_dy;
    auto dx = (dy * per_channel(slope)).sub_(x * per_channel(curve)).add_(per_channel(offset));
    return {dx.to(x.scalar_type()), weight_gradient, bias_gradient, at::Tensor(), at::Tensor(),
            at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

extern "C" int gpurun_sync_batch_norm(const at::Tensor* x, const at::Tensor* weight,
                                      const at::Tensor* bias, const at::Tensor* running_mean,
                                      const at::Tensor* running_var, double momentum, double epsilon,
                                      AllReduceSum call, const void* group, at::Tensor** y) {
  return gpurun::guarded([&] {
    auto out = SyncBatchNorm::apply(*x, *weight, *bias, *running_mean, *running_var, momentum, epsilon,
                                    reinterpret_cast<int64_t>(call), reinterpret_cast<int64_t>(group));
    *y = new at::Tensor(out);
  });
}
