// What the graph refuses, and how it says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/tensor/leaf.h"
#include "veldt/core/error.h"
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
using test::leaf;
using testing::HasSubstr;

TEST(Backward, NeedsOneElement) {
  const std::string text = error_of<ShapeError>([] { (leaf({2, 3}, {1, 2, 3, 4, 5, 6}) * 2.0).backward(); });
  EXPECT_THAT(text, HasSubstr("[2, 3]"));
  EXPECT_THAT(text, HasSubstr("sum()"));
}

TEST(Backward, NeedsAGraph) {
  EXPECT_THAT(error_of([] { Tensor::of({}, {1}).backward(); }),
              HasSubstr("does not depend on any parameter"));
  const Tensor x = leaf({}, {1});
  NoGrad off;
  EXPECT_THAT(error_of([&] { (x * 2.0).backward(); }), HasSubstr("NoGrad"));
}

TEST(Backward, NoticesAValueChangedInPlace) {
  Tensor x = leaf({2}, {1, 2});
  const Tensor loss = sum(square(x));
  x.assign(zeros({2}, DType::f64));
  const std::string text = error_of([&] { loss.backward(); });
  EXPECT_THAT(text, HasSubstr("changed in place"));
  EXPECT_THAT(text, HasSubstr("square"));
}

TEST(Backward, NoticesAValueChangedThroughAView) {
  const Tensor x = leaf({2}, {1, 2});
  const Tensor loss = sum(x * x);
  Tensor part = slice(x.detach(), 0, 0, 1);
  part.assign(Tensor::of({1}, {9}));
  EXPECT_THAT(error_of([&] { loss.backward(); }), HasSubstr("changed in place"));
}

TEST(Backward, NoticesALeafThatWasGivenOtherValues) {
  Tensor x = leaf({2}, {1, 2});
  const Tensor loss = sum(x * x);
  replace_values(x, Tensor::of({2}, {5, 6}, DType::f64));
  EXPECT_THAT(error_of([&] { loss.backward(); }), HasSubstr("changed in place"));
}

TEST(Backward, NoticesAConditionChangedInPlace) {
  const Tensor x = leaf({2}, {1, 2});
  Tensor condition = Tensor::of({2}, {1, 0}, DType::boolean);
  const Tensor loss = sum(where(condition, x, x * 2.0));
  condition.assign(Tensor::of({2}, {0, 1}, DType::boolean));
  EXPECT_THAT(error_of([&] { loss.backward(); }), HasSubstr("changed in place"));
}

// The gradient writes where the index says: an index that is no longer checked would write anywhere.
TEST(Backward, NoticesAnIndexChangedInPlace) {
  const Tensor x = leaf({3}, {1, 2, 3});
  Tensor index = Tensor::of({2}, {0, 1}, DType::i64);
  const Tensor loss = sum(gather(x, 0, index));
  index.assign(Tensor::of({2}, {1000000, -1000000}, DType::i64));
  EXPECT_THAT(error_of([&] { loss.backward(); }), HasSubstr("changed in place"));
  const Tensor second = sum(index_select(x, 0, Tensor::of({1}, {2}, DType::i64)));
  second.backward();
  EXPECT_TRUE(x.grad().defined());
}

TEST(Backward, ToleratesAChangeOfValuesThatItDoesNotRead) {
  Tensor x = leaf({2}, {1, 2});
  const Tensor loss = sum(x + x);
  x.assign(zeros({2}, DType::f64));
  EXPECT_NO_THROW(loss.backward());
}

TEST(Backward, NamesTheShapeOfAForgottenParameter) {
  Tensor listed = leaf({2, 3}, {1, 2, 3, 4, 5, 6}), forgotten = leaf({3, 1}, {1, 2, 3});
  mark_parameter(listed);
  mark_parameter(forgotten);
  const Tensor loss = sum(matmul(listed, forgotten));
  EXPECT_NO_THROW(loss.backward());  // nobody was listed: no module is in use
  mark_listed(listed);
  const std::string text = error_of([&] { loss.backward(); });
  EXPECT_THAT(text, HasSubstr("[3, 1]"));
  EXPECT_THAT(text, HasSubstr("fields()"));
  mark_listed(forgotten);
  EXPECT_NO_THROW(loss.backward());
}

TEST(Backward, AcceptsPlainLeavesBesideListedParameters) {
  Tensor listed = leaf({}, {1});
  const Tensor code = leaf({}, {2});
  mark_parameter(listed);
  mark_listed(listed);
  mark_listed(code);  // a plain leaf stays one
  EXPECT_NO_THROW((listed * code).backward());
}

TEST(SetGrad, RefusesAnotherDtype) {
  Tensor x = leaf({2}, {1, 2});
  const std::string text = error_of([&] { x.set_grad(zeros({2}, DType::f32)); });
  EXPECT_THAT(text, HasSubstr("f32"));
  EXPECT_THAT(text, HasSubstr("f64"));
}

TEST(ReplaceValues, ForgetsAGradientThatNoLongerFits) {
  Tensor x = leaf({2}, {1, 2});
  sum(x).backward();
  replace_values(x, Tensor::of({3}, {1, 2, 3}));
  EXPECT_FALSE(x.grad().defined());
  sum(square(x)).backward();
  EXPECT_EQ(x.grad().values<float>(), (std::vector<float>{2, 4, 6}));
}

TEST(Grad, RefusesAnInputOutsideOfTheGraph) {
  const Tensor x = leaf({}, {1}), data = Tensor::of({}, {1}, DType::f64);
  EXPECT_THAT(error_of([&] { grad(x * data, {data}); }), HasSubstr("does not require a gradient"));
}

// What would be zeros by oversight: 2 x has no second derivative, and tanh's was not asked for.
TEST(Grad, RefusesAnOutputWhoseGraphWasNotWanted) {
  Tensor x = leaf({}, {1});
  const auto hidden = [&] {
    NoGrad off;
    return x * 2.0;
  }();
  EXPECT_THAT(error_of([&] { grad(hidden, {x}); }), HasSubstr("NoGrad"));
  EXPECT_THAT(error_of([&] { grad(sum(grad(tanh(x), {x})[0]), {x}); }), HasSubstr("create_graph"));
  tanh(x).backward();
  EXPECT_THAT(error_of([&] { grad(x.grad() * 3.0, {x}); }), HasSubstr("create_graph"));
}

TEST(Grad, NamesBothShapesOfASeedThatDoesNotFit) {
  const Tensor x = leaf({2}, {1, 2});
  const std::string text = error_of<ShapeError>([&] { grad(x * 2.0, {x}, false, zeros({3}, DType::f64)); });
  EXPECT_THAT(text, HasSubstr("[3]"));
  EXPECT_THAT(text, HasSubstr("[2]"));
  EXPECT_THAT(error_of([&] { grad(x * 2.0, {x}, false, zeros({2})); }), HasSubstr("f32"));
}

Tensor own_op(const Tensor& x, BackwardFn backward) {
  return record("halve", (x * 0.5).detach(), {x}, std::move(backward));
}

TEST(Record, NamesTheOpWhoseGradientHasTheWrongShape) {
  const Tensor x = leaf({2}, {1, 2});
  const std::string text = error_of(
      [&] { sum(own_op(x, [](const Tensor&) -> Grads { return {zeros({3}, DType::f64)}; })).backward(); });
  EXPECT_THAT(text, HasSubstr("halve"));
  EXPECT_THAT(text, HasSubstr("[3]"));
  EXPECT_THAT(text, HasSubstr("[2]"));
}

TEST(Record, NamesTheOpThatForgotAGradient) {
  const Tensor x = leaf({2}, {1, 2});
  EXPECT_THAT(error_of([&] { sum(own_op(x, [](const Tensor&) -> Grads { return {}; })).backward(); }),
              HasSubstr("halve"));
  EXPECT_THAT(error_of([&] { sum(own_op(x, [](const Tensor&) -> Grads { return {Tensor()}; })).backward(); }),
              HasSubstr("halve"));
}

// Such a gradient is right once, and would be a constant when it is differentiated: a silent zero.
TEST(Record, NamesTheOpWhoseGradientCannotBeDifferentiatedAgain) {
  const Tensor x = leaf({2}, {1, 2});
  const auto fused = [&](const Tensor& t) {
    return own_op(t, [](const Tensor& g) -> Grads {
      NoGrad off;
      return {g * 0.5};
    });
  };
  EXPECT_NO_THROW(sum(fused(square(x))).backward());
  const std::string text = error_of([&] { grad(sum(square(fused(x))), {x}, true); });
  EXPECT_THAT(text, HasSubstr("halve"));
  EXPECT_THAT(text, HasSubstr("differentiated"));
}

}  // namespace
}  // namespace veldt
