// What the op table cannot say of the grid encoding: its layout, its borders, its refusals, threads.
#include "veldt/ops/grid_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "tests/support/values.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

constexpr GridOptions kSmall{.levels = 4, .log2_entries = 6, .coarsest = 2, .finest = 16};

Tensor random(const Shape& shape, double low, double high, std::uint64_t seed) {
  Rng rng(seed);
  return test::write(test::uniform(shape, rng, low, high), DType::f32);
}

TEST(GridLayout, HasTheLevelsOfThePaper) {
  // 2-D, 16 levels from 16 to 2048, 2^19 entries: twelve levels fit, since 561^2 <= 2^19 < 776^2.
  const GridLayout grid = grid_layout({});
  EXPECT_EQ(grid.level[0].cells, 16);
  EXPECT_EQ(grid.level[1].cells, 22);
  EXPECT_EQ(grid.level[15].cells, 2048);
  for (int l = 0; l < 16; ++l) EXPECT_EQ(grid.level[static_cast<std::size_t>(l)].hashed, l >= 12) << l;
  EXPECT_EQ(grid.entries_of(0), 17 * 17);
  EXPECT_EQ(grid.entries_of(15), 1 << 19);
  EXPECT_EQ(grid.level[1].first, 17 * 17);
  std::int64_t all = 0;
  for (int l = 0; l < 16; ++l) all += grid.entries_of(l);
  EXPECT_EQ(grid.entries(), all);
}

TEST(GridLayout, EndsAtTheFinestResolutionWhateverPowRounds) {
  for (const std::int64_t finest : {17, 243, 768, 1000, 4096, 99991, 1 << 24})
    for (int levels = 2; levels <= 32; ++levels) {
      const GridLayout grid = grid_layout({.levels = levels, .coarsest = 3, .finest = finest});
      EXPECT_EQ(grid.level[static_cast<std::size_t>(levels) - 1].cells, finest) << levels;
      EXPECT_EQ(grid.level[0].cells, 3);
    }
}

TEST(GridLayout, RefusesNumbersThatOverflowOrMeanNothing) {
  const auto refuses = [](const GridOptions& o) { EXPECT_THROW(grid_layout(o), ConfigError); };
  refuses({.dims = 0});
  refuses({.dims = 5});
  refuses({.levels = 0});
  refuses({.levels = 33});
  refuses({.features = 0});
  refuses({.features = 9});
  refuses({.log2_entries = -1});
  refuses({.log2_entries = 31});
  refuses({.coarsest = 0});
  refuses({.coarsest = 32, .finest = 16});
  refuses({.finest = (1 << 24) + 1});
  refuses({.finest = std::numeric_limits<std::int64_t>::max()});
  // The largest that is allowed does not overflow either.
  const GridLayout most = grid_layout(
      {.dims = 4, .levels = 32, .features = 8, .log2_entries = 30, .coarsest = 1 << 24, .finest = 1 << 24});
  EXPECT_EQ(most.entries(), std::int64_t{32} << 30);
}

TEST(GridEncoding, NamesTheShapesItCannotUse) {
  const GridLayout grid = grid_layout(kSmall);
  const Tensor table = zeros({grid.entries(), 2});
  EXPECT_THROW(grid_encoding(zeros({4, 3}), table, grid), ShapeError);
  EXPECT_THROW(grid_encoding(zeros({4}), table, grid), ShapeError);
  EXPECT_THROW(grid_encoding(zeros({4, 2}, DType::i64), table, grid), ShapeError);
  EXPECT_THROW(grid_encoding(zeros({4, 2}), zeros({grid.entries() - 1, 2}), grid), ShapeError);
  EXPECT_THROW(grid_encoding(zeros({4, 2}), zeros({grid.entries(), 3}), grid), ShapeError);
  EXPECT_THROW(grid_encoding(zeros({4, 2}), zeros({grid.entries(), 2}, DType::f64), grid), ShapeError);
}

TEST(GridEncoding, GoesOnBeyondItsBordersAsItIsThere) {
  const GridLayout grid = grid_layout(kSmall);
  const Tensor table = random({grid.entries(), 2}, -1, 1, 3);
  const double huge = 1e30, inf = INFINITY;
  const Tensor outside =
      Tensor::of({6, 2}, {-0.5, 0.3, 0.3, 7, huge, -huge, inf, 0.9, -inf, inf, 1.0000001, 1});
  const Tensor border = Tensor::of({6, 2}, {0, 0.3, 0.3, 1, 1, 0, 1, 0.9, 0, 1, 1, 1});
  EXPECT_EQ(grid_encoding(outside, table, grid).values<float>(),
            grid_encoding(border, table, grid).values<float>());
  Tensor x = Tensor::of({2, 2}, {-0.5, 0.3, 0.3, 7}).set_requires_grad();
  const auto slope = grad(sum(grid_encoding(x, table, grid)), {x})[0].values<float>();
  EXPECT_EQ(slope[0], 0);
  EXPECT_NE(slope[1], 0);
  EXPECT_NE(slope[2], 0);
  EXPECT_EQ(slope[3], 0);
}

TEST(GridEncoding, LetsANanBeSeenAndReadsNoForeignMemory) {
  for (const int dims : {1, 2, 3, 4}) {
    const GridLayout grid = grid_layout({.dims = dims, .levels = 3, .log2_entries = 6, .finest = 64});
    const Tensor table = random({grid.entries(), 2}, -1, 1, 4);
    Tensor x = full({1, dims}, NAN).set_requires_grad();
    const Tensor y = grid_encoding(x, table, grid);
    for (const float v : y.values<float>()) EXPECT_TRUE(std::isnan(v)) << dims;
    for (const float v : grad(sum(y), {x})[0].values<float>()) EXPECT_TRUE(std::isnan(v)) << dims;
  }
}

TEST(GridEncoding, GivesTheSameBitsForAnyNumberOfThreads) {
  const test::ThreadsScope scope;
  const GridLayout grid = grid_layout({.levels = 5, .log2_entries = 17, .coarsest = 128, .finest = 1024});
  const Tensor x = random({5000, 2}, 0, 1, 5), g = random({5000, 10}, -1, 1, 6);
  Tensor table = random({grid.entries(), 2}, -1, 1, 7).set_requires_grad();
  std::vector<float> values, gradient;
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    const Tensor y = grid_encoding(x, table, grid);
    const Tensor slope = grad(y, {table}, false, g)[0];
    if (threads == 1) {
      values = y.values<float>();
      gradient = slope.values<float>();
    }
    EXPECT_EQ(y.values<float>(), values) << threads;
    EXPECT_EQ(slope.values<float>(), gradient) << threads;
  }
}

// All points of a level are taken together, up to a number that is less the more levels there are: here some
// 210,000, and a million of one level alone.
TEST(GridEncoding, AddsEachLevelAsIfItWereAlone) {
  const GridLayout grid = grid_layout({.levels = 5, .log2_entries = 17, .coarsest = 8, .finest = 1024});
  for (const std::int64_t n : {0, 1, 1000, 250000}) {
    const Tensor x = random({n, 2}, 0, 1, 10), g = random({n, 10}, -1, 1, 11);
    Tensor table = random({grid.entries(), 2}, -1, 1, 12).set_requires_grad();
    const std::vector<float> values = grid_encoding(x, table, grid).values<float>();
    const std::vector<float> all = grad(grid_encoding(x, table, grid), {table}, false, g)[0].values<float>();
    for (int l = 0; l < grid.levels; ++l) {
      GridLayout one{.dims = 2, .features = 2, .levels = 1};
      const std::int64_t first = grid.level[static_cast<std::size_t>(l)].first, own = grid.entries_of(l);
      one.level[0] = grid.level[static_cast<std::size_t>(l)];
      one.level[0].first = 0;
      one.level[1].first = own;
      Tensor part = contiguous(slice(table.detach(), 0, first, first + own)).set_requires_grad();
      const Tensor y = grid_encoding(x, part, one);
      const std::vector<float> alone = y.values<float>();
      for (std::int64_t i = 0; i < 2 * n; ++i)
        ASSERT_EQ(alone[static_cast<std::size_t>(i)],
                  values[static_cast<std::size_t>(i / 2 * 10 + 2 * l + i % 2)])
            << n << " points, level " << l;
      const Tensor rows = contiguous(slice(g, 1, 2 * l, 2 * l + 2));
      const std::vector<float> slope = grad(y, {part}, false, rows)[0].values<float>();
      ASSERT_TRUE(std::equal(slope.begin(), slope.end(), all.begin() + 2 * first))
          << n << " points, level " << l;
    }
  }
}

TEST(GridEncoding, IsSeenByAForecastAndReplayedByAPlan) {
  const GridLayout grid = grid_layout(kSmall);
  Tensor x = random({100, 2}, 0, 1, 8), table = random({grid.entries(), 2}, -1, 1, 9).set_requires_grad();
  const auto step = [&] {
    table.zero_grad();
    const Tensor loss = sum(square(grid_encoding(x, table, grid)));
    loss.backward();
    return loss;
  };
  const double loss = step().item();
  const std::vector<float> gradient = table.grad().values<float>();
  table.zero_grad();
  Plan plan(step);
  for (const char* name : {"grid_encode", "grid_scatter"}) {
    const auto& names = plan.facts().names;
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    EXPECT_EQ(std::count(names.begin(), names.end(), "copy"), 0)
        << "the gradient is written where it belongs";
  }
  plan.replay();
  EXPECT_EQ(plan.output().item(), loss);
  EXPECT_EQ(table.grad().values<float>(), gradient);
}

}  // namespace
}  // namespace veldt
