// A network whose layers are shared out over ranks, in micro-batches, against the plain one: outputs,
// gradients, training and states.
#include "veldt/dist/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/norm.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"

namespace veldt::dist {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<nn::AnyModule> layers(DType dtype, std::uint64_t seed = 3) {
  Rng rng(seed);
  const nn::LinearOptions options{.dtype = dtype};
  std::vector<nn::AnyModule> all{nn::Linear(5, 16, options, rng)};
  for (int i = 0; i < 2; ++i)
    all.push_back(nn::Residual(
        nn::Sequential{nn::LayerNorm(16, {.dtype = dtype}), nn::Tanh(), nn::Linear(16, 16, options, rng)}));
  all.push_back(nn::Linear(16, 16, options, rng));
  all.push_back(nn::Linear(16, 3, options, rng));
  return all;
}

nn::Sequential plain_network(DType dtype, std::uint64_t seed = 3) {
  nn::Sequential net;
  for (const nn::AnyModule& layer : layers(dtype, seed)) net.add(layer);
  return net;
}

Tensor examples(const Shape& shape, DType dtype, std::uint64_t seed) {
  Rng rng(seed);
  return to(randn(shape, rng), dtype);
}

Tensor squared(const Tensor& output, const Tensor& target) { return mse_loss(output, target); }

// Of all numbers, as a share of the largest.
double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const std::vector<double> x = to(a.detach(), DType::f64).values<double>(),
                            y = to(b.detach(), DType::f64).values<double>();
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    off = std::max(off, std::abs(x[i] - y[i]));
  }
  return off / std::max(largest, 1e-300);
}

void expect_near(const NamedTensors& a, const NamedTensors& b, double limit) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_LE(distance(a[i].tensor, b[i].tensor), limit) << a[i].name;
  }
}

// Also for batches that the micro-batches do not divide, for one, and for less of them than ranks.
TEST(Pipeline, OutputsAndGradientsAreThePlainNetworks) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double limit = dtype == DType::f64 ? 1e-12 : 1e-6;
    const Tensor x = examples({11, 5}, dtype, 1), y = examples({11, 3}, dtype, 2);
    const nn::Sequential plain = plain_network(dtype);
    const Tensor output = plain(x), loss = squared(output, y);
    loss.backward();
    NamedTensors gradients;
    for (const auto& [name, p] : plain.named_parameters()) gradients.push_back({name, p.grad()});
    for (int size = 1; size <= 4; ++size)
      for (const std::int64_t parts : {1, 2, 4, 11})
        EXPECT_THAT(run_ranks(size,
                              [&](Communicator& ranks) {
                                Pipeline net(ranks, layers(dtype), {.micro_batches = parts});
                                EXPECT_LE(distance(net.forward(x), output), limit);
                                EXPECT_NEAR(net.backward(x, y, squared), loss.item(), limit);
                                for (Tensor p : net.stage().parameters()) p.detach().assign(p.grad());
                                expect_near(net.whole_state(), gradients, limit);
                              }),
                    Each(IsEmpty()));
  }
}

TEST(Pipeline, TrainsAsThePlainNetworkDoes) {
  const Tensor x = examples({12, 5}, DType::f64, 1), y = examples({12, 3}, DType::f64, 2);
  const nn::Sequential plain = plain_network(DType::f64);
  optim::Adam adam(plain.named_parameters(), {.lr = 1e-2});
  std::vector<double> losses, norms;
  for (int step = 0; step < 20; ++step) {
    const Tensor loss = squared(plain(x), y);
    adam.zero_grad();
    loss.backward();
    losses.push_back(loss.item());
    norms.push_back(adam.clip_gradients(0.1));
    adam.step();
  }
  EXPECT_LT(losses.back(), 0.8 * losses.front());
  EXPECT_GT(norms.back(), 0.1);
  for (int size = 1; size <= 4; ++size)
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            Pipeline net(ranks, layers(DType::f64), {.micro_batches = 3});
                            optim::Adam own(net.stage().named_parameters(), {.lr = 1e-2});
                            for (std::size_t step = 0; step < losses.size(); ++step) {
                              own.zero_grad();
                              EXPECT_NEAR(net.backward(x, y, squared), losses[step], 1e-10 * losses[step]);
                              EXPECT_NEAR(net.clip_gradients(own, 0.1), norms[step], 1e-9 * norms[step]);
                              own.step();
                            }
                            expect_near(net.whole_state(), plain.state_dict(), 1e-8);
                          }),
                Each(IsEmpty()));
}

TEST(Pipeline, ARankHasItsLayersAlone) {
  std::int64_t count = 0;
  std::mutex mutex;
  EXPECT_THAT(run_ranks(3,
                        [&](Communicator& ranks) {
                          Pipeline net(ranks, layers(DType::f32));
                          EXPECT_EQ(net.stage().size(), ranks.rank() < 2 ? 2U : 1U);
                          EXPECT_EQ(
                              net.stage().named_parameters()[0].name,
                              std::vector<std::string>({"0.weight", "2.body.0.weight",
                                                        "4.weight"})[static_cast<std::size_t>(ranks.rank())]);
                          const std::lock_guard lock(mutex);
                          count += net.stage().parameter_count();
                        }),
              Each(IsEmpty()));
  EXPECT_EQ(count, plain_network(DType::f32).parameter_count());
}

TEST(Pipeline, AStateIsThePlainNetworks) {
  const nn::Sequential plain = plain_network(DType::f32), other = plain_network(DType::f32, 9);
  const Tensor x = examples({4, 5}, DType::f32, 1);
  for (int size = 1; size <= 4; ++size)
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            Pipeline net(ranks, layers(DType::f32));
                            expect_near(net.whole_state(), plain.state_dict(), 0);
                            net.load_whole_state(other.state_dict());
                            expect_near(net.whole_state(), other.state_dict(), 0);
                            EXPECT_LE(distance(net.forward(x), other(x)), 1e-6);
                            NamedTensors more = plain.state_dict();
                            more.push_back({"7.weight", zeros({2})});
                            EXPECT_THAT(test::error_of<Error>([&] { net.load_whole_state(more); }),
                                        HasSubstr("unexpected: 7.weight"));
                          }),
                Each(IsEmpty()));
}

// Layers in front that learn nothing, and one that is frozen.
TEST(Pipeline, AStageMayHaveNothingToLearn) {
  const Tensor x = examples({6, 5}, DType::f64, 1), y = examples({6, 3}, DType::f64, 2);
  const auto some = [] {
    Rng rng(4);
    nn::Linear frozen(5, 5, {.dtype = DType::f64}, rng);
    frozen.freeze();
    return std::vector<nn::AnyModule>{nn::Tanh(), frozen, nn::Linear(5, 3, {.dtype = DType::f64}, rng)};
  };
  nn::Sequential plain;
  for (const nn::AnyModule& layer : some()) plain.add(layer);
  squared(plain(x), y).backward();
  const Tensor wanted = plain.trained_parameters()[0].tensor.grad();
  EXPECT_THAT(run_ranks(3,
                        [&](Communicator& ranks) {
                          Pipeline net(ranks, some(), {.micro_batches = 2});
                          net.backward(x, y, squared);
                          const NamedTensors trained = net.stage().trained_parameters();
                          ASSERT_EQ(trained.size(), ranks.rank() == 2 ? 2U : 0U);
                          if (ranks.rank() == 2) {
                            EXPECT_LE(distance(trained[0].tensor.grad(), wanted), 1e-12);
                          }
                        }),
              Each(IsEmpty()));
}

TEST(Pipeline, RefusesWhatCannotBeSharedOut) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& ranks) {
                          EXPECT_THAT(test::error_of<ConfigError>([&] { Pipeline(ranks, {nn::Tanh()}); }),
                                      HasSubstr("cannot share out 1 layers among 2 ranks"));
                          EXPECT_THAT(test::error_of<ConfigError>(
                                          [&] { Pipeline(ranks, layers(DType::f32), {.micro_batches = 0}); }),
                                      HasSubstr("cannot have 0 parts"));
                          Pipeline net(ranks, layers(DType::f32));
                          EXPECT_THAT(test::error_of<ShapeError>([&] {
                                        net.backward(zeros({3, 5}), zeros({3, 3}), squared);
                                      }),
                                      HasSubstr("cannot cut [3, 5] into 4 micro-batches"));
                        }),
              Each(IsEmpty()));
}

// What one rank throws ends all.
TEST(Pipeline, AnErrorOfOneStageEndsAll) {
  const std::vector<std::string> failures = run_ranks(2, [](Communicator& ranks) {
    Rng rng(1);
    Pipeline net(ranks, {nn::Linear(5, 4, rng), nn::Linear(3, 2, rng)}, {.micro_batches = 2});
    net.backward(zeros({4, 5}), zeros({4, 2}), squared);
  });
  EXPECT_THAT(failures[1], HasSubstr("Linear(3, 2)"));
  EXPECT_THAT(failures[0], HasSubstr("rank 1"));
}

}  // namespace
}  // namespace veldt::dist
