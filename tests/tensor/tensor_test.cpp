// The Tensor handle: making one, reading it, and what happens to those who share its memory.
#include "veldt/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Tensor, HoldsValuesInRowMajorOrder) {
  const Tensor t = Tensor::of({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.dtype(), DType::f32);
  EXPECT_EQ(t.rank(), 2);
  EXPECT_EQ(t.numel(), 6);
  EXPECT_EQ(t.shape(), (Shape{2, 3}));
  EXPECT_EQ(t.strides(), (Strides{3, 1}));
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_THAT(t.values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(t.data<float>()[4], 5);
}

TEST(Tensor, IsMadeOfAnyDtype) {
  EXPECT_THAT(Tensor::of({2}, {1.5, -2}, DType::f64).values<double>(), ElementsAre(1.5, -2));
  EXPECT_THAT(Tensor::of({2}, {7, -2}, DType::i64).values<std::int64_t>(), ElementsAre(7, -2));
  EXPECT_THAT(Tensor::of({2}, {7, 255}, DType::u8).values<std::uint8_t>(), ElementsAre(7, 255));
  EXPECT_THAT(Tensor::of({3}, {0, 1, 2}, DType::boolean).values<bool>(), ElementsAre(false, true, true));
  const std::vector<std::int64_t> whole = {std::numeric_limits<std::int64_t>::max(), -1};
  EXPECT_EQ(Tensor::from<std::int64_t>({2}, whole).values<std::int64_t>(), whole);
}

TEST(Tensor, KeepsItsOwnCopyOfTheValues) {
  std::vector<float> source = {1, 2};
  const Tensor t = Tensor::from<float>({2}, source);
  source[0] = 9;
  EXPECT_THAT(t.values<float>(), ElementsAre(1, 2));
}

TEST(Tensor, NamesShapeAndCountWhenTheyDisagree) {
  const std::string text = error_of<ShapeError>([] { return Tensor::of({2, 3}, {1, 2, 3}); });
  EXPECT_THAT(text, HasSubstr("[2, 3]"));
  EXPECT_THAT(text, HasSubstr("3 values"));
  EXPECT_THAT(text, HasSubstr("holds 6"));
}

TEST(Tensor, RefusesNegativeSizes) {
  EXPECT_THAT(error_of<ShapeError>([] { return empty({2, -3}); }), HasSubstr("[2, -3]"));
}

TEST(Tensor, RefusesSizesBeyondMemory) {
  EXPECT_THAT(error_of([] {
                return empty({std::int64_t{1} << 40, std::int64_t{1} << 40});
              }),
              HasSubstr("beyond 2^62"));
  // Few enough elements to count, too many bytes: 2^61 of 8 are 2^64, which is 0 in 64 bits.
  for (int bits : {48, 60, 61, 62})
    for (DType dtype : {DType::f32, DType::f64, DType::u8})
      EXPECT_THROW(empty({std::int64_t{1} << bits}, dtype), Error) << bits << ' ' << dtype;
}

TEST(Tensor, OfRankZeroHoldsOneElement) {
  const Tensor t = Tensor::of({}, {4});
  EXPECT_EQ(t.rank(), 0);
  EXPECT_EQ(t.numel(), 1);
  EXPECT_EQ(t.item(), 4);
}

TEST(Tensor, MayBeEmpty) {
  const Tensor t = Tensor::of({3, 0}, {});
  EXPECT_EQ(t.numel(), 0);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_TRUE(t.values<float>().empty());
}

TEST(Tensor, CountsSizesFromTheEnd) {
  const Tensor t = zeros({2, 3, 4});
  EXPECT_EQ(t.size(-1), 4);
  EXPECT_EQ(t.size(-3), 2);
  const std::string text = error_of<ShapeError>([&] { return t.size(3); });
  EXPECT_THAT(text, HasSubstr("no dimension 3"));
  EXPECT_THAT(text, HasSubstr("from -3 to 2"));
}

TEST(Tensor, ThatIsUndefinedSaysSo) {
  const Tensor t;
  EXPECT_FALSE(t.defined());
  EXPECT_FALSE(t.requires_grad());
  EXPECT_THAT(error_of([&] { return t.shape(); }), HasSubstr("undefined tensor"));
  EXPECT_THAT(error_of([&] { return t.item(); }), HasSubstr("undefined tensor"));
  EXPECT_THAT(error_of([&] { return t.view(); }), HasSubstr("undefined tensor"));
  EXPECT_THAT(error_of([&] { return t.detach(); }), HasSubstr("undefined tensor"));
  EXPECT_THAT(error_of([&] { return Tensor().backward(); }), HasSubstr("backward()"));
}

TEST(Tensor, GivesItsOnlyItem) {
  EXPECT_EQ(Tensor::of({1, 1}, {2.5}).item(), 2.5);
  EXPECT_EQ(Tensor::of({1}, {7}, DType::i64).item(), 7);
  EXPECT_EQ(Tensor::of({}, {1}, DType::boolean).item(), 1);
  EXPECT_EQ(select(Tensor::of({3}, {1, 2, 3}), 0, 1).item(), 2);
  EXPECT_THAT(error_of<ShapeError>([] { return zeros({2, 3}).item(); }), HasSubstr("[2, 3]"));
  EXPECT_THAT(error_of<ShapeError>([] { return zeros({0}).item(); }), HasSubstr("[0]"));
}

TEST(Tensor, GivesItsItemWithoutLosingADigit) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(Tensor::from<std::int64_t>({}, std::vector<std::int64_t>{large}).item<std::int64_t>(), large);
  EXPECT_EQ(Tensor::of({}, {2.5}).item<std::int64_t>(), 2);
  EXPECT_TRUE(Tensor::of({}, {2.5}).item<bool>());
}

TEST(Tensor, GoesThroughBytesInAnyDtype) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32,
                            DType::u8, DType::i8, DType::boolean}) {
    const Tensor t = Tensor::of({2, 3}, {1, 0, 3, 0, 5, 6}, dtype);
    const std::vector<std::byte> bytes = transpose(t).bytes();
    ASSERT_EQ(bytes.size(), 6 * size_of(dtype));
    const Tensor back = Tensor::from_bytes({3, 2}, dtype, bytes);
    EXPECT_EQ(to(back, DType::f64).values<double>(), to(transpose(t), DType::f64).values<double>()) << dtype;
  }
  EXPECT_EQ(Tensor::of({1}, {1}, DType::bf16).bytes()[1],
            std::byte{0x3f});  // 0x3f80, the upper half of f32's
  const std::vector<std::byte> three(3);
  EXPECT_THAT(error_of<ShapeError>([&] {
                Tensor::from_bytes({3}, DType::boolean,
                                   std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{0}});
              }),
              AllOf(HasSubstr("the byte 2"), HasSubstr("neither 0 nor 1")));
  EXPECT_THAT(error_of<ShapeError>([&] { Tensor::from_bytes({2}, DType::f16, three); }),
              HasSubstr("with 3 bytes"));
}

TEST(Tensor, IsNotReadAsAnotherDtype) {
  const Tensor t = zeros({2});
  EXPECT_THAT(error_of<DeviceError>([&] { return t.values<double>(); }), HasSubstr("f32 as f64"));
  EXPECT_THAT(error_of<DeviceError>([&] { return t.data<std::int64_t>(); }), HasSubstr("f32"));
}

TEST(Tensor, SharesItsMemoryWithHandlesAndViews) {
  Tensor a = Tensor::of({2, 2}, {1, 2, 3, 4});
  const Tensor handle = a, row = select(a, 0, 1), turned = transpose(a), cut = a.detach();
  a.assign(Tensor::of({2, 2}, {5, 6, 7, 8}));
  EXPECT_THAT(handle.values<float>(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(row.values<float>(), ElementsAre(7, 8));
  EXPECT_THAT(turned.values<float>(), ElementsAre(5, 7, 6, 8));
  EXPECT_EQ(cut.data<float>(), a.data<float>());
}

TEST(Tensor, IsChangedThroughAView) {
  const Tensor a = zeros({2, 3});
  Tensor column = select(a, 1, 1);
  column.assign(Tensor::of({2}, {4, 5}));
  EXPECT_THAT(a.values<float>(), ElementsAre(0, 4, 0, 0, 5, 0));
}

TEST(Tensor, OutlivesTheHandleItIsAViewOf) {
  Tensor row;
  {
    const Tensor a = Tensor::of({2, 2}, {1, 2, 3, 4});
    row = select(a, 0, 1);
  }
  EXPECT_THAT(row.values<float>(), ElementsAre(3, 4));
}

TEST(Assign, ConvertsBetweenDtypes) {
  Tensor t = zeros({3});
  t.assign(Tensor::of({3}, {1, 2, 3}, DType::i64));
  EXPECT_THAT(t.values<float>(), ElementsAre(1, 2, 3));
}

TEST(Assign, NamesBothShapesWhenTheyDisagree) {
  Tensor t = zeros({2, 3});
  const std::string text = error_of<ShapeError>([&] { t.assign(zeros({3, 2})); });
  EXPECT_THAT(text, HasSubstr("[2, 3]"));
  EXPECT_THAT(text, HasSubstr("[3, 2]"));
}

TEST(Assign, ReadsASourceInTheSameMemoryBeforeItWrites) {
  Tensor square = Tensor::of({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  square.assign(transpose(square));
  EXPECT_THAT(square.values<float>(), ElementsAre(1, 4, 7, 2, 5, 8, 3, 6, 9));

  const Tensor line = arange(100000, DType::f32);
  Tensor behind = slice(line, 0, 1, 100000);
  behind.assign(slice(line, 0, 0, 99999));  // each moves one place up
  const std::vector<float> moved = line.values<float>();
  for (std::size_t i = 1; i < moved.size(); ++i) ASSERT_EQ(moved[i], static_cast<float>(i - 1));
}

TEST(Assign, RefusesTheResultOfAnOp) {
  const Tensor x = Tensor::of({2}, {1, 2}).set_requires_grad();
  Tensor view = reshape(x, {2, 1});
  EXPECT_THAT(error_of([&] { view.assign(zeros({2, 1})); }), HasSubstr("result of an op"));
}

TEST(RequiresGrad, IsForLeavesOfFloats) {
  EXPECT_THAT(error_of([] { zeros({2}, DType::i64).set_requires_grad(); }), HasSubstr("i64"));
  const Tensor x = zeros({2}).set_requires_grad();
  Tensor y = reshape(x, {2, 1});
  EXPECT_TRUE(y.requires_grad());
  EXPECT_THAT(error_of([&] { y.set_requires_grad(false); }), HasSubstr("leaves"));
}

TEST(SetGrad, NamesBothShapesWhenTheyDisagree) {
  Tensor x = zeros({2, 3}).set_requires_grad();
  const std::string text = error_of<ShapeError>([&] { x.set_grad(zeros({6})); });
  EXPECT_THAT(text, HasSubstr("[2, 3]"));
  EXPECT_THAT(text, HasSubstr("[6]"));
}

TEST(Slab, HoldsALeafWhereEveryHandleFindsIt) {
  Tensor leaf = transpose(Tensor::of({2, 2}, {1, 2, 3, 4}));
  const Tensor handle = leaf, slab = zeros({10});
  move_into_slab(leaf, slab, 3);
  EXPECT_THAT(slab.values<float>(), ElementsAre(0, 0, 0, 1, 3, 2, 4, 0, 0, 0));
  EXPECT_EQ(handle.data<float>(), slab.data<float>() + 3);
  EXPECT_TRUE(handle.is_contiguous());
}

TEST(ReplaceValues, ReachesEveryHandle) {
  Tensor leaf = zeros({2});
  const Tensor handle = leaf;
  replace_values(leaf, Tensor::of({3}, {1, 2, 3}, DType::f64));
  EXPECT_EQ(handle.dtype(), DType::f64);
  EXPECT_THAT(handle.values<double>(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace veldt
