// Tensors as text: what PyTorch 2 prints for the same numbers, but for the names of dtypes and shapes.
#include "veldt/tensor/print.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tests/support/error_of.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using test::error_of;

// 0, 1, .. in row-major order.
Tensor counted(const Shape& shape, DType dtype = DType::i64) {
  return reshape(arange(numel(shape), dtype), shape);
}

TEST(Print, GivesFloatsFourDigitsAndOneWidth) {
  EXPECT_EQ(text(Tensor::of({2, 2}, {1, 2.5, 3, 4})),
            "tensor([[1.0000, 2.5000],\n        [3.0000, 4.0000]])");
  EXPECT_EQ(text(Tensor::of({}, {3.14159})), "tensor(3.1416)");
  EXPECT_EQ(text(Tensor::of({2}, {1.0 / 3, -2.0 / 3}, DType::f64)), "tensor([ 0.3333, -0.6667], dtype=f64)");
  EXPECT_EQ(text(Tensor::of({1}, {0.1}, DType::f16)), "tensor([0.1000], dtype=f16)");
}

TEST(Print, EndsWholeNumbersOfFloatsInAPoint) {
  EXPECT_EQ(text(counted({2, 2}, DType::f32) + 1), "tensor([[1., 2.],\n        [3., 4.]])");
  EXPECT_EQ(text(Tensor::of({}, {3})), "tensor(3.)");
  EXPECT_EQ(text(zeros({2, 3})), "tensor([[0., 0., 0.],\n        [0., 0., 0.]])");
  EXPECT_EQ(text(Tensor::of({2}, {-0.0, 1})), "tensor([-0., 1.])");
}

TEST(Print, ShowsNumbersThatAreNone) {
  EXPECT_EQ(text(Tensor::of({4}, {1, NAN, -INFINITY, 10})), "tensor([ 1., nan, -inf, 10.])");
  EXPECT_EQ(text(Tensor::of({4}, {1.5, -NAN, INFINITY, -INFINITY})),
            "tensor([1.5000,    nan,    inf,   -inf])");
  EXPECT_EQ(text(Tensor::of({2}, {NAN, INFINITY})), "tensor([nan, inf])");
}

TEST(Print, IsScientificWhereTheRangeNeedsIt) {
  EXPECT_EQ(text(Tensor::of({2}, {1e-5, 1})), "tensor([1.0000e-05, 1.0000e+00])");
  EXPECT_EQ(text(Tensor::of({2}, {123456, 1})), "tensor([1.2346e+05, 1.0000e+00])");
  EXPECT_EQ(text(Tensor::of({2}, {2e8, 1e8})), "tensor([2.0000e+08, 1.0000e+08])");
  EXPECT_EQ(text(Tensor::of({4}, {0, 1e-5, NAN, -INFINITY})),
            "tensor([0.0000e+00, 1.0000e-05,        nan,       -inf])");
}

TEST(Print, NamesADTypeThatTheNumbersDoNotTell) {
  EXPECT_EQ(text(Tensor::of({3}, {1, -20, 300}, DType::i64)), "tensor([  1, -20, 300])");
  EXPECT_EQ(text(Tensor::of({2}, {1, 0}, DType::boolean)), "tensor([ True, False])");
  EXPECT_EQ(text(Tensor::of({1, 2}, {1, 2}, DType::i32)), "tensor([[1, 2]], dtype=i32)");
  EXPECT_EQ(text(Tensor::of({}, {7}, DType::u8)), "tensor(7, dtype=u8)");
  EXPECT_EQ(text(Tensor::of({2}, {1, 2.5}, DType::bf16)), "tensor([1.0000, 2.5000], dtype=bf16)");
}

TEST(Print, SetsDimensionsApart) {
  EXPECT_EQ(
      text(counted({2, 2, 3})),
      "tensor([[[ 0,  1,  2],\n         [ 3,  4,  5]],\n\n        [[ 6,  7,  8],\n         [ 9, 10, 11]]])");
  EXPECT_EQ(text(counted({2, 1, 2, 2}, DType::f32)),
            "tensor([[[[0., 1.],\n          [2., 3.]]],\n\n\n        [[[4., 5.],\n          [6., 7.]]]])");
  EXPECT_EQ(text(transpose(counted({2, 3}, DType::f32))),
            "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]])");
}

TEST(Print, BreaksLinesAtEightyColumns) {
  EXPECT_EQ(text(counted({1, 30}) * 1000),
            "tensor([[    0,  1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,\n"
            "         10000, 11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000,\n"
            "         20000, 21000, 22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000]])");
  EXPECT_EQ(text(full({9}, 0.25, DType::f64).set_requires_grad()),
            "tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500],\n"
            "       dtype=f64, requires_grad=True)");
}

TEST(Print, ShowsTheEdgesOfWhatIsLarge) {
  EXPECT_EQ(text(counted({1001})), "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  EXPECT_EQ(text(counted({5, 250})),
            "tensor([[   0,    1,    2,  ...,  247,  248,  249],\n"
            "        [ 250,  251,  252,  ...,  497,  498,  499],\n"
            "        [ 500,  501,  502,  ...,  747,  748,  749],\n"
            "        [ 750,  751,  752,  ...,  997,  998,  999],\n"
            "        [1000, 1001, 1002,  ..., 1247, 1248, 1249]])");
  const std::string planes = text(counted({8, 9, 20}, DType::f32) / 16);
  EXPECT_TRUE(
      planes.starts_with("tensor([[[0.0000e+00, 6.2500e-02, 1.2500e-01,  ..., 1.0625e+00,\n"
                         "          1.1250e+00, 1.1875e+00],\n"))
      << planes;
  EXPECT_NE(planes.find("3.3688e+01]],\n\n        ...,\n\n        [[5.6250e+01,"), std::string::npos);
  EXPECT_TRUE(planes.ends_with("8.9812e+01,\n          8.9875e+01, 8.9938e+01]]])"));
  EXPECT_EQ(text(zeros({1000})).size(), 4336U);  // all of them
}

TEST(Print, ReadsNoMoreThanTheEdges) {
  const Tensor huge = expand(zeros({1}), {std::int64_t{1} << 40});
  EXPECT_EQ(text(huge), "tensor([0., 0., 0.,  ..., 0., 0., 0.])");
}

TEST(Print, ShowsTheShapeOfNothing) {
  EXPECT_EQ(text(zeros({0, 3})), "tensor([], shape=[0, 3])");
  EXPECT_EQ(text(zeros({0})), "tensor([])");
  EXPECT_EQ(text(zeros({2, 0}, DType::i64)), "tensor([], shape=[2, 0], dtype=i64)");
  EXPECT_EQ(text(Tensor()), "tensor(undefined)");
}

TEST(Print, SaysWhatAGradientFlowsThrough) {
  Tensor x = ones({2}).set_requires_grad();
  EXPECT_EQ(text(x), "tensor([1., 1.], requires_grad=True)");
  EXPECT_EQ(text(x * x), "tensor([1., 1.], grad_fn=<mul>)");
}

TEST(Print, GoesIntoStreamsAndErrors) {
  std::ostringstream out;
  out << Tensor::of({2}, {1, 2});
  EXPECT_EQ(out.str(), "tensor([1., 2.])");
  EXPECT_EQ(str("got ", Tensor::of({2}, {1, 2})), "got tensor([1., 2.])");
}

TEST(Print, TakesOptions) {
  EXPECT_EQ(text(Tensor::of({1}, {1.0 / 3}, DType::f64), {.precision = 8}),
            "tensor([0.33333333], dtype=f64)");
  EXPECT_EQ(text(counted({10}), {.threshold = 4, .edge = 1}), "tensor([0,  ..., 9])");
  EXPECT_EQ(text(counted({10}), {.width = 20}), "tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])");
  EXPECT_NE(error_of<ConfigError>([] { text(zeros({1}), {.precision = 41}); }).find("41 digits"),
            std::string::npos);
  EXPECT_NE(error_of<ConfigError>([] { text(zeros({1}), {.edge = 0}); }).find("edges of 0"),
            std::string::npos);
}

TEST(Print, IsRefusedWithinAPlan) {
  EXPECT_NE(error_of([] { Plan([] { text(zeros({2})); }); }).find("cannot record printing a tensor"),
            std::string::npos);
}

}  // namespace
}  // namespace veldt
