// Training steps of layers that fields do not use, one a kind: convolutions, attention, recurrence, and sums
// by index. What they are to tell on a GPU is where the time goes, so sizes are those of common networks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veldt/veldt.h"

namespace veldt::bench {

// A step that is ready to be recorded, and the floating point operations of its products.
struct LayerStep {
  std::function<Tensor()> loss;
  std::shared_ptr<optim::Optimizer> optimizer;  // null: the gradient alone
  double gflop = 0;
};
struct LayerCase {
  const char* name;
  std::function<LayerStep(Device, bool quick)> make;
};

inline LayerStep trained(const std::shared_ptr<nn::Module>& model, Device device,
                         std::function<Tensor()> loss, double gflop = 0) {
  model->to(device);
  return {std::move(loss), std::make_shared<optim::Adam>(model->named_parameters()), gflop};
}

// LeCun et al. 1998, over 28 x 28.
inline LayerStep lenet_step(Device device, bool quick) {
  Rng rng(1);
  const std::int64_t n = quick ? 2 : 128;
  const auto model = std::make_shared<nn::Sequential>(
      nn::Conv2d(1, 6, 5, {.padding = 2}, rng), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(6, 16, 5, rng),
      nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(400, 120, rng), nn::ReLU(),
      nn::Linear(120, 84, rng), nn::ReLU(), nn::Linear(84, 10, rng));
  const Tensor x = to(rand({n, 1, 28, 28}, rng), device), y = to(randint({n}, rng, 0, 10), device);
  return trained(model, device, [=] { return cross_entropy((*model)(x), y); });
}

// The block of a ResNet for CIFAR (He et al. 2016), 64 channels of 32 x 32.
inline LayerStep resnet_block_step(Device device, bool quick) {
  Rng rng(1);
  const std::int64_t n = quick ? 1 : 64, channels = quick ? 4 : 64, side = quick ? 6 : 32;
  const nn::ConvLayerOptions options{.padding = 1, .bias = false};
  const auto block = std::make_shared<nn::Sequential>(
      nn::Conv2d(channels, channels, 3, options, rng), nn::BatchNorm2d(channels), nn::ReLU(),
      nn::Conv2d(channels, channels, 3, options, rng), nn::BatchNorm2d(channels));
  const Tensor x = to(rand({n, channels, side, side}, rng), device).set_requires_grad();
  const double product = 2e-9 * static_cast<double>(n * side * side * 9 * channels * channels);
  return trained(
      block, device, [=] { return mean(square(relu((*block)(x) + x))); }, 2 * 3 * product);
}

// A layer of GPT-2 (Radford et al. 2019), 512 wide, over 256 words.
inline LayerStep gpt_block_step(Device device, bool quick) {
  Rng rng(1);
  const std::int64_t n = quick ? 1 : 16, time = quick ? 8 : 256, width = quick ? 16 : 512;
  const auto block = std::make_shared<nn::TransformerEncoderLayer>(
      width, quick ? 2 : 8,
      nn::TransformerLayerOptions{
          .dim_feedforward = 4 * width, .dropout = 0, .gelu = true, .norm_first = true, .batch_first = true},
      rng);
  const Tensor x = to(rand({n, time, width}, rng, -1, 1), device).set_requires_grad();
  const double product = 2e-9 * static_cast<double>(n * time * (12 * width * width + 2 * time * width));
  return trained(
      block, device, [=] { return mean(square(block->encode(x, {.causal = true}))); }, 3 * product);
}

inline LayerStep lstm_step(Device device, bool quick) {
  Rng rng(1);
  const std::int64_t n = quick ? 2 : 32, time = quick ? 3 : 100, hidden = quick ? 8 : 256;
  const auto model =
      std::make_shared<nn::LSTM>(64, hidden, nn::RecurrentOptions{.num_layers = 2, .batch_first = true}, rng);
  const Tensor x = to(rand({n, time, 64}, rng, -1, 1), device);
  return trained(model, device, [=] { return mean(square((*model)(x))); });
}

// The gradient of picking a million rows of a table: the sort behind scatter_add.
inline LayerStep scatter_add_step(Device device, bool quick) {
  Rng rng(1);
  const std::int64_t n = quick ? 64 : 1 << 20, entries = quick ? 16 : 1 << 16;
  const Tensor index = to(randint({n}, rng, 0, entries), device);
  const Tensor table = to(zeros({entries}), device), source = to(rand({n}, rng), device);
  return {[=] { return scatter_add(table, 0, index, source); }, nullptr, 0};
}

inline std::vector<LayerCase> layer_cases() {
  return {{"lenet", lenet_step},
          {"resnet_block", resnet_block_step},
          {"gpt_block", gpt_block_step},
          {"lstm", lstm_step},
          {"scatter_add_1m", scatter_add_step}};
}

}  // namespace veldt::bench
