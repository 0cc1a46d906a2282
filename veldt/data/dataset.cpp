// Data sets from functions and tensors, and from other sets: mapped, selected, joined, split.
#include "veldt/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "veldt/core/error.h"
#include "veldt/data/sampler.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

class FunctionSet final : public Dataset {
 public:
  FunctionSet(std::int64_t size, std::function<Example(std::int64_t)> function)
      : size_(size), function_(std::move(function)) {
    if (size < 0)
      throw ConfigError(str("a data set cannot have ", size, " examples"), "its size is below 0",
                        "give the number of examples");
  }
  std::int64_t size() const override { return size_; }
  Example get(std::int64_t i) const override { return function_(i); }

 private:
  std::int64_t size_;
  std::function<Example(std::int64_t)> function_;
};

class TensorSet final : public Dataset {
 public:
  TensorSet(std::vector<Tensor> tensors, std::vector<std::string> classes)
      : tensors_(std::move(tensors)), classes_(std::move(classes)) {
    if (tensors_.empty())
      throw ConfigError("a data set needs a tensor", "none was given", "give the inputs, and what to learn");
    for (const Tensor& t : tensors_)
      if (t.rank() < 1 || t.size(0) != tensors_[0].size(0))
        throw ShapeError(str("a data set cannot have rows of ", tensors_[0].shape(), " and ", t.shape()),
                         "every tensor needs a row for each example", "give all the same first size");
    for (Tensor& t : tensors_) t = to(t.detach(), Device{});
  }
  std::int64_t size() const override { return tensors_[0].size(0); }
  Example get(std::int64_t i) const override {
    Example example;
    for (const Tensor& t : tensors_) example.push_back(select(t, 0, i));
    return example;
  }
  std::vector<std::string> classes() const override { return classes_; }

 private:
  std::vector<Tensor> tensors_;
  std::vector<std::string> classes_;
};

class MappedSet final : public Dataset {
 public:
  MappedSet(DatasetPtr set, std::function<Example(Example)> function)
      : set_(std::move(set)), function_(std::move(function)) {}
  std::int64_t size() const override { return set_->size(); }
  Example get(std::int64_t i) const override { return function_(set_->get(i)); }
  std::string name_of(std::int64_t i) const override { return set_->name_of(i); }
  std::vector<std::string> classes() const override { return set_->classes(); }

 private:
  DatasetPtr set_;
  std::function<Example(Example)> function_;
};

class Subset final : public Dataset {
 public:
  Subset(DatasetPtr set, std::vector<std::int64_t> numbers)
      : set_(std::move(set)), numbers_(std::move(numbers)) {
    for (const std::int64_t i : numbers_)
      if (i < 0 || i >= set_->size())
        throw ConfigError(str("there is no example ", i), str("the data set has ", set_->size()),
                          "give numbers below its size");
  }
  std::int64_t size() const override { return std::ssize(numbers_); }
  Example get(std::int64_t i) const override { return set_->get(at(i)); }
  std::string name_of(std::int64_t i) const override { return set_->name_of(at(i)); }
  std::vector<std::string> classes() const override { return set_->classes(); }

 private:
  std::int64_t at(std::int64_t i) const { return numbers_.at(static_cast<std::size_t>(i)); }

  DatasetPtr set_;
  std::vector<std::int64_t> numbers_;
};

class Concatenation final : public Dataset {
 public:
  explicit Concatenation(std::vector<DatasetPtr> sets) : sets_(std::move(sets)) {
    std::int64_t end = 0;
    for (const DatasetPtr& set : sets_) ends_.push_back(end += set->size());
  }
  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  Example get(std::int64_t i) const override {
    const auto [set, at] = find(i);
    return set->get(at);
  }
  std::string name_of(std::int64_t i) const override {
    const auto [set, at] = find(i);
    return set->name_of(at);
  }
  std::vector<std::string> classes() const override {
    return sets_.empty() ? std::vector<std::string>{} : sets_[0]->classes();
  }

 private:
  std::pair<const Dataset*, std::int64_t> find(std::int64_t i) const {
    const auto k = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
    return {sets_.at(k).get(), i - (k == 0 ? 0 : ends_[k - 1])};
  }

  std::vector<DatasetPtr> sets_;
  std::vector<std::int64_t> ends_;  // the index at which each ends
};

}  // namespace

std::string Dataset::name_of(std::int64_t i) const { return str("example ", i); }

DatasetPtr from_function(std::int64_t size, std::function<Example(std::int64_t)> function) {
  return std::make_shared<FunctionSet>(size, std::move(function));
}

DatasetPtr from_tensors(std::vector<Tensor> tensors, std::vector<std::string> classes) {
  return std::make_shared<TensorSet>(std::move(tensors), std::move(classes));
}

DatasetPtr mapped(DatasetPtr set, std::function<Example(Example)> function) {
  return std::make_shared<MappedSet>(std::move(set), std::move(function));
}

DatasetPtr subset(DatasetPtr set, std::vector<std::int64_t> numbers) {
  return std::make_shared<Subset>(std::move(set), std::move(numbers));
}

DatasetPtr concatenated(std::vector<DatasetPtr> sets) {
  return std::make_shared<Concatenation>(std::move(sets));
}

std::pair<DatasetPtr, DatasetPtr> split(const DatasetPtr& set, double share, std::uint64_t seed) {
  if (!(share >= 0 && share <= 1))
    throw ConfigError(str("cannot split off a share of ", share), "it must be from 0 to 1",
                      "give 0.1 for a tenth");
  const std::int64_t size = set->size(), kept = size - std::llround(static_cast<double>(size) * share);
  const Shuffle order(size, seed, 0);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) numbers[static_cast<std::size_t>(i)] = order(i);
  const auto middle = numbers.begin() + kept;
  // In the order of the data, because files are read fastest that way.
  std::sort(numbers.begin(), middle);
  std::sort(middle, numbers.end());
  return {subset(set, {numbers.begin(), middle}), subset(set, {middle, numbers.end()})};
}

}  // namespace veldt::data
