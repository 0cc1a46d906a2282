// Adam that leaves elements without a gradient alone.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "tests/optim/leaf.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/tensor/plan.h"

namespace veldt::optim {
namespace {

using test::copy_of;
using test::leaf;
using test::values;

// More than a task's share of elements, and no whole number of cache lines.
constexpr std::int64_t kMany = 40'007;

// Normal numbers, of which about `share` are kept and the rest are 0.
Tensor some(Rng& rng, double share, DType dtype) {
  const Tensor all = randn({kMany}, rng, 0, 1, dtype);
  return where(less(rand({kMany}, rng), share), all, zeros_like(all));
}

// Parameter, m and v of the only parameter.
std::vector<std::vector<double>> arrays(const Adam& adam) {
  std::vector<std::vector<double>> out;
  for (const Tensor& t : {adam.parameters()[0], adam.state_dict()[2].tensor, adam.state_dict()[3].tensor})
    out.push_back(to(t.detach(), DType::f64).values<double>());
  return out;
}

constexpr AdamOptions kPlain{.lr = 0.1, .weight_decay = 0.01};
constexpr AdamOptions kLazy{.lr = 0.1, .weight_decay = 0.01, .lazy = true};

class LazyAdam : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, LazyAdam, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(name_of(at.param)); });

TEST_P(LazyAdam, IsAdamBitForBitWhereAllGradientsAreThere) {
  Rng rng(1);
  Tensor a = leaf({kMany}, 0.5, GetParam()), b = leaf({kMany}, 0.5, GetParam());
  Adam plain({a}, kPlain), lazy({b}, kLazy);
  for (int step = 0; step < 3; ++step) {
    const Tensor g = randn({kMany}, rng, 3, 0.1, GetParam());
    a.set_grad(g);
    b.set_grad(g);
    plain.step();
    lazy.step();
  }
  EXPECT_EQ(arrays(plain), arrays(lazy));
}

// From a state that a step with all gradients left, so that an element that is not left alone would move.
TEST_P(LazyAdam, MovesElementsWithAGradientAsAdamAndKeepsAllElseOfTheOthers) {
  for (const double share : {0.5, 0.1, 0.002, 0.0}) {
    Rng rng(2);
    Tensor a = leaf({kMany}, 0.5, GetParam()), b = leaf({kMany}, 0.5, GetParam());
    Adam plain({a}, kPlain), lazy({b}, kLazy);
    const Tensor all = randn({kMany}, rng, 3, 0.1, GetParam()), few = some(rng, share, GetParam());
    for (Tensor* t : {&a, &b}) t->set_grad(all);
    plain.step();
    lazy.step();
    const auto before = arrays(lazy);
    for (Tensor* t : {&a, &b}) t->set_grad(few);
    plain.step();
    lazy.step();
    const auto moved = arrays(plain), now = arrays(lazy);
    const std::vector<double> g = to(few, DType::f64).values<double>();
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t i = 0; i < g.size(); ++i) {
        ASSERT_EQ(now[k][i], g[i] == 0 ? before[k][i] : moved[k][i]) << "array " << k << " element " << i;
        ASSERT_NE(moved[k][i], before[k][i]);  // Adam itself leaves nothing alone
      }
  }
}

TEST(LazyAdamStep, TakesMinusZeroForZeroAndANanForANumber) {
  Tensor w = leaf({40});
  Adam adam({w}, kLazy);
  std::vector<float> g(40, -0.0f);
  g[21] = std::numeric_limits<float>::quiet_NaN();
  g[38] = std::numeric_limits<float>::denorm_min();
  w.set_grad(Tensor::from<float>({40}, g));
  adam.step();
  const std::vector<float> now = values(w);
  for (std::size_t i = 0; i < 40; ++i)
    if (i == 21)
      EXPECT_TRUE(std::isnan(now[i]));
    else
      EXPECT_EQ(now[i] == 1, i != 38) << i;
}

TEST(LazyAdamStep, CountsAllStepsForTheBiasCorrection) {
  Tensor w = leaf({1});
  Adam adam({w}, {.lr = 0.1, .lazy = true});
  w.set_grad(zeros({1}));
  for (int i = 0; i < 9; ++i) adam.step();
  w.set_grad(ones({1}));
  adam.step();  // the tenth, the first with a gradient
  const double m = 0.1 / (1 - std::pow(0.9, 10)), v = 0.001 / (1 - std::pow(0.999, 10));
  EXPECT_NEAR(values(w)[0], 1 - 0.1 * m / std::sqrt(v), 1e-5);
}

TEST(LazyAdamStep, MayBeOneGroupsAlone) {
  Tensor table = leaf({20}), dense = leaf({20});
  Adam adam(std::vector<Group<AdamOptions>>{{{{"table", table}}, {.lr = 0.1, .lazy = true}},
                                            {{{"dense", dense}}, {.lr = 0.1}}});
  for (Tensor* t : {&table, &dense}) t->set_grad(ones({20}));
  adam.step();
  const float once = values(table)[0];
  for (Tensor* t : {&table, &dense}) t->set_grad(zeros({20}));
  adam.step();
  EXPECT_EQ(values(table), std::vector<float>(20, once));
  EXPECT_LT(values(dense)[0], once);  // by its momentum
}

TEST(LazyAdamStep, ReplaysInAPlanWithTheSameBits) {
  std::vector<std::vector<float>> ends;
  for (const bool planned : {false, true}) {
    const Tensor table = leaf({50, 2}), at = Tensor::of({3}, {4, 17, 49}, DType::i64);
    Adam adam({table}, {.lr = 0.1, .lazy = true});
    const auto step = [&] {
      const Tensor loss = sum(square(index_select(table, 0, at) - 3.0));
      adam.zero_grad();
      loss.backward();
      adam.step();
    };
    std::optional<Plan> plan;
    if (planned) plan.emplace(step);
    for (int i = 0; i < 5; ++i) planned ? plan->replay() : step();
    ends.push_back(values(table));
    EXPECT_EQ(ends.back()[0], 1);
    EXPECT_GT(ends.back()[8], 1);
  }
  EXPECT_EQ(ends[0], ends[1]);
}

}  // namespace
}  // namespace veldt::optim
