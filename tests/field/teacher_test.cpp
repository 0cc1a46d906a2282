// A redraw by rules keeps the averages and flat ground, and is nearer to an edge than Lanczos.
#include "veldt/field/teacher.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/field/pictures.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::field {
namespace {

Tensor by_rules(const Tensor& picture, int factor, bool is_grey_drawing) {
  return redraw_by_rules(picture, factor, is_grey_drawing, [](double) { return true; }).value();
}

double off_average(const Tensor& picture, const Tensor& redraw) {
  return test::largest(data::resample(redraw, {picture.size(1), picture.size(0)}, data::Filter::area) -
                       picture);
}

// An oblique edge between two colours, by its share of each pixel of a finer grid.
Tensor edge(std::int64_t size, std::int64_t finer) {
  const std::int64_t n = size * finer;
  Tensor truth = empty({n, n, 3});
  float* at = truth.data<float>();
  for (std::int64_t y = 0; y < n; ++y)
    for (std::int64_t x = 0; x < n; ++x)
      for (int c = 0; c < 3; ++c) *at++ = 3 * x + y > 2 * n ? 0.9f - 0.3f * static_cast<float>(c) : 0.1f;
  return truth;
}

double psnr(const Tensor& a, const Tensor& b) { return -10 * std::log10(mean(square(a - b)).item()); }

TEST(Teacher, KeepsTheAverages) {
  Rng rng(3);
  const Tensor picture = rand({7, 11, 3}, rng);
  EXPECT_LT(off_average(picture, by_rules(picture, 4, false)), 1e-5);
  EXPECT_LT(off_average(picture, by_rules(picture, 4, true)), 1e-5);
  EXPECT_LT(off_average(picture, by_rules(picture, 2, false)), 1e-5);
  const Tensor pixel = rand({1, 1, 1}, rng);
  EXPECT_LT(off_average(pixel, by_rules(pixel, 4, false)), 1e-5);
}

TEST(Teacher, LeavesFlatGroundFlat) {
  const Tensor picture = full({9, 6, 1}, 1.0);
  EXPECT_LT(test::largest(by_rules(picture, 4, false) - 1.0), 1e-6);
}

TEST(Teacher, IsNearerToASharpEdgeThanLanczos) {
  const Tensor truth = edge(24, 4), picture = data::resample(truth, {24, 24}, data::Filter::area);
  const double lanczos = psnr(clamp(data::resample(picture, {96, 96}, data::Filter::lanczos3), 0, 1), truth);
  EXPECT_GT(psnr(clamp(back_projected(picture, 4, data::Filter::bicubic, 12), 0, 1), truth), lanczos + 0.1);
  EXPECT_GT(psnr(clamp(by_rules(picture, 4, false), 0, 1), truth), lanczos + 2);
}

TEST(Teacher, VariesLeast) {
  Rng rng(4);
  const Tensor picture = rand({12, 12, 1}, rng),
               start = back_projected(picture, 4, data::Filter::bicubic, 12);
  const auto variation = [](const Tensor& u) {
    const Tensor across = slice(u, 1, 1, 48) - slice(u, 1, 0, 47),
                 down = slice(u, 0, 1, 48) - slice(u, 0, 0, 47);
    return sum(sqrt(square(slice(across, 0, 0, 47)) + square(slice(down, 1, 0, 47)))).item();
  };
  const Tensor some = least_variation(picture, start, 4, 60), more = least_variation(picture, start, 4, 240);
  EXPECT_LT(variation(some), 0.9 * variation(start));
  EXPECT_LT(variation(more), variation(some));
  EXPECT_GT(min(more).item(), -0.02);
  EXPECT_LT(max(more).item(), 1.02);
}

TEST(Teacher, DoesNotDependOnThreads) {
  Rng rng(5);
  const Tensor picture = rand({40, 50, 3}, rng);
  const test::ThreadsScope scope(1);
  const Tensor one = by_rules(picture, 4, false);
  set_num_threads(2);
  const Tensor two = by_rules(picture, 4, false);
  EXPECT_EQ(one.values<float>(), two.values<float>());
}

TEST(Teacher, ByRulesTellsHowFarItIsAndCanBeStopped) {
  const Tensor picture = zeros({8, 8, 3});
  double before = 0;
  int heard = 0;
  const auto rising = [&](double part) {
    EXPECT_GT(part, before);
    before = part, ++heard;
    return true;
  };
  EXPECT_TRUE(redraw_by_rules(picture, 4, false, rising));
  EXPECT_EQ(before, 1);
  const int rounds = heard;
  EXPECT_FALSE(redraw_by_rules(picture, 4, false, [&](double) { return ++heard < rounds + 50; }));
  EXPECT_EQ(heard, rounds + 50);
}

}  // namespace
}  // namespace veldt::field
