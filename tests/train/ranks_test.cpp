// One training on several ranks: the bits of any number of them, the losses of one, checkpoints, and who is
// named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>

#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "tests/support/temp_dir.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/muon.h"
#include "veldt/optim/sgd.h"
#include "veldt/train/trainer.h"

namespace veldt::train {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A network of one kind, with data that fit it.
struct Pupil {
  explicit Pupil(const std::string& kind, TrainerOptions options = {}, std::int64_t batch = 12) {
    Rng rng(7);
    const std::int64_t n = 50;  // the last batch of an epoch is short
    Tensor x = randn({n, 6}, rng);
    if (kind == "dense") net = nn::Sequential{nn::Linear(6, 16, rng), nn::Tanh(), nn::Linear(16, 3, rng)};
    if (kind == "dropout")
      net = nn::Sequential{nn::Linear(6, 16, rng), nn::ReLU(), nn::Dropout(0.2, rng), nn::Linear(16, 3, rng)};
    if (kind == "lstm")
      net = nn::Sequential{nn::LSTM(3, 8, {.batch_first = true}, rng), nn::LastStep(), nn::Linear(8, 3, rng)};
    if (kind == "norm")
      net = nn::Sequential{nn::Conv2d(1, 4, 3, {.padding = 1}, rng), nn::BatchNorm2d(4), nn::ReLU(),
                           nn::Flatten(), nn::Linear(4 * 6, 3, rng)};
    if (kind == "lstm") x = reshape(x, {n, 2, 3});
    if (kind == "norm") x = reshape(x, {n, 1, 2, 3});
    const Tensor labels = to(rand({n}, rng, 0, 2.999), DType::i64);
    optimizer = std::make_unique<optim::Adam>(net.named_parameters(),
                                              optim::AdamOptions{.lr = 0.01, .clip = {.norm = 1}});
    data::LoaderOptions loading{.batch = batch, .shuffle = true, .seed = 4};
    train.emplace(data::from_tensors({x, labels}), loading);
    validation.emplace(data::from_tensors({x, labels}), data::LoaderOptions{.batch = 20});
    trainer.emplace(net, *optimizer, std::move(options));
  }
  std::vector<float> state() const {
    std::vector<float> all;
    for (const auto& [name, t] : net.state_dict())
      for (const double v : to(t, DType::f64).values<double>()) all.push_back(static_cast<float>(v));
    return all;
  }
  std::vector<float> parameters() const { return optimizer->slab().values().values<float>(); }

  nn::Sequential net;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::optional<data::Loader> train, validation;
  std::optional<Trainer> trainer;
};

std::vector<double> losses_of(Pupil& pupil, FitOptions options) {
  std::vector<double> losses;
  Events events;
  events.on_step = [&](std::int64_t, double loss) { losses.push_back(loss); };
  pupil.trainer->fit(*pupil.train, nullptr, options, events);
  return losses;
}

TEST(TrainerOnRanks, TheSamePartsGiveTheSameBitsOnAnyNumberOfRanks) {
  for (const char* kind : {"dense", "dropout", "lstm", "norm"})
    for (const std::int64_t accumulate : {1, 2}) {
      std::mutex mutex;
      std::vector<std::vector<double>> losses;
      std::vector<std::vector<float>> states;
      const auto learn = [&](dist::Communicator* ranks) {
        Pupil pupil(kind, {.accumulate = accumulate});
        const std::vector<double> own =
            losses_of(pupil, {.steps = 12, .record = true, .ranks = ranks, .parts = 4});
        const std::lock_guard lock(mutex);
        losses.push_back(own);
        states.push_back(pupil.state());
      };
      learn(nullptr);
      for (int size = 1; size <= 4; ++size)
        EXPECT_THAT(run_ranks(size, [&](dist::Communicator& ranks) { learn(&ranks); }), Each(IsEmpty()))
            << kind;
      EXPECT_EQ(losses.size(), 11U);
      EXPECT_THAT(losses, Each(losses.front())) << kind;
      EXPECT_THAT(states, Each(states.front())) << kind;
      EXPECT_EQ(losses.front().size(), 12U);
    }
}

TEST(TrainerOnRanks, APartForEachRankGivesTheLossesOfOneProcess) {
  for (const char* kind : {"dense", "lstm"}) {
    Pupil alone(kind);
    const std::vector<double> expected = losses_of(alone, {.steps = 20});
    for (const bool record : {false, true})
      for (int size = 1; size <= 4; ++size)
        EXPECT_THAT(run_ranks(size,
                              [&](dist::Communicator& ranks) {
                                Pupil pupil(kind);
                                const std::vector<double> own =
                                    losses_of(pupil, {.steps = 20, .record = record, .ranks = &ranks});
                                ASSERT_EQ(own.size(), expected.size());
                                for (std::size_t i = 0; i < own.size(); ++i)
                                  EXPECT_NEAR(own[i], expected[i], 1e-6 * expected[i]) << kind << ' ' << size;
                              }),
                    Each(IsEmpty()));
  }
}

// Averages and evaluations are of all.
TEST(TrainerOnRanks, EvaluationsStopsAndAveragesAreOfAll) {
  std::mutex mutex;
  std::vector<double> scores;
  std::vector<std::int64_t> steps;
  EXPECT_THAT(
      run_ranks(
          3,
          [&](dist::Communicator& ranks) {
            Pupil pupil("dense", {.metrics = {accuracy(), macro_f1(3), perplexity()}, .ema_decay = 0.9});
            int told = 0;
            Events events;
            // One rank is asked to stop; all do.
            events.should_stop = [&] { return ranks.rank() == 1 && ++told == 9; };
            const FitResult result =
                pupil.trainer->fit(*pupil.train, &*pupil.validation,
                                   {.steps = 100, .evaluate_every = 3, .ranks = &ranks}, events);
            const std::lock_guard lock(mutex);
            EXPECT_EQ(result.run.stop, Stop::asked);
            steps.push_back(result.run.steps);
            // A shared evaluation has the bits of one process.
            EXPECT_EQ(result.evaluations.back().scores, pupil.trainer->evaluate(*pupil.validation));
            scores.push_back(score(result.evaluations.back().scores, "accuracy"));
          }),
      Each(IsEmpty()));
  EXPECT_THAT(steps, Each(9));
  EXPECT_THAT(scores, Each(scores.front()));
}

TEST(TrainerOnRanks, ARunGoesOnWithAnotherNumberOfRanks) {
  const auto learn = [](const std::string& out, int size, std::int64_t pause, bool resume) {
    std::mutex mutex;
    std::vector<std::vector<float>> states;
    const dist::InProcess hub(size);
    EXPECT_THAT(run_ranks(hub, size,
                          [&](dist::Communicator& ranks) {
                            Pupil pupil("dropout");
                            int saved = 0;
                            Events events;
                            events.on_checkpoint = [&](std::int64_t step, const std::string& path) {
                              EXPECT_EQ(step, pause > 0 ? pause : 14);
                              EXPECT_THAT(path, HasSubstr(out));
                              ++saved;
                            };
                            pupil.trainer->fit(*pupil.train, nullptr,
                                               {.steps = 14,
                                                .pause = pause,
                                                .out = ranks.rank() == 0 ? out : out + "-not",
                                                .resume = resume,
                                                .checkpoint_every = 1e9,  // however busy the machine is
                                                .ranks = &ranks,
                                                .parts = 4},
                                               events);
                            EXPECT_EQ(saved, 1);  // every rank knows of it
                            const std::lock_guard lock(mutex);
                            states.push_back(pupil.parameters());
                          }),
                Each(IsEmpty()));
    EXPECT_THAT(states, Each(states.front()));
    return states.front();
  };
  const test::TempDir dir;
  const std::vector<float> whole = learn(dir / "a", 2, 0, false);
  learn(dir / "b", 3, 5, false);
  EXPECT_EQ(learn(dir / "b", 4, 0, true), whole);
  EXPECT_FALSE(std::filesystem::exists(dir / "a-not"));
}

// The last batch of an epoch has two examples, so that ranks have one or none.
TEST(TrainerOnRanks, SynchronisedBatchNormsAreThoseOfOneProcess) {
  struct Learned {
    std::vector<double> losses;
    std::vector<float> state;
  };
  // 26 examples an epoch.
  const auto stream_of = [](std::int64_t epoch) -> data::Stream {
    return [epoch, i = std::int64_t{0}]() mutable -> std::optional<data::Example> {
      if (i == 26) return std::nullopt;
      Rng rng(static_cast<std::uint64_t>(100 * epoch + i++));
      const Tensor x = randn({1, 2, 3}, rng);
      return data::Example{x, to(rand({}, rng, 0, 2.999), DType::i64)};
    };
  };
  const auto learn = [&](dist::Communicator* ranks, std::int64_t accumulate, bool synchronised) {
    Pupil pupil("norm");
    // Not Adam, which makes steps of the rounding in a gradient that is 0: that of a bias before a norm.
    optim::SGD sgd(pupil.net.named_parameters(), {.lr = 0.05, .momentum = 0.9});
    Trainer trainer(pupil.net, sgd, {.accumulate = accumulate});
    Learned learned;
    Events events;
    events.on_step = [&](std::int64_t, double loss) { learned.losses.push_back(loss); };
    trainer.fit(*pupil.train, nullptr,
                {.steps = 12, .record = true, .ranks = ranks, .sync_batch_norm = synchronised}, events);
    data::StreamLoader stream(stream_of, {.batch = 12});
    trainer.fit(stream, nullptr, {.steps = 6, .ranks = ranks, .sync_batch_norm = synchronised}, events);
    learned.state = pupil.state();
    EXPECT_GT(trainer.evaluate(*pupil.validation).front().second, 0);  // each rank by itself
    return learned;
  };
  const auto distance = [](const auto& a, const auto& b) {
    double off = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      off = std::max(off, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    return a.size() == b.size() ? off : 1;
  };
  for (const std::int64_t accumulate : {1, 2}) {
    const Learned one = learn(nullptr, accumulate, false);
    EXPECT_EQ(one.losses.size(), 18U);
    for (int size = 1; size <= 4; ++size)
      EXPECT_THAT(run_ranks(size,
                            [&](dist::Communicator& ranks) {
                              const Learned own = learn(&ranks, accumulate, true);
                              EXPECT_LT(distance(own.losses, one.losses), 1e-5) << size;
                              EXPECT_LT(distance(own.state, one.state), 1e-5) << size;
                            }),
                  Each(IsEmpty()));
    EXPECT_THAT(run_ranks(3,
                          [&](dist::Communicator& ranks) {
                            const Learned other = learn(&ranks, accumulate, false);
                            EXPECT_GT(distance(other.losses, one.losses), 1e-3);
                          }),
                Each(IsEmpty()));
  }
}

// The weights and the files of plain training, in any mixture of numbers of ranks.
TEST(TrainerOnRanks, ASharedOptimizerTakesTheSameStepsAndWritesTheSameFiles) {
  const test::TempDir dir;
  const auto learn = [&](const std::string& name, int size, FitOptions options) {
    std::mutex mutex;
    std::vector<std::vector<float>> states;
    EXPECT_THAT(run_ranks(size,
                          [&](dist::Communicator& ranks) {
                            Pupil pupil("norm", {.ema_decay = 0.9});
                            FitOptions own = options;
                            own.steps = 14, own.ranks = &ranks, own.out = dir / name;
                            pupil.trainer->fit(*pupil.train, nullptr, own);
                            const std::lock_guard lock(mutex);
                            states.push_back(pupil.state());
                          }),
                Each(IsEmpty()));
    EXPECT_THAT(states, Each(states.front()));
    return states.front();
  };
  const auto file = [&](const std::string& name, int step, const char* what) {
    return test::bytes_of(dir /
                          (name + str("/checkpoints/ckpt-000000", step < 10 ? "0" : "", step, '/', what)));
  };
  for (const std::int64_t parts : {0, 4}) {
    const std::string of = str(parts);
    const std::vector<float> plain = learn("plain" + of, 3, {.parts = parts}),
                             shared = learn("shared" + of, 3, {.parts = parts, .share_optimizer = true});
    EXPECT_EQ(plain, shared);
    learn("stopped" + of, 3, {.pause = 5, .parts = parts, .share_optimizer = true});
    learn("plain_stopped" + of, 3, {.pause = 5, .parts = parts});
    for (const char* what : {"model.safetensors", "optim.safetensors"}) {
      EXPECT_FALSE(file("plain" + of, 14, what).empty());
      EXPECT_EQ(file("plain" + of, 14, what), file("shared" + of, 14, what));
      EXPECT_EQ(file("plain_stopped" + of, 5, what), file("stopped" + of, 5, what));
    }
    const int other = parts == 0 ? 3 : 2;
    EXPECT_EQ(learn("stopped" + of, other, {.resume = true, .parts = parts, .share_optimizer = true}), plain);
    EXPECT_EQ(learn("plain_stopped" + of, 3, {.resume = true, .parts = parts, .share_optimizer = true}),
              plain);
    learn("back" + of, 3, {.pause = 5, .parts = parts, .share_optimizer = true});
    EXPECT_EQ(learn("back" + of, other, {.resume = true, .parts = parts}), plain);
  }
}

// Rank 0 has the whole state between two fits, and gives it to the others.
TEST(TrainerOnRanks, ASharedOptimizerMayBeFittedTwice) {
  std::mutex mutex;
  std::vector<std::vector<float>> states;
  for (const int shared : {0, 1, 2, 3})
    EXPECT_THAT(run_ranks(3,
                          [&](dist::Communicator& ranks) {
                            Pupil pupil("dense");
                            for (int fit = 0; fit < 2; ++fit)
                              pupil.trainer->fit(
                                  *pupil.train, nullptr,
                                  {.steps = 5, .ranks = &ranks, .share_optimizer = (shared >> fit) % 2 == 1});
                            const std::lock_guard lock(mutex);
                            states.push_back(pupil.state());
                          }),
                Each(IsEmpty()));
  EXPECT_EQ(states.size(), 12U);
  EXPECT_THAT(states, Each(states.front()));
}

TEST(TrainerOnRanks, NamesTheRankWhoseDataAreBad) {
  const std::vector<std::string> failures = run_ranks(3, [&](dist::Communicator& ranks) {
    Pupil pupil("dense");
    FitOptions options{.steps = 5, .ranks = &ranks};
    options.adapt = Adaptation{[&](std::int64_t step, data::Batch& batch) {
                                 if (step == 2 && ranks.rank() == 1)
                                   batch[0] =
                                       full(batch[0].shape(), std::numeric_limits<double>::quiet_NaN());
                               },
                               "spoils"};
    pupil.trainer->fit(*pupil.train, nullptr, options);
  });
  for (const std::string& failure : failures) {
    EXPECT_THAT(failure, HasSubstr("diverged at step 2"));
    EXPECT_THAT(failure, HasSubstr("rank 1 on localhost"));
    EXPECT_THAT(failure, HasSubstr("nan"));
  }
}

TEST(TrainerOnRanks, RefusesWhatCannotBeShared) {
  for (const std::string& failure : run_ranks(3, [&](dist::Communicator& ranks) {
         Pupil pupil("dense", {}, 2);
         pupil.trainer->fit(*pupil.train, nullptr, {.steps = 5, .ranks = &ranks});
       }))
    EXPECT_THAT(failure, HasSubstr("a batch of 2 examples cannot have 3 parts"));
  for (const std::string& failure : run_ranks(3, [&](dist::Communicator& ranks) {
         Pupil pupil("dense");
         pupil.trainer->fit(*pupil.train, nullptr, {.steps = 5, .ranks = &ranks, .parts = 2});
       }))
    EXPECT_THAT(failure, HasSubstr("a batch of 2 parts is too small for 3 ranks"));
  EXPECT_THAT(run_ranks(2,
                        [&](dist::Communicator& ranks) {
                          Pupil pupil(ranks.rank() == 0 ? "dense" : "lstm");
                          pupil.trainer->fit(*pupil.train, nullptr, {.steps = 5, .ranks = &ranks});
                        }),
              ::testing::Contains(HasSubstr("rank 1 has another network than rank 0")));
  for (const std::string& failure : run_ranks(2, [&](dist::Communicator& ranks) {
         Pupil pupil("dense");
         pupil.trainer->fit(*pupil.train, nullptr,
                            {.steps = 5, .ranks = &ranks, .parts = 4, .half_gradients = true});
       }))
    EXPECT_THAT(failure, HasSubstr("contradict each other"));
  for (const std::string& failure : run_ranks(2, [&](dist::Communicator& ranks) {
         Pupil pupil("norm");
         pupil.trainer->fit(*pupil.train, nullptr,
                            {.steps = 5, .ranks = &ranks, .parts = 4, .sync_batch_norm = true});
       }))
    EXPECT_THAT(failure, HasSubstr("contradict each other"));
  for (const std::string& failure : run_ranks(2, [&](dist::Communicator& ranks) {
         Pupil pupil("dense");
         optim::Muon muon(pupil.net.named_parameters());
         Trainer(pupil.net, muon)
             .fit(*pupil.train, nullptr, {.steps = 5, .ranks = &ranks, .share_optimizer = true});
       }))
    EXPECT_THAT(failure, HasSubstr("this optimizer's state cannot be shared out"));
}

}  // namespace
}  // namespace veldt::train
