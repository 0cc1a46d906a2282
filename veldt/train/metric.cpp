// The measures of classifiers and regressions, each summed over batches: accuracy, F1, AUROC, errors.
#include "veldt/train/metric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/sort.h"
#include "veldt/ops/unary.h"

namespace veldt::train {
namespace {

constexpr std::int64_t kIgnored = -100;
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

const Tensor& target_of(const data::Batch& batch) { return batch.back(); }

// The labels of a batch, one for each place of the output.
std::vector<std::int64_t> labels_of(const Tensor& output, const data::Batch& batch) {
  const Tensor& labels = target_of(batch);
  if (output.rank() < 2 || is_float(labels.dtype()) || labels.shape() != output.shape().without(1))
    throw ShapeError(
        str("cannot score outputs ", output.shape(), " by labels ", labels.dtype(), ' ', labels.shape()),
        "outputs are [n, classes, ..], and labels whole numbers [n, ..]",
        "give the metric the batch of these outputs");
  return to(labels, DType::i64).values<std::int64_t>();
}

// For each place of the output, whether it holds a NaN, which never counts as right.
std::vector<bool> nan_places(const Tensor& output) {
  return to(any(isnan(output), {1}), Device{}).values<bool>();
}

// A mean over all that was added.
class MeanMetric : public Metric {
 public:
  explicit MeanMetric(std::string name, bool larger_is_better = true)
      : name_(std::move(name)), larger_is_better_(larger_is_better) {}
  std::string name() const override { return name_; }
  bool larger_is_better() const override { return larger_is_better_; }
  void reset() override { sum_ = 0, count_ = 0; }
  double value() const override { return count_ > 0 ? sum_ / count_ : kNothing; }
  std::optional<std::vector<double>> state() const override { return std::vector<double>{sum_, count_}; }
  void merge(const std::vector<double>& state) override { count(state.at(0), state.at(1)); }

 protected:
  void count(double sum, double number) { sum_ += sum, count_ += number; }

 private:
  std::string name_;
  bool larger_is_better_;
  double sum_ = 0, count_ = 0;
};

// The labels among the k largest outputs.
class TopK final : public MeanMetric {
 public:
  TopK(std::string name, std::int64_t k) : MeanMetric(std::move(name)), k_(k) {}
  void add(const Tensor& output, const data::Batch& batch) override {
    const std::vector<std::int64_t> labels = labels_of(output, batch);
    const Tensor best =
        k_ == 1 ? argmax(output, 1, true) : topk(output, std::min(k_, output.size(1)), 1).indices;
    // [n, k, ..] to [n, .., k], so that the outputs of a label are neighbours.
    const Tensor found = contiguous(movedim(to(best, Device{}), 1, -1));
    const std::vector<std::int64_t> guesses = found.values<std::int64_t>();
    const std::size_t k = labels.empty() ? 0 : guesses.size() / labels.size();
    const std::vector<bool> bad = nan_places(output);
    double right = 0, counted = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == kIgnored) continue;
      const auto begin = guesses.begin() + static_cast<std::ptrdiff_t>(i * k);
      right += !bad[i] && std::find(begin, begin + static_cast<std::ptrdiff_t>(k), labels[i]) !=
                              begin + static_cast<std::ptrdiff_t>(k);
      ++counted;
    }
    MeanMetric::count(right, counted);
  }

 private:
  std::int64_t k_;
};

class ExactMatch final : public MeanMetric {
 public:
  explicit ExactMatch(std::int64_t length)
      : MeanMetric("exact_match"), length_(static_cast<std::size_t>(length)) {}
  void add(const Tensor& output, const data::Batch& batch) override {
    const std::vector<std::int64_t> labels = labels_of(output, batch);
    const std::vector<std::int64_t> guesses = to(argmax(output, 1), Device{}).values<std::int64_t>();
    const std::vector<bool> bad = nan_places(output);
    double right = 0;
    for (std::size_t line = 0; line < labels.size(); line += length_) {
      bool all = true;
      for (std::size_t i = line; i < std::min(line + length_, labels.size()); ++i)
        all = all && (labels[i] == kIgnored || (guesses[i] == labels[i] && !bad[i]));
      right += all ? 1 : 0;
    }
    MeanMetric::count(right, static_cast<double>(labels.size() / length_));
  }

 private:
  std::size_t length_;
};

class Perplexity final : public MeanMetric {
 public:
  Perplexity() : MeanMetric("perplexity", false) {}
  void add(const Tensor& output, const data::Batch& batch) override {
    const std::vector<std::int64_t> labels = labels_of(output, batch);
    MeanMetric::count(
        cross_entropy(output, target_of(batch), {.reduction = Reduction::sum}).item(),
        static_cast<double>(std::ssize(labels) - std::count(labels.begin(), labels.end(), kIgnored)));
  }
  double value() const override { return std::exp(MeanMetric::value()); }
};

class Distance final : public MeanMetric {
 public:
  Distance(bool squared, double unit)
      : MeanMetric(squared ? "rmse" : "mae", false), squared_(squared), unit_(unit) {}
  void add(const Tensor& output, const data::Batch& batch) override {
    const LossOptions all{.reduction = Reduction::sum};
    const Tensor wide = to(output, DType::f64), target = to(target_of(batch), DType::f64);
    MeanMetric::count((squared_ ? mse_loss(wide, target, all) : l1_loss(wide, target, all)).item(),
                      static_cast<double>(output.numel()));
  }
  double value() const override {
    return unit_ * (squared_ ? std::sqrt(MeanMetric::value()) : MeanMetric::value());
  }

 private:
  bool squared_;
  double unit_;
};

class PeakRatio final : public MeanMetric {
 public:
  explicit PeakRatio(bool of_input)
      : MeanMetric(of_input ? "noisy_psnr" : "psnr", true), of_input_(of_input) {}
  void add(const Tensor& output, const data::Batch& batch) override {
    const Tensor wide = to(of_input_ ? batch.at(0) : clamp(output, 0, 1), DType::f64);
    MeanMetric::count(mse_loss(wide, to(target_of(batch), DType::f64), {.reduction = Reduction::sum}).item(),
                      static_cast<double>(wide.numel()));
  }
  double value() const override { return -10 * std::log10(MeanMetric::value()); }

 private:
  bool of_input_;
};

class Auroc final : public Metric {
 public:
  std::string name() const override { return "auroc"; }
  void reset() override { ranked_.clear(), has_nan_ = false; }
  void add(const Tensor& output, const data::Batch& batch) override {
    const bool pairs = output.rank() == 2 && output.size(1) == 2;
    const Tensor wide = to(output, DType::f64);
    const Tensor scores = pairs ? select(wide, 1, 1) - select(wide, 1, 0) : wide;
    const Tensor& labels = target_of(batch);
    if (scores.shape() != labels.shape())
      throw ShapeError(str("cannot rank outputs ", output.shape(), " by labels ", labels.shape()),
                       "each output needs a label of 0 or 1", "give outputs [n] or [n, 2], and labels [n]");
    const std::vector<double> x = scores.values<double>(), y = to(labels, DType::f64).values<double>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (y[i] != 0 && y[i] != 1)
        throw ShapeError(str("cannot rank an output of label ", y[i]), "auroc knows labels of 0 and 1",
                         "leave out other examples");
      has_nan_ = has_nan_ || std::isnan(x[i]);
      ranked_.push_back({x[i], y[i] == 1});
    }
  }
  double value() const override {
    if (has_nan_) return kNothing;
    std::vector<std::pair<double, bool>> sorted = ranked_;
    std::sort(sorted.begin(), sorted.end());
    double positives = 0, negatives = 0, won = 0;
    for (std::size_t i = 0; i < sorted.size();) {
      double tied_positives = 0, tied_negatives = 0;
      for (const double x = sorted[i].first; i < sorted.size() && sorted[i].first == x; ++i)
        (sorted[i].second ? tied_positives : tied_negatives) += 1;
      won += tied_positives * (negatives + tied_negatives / 2);
      positives += tied_positives, negatives += tied_negatives;
    }
    return positives > 0 && negatives > 0 ? won / (positives * negatives) : kNothing;
  }
  // Outputs and labels in turn.
  std::optional<std::vector<double>> state() const override {
    std::vector<double> numbers;
    for (const auto& [output, positive] : ranked_)
      numbers.insert(numbers.end(), {output, positive ? 1.0 : 0.0});
    return numbers;
  }
  void merge(const std::vector<double>& state) override {
    for (std::size_t i = 0; i + 1 < state.size(); i += 2) {
      has_nan_ = has_nan_ || std::isnan(state[i]);
      ranked_.push_back({state[i], state[i + 1] != 0});
    }
  }

 private:
  std::vector<std::pair<double, bool>> ranked_;  // outputs, and whether their label is 1
  bool has_nan_ = false;
};

}  // namespace

double score(const Scores& scores, const std::string& name) {
  std::string names;
  for (const auto& [known, value] : scores) {
    if (known == name) return value;
    names += str(names.empty() ? "" : ", ", known);
  }
  throw ConfigError(str("there is no score \"", name, "\""), str("there are ", names),
                    "name one of them, or add its metric");
}

MetricMaker accuracy() {
  return [] { return std::make_unique<TopK>("accuracy", 1); };
}

MetricMaker top_k(std::int64_t k) {
  if (k < 1) throw ConfigError(str("cannot score the best ", k), "there must be one at least", "5 is usual");
  return [k] { return std::make_unique<TopK>(str("top_", k), k); };
}

MetricMaker perplexity() {
  return [] { return std::make_unique<Perplexity>(); };
}

MetricMaker auroc() {
  return [] { return std::make_unique<Auroc>(); };
}

MetricMaker mean_absolute_error(double unit) {
  return [unit] { return std::make_unique<Distance>(false, unit); };
}

MetricMaker root_mean_squared_error(double unit) {
  return [unit] { return std::make_unique<Distance>(true, unit); };
}

MetricMaker exact_match(std::int64_t length) {
  if (length < 1)
    throw ConfigError(str("lines cannot have ", length, " labels"), "each has one at least",
                      "give 1 or more");
  return [length] { return std::make_unique<ExactMatch>(length); };
}

MetricMaker psnr() {
  return [] { return std::make_unique<PeakRatio>(false); };
}

MetricMaker psnr_of_input() {
  return [] { return std::make_unique<PeakRatio>(true); };
}

MetricMaker macro_f1(std::int64_t classes) {
  return [classes] { return std::make_unique<Confusion>(classes); };
}

Confusion::Confusion(std::int64_t classes) : classes_(classes) {
  if (classes < 1 || classes > kMostClasses)
    throw ConfigError(str("cannot count confusions of ", classes, " classes"),
                      str("there must be 1 to ", kMostClasses), "give the number of classes");
  reset();
}

void Confusion::reset() { counts_.assign(static_cast<std::size_t>(classes_ * classes_), 0); }

void Confusion::add(const Tensor& output, const data::Batch& batch) {
  const std::vector<std::int64_t> labels = labels_of(output, batch);
  const std::vector<std::int64_t> guesses = to(argmax(output, 1), Device{}).values<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == kIgnored) continue;
    if (labels[i] < 0 || labels[i] >= classes_ || guesses[i] >= classes_)
      throw ShapeError(str("cannot count label ", labels[i], " taken for ", guesses[i]),
                       str("there are ", classes_, " classes"),
                       "give the number of classes that the network has");
    ++counts_[static_cast<std::size_t>(labels[i] * classes_ + guesses[i])];
  }
}

// Places and counts in turn, of those that are not 0.
std::optional<std::vector<double>> Confusion::state() const {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] > 0)
      numbers.insert(numbers.end(), {static_cast<double>(i), static_cast<double>(counts_[i])});
  return numbers;
}

void Confusion::merge(const std::vector<double>& state) {
  for (std::size_t i = 0; i + 1 < state.size(); i += 2)
    counts_.at(static_cast<std::size_t>(state[i])) += static_cast<std::int64_t>(state[i + 1]);
}

std::int64_t Confusion::count(std::int64_t label, std::int64_t taken_for) const {
  return counts_.at(static_cast<std::size_t>(label * classes_ + taken_for));
}

double Confusion::precision(std::int64_t of) const {
  double all = 0;
  for (std::int64_t label = 0; label < classes_; ++label) all += static_cast<double>(count(label, of));
  return all > 0 ? static_cast<double>(count(of, of)) / all : 0;
}

double Confusion::recall(std::int64_t of) const {
  double all = 0;
  for (std::int64_t guess = 0; guess < classes_; ++guess) all += static_cast<double>(count(of, guess));
  return all > 0 ? static_cast<double>(count(of, of)) / all : 0;
}

double Confusion::f1(std::int64_t of) const {
  const double p = precision(of), r = recall(of);
  return p + r > 0 ? 2 * p * r / (p + r) : 0;
}

double Confusion::value() const {
  double sum = 0;
  for (std::int64_t c = 0; c < classes_; ++c) sum += f1(c);
  return std::any_of(counts_.begin(), counts_.end(), [](std::int64_t n) { return n > 0; })
             ? sum / static_cast<double>(classes_)
             : kNothing;
}

namespace {

class OfOutput final : public Metric {
 public:
  OfOutput(std::size_t output, std::size_t target, std::unique_ptr<Metric> inner)
      : output_(output), target_(target), inner_(std::move(inner)) {}

  std::string name() const override { return str(inner_->name(), '_', output_); }
  bool larger_is_better() const override { return inner_->larger_is_better(); }
  void reset() override { inner_->reset(); }
  void add(const Tensor& output, const data::Batch& batch) override { add_all({output}, batch); }
  void add_all(const TensorList& outputs, const data::Batch& batch) override {
    if (output_ >= outputs.size() || target_ >= batch.size())
      throw ConfigError(str("the metric ", name(), " has nothing to compare"),
                        str("it wants output ", output_, " of ", outputs.size(), " and tensor ", target_,
                            " of ", batch.size(), " of the batch"),
                        "count both from 0");
    inner_->add(outputs[output_], {batch[target_]});
  }
  double value() const override { return inner_->value(); }
  std::optional<std::vector<double>> state() const override { return inner_->state(); }
  void merge(const std::vector<double>& state) override { inner_->merge(state); }

 private:
  std::size_t output_, target_;
  std::unique_ptr<Metric> inner_;
};

}  // namespace

MetricMaker of_output(std::size_t output, std::size_t target, MetricMaker metric) {
  return [=] { return std::make_unique<OfOutput>(output, target, metric()); };
}

}  // namespace veldt::train
