// Drawing: the same picture whether drawn whole, in bands, in parts or averaged from a larger one.
#include <gtest/gtest.h>

#include "tests/field/pictures.h"
#include "tests/io/faults.h"
#include "tests/support/sanitizers.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/data/resample.h"
#include "veldt/field/image_field.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

using test::largest_difference;
using test::small_options;

// Matrix products of another number of rows may round differently; a level of a 16-bit picture is 1.5e-5.
constexpr double kRounding = 2e-6;

TEST(Render, HasTheSizeAndChannelsAskedFor) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    const ImageField field(small_options(20, 10, channels), 1);
    for (const auto& [width, height] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {20, 10}, {1, 1}, {1, 37}, {53, 1}, {33, 65}, {7, 300}}) {
      const Tensor picture = field.render({width, height});
      EXPECT_EQ(picture.shape(), Shape({height, width, channels}));
      EXPECT_EQ(picture.dtype(), DType::f32);
      EXPECT_TRUE(test::all_levels(picture));
    }
  }
}

TEST(Render, WorksForFieldsOfAThinOrTinyPicture) {
  for (const Coordinates c : {Coordinates::centres, Coordinates::corners})
    for (const auto& [width, height] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 9}, {9, 1}}) {
      FieldOptions o = small_options(width, height);
      o.coordinates = c;
      const ImageField field(o, 1);
      EXPECT_TRUE(test::all_levels(field.render({width, height})));
      EXPECT_TRUE(test::all_levels(field.render({5, 5})));
    }
}

TEST(Render, DrawsTheSameWholeAndInBands) {
  const ImageField field(small_options(40, 30, 3), 2);
  const Tensor whole = field.render({700, 401});
  std::int64_t next = 0, bands = 0;
  field.render_bands({700, 401}, {}, [&](const Tensor& rows, std::int64_t first) {
    EXPECT_EQ(first, next);
    EXPECT_EQ(largest_difference(rows, contiguous(slice(whole, 0, first, first + rows.size(0)))), 0);
    next += rows.size(0);
    ++bands;
    return true;
  });
  EXPECT_EQ(next, 401);
  EXPECT_GT(bands, 1);
}

TEST(Render, StopsWhenABandSaysSo) {
  const ImageField field(small_options(40, 30), 2);
  int bands = 0;
  field.render_bands({1000, 1000}, {}, [&](const Tensor&, std::int64_t) { return ++bands < 2; });
  EXPECT_EQ(bands, 2);
}

TEST(Render, DrawsAPartAsItIsInTheWhole) {
  const ImageField field(small_options(40, 30, 3), 3);
  const Tensor whole = field.render({160, 120});
  RenderOptions part;
  part.region = {.x = 0.25, .y = 0.5, .width = 0.5, .height = 0.25};
  const Tensor drawn = field.render({80, 30}, part);
  EXPECT_LT(largest_difference(drawn, contiguous(slice(slice(whole, 0, 60, 90), 1, 40, 120))), kRounding);
  // A single pixel of it.
  part.region = {.x = 159 / 160.0, .y = 119 / 120.0, .width = 1 / 160.0, .height = 1 / 120.0};
  EXPECT_LT(largest_difference(field.render({1, 1}, part),
                               contiguous(slice(slice(whole, 0, 119, 120), 1, 159, 160))),
            kRounding);
}

// [h down, w across, c] -> [h, w, c]
Tensor averaged(const Tensor& large, std::int64_t across, std::int64_t down) {
  const std::int64_t h = large.size(0) / down, w = large.size(1) / across, c = large.size(2);
  return mean(reshape(large, {h, down, w, across, c}), {1, 3});
}

TEST(Render, SupersamplesByAveragingALargerPicture) {
  const ImageField field(small_options(40, 30, 3), 4);
  for (const int s : {2, 3, 5}) {
    RenderOptions by, plain;
    by.supersample = s;
    plain.supersample = 1;
    EXPECT_LT(
        largest_difference(field.render({21, 16}, by), averaged(field.render({21 * s, 16 * s}, plain), s, s)),
        kRounding);
  }
}

TEST(Render, TakesAsManySamplesAsShrinkingNeeds) {
  const ImageField field(small_options(40, 30), 5);
  const auto with = [&](std::int64_t w, std::int64_t h, int samples) {
    RenderOptions how;
    how.supersample = samples;
    return field.render({w, h}, how);
  };
  EXPECT_EQ(largest_difference(with(40, 30, 0), with(40, 30, 1)), 0);
  EXPECT_EQ(largest_difference(with(80, 60, 0), with(80, 60, 1)), 0);
  EXPECT_EQ(largest_difference(with(40, 300, 0), with(40, 300, 1)), 0);
  EXPECT_LT(largest_difference(with(20, 15, 0), with(20, 15, 2)), kRounding);
  EXPECT_LT(largest_difference(with(10, 3, 0), averaged(with(40, 30, 1), 4, 10)), kRounding);
  FieldOptions scene = small_options(40, 30);
  scene.footprint = 3;
  const ImageField filtered(scene, 5);
  RenderOptions three;
  three.supersample = 3;
  EXPECT_EQ(largest_difference(filtered.render({40, 30}), filtered.render({40, 30}, three)), 0);
}

// Made smaller by any factor, a drawing is the exact area average of the one at the fitted size.
TEST(Render, ShrinksToTheAreaAverageOfItsOwnSize) {
  const ImageField field(small_options(40, 30, 3), 7);
  const Tensor own = field.render({40, 30});
  for (const auto& [w, h] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {39, 29}, {31, 17}, {20, 15}, {13, 7}, {3, 2}, {1, 1}, {40, 7}, {1, 30}})
    EXPECT_LT(largest_difference(field.render({w, h}), data::resample(own, {w, h}, data::Filter::area)),
              kRounding)
        << w << 'x' << h;
}

TEST(Render, ShrinksASceneByEvenSamples) {
  FieldOptions scene = small_options(40, 30);
  scene.footprint = 3;
  const ImageField field(scene, 7);
  RenderOptions eight;
  eight.supersample = 8;
  EXPECT_EQ(largest_difference(field.render({30, 12}), field.render({30, 12}, eight)), 0);
}

TEST(Render, ShrinksAcrossAndEnlargesDown) {
  const ImageField field(small_options(40, 30), 7);
  EXPECT_LT(largest_difference(field.render({11, 70}),
                               data::resample(field.render({40, 70}), {11, 70}, data::Filter::area)),
            kRounding);
}

TEST(Render, ShrinksAPartAsItIsInTheWhole) {
  const ImageField field(small_options(40, 30, 2), 7);
  const Tensor whole = field.render({16, 12});
  RenderOptions part;
  part.region = {.x = 3 / 16.0, .y = 5 / 12.0, .width = 10 / 16.0, .height = 4 / 12.0};
  EXPECT_LT(
      largest_difference(field.render({10, 4}, part), contiguous(slice(slice(whole, 0, 5, 9), 1, 3, 13))),
      kRounding);
}

TEST(Render, ShrinksTheSameWholeAndInBands) {
  const ImageField field(small_options(600, 500), 2);
  const Tensor whole = field.render({401, 333});
  std::int64_t next = 0, bands = 0;
  field.render_bands({401, 333}, {}, [&](const Tensor& rows, std::int64_t first) {
    EXPECT_EQ(first, next);
    EXPECT_EQ(largest_difference(rows, contiguous(slice(whole, 0, first, first + rows.size(0)))), 0);
    next += rows.size(0);
    ++bands;
    return true;
  });
  EXPECT_EQ(next, 333);
  EXPECT_GT(bands, 1);
  bands = 0;
  field.render_bands({401, 333}, {}, [&](const Tensor&, std::int64_t) { return ++bands < 2; });
  EXPECT_EQ(bands, 2);
}

TEST(Render, SaysHowManySamplesAPixelTakes) {
  const ImageField field(small_options(40, 30), 1);
  RenderOptions three;
  three.supersample = 3;
  EXPECT_EQ(field.samples_a_pixel({10, 7}, three), 9);
  EXPECT_EQ(field.samples_a_pixel({400, 7 * 30}), 1);
  EXPECT_DOUBLE_EQ(field.samples_a_pixel({32, 20}), 40 * 30 / (32.0 * 20));
  EXPECT_DOUBLE_EQ(field.samples_a_pixel({10, 60}), 4);
}

TEST(Render, TakesTheMostSamplesWhenShrinkingBeyondMeasure) {
  FieldOptions o = small_options(1 << 30, 1 << 30);
  o.footprint = 16;
  const ImageField field(o, 6);
  RenderOptions most;
  most.supersample = 64;
  EXPECT_EQ(largest_difference(field.render({1, 1}), field.render({1, 1}, most)), 0);
}

// 16384 points through 60000 units would need 4 GB for each layer.
TEST(Render, NeedsLittleMemoryForWideNetworksToo) {
  if (test::kAddressSanitizer) GTEST_SKIP() << "memory is measured";
  const int status = test::in_child([] {
    FieldOptions o = small_options(200, 200);
    o.widths = {60000};
    const ImageField field(o, 1);
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    RenderOptions part;
    part.supersample = 1;
    field.render_bands({1000, 1}, part, [](const Tensor&, std::int64_t) { return false; });
    ::getrusage(RUSAGE_SELF, &after);
    return (after.ru_maxrss - before.ru_maxrss) / 1024 < 200 ? 7 : 8;
  });
  EXPECT_EQ(status, 7);
}

TEST(Render, RefusesSizesAndRegionsThatMakeNoSense) {
  const ImageField field(small_options(8, 8), 1);
  EXPECT_THROW(field.render({0, 5}), ConfigError);
  EXPECT_THROW(field.render({5, -1}), ConfigError);
  EXPECT_THROW(field.render({(1 << 20) + 1, 1}), ConfigError);
  for (const Region region : {Region{0, 0, 0, 1}, Region{0, 0, 1, -1}, Region{NAN, 0, 1, 1},
                              Region{0, 0, INFINITY, 1}, Region{0, 0, NAN, 1}}) {
    RenderOptions how;
    how.region = region;
    EXPECT_THROW(field.render({4, 4}, how), ConfigError);
  }
  for (const int samples : {-1, 65}) {
    RenderOptions how;
    how.supersample = samples;
    EXPECT_THROW(field.render({4, 4}, how), ConfigError);
  }
}

TEST(Render, LeavesNoGradientsBehind) {
  const ImageField field(small_options(8, 8), 1);
  EXPECT_FALSE(field.render({8, 8}).requires_grad());
}

}  // namespace
}  // namespace veldt::field
