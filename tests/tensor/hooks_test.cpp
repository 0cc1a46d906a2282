// Hooks of gradients, and gradients that are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/recompute.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor leaf(std::initializer_list<double> values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values).set_requires_grad();
}

TEST(Hook, SeesAndChangesTheGradientOfWhatAnOpMade) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3.0;
  std::vector<float> seen;
  y.register_hook([&](const Tensor& g) {
    seen = g.values<float>();
    return Tensor();
  });
  HookHandle doubled = y.register_hook([](const Tensor& g) { return g * 2.0; });
  sum(y * y).backward();  // both factors' gradients at once
  EXPECT_THAT(seen, ElementsAre(6, 12));
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(36, 72));
  doubled.remove();
  EXPECT_THAT(grad(sum(y), {x})[0].values<float>(), ElementsAre(3, 3));
  EXPECT_THAT(seen, ElementsAre(1, 1));
}

TEST(Hook, OfALeafGetsTheSumOfItsGradients) {
  const Tensor x = leaf({1, -2});
  int calls = 0;
  HookHandle handle = x.register_hook([&](const Tensor& g) {
    ++calls;
    return relu(g);
  });
  sum(x * x + x).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(3, 0));
  EXPECT_THAT(grad(sum(x * x + x), {x})[0].values<float>(), ElementsAre(3, 0));
  handle.remove();
  handle.remove();
  EXPECT_THAT(grad(sum(x * x), {x})[0].values<float>(), ElementsAre(2, -4));
  const Tensor one = leaf({3});
  one.register_hook([](const Tensor& g) { return g * 5.0; });
  one.backward();
  EXPECT_THAT(one.grad().values<float>(), ElementsAre(5));
}

TEST(Hook, IsDifferentiatedWhereTheGraphIsKept) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  y.register_hook([&](const Tensor& g) { return g * x; });
  const Tensor slope = grad(sum(y), {x}, true)[0];  // x * 2 x
  EXPECT_EQ(slope.item(), 8);
  EXPECT_EQ(grad(sum(slope), {x})[0].item(), 8);  // 4 x
}

TEST(Hook, MustGiveAGradientOfTheSameForm) {
  const Tensor x = leaf({1, 2});
  EXPECT_THAT(error_of<Error>([&] { x.detach().register_hook([](const Tensor& g) { return g; }); }),
              HasSubstr("cannot have a hook"));
  x.register_hook([](const Tensor& g) { return sum(g); });
  EXPECT_THAT(error_of<ShapeError>([&] { sum(x).backward(); }), HasSubstr("a hook gave f32 []"));
}

TEST(Hook, MayAddAndRemoveHooksWhileItRuns) {
  const Tensor x = leaf({1});
  const Tensor y = x * 1.0;
  std::vector<std::string> order;
  HookHandle first, second;
  first = y.register_hook([&](const Tensor&) {
    order.push_back("first");
    first.remove();
    second.remove();
    for (int i = 0; i < 20; ++i)
      y.register_hook([&](const Tensor&) {
        order.push_back("added");
        return Tensor();
      });
    return Tensor();
  });
  second = y.register_hook([&](const Tensor&) {
    order.push_back("second");
    return Tensor();
  });
  HookHandle third = y.register_hook([&](const Tensor&) {
    order.push_back("third");
    return Tensor();
  });
  sum(y).backward();
  EXPECT_THAT(order, ElementsAre("first", "third"));
  third.remove();
  order.clear();
  sum(y).backward();
  EXPECT_EQ(order, std::vector<std::string>(20, "added"));
}

TEST(Hook, LetsGoOfWhatItCapturedWhenItIsRemoved) {
  const Tensor x = leaf({1});
  const auto held = std::make_shared<int>(1);
  HookHandle handle = x.register_hook([held](const Tensor&) { return Tensor(); });
  EXPECT_EQ(held.use_count(), 2);
  handle.remove();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Hook, MustNotChangeItsGradientInPlace) {
  const Tensor x = leaf({1});
  const Tensor b = x * 1.0, c = x * 1.0;
  c.register_hook([](const Tensor& g) {
    g.detach().assign(g * 10.0);
    return Tensor();
  });
  EXPECT_THAT(error_of<Error>([&] { sum(b + c).backward(); }), HasSubstr("changed its gradient in place"));
}

TEST(Hook, OfWhatACheckpointCapturesRunsOnce) {
  const Tensor x = leaf({2}), w = leaf({3});
  const Tensor made = w * 1.0;
  int of_leaf = 0, of_made = 0;
  w.register_hook([&](const Tensor& g) {
    ++of_leaf;
    return g * 10.0;
  });
  made.register_hook([&](const Tensor& g) {
    ++of_made;
    return g * 10.0;
  });
  const Tensor y = checkpoint([&](const TensorList& in) { return in[0] * w + made; }, {x});
  sum(y).backward();
  EXPECT_EQ(of_leaf, 1);
  EXPECT_EQ(of_made, 1);
  EXPECT_THAT(w.grad().values<float>(), ElementsAre((2 + 10) * 10));
}

TEST(RetainGrad, KeepsItOnceAndAfterTheHooks) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3.0;
  y.retain_grad();
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return g * 2.0; });
  grad(sum(y), {x});  // asks for x alone
  EXPECT_FALSE(y.grad().defined());
  sum(y).backward();
  EXPECT_THAT(y.grad().values<float>(), ElementsAre(2, 2));
}

TEST(RetainGrad, KeepsTheGradientOfWhatAnOpMade) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3.0;
  y.retain_grad();
  EXPECT_FALSE(y.grad().defined());
  sum(y * y).backward();
  EXPECT_THAT(y.grad().values<float>(), ElementsAre(6, 12));
  sum(y).backward();
  EXPECT_THAT(y.grad().values<float>(), ElementsAre(7, 13));
  x.retain_grad();  // has it anyway
  EXPECT_NE(error_of<Error>([&] { y.detach().retain_grad(); }), "");
}

}  // namespace
}  // namespace veldt
