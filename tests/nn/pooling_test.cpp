// Pooling layers: their titles, their place in a network, and Flatten.
#include "veldt/nn/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/close.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::nn {
namespace {

using testing::HasSubstr;

TEST(Pooling, LeadsFromPicturesToClasses) {
  const Sequential model{
      Conv2d(1, 4, 3, {.padding = 1}), MaxPool2d(2), AvgPool2d({2, 1}), AdaptiveAvgPool2d(3),
      AdaptiveMaxPool2d({2, 3}),       Flatten(),    Linear(24, 10)};
  EXPECT_EQ(model(zeros({5, 1, 28, 28})).shape(), (Shape{5, 10}));
  EXPECT_THAT(model.description(), testing::AllOf(HasSubstr("MaxPool2d(2)"), HasSubstr("AvgPool2d([2, 1])"),
                                                  HasSubstr("AdaptiveAvgPool2d(3)"), HasSubstr("Flatten")));
}

// Bytes between layers of integers, of few channels and of many.
TEST(Pooling, TheLargestByteIsTheLargestNumbers) {
  Rng rng(1);
  for (const std::int64_t channels : {3, 40}) {
    const Tensor x = to(randint({2, channels, 9, 8}, rng, 0, 256), DType::u8);
    for (const MaxPoolOptions& o :
         {MaxPoolOptions{}, MaxPoolOptions{.stride = 1}, MaxPoolOptions{.stride = {{3, 2}}},
          MaxPoolOptions{.stride = 2, .dilation = 2}}) {
      const MaxPool2d pool({3, 2}, o);
      const Tensor y = pool(x);
      EXPECT_EQ(y.dtype(), DType::u8);
      EXPECT_TRUE(array_equal(to(y, DType::f32), pool(to(x, DType::f32))));
    }
  }
}

TEST(Pooling, ServesOtherNumbersOfDimensions) {
  EXPECT_EQ(MaxPool1d(3, {.stride = 1})(zeros({2, 4, 9})).shape(), (Shape{2, 4, 7}));
  EXPECT_EQ(AvgPool3d(2)(zeros({2, 4, 6, 4})).shape(), (Shape{2, 2, 3, 2}));
  EXPECT_EQ(AdaptiveMaxPool3d(1)(zeros({2, 4, 5, 4, 3})).shape(), (Shape{2, 4, 1, 1, 1}));
}

TEST(Pooling, RefusesOptionsOfOtherDimensions) {
  EXPECT_THAT(test::error_of<ConfigError>([] { MaxPool2d({1, 2, 3}); }), HasSubstr("[1, 2, 3]"));
  EXPECT_THAT(test::error_of<ShapeError>([] {
                MaxPool2d(4)(zeros({1, 1, 3, 3}));
              }),
              HasSubstr("MaxPool2d(4)"));
}

}  // namespace
}  // namespace veldt::nn
