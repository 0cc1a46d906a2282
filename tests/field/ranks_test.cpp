// One fit on several ranks: the bits of any number of them, the losses of one, the same errors on all,
// checkpoints, the clock of rank 0, and the end at a goal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/field/pictures.h"
#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "tests/support/temp_dir.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/field/fit.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"

namespace veldt::field {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Tensor tone() {
  std::vector<float> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(static_cast<float>(0.5 * std::sin(0.2 * i)));
  return Tensor::from<float>({400, 1}, samples);
}

// A fit of one kind, small enough for a moment.
struct Kind {
  std::string name;
  Signal signal;
  FitOptions wishes;
};
std::vector<Kind> kinds() {
  FitOptions plain;
  plain.model = Model::siren;
  plain.width = 16;
  plain.depth = 2;
  plain.steps = 12;
  plain.seed = 7;
  plain.batch = 90;
  plain.precision = Precision::f32;  // a weight that is rounded to bf16 makes much of a small difference
  std::vector<Kind> all;
  all.push_back({"shuffled", test::disc(3), plain});
  all.push_back({"by errors", test::disc(), plain});
  all.back().wishes.sampling = Sampling::error;
  all.push_back({"stratified through a footprint", test::disc(), plain});
  all.back().wishes.sampling = Sampling::stratified;
  all.back().wishes.footprint = 2;
  all.push_back({"all pixels", test::disc(), plain});
  all.back().wishes.batch = 0;
  all.push_back({"between the pixels", test::disc(3), plain});
  all.back().wishes = {
      .steps = 12, .model = Model::hashgrid, .batch = 90, .precision = Precision::f32, .footprint = 1};
  // Edges and flat ground, redrawn by rules, and closed.
  FitOptions own;
  own.steps = 12;
  own.precision = Precision::f32;
  all.push_back({"line art", test::ink(), own});
  all.push_back({"redrawn", test::disc(3), own});
  all.push_back({"a sound", Signal::sound(tone(), 8000), own});
  return all;
}

std::vector<float> numbers_of(const Field& field) {
  std::vector<float> all;
  for (const NamedTensor& t : field.tensors())
    for (const float v : to(t.tensor, DType::f32).values<float>()) all.push_back(v);
  return all;
}

struct Fitted {
  std::vector<double> losses;
  std::vector<float> numbers;
  train::RunResult run;
};
Fitted fitted(const Signal& signal, const FitOptions& wishes, const CheckpointOptions& checkpoints = {},
              std::int64_t stop_at = 0) {
  Fitted out;
  Fitter fitter(signal, choices_for(signal, wishes));
  train::Events events;
  events.on_step = [&](std::int64_t, double loss) { out.losses.push_back(loss); };
  events.should_stop = [&] { return stop_at > 0 && std::ssize(out.losses) >= stop_at; };
  out.run = fitter.run(checkpoints, events);
  out.numbers = numbers_of(fitter.field());
  return out;
}

// What each rank has.
std::vector<Fitted> fitted_by(int size, const Signal& signal, const FitOptions& wishes) {
  std::vector<Fitted> all(static_cast<std::size_t>(size));
  EXPECT_THAT(run_ranks(size,
                        [&](dist::Communicator& ranks) {
                          FitOptions own = wishes;
                          own.ranks = &ranks;
                          all[static_cast<std::size_t>(ranks.rank())] = fitted(signal, own);
                        }),
              Each(IsEmpty()));
  return all;
}

class FitOnRanks : public testing::Test {
 protected:
  const test::ThreadsScope threads_{1};
};

TEST_F(FitOnRanks, HasTheBitsOfOneWhereItsPartsAreGiven) {
  for (Kind& kind : kinds()) {
    kind.wishes.parts = 4;
    kind.wishes.precision = {};  // bf16, if this processor is fast at it
    const Fitted one = fitted(kind.signal, kind.wishes);
    ASSERT_EQ(one.losses.size(), 12u) << kind.name;
    for (int size = 1; size <= 4; ++size)
      for (const Fitted& rank : fitted_by(size, kind.signal, kind.wishes)) {
        EXPECT_EQ(rank.losses, one.losses) << kind.name << " on " << size;
        EXPECT_EQ(rank.numbers, one.numbers) << kind.name << " on " << size;
      }
  }
}

TEST_F(FitOnRanks, HasTheLossesOfOne) {
  for (const Kind& kind : kinds()) {
    const Fitted one = fitted(kind.signal, kind.wishes);
    for (int size = 1; size <= 4; ++size) {
      const std::vector<Fitted> all = fitted_by(size, kind.signal, kind.wishes);
      for (const Fitted& rank : all) {
        ASSERT_EQ(rank.losses.size(), one.losses.size());
        for (std::size_t i = 0; i < one.losses.size(); ++i)
          EXPECT_NEAR(rank.losses[i], one.losses[i], 1e-6 * one.losses[i])
              << kind.name << " on " << size << ", step " << i;
        EXPECT_EQ(rank.numbers, all[0].numbers) << kind.name << " on " << size;
      }
    }
  }
}

// Where each rank has some rows of the picture, every bit is as if it had all.
TEST_F(FitOnRanks, HasTheSameBitsWhereThePictureIsShared) {
  const test::TempDir folder;
  const std::string path = folder / "picture.png";
  for (Kind& kind : kinds()) {
    if (kind.signal.is_sound()) continue;
    for (const int bits : {8, 16}) {
      io::write_image(path, kind.signal.read(0, kind.signal.rows()), {.bits = bits});
      const io::ReadOptions how{.keep_bytes = true};
      const Signal whole(io::read_image(path, how));
      for (const std::int64_t parts : {0, 4}) {
        kind.wishes.parts = parts;
        for (int size = 1; size <= 3; ++size) {
          const std::string what =
              kind.name + ", " + std::to_string(bits) + " bits, on " + std::to_string(size);
          const std::vector<Fitted> expected = fitted_by(size, whole, kind.wishes);
          EXPECT_THAT(run_ranks(size,
                                [&](dist::Communicator& ranks) {
                                  FitOptions own = kind.wishes;
                                  own.ranks = &ranks;
                                  const std::optional<Signal> signal = Signal::shared(path, how, ranks);
                                  ASSERT_TRUE(signal);
                                  const Fitted rank = fitted(*signal, own);
                                  EXPECT_EQ(rank.losses, expected[0].losses) << what;
                                  EXPECT_EQ(rank.numbers, expected[0].numbers) << what;
                                }),
                      Each(IsEmpty()))
              << what;
        }
      }
    }
  }
}

TEST_F(FitOnRanks, GoesOnFromACheckpointWithAnotherNumber) {
  for (Kind& kind : kinds()) {
    kind.wishes.parts = 3;
    const Fitted whole = fitted(kind.signal, kind.wishes);
    const test::TempDir folder;
    const auto begun = run_ranks(2, [&](dist::Communicator& ranks) {
      FitOptions own = kind.wishes;
      own.ranks = &ranks;
      // The second rank alone is asked to stop, and has no place for checkpoints.
      const Fitted part =
          fitted(kind.signal, own, {.directory = ranks.rank() == 0 ? folder / "run" : "none/x"},
                 ranks.rank() == 1 ? 5 : 0);
      EXPECT_EQ(part.run.stop, train::Stop::asked);
      EXPECT_EQ(part.run.steps, 5);
    });
    ASSERT_THAT(begun, Each(IsEmpty())) << kind.name;
    const auto ended = run_ranks(3, [&](dist::Communicator& ranks) {
      FitOptions own = kind.wishes;
      own.ranks = &ranks;
      const Fitted rest = fitted(kind.signal, own, {.directory = folder / "run", .resume = true});
      EXPECT_EQ(rest.run.steps, 12);
      EXPECT_EQ(rest.numbers, whole.numbers) << kind.name;
    });
    ASSERT_THAT(ended, Each(IsEmpty())) << kind.name;
  }
}

// Other parts give other bits.
TEST_F(FitOnRanks, GoesOnInAsManyParts) {
  const Kind kind = kinds()[0];
  const test::TempDir folder;
  const auto run_in = [&](std::int64_t parts, bool resume) {
    FitOptions wishes = kind.wishes;
    wishes.parts = parts;
    fitted(kind.signal, wishes, {.directory = folder / "run", .resume = resume}, resume ? 0 : 5);
  };
  run_in(3, false);
  for (const std::int64_t parts : {0, 4})
    EXPECT_THAT(test::error_of<ConfigError>([&] { run_in(parts, true); }), HasSubstr("parts"));
  EXPECT_NO_THROW(run_in(3, true));
}

TEST_F(FitOnRanks, FollowsTheClockOfTheFirst) {
  FitOptions wishes = kinds()[0].wishes;
  wishes.steps = {};
  wishes.seconds = 0.2;
  const std::vector<Fitted> all = fitted_by(3, test::disc(3), wishes);
  EXPECT_GE(all[0].run.steps, 1);
  for (const Fitted& rank : all) {
    EXPECT_EQ(rank.run.steps, all[0].run.steps);
    EXPECT_EQ(rank.numbers, all[0].numbers);
  }
}

TEST_F(FitOnRanks, EndsAtTheGoalOfOne) {
  FitOptions wishes = kinds()[0].wishes;
  wishes.steps = 2000;
  wishes.target_psnr = 22;
  wishes.parts = 3;
  const Fitted one = fitted(test::disc(3), wishes);
  ASSERT_EQ(one.run.stop, train::Stop::goal_met);
  for (const int size : {2, 3})
    for (const Fitted& rank : fitted_by(size, test::disc(3), wishes)) {
      EXPECT_EQ(rank.run.stop, train::Stop::goal_met);
      EXPECT_EQ(rank.run.steps, one.run.steps);
      EXPECT_EQ(rank.numbers, one.numbers);
    }
}

TEST_F(FitOnRanks, StopsOnAllWhereTheFirstIsStoppedBeforeTheSteps) {
  const Signal signal(test::disc(3));
  EXPECT_THAT(run_ranks(2,
                        [&](dist::Communicator& ranks) {
                          FitOptions wishes;
                          wishes.steps = 5;
                          wishes.ranks = &ranks;
                          Fitter fitter(signal, choices_for(signal, wishes));
                          ASSERT_TRUE(fitter.choices().has_teacher());
                          const train::RunResult result =
                              fitter.run({}, {}, [&](double) { return ranks.rank() != 0; });
                          EXPECT_EQ(result.stop, train::Stop::asked);
                          EXPECT_EQ(result.steps, 0);
                        }),
              Each(IsEmpty()));
}

TEST_F(FitOnRanks, RefusesPartsWithoutPixels) {
  FitOptions wishes = kinds()[0].wishes;
  wishes.batch = 3;
  wishes.parts = 4;
  EXPECT_THAT(test::error_of<ConfigError>([&] { fitted(test::disc(), wishes); }),
              HasSubstr("a batch of 3 pixels cannot have 4 parts"));
  wishes.parts = 3;
  EXPECT_NO_THROW(fitted(test::disc(), wishes));
  EXPECT_THAT(run_ranks(4,
                        [&](dist::Communicator& ranks) {
                          FitOptions own = wishes;
                          own.ranks = &ranks;
                          fitted(test::disc(), own);
                        }),
              Each(HasSubstr("too small for 4 ranks")));
}

TEST_F(FitOnRanks, MeasuresAStepTogetherAndAlike) {
  const Signal signal(test::disc());
  std::vector<double> seconds(2);
  EXPECT_THAT(run_ranks(2,
                        [&](dist::Communicator& ranks) {
                          FitOptions wishes = kinds()[0].wishes;
                          wishes.ranks = &ranks;
                          Fitter fitter(signal, choices_for(signal, wishes));
                          EXPECT_GT(fitter.step_facts().flops, 0);
                          seconds[static_cast<std::size_t>(ranks.rank())] = fitter.measure_step(0.05);
                        }),
              Each(IsEmpty()));
  EXPECT_GT(seconds[0], 0);
  EXPECT_EQ(seconds[0], seconds[1]);
}

TEST_F(FitOnRanks, HasTheSameQualityAsOne) {
  const Signal signal(test::draw(300, 500, 1, [](double x, double y, int) { return (x + y) / 800; }));
  const Field field(test::small_options(300, 500), 3);
  const double alone = quality_of(field, signal);
  EXPECT_THAT(
      run_ranks(3, [&](dist::Communicator& ranks) { EXPECT_EQ(quality_of(field, signal, &ranks), alone); }),
      Each(IsEmpty()));
}

}  // namespace
}  // namespace veldt::field
