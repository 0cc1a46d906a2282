// Layers shared out over ranks against the plain ones: outputs, gradients of any order, training, states, and
// how many bytes they send.
#include "veldt/dist/tensor_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "veldt/dist/exchange.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/tensor/plan.h"

namespace veldt::dist {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

double limit_of(DType dtype) { return dtype == DType::f64 ? 1e-12 : 1e-6; }

// As a share of the largest number.
void expect_same(const Tensor& a, const Tensor& b, double limit, const std::string& name) {
  ASSERT_EQ(a.shape(), b.shape()) << name;
  const std::vector<double> x = to(a.detach(), DType::f64).values<double>(),
                            y = to(b.detach(), DType::f64).values<double>();
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    off = std::max(off, std::abs(x[i] - y[i]));
  }
  EXPECT_LE(off, limit * largest) << name;
}

void expect_same(const NamedTensors& a, const NamedTensors& b, double limit) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    expect_same(a[i].tensor, b[i].tensor, limit, b[i].name);
  }
}

// Block of a transformer and a classifier, plain or shared out, from the same Rng.
nn::Sequential network(Communicator* ranks, DType dtype, std::uint64_t seed = 3) {
  Rng rng(seed);
  const nn::LinearOptions options{.dtype = dtype};
  nn::Sequential attention, wide, net;
  attention.add(nn::LayerNorm(12, {.dtype = dtype}));
  wide.add(nn::LayerNorm(12, {.dtype = dtype}));
  if (ranks) {
    attention.add(ParallelAttention(*ranks, 12, 12, {.batch_first = true, .dtype = dtype}, rng));
    wide.add(ColumnParallelLinear(*ranks, 12, 48, options, rng)).add(nn::GELU());
    wide.add(RowParallelLinear(*ranks, 48, 12, options, rng));
  } else {
    attention.add(nn::MultiheadAttention(12, 12, {.batch_first = true, .dtype = dtype}, rng));
    wide.add(nn::Linear(12, 48, options, rng)).add(nn::GELU());
    wide.add(nn::Linear(48, 12, options, rng));
  }
  net.add(nn::Residual(attention)).add(nn::Residual(wide));
  if (ranks) {
    net.add(ColumnParallelLinear(*ranks, 12, 24, {.bias = false, .dtype = dtype}, rng));
    net.add(nn::Lambda([ranks](const Tensor& x) { return gather_columns(x, *ranks); }));
  } else {
    net.add(nn::Linear(12, 24, {.bias = false, .dtype = dtype}, rng));
    net.add(nn::Identity());
  }
  return net;
}

Tensor numbers(const Shape& shape, DType dtype, std::uint64_t seed) {
  Rng rng(seed);
  return to(randn(shape, rng), dtype);
}

// What backward() left, put together as the weights are: they take its place.
NamedTensors whole_gradients(const nn::Module& net) {
  for (Tensor p : net.parameters()) p.detach().assign(p.grad());
  return whole_state(net);
}

TEST(TensorParallel, OpsHaveGradientsOfAnyOrder) {
  for (int size = 1; size <= 4; ++size)
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            Tensor x = numbers({2, 12}, DType::f64, 1);
                            x.set_requires_grad();
                            const double factor = size * (size + 1) / 2.0;
                            const auto check = [&](const Tensor& y, const Tensor& values, double slope) {
                              expect_same(y, values, 1e-14, "values");
                              const Tensor g = grad(sum(y * y), {x}, true)[0];
                              expect_same(g, x * (2 * slope * slope), 1e-14, "gradient");
                              expect_same(grad(sum(g * g), {x})[0], x * (8 * std::pow(slope, 4)), 1e-14,
                                          "second derivative");
                            };
                            check(sum_of_ranks(copy_to_ranks(x, ranks) * (ranks.rank() + 1.0), ranks),
                                  x * factor, factor);
                            check(gather_columns(own_columns(x, ranks) * 3.0, ranks), x * 3.0, 3);
                          }),
                Each(IsEmpty()));
}

TEST(TensorParallel, OutputsAndGradientsAreThePlainNetworks) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const nn::Sequential plain = network(nullptr, dtype);
    Tensor x = numbers({3, 5, 12}, dtype, 1);
    x.set_requires_grad();
    const Tensor target = numbers({3, 5, 24}, dtype, 2);
    const Tensor y = plain(x);
    mse_loss(y, target).backward();
    const Tensor dx = x.grad();
    const NamedTensors gradients = whole_gradients(plain);
    for (int size = 1; size <= 4; ++size)
      EXPECT_THAT(run_ranks(size,
                            [&](Communicator& ranks) {
                              const nn::Sequential net = network(&ranks, dtype);
                              Tensor in = numbers({3, 5, 12}, dtype, 1);
                              in.set_requires_grad();
                              const Tensor out = net(in);
                              mse_loss(out, target).backward();
                              expect_same(out, y, limit_of(dtype), "output");
                              expect_same(in.grad(), dx, limit_of(dtype), "gradient of the input");
                              expect_same(whole_gradients(net), gradients, limit_of(dtype));
                            }),
                  Each(IsEmpty()));
  }
}

TEST(TensorParallel, AttentionTakesOtherKeysAndTheOrderOfTime) {
  const Tensor q = numbers({4, 2, 12}, DType::f64, 1), k = numbers({6, 2, 12}, DType::f64, 2),
               v = numbers({6, 2, 12}, DType::f64, 3);
  Rng rng(5);
  const nn::MultiheadAttention plain(12, 12, {.bias = false, .dtype = DType::f64}, rng);
  const Tensor y = plain({q, k, v})[0], causal = plain.attend(q, q, q, {.causal = true});
  sum(y * y).backward();
  const NamedTensors gradients = whole_gradients(plain);
  for (int size = 1; size <= 4; ++size)
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            Rng own(5), same(5);
                            const ParallelAttention net(ranks, 12, 12, {.bias = false, .dtype = DType::f64},
                                                        own);
                            const ParallelAttention past(
                                ranks, 12, 12, {.bias = false, .causal = true, .dtype = DType::f64}, same);
                            const Tensor out = net({q, k, v})[0];
                            expect_same(out, y, 1e-12, "output");
                            expect_same(past(q), causal, 1e-12, "causal");
                            sum(out * out).backward();
                            expect_same(whole_gradients(net), gradients, 1e-12);
                          }),
                Each(IsEmpty()));
}

TEST(TensorParallel, APairTakesOneSumForwardAndOneBackward) {
  EXPECT_THAT(run_ranks(3,
                        [](Communicator& ranks) {
                          nn::Sequential net;
                          Rng rng(1);
                          net.add(ColumnParallelLinear(ranks, 40, 60, {}, rng)).add(nn::ReLU());
                          net.add(RowParallelLinear(ranks, 60, 40, {}, rng));
                          Tensor x = full({200, 40}, 0.5);
                          x.set_requires_grad();
                          const auto bytes = [&](const auto& work) {
                            const std::uint64_t before = ranks.bytes_sent();
                            work();
                            return ranks.bytes_sent() - before;
                          };
                          const std::uint64_t one = bytes([&] { ranks.all_reduce(zeros({200, 40})); });
                          Tensor y;
                          EXPECT_EQ(bytes([&] { y = net(x); }), one);
                          EXPECT_EQ(bytes([&] { sum(y).backward(); }), one);
                          EXPECT_GE(one, 200 * 40 * sizeof(float));
                          EXPECT_LE(one, 2 * 200 * 40 * sizeof(float));
                        }),
              Each(IsEmpty()));
}

// As a step of its own, and recorded.
TEST(TensorParallel, TrainsAsThePlainNetworkDoes) {
  const Tensor x = numbers({6, 5, 12}, DType::f64, 1), target = numbers({6, 5, 24}, DType::f64, 2);
  const nn::Sequential plain = network(nullptr, DType::f64);
  optim::Adam adam(plain.named_parameters(), {.lr = 1e-2});
  std::vector<double> losses, norms;
  for (int step = 0; step < 20; ++step) {
    const Tensor loss = mse_loss(plain(x), target);
    adam.zero_grad();
    loss.backward();
    losses.push_back(loss.item());
    norms.push_back(adam.clip_gradients(0.05));
    adam.step();
  }
  EXPECT_LT(losses.back(), 0.95 * losses.front());
  EXPECT_GT(norms.back(), 0.05);
  for (int size = 1; size <= 4; ++size)
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            const nn::Sequential net = network(&ranks, DType::f64);
                            optim::Adam own(net.named_parameters(), {.lr = 1e-2});
                            for (std::size_t step = 0; step < losses.size(); ++step) {
                              const Tensor loss = mse_loss(net(x), target);
                              own.zero_grad();
                              loss.backward();
                              EXPECT_NEAR(loss.item(), losses[step], 1e-10 * losses[step]);
                              EXPECT_NEAR(clip_gradients(own, net, ranks, 0.05), norms[step],
                                          1e-9 * norms[step]);
                              own.step();
                            }
                            expect_same(whole_state(net), plain.state_dict(), 1e-8);
                          }),
                Each(IsEmpty()));
}

TEST(TensorParallel, StepsCanBeRecorded) {
  const Tensor x = numbers({6, 5, 12}, DType::f32, 1), target = numbers({6, 5, 24}, DType::f32, 2);
  EXPECT_THAT(run_ranks(2,
                        [&](Communicator& ranks) {
                          const auto trained = [&](bool recorded) {
                            const nn::Sequential net = network(&ranks, DType::f32);
                            optim::Adam adam(net.named_parameters(), {.lr = 1e-2});
                            const auto step = [&] {
                              const Tensor loss = mse_loss(net(x), target);
                              adam.zero_grad();
                              loss.backward();
                              adam.step();
                            };
                            if (recorded)
                              Plan(step).replay(5);
                            else
                              for (int i = 0; i < 5; ++i) step();
                            return adam.slab().values().values<float>();
                          };
                          EXPECT_EQ(trained(true), trained(false));
                        }),
              Each(IsEmpty()));
}

TEST(TensorParallel, AStateIsThePlainNetworks) {
  const nn::Sequential plain = network(nullptr, DType::f32), other = network(nullptr, DType::f32, 9);
  const Tensor x = numbers({3, 5, 12}, DType::f32, 1);
  for (int size = 1; size <= 4; ++size)
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            nn::Sequential net = network(&ranks, DType::f32);
                            expect_same(whole_state(net), plain.state_dict(), 0);
                            EXPECT_TRUE(load_whole_state(net, other.state_dict()).complete());
                            expect_same(whole_state(net), other.state_dict(), 0);
                            expect_same(net(x), other(x), 1e-6, "output");
                            NamedTensors wrong = plain.state_dict();
                            wrong[2].tensor = zeros({5, 12});
                            EXPECT_THAT(test::error_of<Error>([&] { load_whole_state(net, wrong); }),
                                        HasSubstr(wrong[2].name));
                            expect_same(whole_state(net), other.state_dict(), 0);
                          }),
                Each(IsEmpty()));
}

TEST(TensorParallel, RefusesWhatCannotBeSharedOut) {
  EXPECT_THAT(
      run_ranks(
          2,
          [](Communicator& ranks) {
            Rng rng(1);
            EXPECT_THAT(test::error_of<ConfigError>([&] { ColumnParallelLinear(ranks, 4, 5, {}, rng); }),
                        HasSubstr("cannot share out 5 outputs among 2 ranks"));
            EXPECT_THAT(test::error_of<ConfigError>([&] { RowParallelLinear(ranks, 5, 4, {}, rng); }),
                        HasSubstr("cannot share out 5 inputs among 2 ranks"));
            EXPECT_THAT(test::error_of<ConfigError>([&] { ParallelAttention(ranks, 12, 3, {}, rng); }),
                        HasSubstr("cannot share out 3 heads among 2 ranks"));
            EXPECT_THAT(test::error_of<ConfigError>([&] { ColumnParallelLinear(ranks, 0, 4, {}, rng); }),
                        HasSubstr("Linear(0, 4)"));
            EXPECT_THAT(test::error_of<ShapeError>([&] {
                          own_columns(zeros({2, 3}), ranks);
                        }),
                        HasSubstr("[2, 3]"));
            EXPECT_THAT(test::error_of<ShapeError>([&] { gather_columns(zeros({}), ranks); }),
                        HasSubstr("no columns"));
            const ParallelAttention attention(ranks, 12, 4, {}, rng);
            EXPECT_THAT(test::error_of<ShapeError>([&] {
                          attention(zeros({3, 12}));
                        }),
                        HasSubstr("ParallelAttention(12, 4) cannot take [3, 12]"));
            EXPECT_THAT(test::error_of<Error>([&] {
                          attention(TensorList{zeros({3, 1, 12}), zeros({3, 1, 12})});
                        }),
                        HasSubstr("query, key and value"));
          }),
      Each(IsEmpty()));
}

TEST(TensorParallel, WantsTheSameDrawsOnAllRanks) {
  const std::vector<std::string> failures = run_ranks(2, [](Communicator& ranks) {
    Rng rng(1);
    if (ranks.rank() == 1) rng.next_u32();
    ColumnParallelLinear(ranks, 4, 4, {}, rng);
  });
  EXPECT_THAT(failures[0], HasSubstr("rank 1 draws other weights than rank 0"));
  EXPECT_THAT(failures[1], HasSubstr("rank 0 draws other weights than rank 1"));
}

TEST(TensorParallel, ClippingNamesWhatIsNotFinite) {
  EXPECT_THAT(
      run_ranks(2,
                [](Communicator& ranks) {
                  Rng rng(1);
                  const ColumnParallelLinear net(ranks, 2, 4, {}, rng);
                  optim::Adam adam(net.named_parameters(), {.lr = 1e-2});
                  const double factor = ranks.rank() == 1 ? NAN : 1.0;
                  sum(net(full({3, 2}, 1.0)) * factor).backward();
                  EXPECT_THAT(test::error_of<DivergedError>([&] { clip_gradients(adam, net, ranks, 1); }),
                              HasSubstr(ranks.rank() == 1 ? "weight" : "another rank"));
                  EXPECT_THAT(test::error_of<ConfigError>([&] { clip_gradients(adam, net, ranks, 0); }),
                              HasSubstr("norm of 0"));
                }),
      Each(IsEmpty()));
}

}  // namespace
}  // namespace veldt::dist
