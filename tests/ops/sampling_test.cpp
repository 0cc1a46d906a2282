// Drawing indices by weight: what is refused, what is never drawn, and how often the rest is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/threads.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using test::error_of;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using I64 = std::int64_t;

std::string refused(const Tensor& weights) {
  Rng rng(1);
  return error_of<Error>([&] { multinomial(weights, 2, rng); });
}

TEST(Multinomial, NamesTheWeightThatCannotBeOne) {
  for (DType t : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    EXPECT_THAT(refused(zeros({3}, t)), AllOf(HasSubstr("row 0"), HasSubstr("all 3 weights are 0")));
    EXPECT_THAT(refused(Tensor::of({2}, {1, NAN}, t)),
                AllOf(HasSubstr("nan"), HasSubstr("class 1 of row 0")));
    EXPECT_THAT(refused(Tensor::of({3}, {1, -1, 1}, t)),
                AllOf(HasSubstr("-1"), HasSubstr("class 1 of row 0")));
    EXPECT_THAT(refused(Tensor::of({3}, {1, 2, INFINITY}, t)),
                AllOf(HasSubstr("inf"), HasSubstr("class 2 of row 0")));
  }
  const Tensor rows = Tensor::of({2, 2, 2}, {1, 0, 0, 1, 0, 0, 1, -3});
  EXPECT_THAT(refused(rows), HasSubstr("row 2: all 2 weights are 0"));
  EXPECT_THAT(refused(transpose(rows, 0, 1)), HasSubstr("row 1: all 2 weights are 0"));
  EXPECT_THAT(refused(Tensor::of({2}, {1e308, 1e308}, DType::f64)), HasSubstr("sum to inf"));
  EXPECT_THAT(refused(Tensor::of({2}, {1e-310, 0}, DType::f64)), HasSubstr("sum to 1e-310"));
}

TEST(Multinomial, LooksAtTheWeightsOfEachReplay) {
  const Tensor weights = ones({2, 3});
  Rng rng(2);
  Plan plan([&] { return multinomial(weights, 2, rng); });
  plan.replay();
  weights.detach().assign(Tensor::of({2, 3}, {1, 1, 1, 1, NAN, 1}));
  EXPECT_THAT(error_of<Error>([&] { plan.replay(); }), HasSubstr("class 1 of row 1"));
}

TEST(Multinomial, NeverDrawsAWeightOfZero) {
  Rng rng(3);
  const Tensor weights = Tensor::of({2, 6}, {0, 1e-30, 0, 0, 2, 0, 0, 0, 5e-324, 1, 3, 0}, DType::f64);
  const Tensor one = Tensor::of({3}, {0, 7, 0});
  EXPECT_THAT(multinomial(one, 20000, rng).values<I64>(), Each(1));
  const std::vector<I64> drawn = multinomial(weights, 20000, rng).values<I64>();
  for (std::size_t i = 0; i < 20000; ++i) {
    ASSERT_TRUE(drawn[i] == 4 || drawn[i] == 1);
    ASSERT_TRUE(drawn[20000 + i] == 3 || drawn[20000 + i] == 4 || drawn[20000 + i] == 2);
  }
}

TEST(Multinomial, DrawsEachClassAsOftenAsItsWeightSays) {
  const std::int64_t classes = 1500, count = 300000;
  Rng rng(4);
  const Tensor weights = arange(classes, DType::f32);
  for (int threads : {1, 3}) {
    const test::ThreadsScope scope;
    set_num_threads(threads);
    std::vector<double> seen(static_cast<std::size_t>(classes));
    for (I64 k : multinomial(weights, count, rng).values<I64>()) seen[static_cast<std::size_t>(k)] += 1;
    double chi2 = 0;
    for (std::int64_t k = 1; k < classes; ++k) {
      const double wanted =
          2.0 * static_cast<double>(k * count) / static_cast<double>(classes * (classes - 1));
      const double away = seen[static_cast<std::size_t>(k)] - wanted;
      chi2 += away * away / wanted;
    }
    // With 1498 degrees of freedom, the deviation of chi2 is 55.
    EXPECT_NEAR(chi2, 1498, 5 * 55);
    EXPECT_EQ(seen[0], 0);
  }
}

TEST(Multinomial, OfNoRowsOrDrawsIsEmpty) {
  Rng rng(5);
  EXPECT_EQ(multinomial(ones({0, 3}), 2, rng).shape(), (Shape{0, 2}));
  EXPECT_EQ(multinomial(ones({3}), 0, rng).shape(), Shape{0});
}

TEST(Seed, RestartsAllThatIsDrawnWithoutAnRng) {
  const auto draws = [] {
    seed(11);
    return std::vector<Tensor>{rand({3}),   randn({2}, DType::f64),    randint({4}, 0, 100),
                               randperm(5), bernoulli(full({4}, 0.5)), multinomial(ones({3}), 2)};
  };
  const std::vector<Tensor> first = draws(), again = draws();
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].bytes(), again[i].bytes()) << i;
  Rng rng(11);
  EXPECT_EQ(rand({3}, rng).bytes(), first[0].bytes());  // the same stream as an Rng of that seed
  EXPECT_NE(rand({3}).bytes(), first[0].bytes());
}

}  // namespace
}  // namespace veldt
