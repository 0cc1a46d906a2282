// The whole way from a model to a trained one, on the smallest problem that needs a hidden layer.
#include <gtest/gtest.h>

#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/schedule.h"
#include "veldt/optim/sgd.h"

namespace veldt {
namespace {

nn::Sequential build(std::uint64_t seed) {
  Rng rng(seed);
  nn::Sequential model;
  return model.add(nn::Linear(2, 8, rng)).add(nn::Tanh()).add(nn::Linear(8, 1, rng));
}

double train(const nn::Module& model, optim::Optimizer& optimizer, const optim::Schedule& lr, int steps) {
  const Tensor x = Tensor::of({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Tensor y = Tensor::of({4, 1}, {0, 1, 1, 0});
  for (int step = 0; step < steps; ++step) {
    optimizer.set_lr(lr(step));
    optimizer.zero_grad();
    mse_loss(model(x), y).backward();
    optimizer.step();
  }
  return mse_loss(model(x), y).item();
}

TEST(Xor, IsLearntByAdam) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const nn::Sequential model = build(seed);
    optim::Adam adam(model.parameters(), {.lr = 0.05f});
    EXPECT_LT(train(model, adam, 0.05, 500), 1e-3) << "seed " << seed;
  }
}

TEST(Xor, IsLearntByMomentumAfterAWarmUp) {
  const nn::Sequential model = build(7);
  optim::SGD sgd(model.parameters(), {.momentum = 0.9, .nesterov = true});
  const optim::Schedule lr =
      optim::LinearWarmup{.steps = 20, .then = optim::CosineAnnealing{.lr_max = 0.1, .steps = 1000}};
  EXPECT_LT(train(model, sgd, lr, 1000), 1e-3);
}

TEST(Xor, GivesTheSameBitsForTheSameSeed) {
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    const nn::Sequential model = build(3);
    optim::AdamW adam(model.named_parameters(), {.lr = 0.05});
    train(model, adam, 0.05, 50);
    const std::vector<float> weights = adam.slab().values().values<float>();
    if (run == 0) first = weights;
    EXPECT_EQ(weights, first);
  }
}

}  // namespace
}  // namespace veldt
