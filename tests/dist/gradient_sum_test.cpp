// Gradients added up over ranks: the bits of the tree whatever is sent when, and a parameter's presence.
#include "veldt/dist/gradient_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "veldt/dist/data_parallel.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/lbfgs.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/plan.h"

namespace veldt::dist {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Lesson {
  Lesson() {
    Rng rng(1);
    net = nn::Sequential{nn::Linear(3, 40, {}, rng), nn::ReLU(), nn::Linear(40, 40, {}, rng), nn::ReLU(),
                         nn::Linear(40, 2, {}, rng)};
    x = randn({12, 3}, rng), y = randn({12, 2}, rng);
  }
  // Of examples begin .. end - 1, as a share of the mean over all.
  Tensor loss(std::int64_t begin, std::int64_t end) const {
    const auto part = [&](const Tensor& t) { return narrow(t, 0, begin, end - begin); };
    return mse_loss(net(part(x)), part(y)) * (static_cast<double>(end - begin) / 12);
  }
  nn::Sequential net;
  Tensor x, y;
};

std::vector<float> gradients_of(const optim::Optimizer& optimizer) {
  return optimizer.slab().gradients().values<float>();
}

TEST(GradientSum, IsTheSameWhetherSentEarlyOrLateOrRecorded) {
  for (int size = 1; size <= 4; ++size) {
    std::mutex mutex;
    std::vector<std::vector<float>> all;
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            const Lesson lesson;
                            optim::SGD sgd(lesson.net.named_parameters(), {.lr = 0.1});
                            GradientSum sum(ranks, sgd, {.bucket_bytes = 600});
                            const auto step = [&](bool early) {
                              sgd.zero_grad();
                              const Leaves own = share_of_leaves(12, ranks.rank(), size);
                              const Tensor loss = lesson.loss(own.begin, own.end);
                              if (early) {
                                const GradientSum::Sending now(sum);
                                loss.backward();
                              } else {
                                loss.backward();
                              }
                              sum.finish();
                            };
                            const auto keep = [&] {
                              const std::lock_guard lock(mutex);
                              all.push_back(gradients_of(sgd));
                            };
                            step(false), keep();
                            step(true), keep();
                            step(true), keep();
                            Plan plan([&] { step(true); });
                            plan.replay(), keep();
                            plan.replay(2), keep();
                          }),
                Each(IsEmpty()));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(5 * size));
    EXPECT_THAT(all, Each(all.front()));
    const Lesson lesson;
    optim::SGD sgd(lesson.net.named_parameters(), {.lr = 0.1});
    lesson.loss(0, 12).backward();
    sgd.collect_gradients();
    const std::vector<float> whole = gradients_of(sgd);
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(all.front()[i], whole[i], 1e-6);
  }
}

TEST(GradientSum, OfLeavesDoesNotDependOnTheNumberOfRanks) {
  for (const std::int64_t leaves : {4, 6}) {
    std::mutex mutex;
    std::vector<std::vector<float>> all;
    for (int size = 1; size <= 4; ++size)
      EXPECT_THAT(run_ranks(size,
                            [&](Communicator& ranks) {
                              const Lesson lesson;
                              optim::Adam adam(lesson.net.named_parameters(), {.lr = 0.1});
                              GradientSum sum(ranks, adam, {.leaves = leaves});
                              const Leaves own = share_of_leaves(leaves, ranks.rank(), size);
                              for (int step = 0; step < 3; ++step) {
                                adam.zero_grad();
                                for (std::int64_t leaf = own.begin; leaf < own.end; ++leaf) {
                                  const Leaves examples =
                                      share_of_leaves(12, static_cast<int>(leaf), static_cast<int>(leaves));
                                  lesson.loss(examples.begin, examples.end).backward();
                                  sum.end_leaf();
                                }
                                sum.finish();
                                adam.step();
                              }
                              const std::lock_guard lock(mutex);
                              all.push_back(adam.slab().values().values<float>());
                            }),
                  Each(IsEmpty()));
    ASSERT_EQ(all.size(), 10U);
    EXPECT_THAT(all, Each(all.front()));
  }
}

// A parameter that one rank alone has used gets its gradient on all; one that none has used stays without.
TEST(GradientSum, AParameterHasAGradientIfAnyRankHasOne) {
  EXPECT_THAT(run_ranks(3,
                        [](Communicator& ranks) {
                          Tensor a = full({2}, 1.0), b = full({3}, 1.0), c = full({4}, 1.0);
                          for (Tensor* t : {&a, &b, &c}) t->set_requires_grad(true);
                          optim::Adam adam(optim::numbered({a, b, c}), {.lr = 0.1});
                          GradientSum summed(ranks, adam);
                          for (int step = 0; step < 2; ++step) {
                            adam.zero_grad();
                            if (ranks.rank() == 1) sum(b * 2.0).backward();
                            if (ranks.rank() == 2) sum(a).backward();
                            summed.finish();
                            EXPECT_EQ(a.grad().values<float>(), (std::vector<float>{1, 1}));
                            EXPECT_EQ(b.grad().values<float>(), (std::vector<float>{2, 2, 2}));
                            EXPECT_FALSE(c.grad().defined());
                            adam.step();
                          }
                          EXPECT_EQ(c.values<float>()[0], 1.F);
                        }),
              Each(IsEmpty()));
}

TEST(GradientSum, WantsAPartForEachRank) {
  const Lesson lesson;
  run_ranks(2, [&](Communicator& ranks) {
    const Lesson own;
    optim::SGD sgd(own.net.named_parameters(), {.lr = 0.1});
    EXPECT_THAT(test::error_of<ConfigError>([&] { GradientSum(ranks, sgd, {.leaves = 1}); }),
                HasSubstr("1 parts is too small for 2 ranks"));
  });
}

TEST(DataParallel, RefusesASearchByOneRanksLosses) {
  const Lesson lesson;
  Communicator alone;
  optim::LBFGS lbfgs(lesson.net.named_parameters(), {});
  EXPECT_THAT(test::error_of<ConfigError>([&] { DataParallel(alone, lbfgs); }), HasSubstr("LBFGS"));
}

TEST(DataParallel, IsOneLineBesideTheOptimizer) {
  std::mutex mutex;
  std::vector<std::vector<float>> all;
  const auto train = [&](Communicator* ranks) {
    const Lesson lesson;
    const int rank = ranks ? ranks->rank() : 0, size = ranks ? ranks->size() : 1;
    if (rank > 0) {  // it begins elsewhere, and gets what rank 0 has
      for (Tensor p : lesson.net.parameters()) p.detach().assign(zeros(p.shape()));
    }
    optim::Adam adam(lesson.net.named_parameters(), {.lr = 0.01, .clip = {.norm = 0.1}});
    std::optional<DataParallel> parallel;
    if (ranks) parallel.emplace(*ranks, adam);
    for (int step = 0; step < 5; ++step) {
      adam.zero_grad();
      const Leaves own = share_of_leaves(12, rank, size);
      // Twice: gradients of a step add up before they are averaged.
      for (int part = 0; part < 2; ++part) {
        const std::int64_t half = own.size() / 2, begin = own.begin + part * half;
        (lesson.loss(begin, begin + half) * static_cast<double>(size)).backward();
      }
      EXPECT_GT(adam.gradient_norm(), 0.0);
      adam.step();
    }
    const std::lock_guard lock(mutex);
    all.push_back(adam.slab().values().values<float>());
  };
  train(nullptr);
  for (const int size : {2, 3}) run_ranks(size, [&](Communicator& ranks) { train(&ranks); });
  ASSERT_EQ(all.size(), 6U);
  for (const auto& values : all)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], all[0][i], 1e-4);
  EXPECT_EQ(all[1], all[2]);
  EXPECT_EQ(all[3], all[5]);
}

TEST(DataParallel, SendsTheGradientsOfAStepOnce) {
  const std::vector<std::string> failures = run_ranks(2, [](Communicator& ranks) {
    Rng rng(3);
    const nn::Linear net(3, 1, rng);
    optim::SGD sgd(net.named_parameters(), {.lr = 0.1});
    DataParallel parallel(ranks, sgd);
    const auto walk_back = [&] {
      const auto now = parallel.sending();
      sum(net(ones({2, 3}))).backward();
    };
    walk_back();
    walk_back();
  });
  EXPECT_THAT(failures, Each(HasSubstr("the gradients of this step have left already")));
}

}  // namespace
}  // namespace veldt::dist
