// What ops do with dtypes: promotion, whole numbers, booleans, half floats, conversions and plain numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>

#include "nlohmann/json.hpp"
#include "tests/support/error_of.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using I64 = std::int64_t;

constexpr DType kAll[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                          DType::i32, DType::u8,  DType::i8,   DType::boolean};
constexpr DType kWhole[] = {DType::i64, DType::i32, DType::u8, DType::i8};

std::vector<double> numbers(const Tensor& x) { return to(x.detach(), DType::f64).values<double>(); }
Tensor of(DType dtype, std::initializer_list<double> values) {
  return Tensor::of({static_cast<I64>(values.size())}, values, dtype);
}

TEST(Promote, IsTorchPromoteTypes) {
  std::ifstream in(VELDT_SOURCE "/tests/golden/promote.json");
  const nlohmann::json table = nlohmann::json::parse(in);
  for (DType a : kAll)
    for (DType b : kAll)
      EXPECT_EQ(name_of(promote(a, b)), table.at(name_of(a)).at(name_of(b)).get<std::string>())
          << a << ' ' << b;
}

TEST(Binary, ComputesInThePromotedDtype) {
  for (DType a : kAll)
    for (DType b : kAll) {
      const Tensor x = of(a, {1, 0}), y = of(b, {1, 1});
      const DType both = promote(a, b);
      EXPECT_EQ(add(x, y).dtype(), both);
      EXPECT_EQ(maximum(x, y).dtype(), both);
      EXPECT_EQ(where(greater(x, y), x, y).dtype(), both);
      EXPECT_EQ(equal(x, y).dtype(), DType::boolean);
      EXPECT_THAT(numbers(equal(x, y)), ElementsAre(1, 0));
      EXPECT_EQ(div(x, y).dtype(), is_float(both) ? both : DType::f32);
      EXPECT_THAT(numbers(div(x, y)), ElementsAre(1, 0)) << a << ' ' << b;
    }
}

TEST(Binary, GivesEachSideAGradientOfItsOwnDtype) {
  for (DType b : {DType::f64, DType::bf16, DType::f16}) {
    const Tensor x = of(DType::f32, {2, 3}).set_requires_grad(), y = of(b, {4, 5}).set_requires_grad();
    sum(x * y).backward();
    EXPECT_EQ(x.grad().dtype(), DType::f32);
    EXPECT_EQ(y.grad().dtype(), b);
    EXPECT_THAT(numbers(x.grad()), ElementsAre(4, 5));
    EXPECT_THAT(numbers(y.grad()), ElementsAre(2, 3));
  }
}

TEST(WholeNumbers, ComputeAsPyTorchHasIt) {
  for (DType t : {DType::i64, DType::i32}) {
    const Tensor a = of(t, {-7, 7, -8, 5}), b = of(t, {3, -3, 2, 5});
    EXPECT_THAT(numbers(a + b), ElementsAre(-4, 4, -6, 10));
    EXPECT_THAT(numbers(a - b), ElementsAre(-10, 10, -10, 0));
    EXPECT_THAT(numbers(a * b), ElementsAre(-21, -21, -16, 25));
    EXPECT_THAT(numbers(floor_divide(a, b)), ElementsAre(-3, -3, -4, 1));
    EXPECT_THAT(numbers(remainder(a, b)), ElementsAre(2, -2, 0, 0));
    EXPECT_THAT(numbers(fmod(a, b)), ElementsAre(-1, 1, 0, 0));
    EXPECT_THAT(numbers(maximum(a, b)), ElementsAre(3, 7, 2, 5));
    EXPECT_THAT(numbers(minimum(a, b)), ElementsAre(-7, -3, -8, 5));
    EXPECT_THAT(numbers(pow(a, 2)), ElementsAre(49, 49, 64, 25));
    EXPECT_THAT(numbers(pow(of(t, {1, -1, 2}), of(t, {-3, -3, -3}))), ElementsAre(1, -1, 0));
    EXPECT_THAT(numbers(-a), ElementsAre(7, -7, 8, -5));
    EXPECT_THAT(numbers(abs(a)), ElementsAre(7, 7, 8, 5));
    EXPECT_THAT(numbers(sign(a)), ElementsAre(-1, 1, -1, 1));
    EXPECT_THAT(numbers(square(a)), ElementsAre(49, 49, 64, 25));
    EXPECT_THAT(numbers(relu(a)), ElementsAre(0, 7, 0, 5));
    EXPECT_THAT(numbers(clamp(a, -7, 6)), ElementsAre(-7, 6, -7, 5));
    for (const Tensor& y :
         {a + b, floor_divide(a, b), -a, abs(a), sign(a), square(a), relu(a), clamp(a, 0, 1), floor(a),
          round(a), a + 1, 2 - a, a * 3, pow(a, 2), maximum(a, 0)})
      EXPECT_EQ(y.dtype(), t);
  }
  const Tensor bytes = of(DType::u8, {250, 3});
  EXPECT_THAT(numbers(bytes + 10), ElementsAre(4, 13));
  EXPECT_THAT(numbers(-bytes), ElementsAre(6, 253));
  EXPECT_THAT(numbers(clamp(bytes, 4, 200)), ElementsAre(200, 4));
  EXPECT_THAT(numbers(sign(of(DType::u8, {0, 3}))), ElementsAre(0, 1));
  EXPECT_THAT(error_of<ShapeError>([&] { clamp(bytes, -1, 5); }), HasSubstr("it holds 0 to 255"));
  EXPECT_THAT(numbers(bytes * bytes), ElementsAre(36, 9));
}

TEST(WholeNumbers, AreExactBeyond53Bits) {
  const I64 big = (I64{1} << 53) + 1, most = std::numeric_limits<I64>::max();
  const Tensor x = Tensor::from<I64>({2}, std::vector<I64>{big, -big});
  EXPECT_THAT(clamp(x, -big + 2, big - 1).values<I64>(), ElementsAre(big - 1, 2 - big));
  EXPECT_THAT(clamp(x, -big + 2, big - 2).values<I64>(), ElementsAre(big - 2, 2 - big));
  EXPECT_THAT(clamp(x, -big, big).values<I64>(), ElementsAre(big, -big));
  EXPECT_THAT(abs(x).values<I64>(), ElementsAre(big, big));
  const Tensor lowest = Tensor::from<I64>({1}, std::vector<I64>{std::numeric_limits<I64>::min()});
  EXPECT_THAT(abs(lowest).values<I64>(), ElementsAre(std::numeric_limits<I64>::min()));
  EXPECT_THAT((x + 1).values<I64>(), ElementsAre(big + 1, 1 - big));
  EXPECT_THAT((x - most).values<I64>(), ElementsAre(big - most, std::numeric_limits<I64>::max() - big + 2));
  EXPECT_THAT(equal(x, big).values<bool>(), ElementsAre(true, false));
}

TEST(WholeNumbers, OverZeroGiveZeroAndNeverTrap) {
  const I64 least = std::numeric_limits<I64>::min();
  const Tensor x = Tensor::from<I64>({2}, std::vector<I64>{5, least});
  for (I64 d : {I64{0}, I64{-1}})
    for (auto op : {static_cast<Tensor (*)(const Tensor&, Scalar)>(remainder),
                    static_cast<Tensor (*)(const Tensor&, Scalar)>(fmod)})
      EXPECT_THAT(op(x, d).values<I64>(), ElementsAre(0, 0));
  EXPECT_THAT(floor_divide(x, 0).values<I64>(), ElementsAre(0, 0));
  EXPECT_THAT(floor_divide(x, -1).values<I64>(), ElementsAre(-5, least));
  EXPECT_THAT(error_of<ConfigError>([&] { pow(x, -1); }), HasSubstr("power -1"));
}

TEST(Booleans, AddByOrAndMultiplyByAnd) {
  const Tensor a = of(DType::boolean, {0, 0, 1, 1}), b = of(DType::boolean, {0, 1, 0, 1});
  EXPECT_THAT((a + b).values<bool>(), ElementsAre(false, true, true, true));
  EXPECT_THAT((a * b).values<bool>(), ElementsAre(false, false, false, true));
  EXPECT_THAT((a + 1).values<I64>(), ElementsAre(1, 1, 2, 2));
  EXPECT_EQ((a + 1.5).dtype(), DType::f32);
  EXPECT_EQ((a / b).dtype(), DType::f32);
  for (auto op : {static_cast<Tensor (*)(const Tensor&, const Tensor&)>(sub),
                  static_cast<Tensor (*)(const Tensor&, const Tensor&)>(remainder)})
    EXPECT_THAT(error_of<ShapeError>([&] { op(a, b); }), HasSubstr("booleans"));
  EXPECT_THAT(error_of<ShapeError>([&] { neg(a); }), HasSubstr("logical_not"));
}

TEST(Scalars, WithAFractionsTypeTurnWholeNumbersIntoFloats) {
  for (DType t : kWhole) {
    const Tensor x = of(t, {1, 2, 4});
    EXPECT_EQ((x + 1.0).dtype(), DType::f32);
    EXPECT_EQ((x * 0.5f).dtype(), DType::f32);
    EXPECT_THAT((x * 0.5).values<float>(), ElementsAre(0.5f, 1, 2));
    EXPECT_THAT((x / 2).values<float>(), ElementsAre(0.5f, 1, 2));
    EXPECT_THAT((2 / x).values<float>(), ElementsAre(2, 1, 0.5f));
    EXPECT_EQ(exp(x).dtype(), DType::f32);
    EXPECT_EQ(mean(x).dtype(), DType::f32);
    EXPECT_EQ(pow(x, 0.5).dtype(), DType::f32);
    EXPECT_THAT(numbers(greater(x, 1.5)), ElementsAre(0, 1, 1));
  }
  for (DType t : {DType::f64, DType::bf16, DType::f16}) EXPECT_EQ((of(t, {1}) + 1.5).dtype(), t);
}

TEST(Division, DividesByAPlainNumber) {
  // 1/3 and 1/49 are rounded: multiplying by them would give other bits.
  for (double d : {3.0, 49.0, 1e-3}) {
    const Tensor x = to(arange(1000), DType::f32);
    const std::vector<float> y = (x / d).values<float>();
    for (int i = 0; i < 1000; ++i)
      ASSERT_EQ(y[static_cast<std::size_t>(i)], static_cast<float>(i) / static_cast<float>(d));
  }
  const Tensor x = of(DType::f32, {3}).set_requires_grad();
  (x / 49).backward();
  EXPECT_EQ(x.grad().item(), static_cast<double>(1.0f / 49.0f));
}

TEST(Mean, IsRoundedOnce) {
  // The sum 2^24 + 1 is no f32; rounded to one first, it would lose its last bit.
  const Tensor x = cat({full({1}, 0x1p24), ones({1}), zeros({1})});
  EXPECT_EQ(mean(x).item(), static_cast<double>(static_cast<float>((0x1p24 + 1) / 3)));
}

TEST(HalfFloats, ComputeAsF32AndRoundOnce) {
  for (DType t : {DType::bf16, DType::f16}) {
    Rng rng(3);
    const Tensor x = to(rand({37, 9}, rng, 0.5, 2), t), y = to(rand({9}, rng, -2, -0.5), t);
    const Tensor wx = to(x, DType::f32), wy = to(y, DType::f32);
    const auto same = [&](const Tensor& half, const Tensor& wide, const char* what) {
      EXPECT_EQ(half.dtype(), t) << what;
      EXPECT_EQ(numbers(half), numbers(to(wide, t))) << what;
    };
    same(x + y, wx + wy, "add");
    same(transpose(x) * unsqueeze(y, 1), transpose(wx) * unsqueeze(wy, 1), "mul");
    same(x / 3, wx / 3, "div");
    same(exp(x), exp(wx), "exp");
    same(gelu(y), gelu(wy), "gelu");
    same(where(greater(x, 1), x, y), where(greater(wx, 1), wx, wy), "where");
    same(sum(x, {0}), sum(wx, {0}), "sum");
    same(mean(x), mean(wx), "mean");
    same(max(x, {1}), max(wx, {1}), "max");
    same(matmul(x, transpose(x)), matmul(wx, transpose(wx)), "matmul");
    same(linear(x, unsqueeze(y, 0)), linear(wx, unsqueeze(wy, 0)), "linear");
    same(gather(x, 0, zeros({1, 9}, DType::i64)), gather(wx, 0, zeros({1, 9}, DType::i64)), "gather");
    EXPECT_EQ(numbers(less(x, y)), numbers(less(wx, wy)));
  }
}

TEST(HalfFloats, HaveGradients) {
  for (DType t : {DType::bf16, DType::f16}) {
    const Tensor x = of(t, {0.5, 2, -1}).set_requires_grad();
    for (bool graph : {false, true})
      EXPECT_THAT(numbers(grad(sum(square(x) * 3), {x}, graph)[0]), ElementsAre(3, 12, -6));
    const Tensor w = of(t, {1, 2}).set_requires_grad();
    sum(matmul(reshape(w, {1, 2}), reshape(w, {2, 1}))).backward();
    EXPECT_EQ(w.grad().dtype(), t);
    EXPECT_THAT(numbers(w.grad()), ElementsAre(2, 4));
    const Tensor e = of(t, {1, 2, 3}).set_requires_grad();
    sum(index_select(e, 0, Tensor::of({3}, {1, 1, 0}, DType::i64))).backward();
    EXPECT_THAT(numbers(e.grad()), ElementsAre(1, 2, 0));
  }
}

// Just above the middle between two bf16, by less than an f32 can tell: via f32 it would round to even.
TEST(Conversion, RoundsOnce) {
  const double above = 1 + 0x1p-8 + 0x1p-40, odd = 1 + 0x1p-7, f16_above = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(to(of(DType::f64, {above}), DType::bf16).item(), odd);
  EXPECT_EQ(to(of(DType::f64, {-above}), DType::bf16).item(), -odd);
  EXPECT_EQ(to(of(DType::f64, {1 + 0x1p-8}), DType::bf16).item(), 1);
  EXPECT_EQ(to(of(DType::f64, {f16_above}), DType::f16).item(), 1 + 0x1p-10);
  EXPECT_EQ(to(of(DType::f64, {1e300}), DType::bf16).item(), INFINITY);
  EXPECT_EQ(to(of(DType::f64, {65519.999}), DType::f16).item(), 65504);
  EXPECT_EQ(to(of(DType::f64, {65520}), DType::f16).item(), INFINITY);
  EXPECT_TRUE(std::isnan(to(of(DType::f64, {NAN}), DType::bf16).item()));
  const I64 middle = (I64{1} << 62) + (I64{1} << 54), step = I64{1} << 55;
  for (I64 sign : {1, -1}) {
    const Tensor x =
        Tensor::from<I64>({3}, std::vector<I64>{sign * middle, sign * (middle + 1), sign * 12345});
    EXPECT_THAT(
        numbers(to(x, DType::bf16)),
        ElementsAre(sign * 0x1p62, static_cast<double>(sign * ((I64{1} << 62) + step)), sign * 12352));
  }
}

TEST(Conversion, ToAWholeNumberClampsAndTurnsNaNIntoZero) {
  const Tensor x = of(DType::f64, {1e30, -1e30, NAN, -3.7, 255.9});
  EXPECT_THAT(to(x, DType::i32).values<std::int32_t>(), ElementsAre(2147483647, -2147483647 - 1, 0, -3, 255));
  EXPECT_THAT(numbers(to(x, DType::u8)), ElementsAre(255, 0, 0, 0, 255));
  EXPECT_THAT(to(of(DType::i64, {4294967297.0}), DType::i32).values<std::int32_t>(), ElementsAre(1));
}

TEST(Reductions, OfWholeNumbersSumToI64) {
  const Tensor x = Tensor::of({2, 2}, {2147483647, 1, 3, -5}, DType::i32);
  EXPECT_THAT(sum(x, {1}).values<I64>(), ElementsAre(2147483648, -2));
  EXPECT_THAT(max(x, {1}).values<std::int32_t>(), ElementsAre(2147483647, 3));
  EXPECT_THAT(min(x, {0}).values<std::int32_t>(), ElementsAre(3, -5));
  EXPECT_THAT(argmax(x, 1).values<I64>(), ElementsAre(0, 0));
}

}  // namespace
}  // namespace veldt
