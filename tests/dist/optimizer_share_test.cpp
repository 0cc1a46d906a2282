// An optimizer's state shared out over ranks: the bits of plain data parallel training, a part of the memory,
// no more bytes on the wire, and a state that can be saved and loaded as ever.
#include "veldt/dist/optimizer_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "veldt/dist/data_parallel.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/ema.h"
#include "veldt/optim/grad_scaler.h"
#include "veldt/optim/lion.h"
#include "veldt/optim/muon.h"
#include "veldt/optim/rmsprop.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/plan.h"

namespace veldt::dist {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Build = std::function<std::unique_ptr<optim::Optimizer>(const nn::Module&)>;

template <class Optimizer, class Options> Build build(Options options) {
  return [=](const nn::Module& net) { return std::make_unique<Optimizer>(net.named_parameters(), options); };
}

// Two groups, with a border that is none of any bucket.
std::unique_ptr<optim::Optimizer> in_groups(const nn::Module& net) {
  return std::make_unique<optim::AdamW>(optim::groups_by_name<optim::AdamWOptions>(
      net.named_parameters(), {.lr = 0.01}, {{"2", {.lr = 0.03}}}));
}

const std::map<std::string, Build> kBuilds{
    {"sgd", build<optim::SGD>(optim::SGDOptions{.lr = 0.1})},
    {"momentum", build<optim::SGD>(optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true})},
    {"adam", build<optim::Adam>(optim::AdamOptions{.lr = 0.01})},
    {"lazy adam", build<optim::Adam>(optim::AdamOptions{.lr = 0.01, .lazy = true})},
    {"adamw", build<optim::AdamW>(optim::AdamWOptions{.lr = 0.01})},
    {"groups", in_groups},
    {"radam", build<optim::RAdam>(optim::RAdamOptions{.lr = 0.01})},
    {"lion", build<optim::Lion>(optim::LionOptions{.lr = 0.01})},
    {"adan", build<optim::Adan>(optim::AdanOptions{.lr = 0.01})},
    {"rmsprop", build<optim::RMSprop>(optim::RMSpropOptions{.lr = 0.01, .momentum = 0.9, .centered = true})},
    {"adagrad", build<optim::Adagrad>(optim::AdagradOptions{.lr = 0.01})},
    {"clipped", build<optim::Adam>(optim::AdamOptions{.lr = 0.01, .clip = {.norm = 0.05, .value = 0.1}})},
};

struct School {
  explicit School(const Build& make) {
    Rng rng(1);
    net = nn::Sequential{nn::Linear(3, 90, {}, rng), nn::Tanh(), nn::Linear(90, 90, {}, rng), nn::Tanh(),
                         nn::Linear(90, 2, {}, rng)};
    x = randn({12, 3}, rng), y = randn({12, 2}, rng);
    optimizer = make(net);
  }
  // Of this rank's examples; every third step the last layer learns nothing.
  Tensor loss(const Communicator& ranks, int step) const {
    const Leaves own = share_of_leaves(12, ranks.rank(), ranks.size());
    const auto part = [&](const Tensor& t) { return narrow(t, 0, own.begin, own.size()); };
    const Tensor out = net(part(x));
    return step % 3 == 2 ? sum(square(net[0](part(x)))) : mse_loss(out, part(y));
  }
  void learn(Communicator& ranks, DataParallel& parallel, int steps, int first = 0) const {
    for (int step = first; step < first + steps; ++step) {
      optimizer->zero_grad();
      const Tensor now = loss(ranks, step);
      if (step % 2 == 0) {
        const auto sending = parallel.sending();
        now.backward();
      } else {
        now.backward();
      }
      optimizer->step();
    }
  }
  std::vector<float> values() const { return optimizer->slab().values().values<float>(); }

  nn::Sequential net;
  Tensor x, y;
  std::unique_ptr<optim::Optimizer> optimizer;
};

// Of a state_dict(), by name.
std::map<std::string, std::vector<double>> numbers_of(const NamedTensors& state) {
  std::map<std::string, std::vector<double>> all;
  for (const auto& [name, t] : state) all[name] = to(t, DType::f64).values<double>();
  return all;
}

TEST(OptimizerShare, TakesTheStepsOfPlainTraining) {
  for (const auto& [name, make] : kBuilds)
    for (const bool halves : {false, true})
      for (int size = 1; size <= 4; ++size) {
        std::mutex mutex;
        std::vector<std::vector<float>> values;
        std::vector<std::map<std::string, std::vector<double>>> states;
        const auto learn = [&, &builds = make](Communicator& ranks, bool shared) {
          const School school(builds);
          DataParallel parallel(ranks, *school.optimizer, {.bucket_bytes = 20'000, .halves = halves});
          if (shared) parallel.share_optimizer();
          school.learn(ranks, parallel, 5);
          const NamedTensors state = school.optimizer->state_dict();
          const std::lock_guard lock(mutex);
          values.push_back(school.values());
          if (ranks.rank() == 0) states.push_back(numbers_of(state));
        };
        for (const bool shared : {false, true})
          EXPECT_THAT(run_ranks(size, [&](Communicator& ranks) { learn(ranks, shared); }), Each(IsEmpty()))
              << name;
        EXPECT_THAT(values, Each(values.front())) << name << ' ' << size << ' ' << halves;
        ASSERT_EQ(states.size(), 2U);
        EXPECT_EQ(states[0], states[1]) << name << ' ' << size;
      }
}

TEST(OptimizerShare, OfLeavesHasTheBitsOfAnyNumberOfRanks) {
  std::mutex mutex;
  std::vector<std::vector<float>> values;
  for (int size = 1; size <= 4; ++size)
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            const School school(kBuilds.at("clipped"));
                            GradientSum sum(ranks, *school.optimizer, {.leaves = 4});
                            if (size != 3) sum.share_optimizer();
                            const Leaves own = share_of_leaves(4, ranks.rank(), size);
                            for (int step = 0; step < 3; ++step) {
                              school.optimizer->zero_grad();
                              for (std::int64_t leaf = own.begin; leaf < own.end; ++leaf) {
                                const auto part = [&](const Tensor& t) { return narrow(t, 0, leaf * 3, 3); };
                                mse_loss(school.net(part(school.x)), part(school.y)).backward();
                                sum.end_leaf();
                              }
                              sum.finish();
                              school.optimizer->step();
                            }
                            const std::lock_guard lock(mutex);
                            values.push_back(school.values());
                          }),
                Each(IsEmpty()));
  ASSERT_EQ(values.size(), 10U);
  EXPECT_THAT(values, Each(values.front()));
}

// Where a step is recorded, averages of weights follow it, and a scale of f16 skips one.
TEST(OptimizerShare, WorksInPlansWithAveragesAndScalers) {
  std::mutex mutex;
  std::vector<std::vector<float>> values;
  const auto learn = [&](Communicator& ranks, bool shared) {
    const School school(kBuilds.at("clipped"));
    DataParallel parallel(ranks, *school.optimizer);
    if (shared) parallel.share_optimizer();
    optim::Ema ema(*school.optimizer, {.decay = 0.5});
    optim::GradScaler scaler({.init_scale = 0x1p125});  // too large at first
    school.learn(ranks, parallel, 1);
    Plan plan([&] {
      school.optimizer->zero_grad();
      school.loss(ranks, 0).backward();
      school.optimizer->step();
      ema.update();
    });
    plan.replay(3);
    for (int step = 0; step < 20; ++step) {
      school.optimizer->zero_grad();
      scaler.scale(school.loss(ranks, 0) * 1e6).backward();
      scaler.step(*school.optimizer);
      ema.update();
    }
    EXPECT_GT(scaler.skipped(), 0);
    EXPECT_LT(scaler.skipped(), 20);
    school.optimizer->zero_grad();
    school.loss(ranks, 0).backward();
    const double norm = school.optimizer->gradient_norm();
    EXPECT_EQ(norm, school.optimizer->gradient_norm());
    std::vector<float> all = school.values();
    for (const auto& [name, t] : ema.state_dict())
      for (const double v : to(t, DType::f64).values<double>()) all.push_back(static_cast<float>(v));
    all.push_back(static_cast<float>(norm));
    const std::lock_guard lock(mutex);
    values.push_back(std::move(all));
  };
  for (const bool shared : {false, true})
    EXPECT_THAT(run_ranks(3, [&](Communicator& ranks) { learn(ranks, shared); }), Each(IsEmpty()));
  ASSERT_EQ(values.size(), 6U);
  EXPECT_THAT(values, Each(values.front()));
}

TEST(OptimizerShare, KeepsAPartOfTheStateAndSendsNoMoreBytes) {
  constexpr int kSize = 4;
  std::map<bool, std::size_t> taken;
  std::map<bool, std::uint64_t> sent;
  for (const bool shared : {false, true})
    EXPECT_THAT(run_ranks(kSize,
                          [&](Communicator& ranks) {
                            const School school(kBuilds.at("adam"));
                            DataParallel parallel(ranks, *school.optimizer, {.bucket_bytes = 100'000});
                            if (shared) parallel.share_optimizer();
                            school.optimizer->zero_grad();
                            school.loss(ranks, 0).backward();
                            ranks.barrier();
                            const std::size_t before = pool({}).stats().bytes_in_use;
                            const std::uint64_t bytes_before = ranks.bytes_sent();
                            ranks.barrier();
                            school.optimizer->step();
                            const std::uint64_t bytes = ranks.bytes_sent() - bytes_before;
                            ranks.barrier();
                            if (ranks.rank() != 0) return ranks.barrier();
                            taken[shared] = pool({}).stats().bytes_in_use - before;
                            sent[shared] = bytes;
                            ranks.barrier();
                          }),
                Each(IsEmpty()));
  // Two numbers for each parameter, of all ranks together (they share a pool, which rounds sizes up by a
  // fourth at most): once, instead of once a rank.
  const School school(kBuilds.at("adam"));
  const std::size_t state = 2 * sizeof(float) * school.values().size();
  EXPECT_GE(taken[false], kSize * state);
  EXPECT_GE(taken[true], state);
  EXPECT_LE(taken[true], state * 5 / 4);
  EXPECT_EQ(sent[true], sent[false]);
}

// What was saved is the plain state, which goes on with any number of ranks, shared out or not.
TEST(OptimizerShare, ItsStateIsSavedAndLoadedAsEver) {
  NamedTensors saved;
  std::vector<float> values, expected;
  const auto begin = [&](Communicator& ranks, const School& school, DataParallel& parallel, bool at_first) {
    Tensor(school.optimizer->slab().values())
        .assign(Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values));
    if (at_first && ranks.rank() == 0) school.optimizer->load_state_dict(saved);  // and the others get it
    parallel.share_optimizer();
    if (!at_first) school.optimizer->load_state_dict(saved);
  };
  run_ranks(3, [&](Communicator& ranks) {
    const School school(kBuilds.at("groups"));
    DataParallel parallel(ranks, *school.optimizer);
    parallel.share_optimizer();
    school.learn(ranks, parallel, 3);
    const NamedTensors state = school.optimizer->state_dict();
    EXPECT_EQ(state.size(), ranks.rank() == 0 ? 2U + 2U * 6U : 2U);
    if (ranks.rank() == 0) saved = state, values = school.values();
    ranks.barrier();
    school.learn(ranks, parallel, 2, 3);
    if (ranks.rank() == 0) expected = school.values();
  });
  const std::map<std::string, std::vector<double>> before = numbers_of(saved);
  for (const bool at_first : {false, true}) {
    EXPECT_THAT(run_ranks(3,
                          [&](Communicator& ranks) {
                            const School school(kBuilds.at("groups"));
                            DataParallel parallel(ranks, *school.optimizer);
                            begin(ranks, school, parallel, at_first);
                            EXPECT_EQ(school.optimizer->steps(), 3);
                            school.learn(ranks, parallel, 2, 3);
                            EXPECT_EQ(school.values(), expected);
                          }),
                Each(IsEmpty()));
    EXPECT_THAT(run_ranks(2,
                          [&](Communicator& ranks) {
                            const School school(kBuilds.at("groups"));
                            DataParallel parallel(ranks, *school.optimizer);
                            begin(ranks, school, parallel, at_first);
                            const NamedTensors state = school.optimizer->state_dict();
                            if (ranks.rank() == 0) {
                              EXPECT_EQ(numbers_of(state), before);
                            }
                          }),
                Each(IsEmpty()));
  }
  const School alone(kBuilds.at("groups"));
  alone.optimizer->load_state_dict(saved);
  EXPECT_EQ(numbers_of(alone.optimizer->state_dict()), before);
}

class WholeDescent : public optim::Optimizer {
 public:
  explicit WholeDescent(const NamedTensors& p, bool by_range)
      : Optimizer(p, 0.1, {"sums"}), by_range_(by_range) {}

 protected:
  void update(std::size_t group, optim::Slab::Range range) override {
    Tensor p = optim::Slab::part(slab().values(), range),
           s = by_range_ ? state(0, range) : optim::Slab::part(state_slab(0), range);
    s.assign(s + optim::Slab::part(slab().gradients(), range));
    p.assign(p - group_lr(group) * s);
  }

 private:
  bool by_range_;
};

TEST(OptimizerShare, RefusesWhatCannotBeSharedAndIsLost) {
  const auto whole = [](bool by_range) -> Build {
    return [by_range](const nn::Module& net) {
      return std::make_unique<WholeDescent>(net.named_parameters(), by_range);
    };
  };
  const Build muon = [](const nn::Module& net) {
    return std::make_unique<optim::Muon>(net.named_parameters());
  };
  EXPECT_THAT(
      run_ranks(
          2,
          [&](Communicator& ranks) {
            {
              const School school(muon);
              DataParallel parallel(ranks, *school.optimizer);
              EXPECT_THAT(test::error_of<ConfigError>([&] { parallel.share_optimizer(); }),
                          HasSubstr("cannot be shared out"));
            }
            {
              const School school(whole(false));
              DataParallel parallel(ranks, *school.optimizer);
              parallel.share_optimizer();
              EXPECT_THAT(test::error_of([&] { school.learn(ranks, parallel, 1); }),
                          HasSubstr("needs its whole state"));
            }
            const School school(whole(true)), plain(whole(true));
            {
              DataParallel parallel(ranks, *school.optimizer), other(ranks, *plain.optimizer);
              parallel.share_optimizer();
              school.learn(ranks, parallel, 2), plain.learn(ranks, other, 2);
              EXPECT_EQ(school.values(), plain.values());
            }
            EXPECT_THAT(test::error_of([&] { school.optimizer->step(); }), HasSubstr("state is lost"));
            EXPECT_THAT(test::error_of([&] { school.optimizer->state_dict(); }), HasSubstr("state is lost"));
            school.optimizer->load_state_dict(plain.optimizer->state_dict());
            EXPECT_EQ(numbers_of(school.optimizer->state_dict()), numbers_of(plain.optimizer->state_dict()));
          }),
      Each(IsEmpty()));
}

}  // namespace
}  // namespace veldt::dist
