// The sinc keeps the frames, is exact between them, and removes frequencies above the limit.
#include "veldt/field/sinc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/threads_scope.h"
#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

// A wave of so many cycles a frame.
double wave(double cycles, double place) { return std::sin(2 * std::numbers::pi * cycles * place + 0.3); }

Tensor waves(double cycles, std::int64_t frames) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < frames; ++i)
    values.push_back(static_cast<float>(wave(cycles, static_cast<double>(i))));
  return Tensor::from<float>({frames, 1}, values);
}

TEST(SincResampler, KeepsTheFrames) {
  Rng rng(1);
  const Tensor sound = rand({700, 2}, rng);
  const std::vector<float> own = sound.values<float>();
  const std::vector<float> twice = SincResampler(0.5).at(0, 1400, sound, 0).values<float>();
  ASSERT_EQ(twice.size(), 2800u);
  for (std::size_t i = 0; i < 700; ++i)
    for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(twice[4 * i + c], own[2 * i + c]) << i;
}

// Up to 0.97 of half the rate, at rates that share no factor with it too.
TEST(SincResampler, IsTrueBetweenTheFrames) {
  for (const double cycles : {0.01, 0.25, 0.48})
    for (const double step : {0.5, 0.25, 44.1 / 48, 1 / std::numbers::pi}) {
      const Tensor drawn = SincResampler(step).at(400.2, 300, waves(cycles, 1000), 0);
      for (std::size_t i = 0; i < 300; ++i)
        EXPECT_NEAR(drawn.values<float>()[i], wave(cycles, 400.2 + step * static_cast<double>(i)), 1e-5)
            << cycles << ' ' << step << ' ' << i;
    }
}

TEST(SincResampler, LeavesOutWhatIsTooHighForFewerFrames) {
  for (const double step : {2.0, 2.7, 5000.0}) {
    const std::int64_t frames = step > 1000 ? 400'000 : 4000;
    const SincResampler resampler(step);
    const double middle = static_cast<double>(frames) / 2;
    const auto largest = [&](double cycles) {
      double found = 0;
      const Tensor drawn = resampler.at(middle, 20, waves(cycles, frames), 0);
      for (const float sample : drawn.values<float>())
        found = std::max(found, std::abs(static_cast<double>(sample)));
      return found;
    };
    EXPECT_LT(largest(0.3), 1e-5) << step;
    if (step > 1000) continue;
    const Tensor kept = resampler.at(middle, 20, waves(0.1, frames), 0);
    for (std::size_t i = 0; i < 20; ++i)
      EXPECT_NEAR(kept.values<float>()[i], wave(0.1, middle + step * static_cast<double>(i)), 1e-5) << i;
  }
}

TEST(SincResampler, KnowsSilenceBeyondTheFrames) {
  const Tensor drawn = SincResampler(0.5).at(-400, 2000, ones({5, 1}), 0);
  const std::vector<float> values = drawn.values<float>();
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1999], 0);
  EXPECT_EQ(values[800], 1);  // frame 0
  EXPECT_EQ(values[798], 0);  // the one before it
}

TEST(SincResampler, GivesTheSameBitsHoweverItIsCut) {
  const Tensor sound = waves(0.2, 5000);
  const SincResampler resampler(0.7);
  const test::ThreadsScope scope(1);
  const std::vector<float> whole = resampler.at(0, 2000, sound, 0).values<float>();
  set_num_threads(3);
  const std::vector<float> again = SincResampler(0.7).at(0, 2000, sound, 0).values<float>();
  EXPECT_EQ(whole, again);
  // From the frames that it reaches alone.
  const std::int64_t begin = 700 - resampler.reach();
  const Tensor part = resampler.at(700, 10, slice(sound, 0, begin, 708 + resampler.reach()), begin);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(part.values<float>()[i], whole[1000 + i], 1e-6);
}

}  // namespace
}  // namespace veldt::field
