// The gradient checker itself: it must detect planted errors.
#include <gtest/gtest.h>

#include "tests/support/gradients.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

const std::vector<GradientInput> kInput = {{{{4}, {-1.5, -0.25, 0.5, 1.75}}}};

// x^3, forward only: what the planted ops below compute.
Tensor cube_values(const Tensor& x) {
  NoGrad off;
  return x * x * x;
}

// x^3 as a custom op with a given gradient.
Function cube_with(std::function<Tensor(const Tensor& x, const Tensor& g)> backward) {
  return [backward](In in) {
    const Tensor x = in[0];
    return record("cube", cube_values(x), {x},
                  [x, backward](const Tensor& g) -> Grads { return {backward(x, g)}; });
  };
}

TEST(GradientChecker, PassesARightGradient) {
  const Function cube = cube_with([](const Tensor& x, const Tensor& g) { return g * 3.0 * square(x); });
  const GradientReport report = check_gradients(cube, kInput, 3);
  EXPECT_TRUE(report.ok) << report.message;
}

TEST(GradientChecker, CatchesAWrongFirstGradient) {
  const Function cube = cube_with([](const Tensor& x, const Tensor& g) { return g * 3.001 * square(x); });
  const GradientReport report = check_gradients(cube, kInput, 1);
  EXPECT_FALSE(report.ok);
  EXPECT_NE(report.message.find("order 1, input 0"), std::string::npos) << report.message;
}

TEST(GradientChecker, CatchesAGradientThatForgetsTheOneFromAbove) {
  const Function cube = cube_with([](const Tensor& x, const Tensor&) { return 3.0 * square(x); });
  EXPECT_FALSE(check_gradients(cube, kInput, 1).ok);
}

// The first gradient is right to the last bit; only its graph is missing a part.
TEST(GradientChecker, CatchesAWrongSecondGradient) {
  const Function cube =
      cube_with([](const Tensor& x, const Tensor& g) { return g * 3.0 * (x * x.detach()); });
  EXPECT_TRUE(check_gradients(cube, kInput, 1).ok);
  const GradientReport report = check_gradients(cube, kInput, 2);
  EXPECT_FALSE(report.ok);
  EXPECT_NE(report.message.find("order 2, input 0"), std::string::npos) << report.message;
}

TEST(GradientChecker, CatchesASecondGradientThatIsSilentlyZero) {
  const Function cube =
      cube_with([](const Tensor& x, const Tensor& g) { return g * 3.0 * square(x.detach()); });
  EXPECT_TRUE(check_gradients(cube, kInput, 1).ok);
  EXPECT_FALSE(check_gradients(cube, kInput, 2).ok);
}

TEST(GradientChecker, CatchesAGradientThatDropsOutOfTheGraph) {
  const Function cube = cube_with([](const Tensor& x, const Tensor& g) {
    NoGrad off;
    return g * 3.0 * square(x);
  });
  EXPECT_TRUE(check_gradients(cube, kInput, 1).ok);
  const GradientReport report = check_gradients(cube, kInput, 2);
  EXPECT_FALSE(report.ok);
}

TEST(GradientChecker, CatchesAFusedGradientThatDiffersFromTheOneInTheGraph) {
  const Function cube = cube_with([](const Tensor& x, const Tensor& g) {
    return grad_enabled() ? g * 3.0 * square(x) : g * 3.0 * square(x) + 1e-3;
  });
  const GradientReport report = check_gradients(cube, kInput, 1);
  EXPECT_FALSE(report.ok);
  EXPECT_NE(report.message.find("create_graph"), std::string::npos) << report.message;
}

TEST(GradientChecker, CatchesAResultThatIsNotInTheGraph) {
  const GradientReport report = check_gradients([](In in) { return cube_values(in[0]); }, kInput, 1);
  EXPECT_FALSE(report.ok);
  EXPECT_NE(report.message.find("not in the graph"), std::string::npos) << report.message;
}

TEST(GradientChecker, CatchesAGradientOfOneInputOfTwo) {
  const std::vector<GradientInput> two = {kInput[0], {{{4}, {2, 3, 0.5, -1}}}};
  const Function product = [](In in) {
    const Tensor a = in[0], b = in[1];
    Tensor y = [&] {
      NoGrad off;
      return a * b;
    }();
    return record("product", y, {a, b}, [a, b](const Tensor& g) -> Grads { return {g * b, g * b}; });
  };
  const GradientReport report = check_gradients(product, two, 1);
  EXPECT_FALSE(report.ok);
  EXPECT_NE(report.message.find("input 1"), std::string::npos) << report.message;
}

}  // namespace
}  // namespace veldt::test
