// Metrics of a network's outputs, computed batch by batch.
// Tests: tests/train/metric_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/data/loader.h"
#include "veldt/tensor/graph.h"

namespace veldt::train {

// Names and values, in display order: {"loss", 0.05}, {"accuracy", 0.99}.
using Scores = std::vector<std::pair<std::string, double>>;
// The one of that name. Throws ConfigError listing the known names.
double score(const Scores& scores, const std::string& name);

class Metric {
 public:
  virtual ~Metric() = default;
  virtual std::string name() const = 0;
  virtual bool larger_is_better() const { return true; }
  virtual void reset() = 0;
  // Adds the network's output for a batch. Gradients are not recorded.
  virtual void add(const Tensor& output, const data::Batch& batch) = 0;
  // The same of a network of several outputs; by default the first one counts.
  virtual void add_all(const TensorList& outputs, const data::Batch& batch) { add(outputs.at(0), batch); }
  // The value over all since reset(); NaN if there were none.
  virtual double value() const = 0;
  // What has been added since reset(), as numbers, and adding another's: so that several processes can share
  // an evaluation, each state being of one batch. Nothing by default: then each evaluates all.
  virtual std::optional<std::vector<double>> state() const { return std::nullopt; }
  virtual void merge(const std::vector<double>& /*state*/) {}
};
// Makes a new one for each evaluation.
using MetricMaker = std::function<std::unique_ptr<Metric>()>;

// For logits or probabilities [n, classes, ..] and labels, integers [n, ..], the last tensor of the batch.
// Labels of -100 are ignored. The share of labels that got the largest output.
MetricMaker accuracy();
// "top_5": the share of labels among the k largest. Throws ConfigError for k < 1.
MetricMaker top_k(std::int64_t k);
// "perplexity": e to the mean cross entropy of logits.
MetricMaker perplexity();

// How often a label (row) was predicted as a class (column).
class Confusion final : public Metric {
 public:
  static constexpr std::int64_t kMostClasses = 1 << 14;  // the counts then take two gigabytes

  // Throws ConfigError for less than one class or more than kMostClasses.
  explicit Confusion(std::int64_t classes);
  std::string name() const override { return "macro_f1"; }
  void reset() override;
  void add(const Tensor& output, const data::Batch& batch) override;
  // The mean of the classes' F1.
  double value() const override;
  std::optional<std::vector<double>> state() const override;
  void merge(const std::vector<double>& state) override;

  std::int64_t count(std::int64_t label, std::int64_t taken_for) const;
  // For one class: the share of right predictions among those of the class, among its labels, and their
  // harmonic mean; 0 if there are none.
  double precision(std::int64_t of) const;
  double recall(std::int64_t of) const;
  double f1(std::int64_t of) const;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};
MetricMaker macro_f1(std::int64_t classes);

// "auroc", of outputs [n], or of two classes, [n, 2], against labels 0 and 1: the probability that an output
// of label 1 is ranked above one of label 0; ties count half (Mann & Whitney 1947). NaN if one label does not
// occur or an output is NaN.
MetricMaker auroc();

// "mae" and "rmse": the mean absolute and the root mean squared difference to the batch's last tensor.
// `unit`: what a difference of 1 is worth, such as the deviation if standard scores are learned.
MetricMaker mean_absolute_error(double unit = 1);
MetricMaker root_mean_squared_error(double unit = 1);

// "exact_match": the share of lines of `length` labels each that are right as a whole, of outputs
// [n length, classes]. Of a network that is shown the labels before each, that is also the share that it
// writes right by itself, taking the likeliest each time. Throws ConfigError for a length below 1.
MetricMaker exact_match(std::int64_t length);

// "psnr", in decibels, of outputs in 0..1 against the batch's last tensor: of the mean squared error over all
// numbers, after outputs are clamped to 0..1. "noisy_psnr": the same of the batch's first tensor as it is,
// what a network that takes noise away begins with.
MetricMaker psnr();
MetricMaker psnr_of_input();

// A metric of another output than the first, against any tensor of the batch: "accuracy_1" for output 1.
MetricMaker of_output(std::size_t output, std::size_t target, MetricMaker metric);

}  // namespace veldt::train
