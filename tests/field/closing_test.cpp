// A closing makes a field's means the pixels, keeps flat ground flat, and is small where errors are small.
#include "veldt/field/closing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/field/pictures.h"
#include "veldt/data/resample.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/rng.h"
#include "veldt/field/fit.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::field {
namespace {

Tensor colours(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Rng rng(2);
  return affine(rand({height, width, channels}, rng), 0.999, 0);
}

TEST(Closing, MakesTheMeansRight) {
  Rng rng(1);
  const Tensor picture = colours(5, 9, 3), levels = rand({20, 36, 3}, rng);
  const Closing closing = close({picture, picture}, levels, {}, 0.1 / 255);
  std::vector<double> rows, columns;
  for (int i = 0; i < 20; ++i) rows.push_back((i + 0.5) / 4);
  for (int i = 0; i < 36; ++i) columns.push_back((i + 0.5) / 4);
  const Tensor closed = clamp(levels + closing.at(rows, columns), 0, 1);
  EXPECT_LE(test::largest(mean(reshape(closed, {5, 4, 9, 4, 3}), {1, 3}) - picture), 0.1 / 255);
}

TEST(Closing, OfWhatIsRightAlreadyIsZero) {
  const Tensor picture = full({3, 4, 1}, 0.25);
  EXPECT_EQ(test::largest(to(close({picture, picture}, full({12, 16, 1}, 0.25), {}, 0.1 / 255).coefficients(),
                             DType::f32)),
            0);
}

TEST(Closing, LeavesMeansAloneThatAreWithinTheBounds) {
  Rng rng(4);
  const Tensor levels = rand({8, 12, 1}, rng);
  const Bounds wide{full({2, 3, 1}, -1), full({2, 3, 1}, 2)};
  EXPECT_EQ(test::largest(to(close(wide, levels, {}, 1e-3).coefficients(), DType::f32)), 0);
  const Bounds high{full({2, 3, 1}, 0.9), full({2, 3, 1}, 2)};
  const Closing closing = close(high, levels, {}, 1e-3);
  std::vector<double> rows, columns;
  for (int i = 0; i < 8; ++i) rows.push_back((i + 0.5) / 4);
  for (int i = 0; i < 12; ++i) columns.push_back((i + 0.5) / 4);
  const Tensor closed = clamp(levels + closing.at(rows, columns), 0, 1);
  EXPECT_GT(min(mean(reshape(closed, {2, 4, 3, 4, 1}), {1, 3})).item(), 0.898);
}

TEST(Closing, KeepsFlatGroundFlat) {
  const Tensor picture = zeros({9, 7, 1});
  picture.data<float>()[8 * 7 + 6] = 1;  // a corner
  const Tensor flats = flat_ground(picture);
  EXPECT_EQ(sum(greater_equal(flats, 0)).item(), 9 * 7 - 9);
  Rng rng(5);
  const Tensor levels = rand({36, 28, 1}, rng);
  const Closing closing = close({picture, picture}, levels, flats, 0.1 / 255);
  std::vector<double> rows, columns;
  for (int i = 0; i < 36; ++i) rows.push_back((i + 0.5) / 4);
  for (int i = 0; i < 28; ++i) columns.push_back((i + 0.5) / 4);
  const Tensor closed = closing.closed(levels, rows, columns);
  EXPECT_EQ(test::largest(slice(closed, 0, 0, 24)), 0);
  EXPECT_EQ(test::largest(slice(closed, 1, 0, 16)), 0);
  EXPECT_LE(test::largest(mean(reshape(closed, {9, 4, 7, 4, 1}), {1, 3}) - picture), 0.5 / 255);
}

// f16 would be off by more than half a step of 16 bits.
TEST(Closing, KeepsSixteenBits) {
  const Tensor picture = colours(12, 9, 1);
  const ImageField field = fit(picture, {.steps = 30});
  EXPECT_EQ(field.options().bits, 16);
  EXPECT_LT(test::largest(field.render({9, 12}) - picture), 0.5 / 65535);
}

// No cubic curve is at most 0 in one pixel and at least 1 in the next: a second number a pixel does it.
TEST(Closing, IsExactAndSmallWhereZeroLiesBesideOne) {
  Rng rng(3);
  const Tensor picture = to(less(rand({12, 12, 1}, rng), 0.5), DType::f32);
  const Tensor levels = clamp(data::resample(picture, {48, 48}, data::Filter::bicubic), 0, 1);
  const Closing closing = close({picture, picture}, levels, {}, 0.3 / 255);
  EXPECT_EQ(closing.numbers(), 2);
  EXPECT_LE(test::largest(to(select(closing.coefficients(), 0, 0), DType::f32)), 0.5001);
  std::vector<double> places;
  for (int i = 0; i < 48; ++i) places.push_back((i + 0.5) / 4);
  const Tensor closed = clamp(levels + closing.at(places, places), 0, 1);
  EXPECT_LT(test::largest(mean(reshape(closed, {12, 4, 12, 4, 1}), {1, 3}) - picture), 0.4 / 255);
}

// Rounded to bytes they are the picture: drawn at its own size, before and after it was on a disk.
TEST(Closing, MakesAFieldExactAtItsPixels) {
  for (const bool hard : {false, true})
    for (const std::int64_t channels : {3, 4})
      for (const auto& [height, width] : {std::pair(1, 1), std::pair(3, 17), std::pair(24, 24)}) {
        const Tensor bytes = to(affine(hard ? to(less(colours(height, width, channels), 0.5), DType::f32)
                                            : colours(height, width, channels),
                                       255, 0),
                                DType::u8);
        const ImageField field = fit(bytes, {.steps = 30});
        ASSERT_GT(field.options().closing, 0);
        const Tensor picture = Signal(bytes).read(0, height);  // transparent colours do not matter
        EXPECT_LT(test::largest(field.render({width, height}) - picture), 0.5 / 255);
        const test::TempDir dir;
        field.save(dir / "field.safetensors");
        const ImageField again = ImageField::load(dir / "field.safetensors");
        EXPECT_EQ(again.render({3 * width, 2 * height}).values<float>(),
                  field.render({3 * width, 2 * height}).values<float>());
      }
}

}  // namespace
}  // namespace veldt::field
