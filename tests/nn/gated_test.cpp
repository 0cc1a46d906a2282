// PReLU, GLU and SwiGLU: their formulas and what they refuse.
#include "veldt/nn/gated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(PReLU, HasASlopeForAllOrForEachChannel) {
  const Tensor x = Tensor::of({2, 2}, {-4, 1, 2, -8});
  EXPECT_THAT(PReLU()(x).values<float>(), ElementsAre(-1, 1, 2, -2));
  PReLU each(2, 0.5);
  EXPECT_THAT(each(x).values<float>(), ElementsAre(-2, 1, 2, -4));
  sum(each(x)).backward();
  EXPECT_THAT(each.parameters()[0].grad().values<float>(), ElementsAre(-4, -8));
  EXPECT_THAT(each(Tensor::of({2}, {-2, -4})).values<float>(), ElementsAre(-1, -2));
  EXPECT_THAT(error_of<ShapeError>([&] { each(ones({2, 3})); }), HasSubstr("PReLU(2) cannot take [2, 3]"));
  EXPECT_THAT(error_of<ConfigError>([] { PReLU(0); }), HasSubstr("PReLU(0)"));
}

TEST(GLU, GatesOneHalfByTheOther) {
  const Tensor y = GLU()(Tensor::of({1, 4}, {2, 3, 0, 0}));
  EXPECT_THAT(y.values<float>(), ElementsAre(1, 1.5));
  EXPECT_EQ(GLU(1)(ones({2, 6, 3})).shape(), (Shape{2, 3, 3}));
  EXPECT_THAT(error_of<ShapeError>([] { GLU()(ones({2, 3})); }), HasSubstr("GLU(-1) cannot halve [2, 3]"));
}

TEST(SwiGLU, IsAValueTimesASiluOfTheGate) {
  Rng rng(1);
  const SwiGLU layer(3, 2, rng);
  const Tensor x = randn({4, 3}, rng);
  const NamedTensors p = layer.named_parameters();
  ASSERT_EQ(p.size(), 2u);
  EXPECT_EQ(p[0].name, "gate.weight");
  const Tensor wanted = silu(linear(x, p[0].tensor)) * linear(x, p[1].tensor);
  EXPECT_EQ(layer(x).values<float>(), wanted.values<float>());
}

}  // namespace
}  // namespace veldt::nn
