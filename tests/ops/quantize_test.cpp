// Quantisation: halves, bounds, types, lists of scales, and the gradient that goes straight through.
#include "veldt/ops/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> numbers_in(const Tensor& x) { return to(x.detach(), DType::f64).values<double>(); }

TEST(Quantize, RoundsHalvesToEvenAndKeepsWithinTheRange) {
  const Tensor x = Tensor::of({6}, {0.5, 1.5, -2.5, 300, -300, NAN}), one = Tensor::of({}, {1});
  EXPECT_EQ(quantize(x, one).dtype(), DType::i8);
  EXPECT_THAT(numbers_in(quantize(x, one)), ElementsAre(0, 2, -2, 127, -128, 0));
  EXPECT_EQ(quantize(x, one, {}, {.low = 0, .high = 255}).dtype(), DType::u8);
  EXPECT_THAT(numbers_in(quantize(x, one, Tensor::of({}, {10}, DType::i32), {.low = 0, .high = 255})),
              ElementsAre(10, 12, 8, 255, 0, 0));
  EXPECT_EQ(quantize(x, one, {}, {.low = -1000, .high = 1000}).dtype(), DType::i32);
}

TEST(Quantize, HasAScaleForEachPositionOfAnAxis) {
  const Tensor x = Tensor::of({2, 2}, {1, 2, 3, 4}), scale = Tensor::of({2}, {1, 0.5});
  EXPECT_THAT(numbers_in(quantize(x, scale, {}, {.axis = 0})), ElementsAre(1, 2, 6, 8));
  EXPECT_THAT(numbers_in(quantize(x, scale, {}, {.axis = -1})), ElementsAre(1, 4, 3, 8));
  EXPECT_THAT(numbers_in(quantize(x, Tensor::of({2, 1}, {1, 0.5}))), ElementsAre(1, 2, 6, 8));
  EXPECT_THAT(numbers_in(dequantize(quantize(x, scale, {}, {.axis = 1}), scale, {}, 1)),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(error_of<ShapeError>([&] { quantize(x, Tensor::of({3}, {1, 1, 1})); }), HasSubstr("[3]"));
  EXPECT_THAT(error_of<ShapeError>([&] { quantize(x, Tensor::of({}, {1}, DType::i32)); }), HasSubstr("i32"));
  EXPECT_THAT(error_of<ConfigError>([&] { quantize(x, scale, {}, {.low = 3, .high = 2}); }), HasSubstr("3"));
}

// torch.fake_quantize_per_tensor_affine has the same gradient.
TEST(FakeQuantize, LetsGradientsThroughWithinTheRangeAlone) {
  const Tensor x = Tensor::of({5}, {-9, -1.3, 0.2, 6.9, 7.6}).set_requires_grad();
  const Tensor y = fake_quantize(x, Tensor::of({}, {1}), {}, {.low = -8, .high = 7});
  EXPECT_THAT(numbers_in(y), ElementsAre(-8, -1, 0, 7, 7));
  sum(y * Tensor::of({5}, {1, 2, 3, 4, 5})).backward();
  EXPECT_THAT(numbers_in(x.grad()), ElementsAre(0, 2, 3, 4, 0));
}

TEST(FakeQuantize, IsWhatTheIntegersStandFor) {
  Rng rng(3);
  const Tensor x = randn({7, 5}, rng), scale = rand({5}, rng, 0.01, 0.1), zero = randint({5}, rng, -20, 20);
  const Tensor there = dequantize(quantize(x, scale, zero, {.axis = 1}), scale, zero, 1);
  EXPECT_EQ(numbers_in(fake_quantize(x, scale, zero, {.axis = 1})), numbers_in(there));
}

TEST(Nibbles, RefuseWhatIsNoGroup) {
  EXPECT_THAT(error_of<ShapeError>([] { pack_nibbles(zeros({33}, DType::i8)); }), HasSubstr("32"));
  EXPECT_THAT(error_of<ShapeError>([] { pack_nibbles(zeros({32})); }), HasSubstr("f32"));
  EXPECT_THAT(error_of<ShapeError>([] { unpack_nibbles(zeros({8}, DType::u8)); }), HasSubstr("16"));
}

}  // namespace
}  // namespace veldt
