// States as one list of numbers: of each loss its sum and weight, of each metric how many numbers, and those.
#include "veldt/train/tally.h"

#include <cstring>

namespace veldt::train {

Tally::Tally(std::size_t losses, const std::vector<MetricMaker>& metrics) : losses_(losses) {
  for (const MetricMaker& make : metrics) metrics_.push_back(make());
}

void Tally::add_loss(std::size_t which, double loss, double weight) {
  if (weight > 0) losses_[which].first += loss * weight;
  losses_[which].second += weight;
}

void Tally::add(const TensorList& outputs, const data::Batch& batch) {
  for (const auto& metric : metrics_) metric->add_all(outputs, batch);
}

void Tally::append_metrics(Scores& scores) const {
  for (const auto& metric : metrics_) scores.push_back({metric->name(), metric->value()});
}

std::optional<std::vector<double>> Tally::state() const {
  std::vector<double> numbers;
  for (const auto& [sum, weight] : losses_) numbers.insert(numbers.end(), {sum, weight});
  for (const auto& metric : metrics_) {
    const std::optional<std::vector<double>> state = metric->state();
    if (!state) return std::nullopt;
    numbers.push_back(static_cast<double>(state->size()));
    numbers.insert(numbers.end(), state->begin(), state->end());
  }
  return numbers;
}

void Tally::merge(const std::vector<double>& state) {
  auto at = state.begin();
  for (auto& [sum, weight] : losses_) sum += *at++, weight += *at++;
  for (const auto& metric : metrics_) {
    const auto count = static_cast<std::ptrdiff_t>(*at++);
    metric->merge(std::vector<double>(at, at + count));
    at += count;
  }
}

void merge_of_all(dist::Communicator& ranks, const std::vector<std::vector<double>>& own, Tally& into) {
  std::vector<double> list;
  for (const std::vector<double>& state : own) {
    list.push_back(static_cast<double>(state.size()));
    list.insert(list.end(), state.begin(), state.end());
  }
  const std::string bytes(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(double));
  for (const std::string& all : ranks.all_gather(bytes)) {
    std::vector<double> numbers(all.size() / sizeof(double));
    if (!all.empty()) std::memcpy(numbers.data(), all.data(), all.size());
    for (std::size_t at = 0; at < numbers.size();) {
      const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at) + 1;
      const auto count = static_cast<std::size_t>(numbers[at]);
      into.merge(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count)));
      at += count + 1;
    }
  }
}

}  // namespace veldt::train
