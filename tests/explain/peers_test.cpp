// Each method against captum, or the package grad-cam, on the same weights, inputs and noise.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/explain/networks.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/explain/cam.h"
#include "veldt/explain/gradients.h"
#include "veldt/explain/occlusion.h"
#include "veldt/explain/rollout.h"
#include "veldt/explain/rules.h"
#include "veldt/explain/tables.h"
#include "veldt/io/safetensors.h"
#include "veldt/nn/attention.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::explain {
namespace {

// As grad-cam scales each example's map, once for its layer and once for the mean of all layers.
Tensor scaled_map(Tensor map) {
  for (int times = 0; times < 2; ++times) {
    const Tensor moved = map - min(map, {1, 2, 3}, true);
    map = moved / (max(moved, {1, 2, 3}, true) + 1e-7);
  }
  return reshape(map, {map.size(0), map.size(2), map.size(3)});
}

TEST(SlowPeers, ExplanationsEqualCaptumsAndGradCams) {
  const test::TempDir dir;
  Rng rng(5);
  nn::Sequential net = picture_network(rng);
  nn::TransformerEncoder encoder(
      2, 16, 4, {.layer = {.dim_feedforward = 32, .dropout = 0, .batch_first = true}, .norm = false}, rng);
  nn::Sequential table{nn::Linear(4, 8, rng), nn::Tanh(), nn::Linear(8, 1, rng)};
  const Tensor x = randn({2, 3, 12, 12}, rng, 0, 3), baseline = randn({1, 3, 12, 12}, rng, 0, 0.2),
               noise = randn({6, 2, 3, 12, 12}, rng, 0, 0.3), tokens = randn({2, 7, 16}, rng, 0, 2),
               rows = randn({40, 4}, rng), truths = randn({40}, rng);
  const Targets targets{1, 3};

  // The order that each column was shuffled in, which its values tell.
  std::vector<std::int64_t> orders;
  std::vector<double> importance;
  const std::vector<float> values = rows.values<float>();
  const auto score = [&](const Tensor& changed) {
    const NoGrad off;
    return -mean(square(select(table(changed), 1, 0) - truths)).item();
  };
  int calls = 0;
  const auto found_table = permutation_importance(
      [&](const Tensor& changed) {
        if (const int column = calls++ - 1; column >= 0)
          for (std::int64_t row = 0; row < 40; ++row) {
            const auto value = static_cast<float>(changed(row, column).item());
            for (std::size_t from = 0; from < 40; ++from)
              if (values[from * 4 + static_cast<std::size_t>(column)] == value)
                orders.push_back(static_cast<std::int64_t>(from));
          }
        return score(changed);
      },
      rows, {.repeats = 1});
  for (const Importance& column : found_table) importance.push_back(column.mean);
  ASSERT_EQ(orders.size(), 160U);

  NamedTensors given{{"x", x},
                     {"target", Tensor::from<std::int64_t>({2}, targets)},
                     {"baseline", baseline},
                     {"noise", noise},
                     {"tokens", tokens},
                     {"rows", rows},
                     {"truths", truths},
                     {"orders", Tensor::from<std::int64_t>({4, 40}, orders)}};
  for (const auto& [name, t] : net.state_dict()) given.push_back({"net." + name, t});
  for (const auto& [name, t] : encoder.state_dict())
    if (!name.ends_with("rng")) given.push_back({"encoder." + name, t});
  for (const auto& [name, t] : table.state_dict()) given.push_back({"table." + name, t});
  io::write_safetensors(dir / "given.safetensors", given);
  // Its imports take seconds, so that they are tried once, where they are used.
  const int ended = test::run_python(str("-B ", VELDT_SOURCE, "/tests/explain/peers.py ", dir.path()));
  if (ended == 77 || ended == 127)
    GTEST_SKIP() << test::python() << " has no torch, captum, grad-cam and safetensors; set VELDT_PYTHON";
  ASSERT_EQ(ended, 0);
  const io::SafeTensors expected = io::read_safetensors(dir / "expected.safetensors");

  const auto compare = [&](const char* name, const Tensor& found) {
    const Tensor* wanted = expected.find(name);
    ASSERT_NE(wanted, nullptr) << name;
    ASSERT_EQ(found.shape(), wanted->shape()) << name;
    const double largest = max(abs(*wanted)).item(), difference = max(abs(found - *wanted)).item();
    EXPECT_GT(largest, 0) << name;
    EXPECT_LT(difference, 1e-4 * largest) << name;
    std::printf("%-24s largest %.4g, difference %.2g of it\n", name, largest, difference / largest);
  };
  compare("saliency", saliency(net, x, targets));
  compare("input_x_gradient", input_x_gradient(net, x, targets));
  compare("integrated_gradients", integrated_gradients(net, x, targets, {.baseline = baseline}));
  compare("smooth_grad", smooth_grad(net, x, targets, {.noise = noise}));
  compare("guided_backprop", guided_backprop(net, x, targets));
  compare("lrp", lrp(net, x, targets));
  compare("lrp_epsilon", lrp(net, x, targets, {.epsilon = 0.25}));
  compare("grad_cam", grad_cam(net, net[4], x, targets));
  compare("grad_cam_signed", grad_cam(net, net[4], x, targets, {.relu = false}));
  compare("package_grad_cam", scaled_map(grad_cam(net, net[4], x, targets)));
  compare("grad_cam_plus_plus", scaled_map(grad_cam_plus_plus(net, net[4], x, targets)));
  compare("occlusion", occlusion(net, x, targets, {.window = 4, .stride = 3, .cover = full({1}, 0.25)}));
  compare("attention_rollout", attention_rollout(encoder, tokens));
  Tensor columns = Tensor::from<double>({4}, importance);
  compare("permutation_importance", to(columns, DType::f32));
}

}  // namespace
}  // namespace veldt::explain
