// Metrics against values computed by hand.
#include "veldt/train/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::train {
namespace {

using test::error_of;
using testing::HasSubstr;

Tensor labels(std::initializer_list<double> values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values, DType::i64);
}

// Of outputs and labels that come in one batch.
double value_of(const MetricMaker& make, const Tensor& output, const Tensor& target) {
  const auto metric = make();
  metric->reset();
  metric->add(output, {output, target});
  return metric->value();
}

TEST(Metric, CountsRightLabels) {
  const Tensor logits = Tensor::of({4, 3}, {3, 1, 2, 1, 3, 2, 1, 2, 3, 5, 0, 0});
  EXPECT_DOUBLE_EQ(value_of(accuracy(), logits, labels({0, 0, 2, 0})), 0.75);
  EXPECT_DOUBLE_EQ(value_of(top_k(2), logits, labels({1, 2, 1, 0})), 0.75);
  EXPECT_DOUBLE_EQ(value_of(top_k(9), logits, labels({1, 2, 0, 0})), 1);
  EXPECT_DOUBLE_EQ(value_of(accuracy(), logits, labels({0, -100, 1, -100})), 0.5);
  // Of every place of a sequence: [n, classes, length] against [n, length].
  const Tensor sequence = Tensor::of({1, 2, 3}, {1, 0, 1, 0, 1, 0});
  EXPECT_DOUBLE_EQ(value_of(accuracy(), sequence, Tensor::of({1, 3}, {0, 1, 1}, DType::i64)), 2.0 / 3);
  EXPECT_DOUBLE_EQ(value_of(top_k(2), sequence, Tensor::of({1, 3}, {0, 1, 1}, DType::i64)), 1);
}

TEST(Metric, CountsNoNaNAsRight) {
  const double nan = std::nan("");
  EXPECT_EQ(value_of(accuracy(), Tensor::of({2, 2}, {nan, nan, 1, 0}), labels({0, 0})), 0.5);
}

TEST(Metric, SumsHalvesInWiderNumbers) {
  const Tensor p = to(full({300}, 40.0), DType::f16), t = to(full({300}, 0.0), DType::f16);
  EXPECT_EQ(value_of(root_mean_squared_error(), p, t), 40);
}

TEST(Metric, GathersOverBatchesOfAnySize) {
  const auto metric = accuracy()();
  metric->reset();
  EXPECT_TRUE(std::isnan(metric->value()));
  metric->add(Tensor::of({3, 2}, {1, 0, 1, 0, 1, 0}), {Tensor(), labels({0, 0, 0})});
  metric->add(Tensor::of({1, 2}, {1, 0}), {Tensor(), labels({1})});
  EXPECT_DOUBLE_EQ(metric->value(), 0.75);
  metric->reset();
  EXPECT_TRUE(std::isnan(metric->value()));
}

TEST(Metric, MeasuresPerplexityAndDistances) {
  // Even logits over 4 classes: e to log 4.
  EXPECT_NEAR(value_of(perplexity(), Tensor::of({2, 4}, {1, 1, 1, 1, 0, 0, 0, 0}), labels({3, 0})), 4, 1e-5);
  const Tensor p = Tensor::of({4}, {1, 2, 3, 4}), t = Tensor::of({4}, {1, 2, 3, 8});
  EXPECT_DOUBLE_EQ(value_of(mean_absolute_error(), p, t), 1);
  EXPECT_DOUBLE_EQ(value_of(root_mean_squared_error(), p, t), 2);
  EXPECT_DOUBLE_EQ(value_of(mean_absolute_error(3), p, t), 3);
  EXPECT_DOUBLE_EQ(value_of(root_mean_squared_error(3), p, t), 6);
  EXPECT_FALSE(mean_absolute_error()()->larger_is_better());
}

TEST(Metric, CountsLinesThatAreRightAsAWhole) {
  const Tensor logits = Tensor::of({4, 2}, {1, 0, 0, 1, 1, 0, 0, 1});  // 0, 1, 0, 1
  EXPECT_DOUBLE_EQ(value_of(exact_match(2), logits, labels({0, 1, 1, 1})), 0.5);
  EXPECT_DOUBLE_EQ(value_of(exact_match(2), logits, labels({0, -100, 0, 1})), 1);
  EXPECT_DOUBLE_EQ(value_of(exact_match(4), logits, labels({0, 1, 0, 0})), 0);
  const double nan = std::nan("");
  EXPECT_EQ(value_of(exact_match(1), Tensor::of({2, 2}, {nan, nan, 1, 0}), labels({0, 0})), 0.5);
  EXPECT_THROW(exact_match(0), ConfigError);
}

TEST(Metric, MeasuresNoiseInDecibels) {
  const Tensor noisy = Tensor::of({2, 2}, {0.1, 0.1, -0.1, 1.1}), clean = Tensor::of({2, 2}, {0, 0, 0, 1});
  const auto before = psnr_of_input()(), after = psnr()();
  for (const auto* metric : {&before, &after}) (*metric)->reset();
  before->add(clean, {noisy, clean});
  EXPECT_NEAR(before->value(), 20, 1e-5);
  EXPECT_EQ(before->name(), "noisy_psnr");
  after->add(noisy, {noisy, clean});  // outputs beyond 0..1 count as 0 and 1
  EXPECT_NEAR(after->value(), 20 + 10 * std::log10(2), 1e-5);
  EXPECT_TRUE(after->larger_is_better());
}

TEST(Metric, CountsConfusions) {
  Confusion confusion(2);
  EXPECT_TRUE(std::isnan(confusion.value()));
  confusion.add(Tensor::of({5, 2}, {1, 0, 1, 0, 0, 1, 0, 1, 0, 1}), {labels({0, 1, 1, 1, 0})});
  EXPECT_EQ(confusion.count(1, 0), 1);
  EXPECT_EQ(confusion.count(1, 1), 2);
  EXPECT_DOUBLE_EQ(confusion.precision(1), 2.0 / 3);
  EXPECT_DOUBLE_EQ(confusion.recall(0), 0.5);
  EXPECT_DOUBLE_EQ(confusion.f1(0), 0.5);
  EXPECT_DOUBLE_EQ(confusion.value(), (0.5 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(value_of(macro_f1(3), Tensor::of({1, 3}, {0, 0, 1}), labels({2})), 1.0 / 3);
}

TEST(Metric, RanksWithTies) {
  // Pairs of (label 1, label 0): 3 x 2; won 4, one tied.
  const Tensor x = Tensor::of({5}, {0.9, 0.4, 0.5, 0.4, 0.45});
  EXPECT_DOUBLE_EQ(value_of(auroc(), x, labels({1, 1, 1, 0, 0})), 4.5 / 6);
  EXPECT_TRUE(std::isnan(value_of(auroc(), x, labels({1, 1, 1, 1, 1}))));
  // Two classes are ranked by how far apart they are.
  EXPECT_EQ(value_of(auroc(), Tensor::of({3, 2}, {0, 1, 9, 8, 5, 7}), labels({1, 0, 1})), 1);
  EXPECT_TRUE(std::isnan(value_of(auroc(), Tensor::of({2}, {std::nan(""), 1}), labels({1, 0}))));
  EXPECT_THAT(error_of<ShapeError>([] { value_of(auroc(), Tensor::of({1}, {1}), labels({-100})); }),
              HasSubstr("label -100"));
}

TEST(Metric, SaysWhatDoesNotFit) {
  EXPECT_THAT(error_of<ShapeError>([] {
                value_of(accuracy(), Tensor::of({2, 1}, {1, 2}), labels({0}));
              }),
              HasSubstr("[2, 1] by labels i64 [1]"));
  EXPECT_THAT(error_of<ShapeError>([] {
                value_of(macro_f1(2), Tensor::of({1, 3}, {0, 0, 1}), labels({0}));
              }),
              HasSubstr("there are 2 classes"));
  EXPECT_THAT(error_of<ConfigError>([] {
                score({{"loss", 1}, {"accuracy", 2}}, "accurcy");
              }),
              HasSubstr("loss, accuracy"));
  EXPECT_THAT(error_of<ConfigError>([] { top_k(0); }), HasSubstr("best 0"));
}

}  // namespace
}  // namespace veldt::train
