// Batch norms over the batches of all ranks against one process with the whole batch: outputs, gradients,
// running statistics; parts of any size, also none; recorded steps; and what stays as it is.
#include "veldt/dist/sync_batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/ranks.h"
#include "veldt/dist/data_parallel.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/plan.h"

namespace veldt::dist {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::IsEmpty;

constexpr std::int64_t kWholeBatch = 9;

// As a share of the largest number.
void expect_near(const Tensor& a, const Tensor& b, double limit, const std::string& name) {
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

// With norms of each dimension that a batch may have, one that keeps a mean of all batches, and one of
// no own numbers.
nn::Sequential network(DType dtype) {
  Rng rng(3);
  const nn::ConvLayerOptions same{.padding = 1, .dtype = dtype};
  nn::Sequential net{nn::Conv2d(2, 4, 3, same, rng),
                     nn::BatchNorm2d(4, {.dtype = dtype}),
                     nn::ReLU(),
                     nn::Conv2d(4, 3, 3, same, rng),
                     nn::BatchNorm2d(3, {.momentum = {}, .dtype = dtype}),
                     nn::Tanh(),
                     nn::Flatten(),
                     nn::Linear(3 * 12, 5, {.dtype = dtype}, rng),
                     nn::BatchNorm1d(5, {.affine = false, .dtype = dtype})};
  for (Tensor p : net.parameters()) {  // weights of norms that are not 1, biases that are not 0
    const NoGrad off;
    p.assign(p + to(randn(p.shape(), rng), dtype) * 0.1);
  }
  return net;
}

struct Batch {
  explicit Batch(DType dtype) {
    Rng rng(5);
    x = to(randn({kWholeBatch, 2, 3, 4}, rng) + 3.0, dtype), y = to(randn({kWholeBatch, 5}, rng), dtype);
  }
  Tensor x, y;
};

Tensor loss_of(const Tensor& out, const Tensor& y) { return sum(square(out - y)) / (5.0 * kWholeBatch); }

// The examples of each rank.
std::vector<std::vector<std::int64_t>> shares_of(int size) {
  if (size == 1) return {{9}};
  if (size == 2) return {{4, 5}, {1, 8}, {9, 0}};
  return {{3, 3, 3}, {1, 7, 1}, {0, 4, 5}};
}

TEST(SyncBatchNorm, IsTheNormOfOneProcessWithTheWholeBatch) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double limit = dtype == DType::f64 ? 1e-12 : 1e-5;
    const nn::Sequential whole = network(dtype);
    const Batch all(dtype);
    Tensor x = all.x;
    x.set_requires_grad();
    Tensor out;
    for (int step = 0; step < 2; ++step) {
      for (Tensor p : whole.parameters()) p.zero_grad();
      x.zero_grad();
      out = whole(x);
      loss_of(out, all.y).backward();
    }
    for (int size = 1; size <= 3; ++size)
      for (const std::vector<std::int64_t>& shares : shares_of(size))
        EXPECT_THAT(
            run_ranks(size,
                      [&](Communicator& ranks) {
                        const nn::Sequential net = network(dtype);
                        const SyncBatchNorm synced(net, ranks);
                        std::int64_t begin = 0;
                        for (int r = 0; r < ranks.rank(); ++r) begin += shares[static_cast<std::size_t>(r)];
                        const std::int64_t count = shares[static_cast<std::size_t>(ranks.rank())];
                        const auto part = [&](const Tensor& t) { return narrow(t, 0, begin, count); };
                        Tensor in = Tensor(part(all.x.detach()) * 1.0);
                        in.set_requires_grad();
                        Tensor y;
                        for (int step = 0; step < 2; ++step) {
                          for (Tensor p : net.parameters()) p.zero_grad();
                          in.zero_grad();
                          y = net(in);
                          loss_of(y, part(all.y)).backward();
                        }
                        if (count > 0) {
                          expect_near(y, part(out), limit, "output");
                          expect_near(in.grad(), part(x.grad()), 10 * limit, "gradient of the input");
                        }
                        const NamedTensors own = net.named_parameters(), other = whole.named_parameters();
                        for (std::size_t i = 0; i < own.size(); ++i) {
                          const Tensor g = own[i].tensor.grad() * 1.0, expected = other[i].tensor.grad();
                          ranks.all_reduce(g);
                          // A bias before a norm has no gradient but for rounding.
                          if (own[i].name != "0.bias" && own[i].name != "3.bias" && own[i].name != "7.bias")
                            expect_near(g, expected, 10 * limit, own[i].name);
                        }
                        const NamedTensors state = net.state_dict(), same = whole.state_dict();
                        ASSERT_EQ(state.size(), same.size());
                        for (std::size_t i = 0; i < state.size(); ++i) {
                          EXPECT_EQ(state[i].name, same[i].name);
                          expect_near(state[i].tensor, same[i].tensor, limit, state[i].name);
                        }
                      }),
            Each(IsEmpty()))
            << size;
  }
}

// As batch_norm() itself, whose second derivatives are checked against differences.
TEST(SyncBatchNorm, HasGradientsOfHigherOrder) {
  Rng rng(2);
  const Tensor all = to(randn({6, 3, 4}, rng), DType::f64);
  const auto of_penalty = [](const nn::BatchNorm1d& norm, Tensor& x) {
    x.set_requires_grad();
    const Tensor g = grad(sum(exp(norm(x))), {x}, true)[0];
    return grad(sum(square(g)), {x, norm.weight()});
  };
  const nn::BatchNorm1d plain(3, {.dtype = DType::f64});
  Tensor whole = all;
  const TensorList expected = of_penalty(plain, whole);
  EXPECT_THAT(run_ranks(3,
                        [&](Communicator& ranks) {
                          const nn::BatchNorm1d norm(3, {.dtype = DType::f64});
                          const SyncBatchNorm synced(norm, ranks);
                          Tensor x = Tensor(narrow(all.detach(), 0, 2 * ranks.rank(), 2) * 1.0);
                          const TensorList own = of_penalty(norm, x);
                          expect_near(own[0], narrow(expected[0], 0, 2 * ranks.rank(), 2), 1e-10, "input");
                          const Tensor g = own[1] * 1.0;
                          ranks.all_reduce(g);
                          expect_near(g, expected[1], 1e-10, "weight");
                        }),
              Each(IsEmpty()));
}

TEST(SyncBatchNorm, LeavesOutExamplesThatDoNotCount) {
  const Batch all(DType::f64);
  const nn::Sequential whole = network(DType::f64);
  const Tensor out = whole(all.x);
  loss_of(out, all.y).backward();
  EXPECT_THAT(run_ranks(2,
                        [&](Communicator& ranks) {
                          const nn::Sequential net = network(DType::f64);
                          SyncBatchNorm synced(net, ranks);
                          const bool counts = ranks.rank() == 0;
                          synced.set_counts(counts);
                          const Tensor x = counts ? all.x : narrow(all.x, 0, 0, 1) * 7.0;
                          const Tensor y = net(x);
                          if (counts) {
                            expect_near(y, out, 1e-12, "output");
                          }
                          (counts ? loss_of(y, all.y) : sum(y) * 0.0).backward();
                          const NamedTensors own = net.named_parameters(), other = whole.named_parameters();
                          for (std::size_t i = 0; i < own.size(); ++i) {
                            const Tensor g = own[i].tensor.grad() * 1.0;
                            ranks.all_reduce(g);
                            if (own[i].tensor.rank() > 1)
                              expect_near(g, other[i].tensor.grad(), 1e-11, own[i].name);
                          }
                          const NamedTensors state = net.state_dict(), same = whole.state_dict();
                          for (std::size_t i = 0; i < state.size(); ++i)
                            expect_near(state[i].tensor, same[i].tensor, 1e-12, state[i].name);
                        }),
              Each(IsEmpty()));
}

TEST(SyncBatchNorm, MayBeRecordedAndSentBesideGradients) {
  std::vector<float> values[2];
  for (const bool recorded : {false, true})
    EXPECT_THAT(run_ranks(3,
                          [&](Communicator& ranks) {
                            const nn::Sequential net = network(DType::f32);
                            optim::SGD sgd(net.named_parameters(), {.lr = 0.1});
                            DataParallel parallel(ranks, sgd, {.bucket_bytes = 100});
                            const SyncBatchNorm synced(net, ranks);
                            const Batch all(DType::f32);
                            const auto part = [&](const Tensor& t) {
                              return narrow(t, 0, 3 * ranks.rank(), 3);
                            };
                            const auto step = [&] {
                              sgd.zero_grad();
                              const Tensor loss = loss_of(net(part(all.x)), part(all.y)) * 3.0;
                              {
                                const auto sending = parallel.sending();
                                loss.backward();
                              }
                              sgd.step();
                            };
                            step();
                            if (recorded) {
                              Plan plan(step);
                              plan.replay(3);
                            } else {
                              for (int i = 0; i < 3; ++i) step();
                            }
                            if (ranks.rank() == 1) values[recorded] = sgd.slab().values().values<float>();
                          }),
                Each(IsEmpty()));
  EXPECT_FALSE(values[0].empty());
  EXPECT_EQ(values[0], values[1]);
}

// Halves are normalised in f32, as without other ranks.
TEST(SyncBatchNorm, TakesHalves) {
  Rng rng(2);
  const Tensor all = randn({6, 3, 4}, rng);
  const nn::BatchNorm1d plain(3, {.dtype = DType::bf16});
  const Tensor y = plain(to(all, DType::bf16));
  EXPECT_THAT(run_ranks(2,
                        [&](Communicator& ranks) {
                          const nn::BatchNorm1d norm(3, {.dtype = DType::bf16});
                          const SyncBatchNorm synced(norm, ranks);
                          Tensor x = to(narrow(all, 0, 3 * ranks.rank(), 3), DType::bf16);
                          x.set_requires_grad();
                          const Tensor own = norm(x);
                          EXPECT_EQ(own.dtype(), DType::bf16);
                          expect_near(own, narrow(y, 0, 3 * ranks.rank(), 3), 1e-2, "output");
                          sum(square(own)).backward();
                          EXPECT_EQ(x.grad().dtype(), DType::bf16);
                        }),
              Each(IsEmpty()));
}

TEST(SyncBatchNorm, LeavesEvaluationFrozenNormsAndTheRestAlone) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& ranks) {
                          nn::Sequential net = network(DType::f32);
                          const Tensor x = Batch(DType::f32).x;
                          net(x);
                          const std::uint64_t before = ranks.bytes_sent();
                          {
                            const SyncBatchNorm synced(net, ranks);
                            net.eval();
                            if (ranks.rank() == 0) net(x);
                            net.train();
                            net.freeze();
                            if (ranks.rank() == 1) net(x);
                            net.requires_grad(true);
                            const nn::InstanceNorm2d of_examples(2);
                            const SyncBatchNorm of_none(of_examples, ranks);
                            if (ranks.rank() == 0) of_examples(x);
                            EXPECT_EQ(ranks.bytes_sent(), before);
                            net(x);
                            EXPECT_GT(ranks.bytes_sent(), before);
                          }
                          if (ranks.rank() == 0) net(x);
                          Communicator alone;
                          const SyncBatchNorm of_one(net, alone);
                          net(x);
                        }),
              Each(IsEmpty()));
}

}  // namespace
}  // namespace veldt::dist
