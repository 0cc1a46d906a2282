// What an evaluation adds up: the losses of the players, and the metrics; over batches, or over what other
// processes have added up of theirs.
// Tests: tests/train/ranks_test.cpp, tests/train/trainer_test.cpp
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/dist/communicator.h"
#include "veldt/train/metric.h"

namespace veldt::train {

class Tally {
 public:
  Tally(std::size_t losses, const std::vector<MetricMaker>& metrics);

  bool has_metrics() const { return !metrics_.empty(); }
  // A loss, and what it weighs.
  void add_loss(std::size_t which, double loss, double weight);
  void add(const TensorList& outputs, const data::Batch& batch);

  double loss(std::size_t which) const { return losses_[which].first / losses_[which].second; }
  void append_metrics(Scores& scores) const;

  // As numbers, and adding another's; none if a metric cannot be added to.
  std::optional<std::vector<double>> state() const;
  void merge(const std::vector<double>& state);

 private:
  std::vector<std::pair<double, double>> losses_;  // sums, and their weights
  std::vector<std::unique_ptr<Metric>> metrics_;
};

// Merges the states of all ranks, of batches in their order if a rank has neighbours: so sums have the bits
// of one process.
void merge_of_all(dist::Communicator& ranks, const std::vector<std::vector<double>>& own, Tally& into);

}  // namespace veldt::train
