// Data sets: examples by index, and ways to make them.
// Tests: tests/data/dataset_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::data {

// One example: its tensors on the CPU, the input first, then the targets. All examples of a set have the same
// number of tensors.
using Example = std::vector<Tensor>;

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  // Example 0..size()-1, the same each time. Several threads call it at once.
  virtual Example get(std::int64_t i) const = 0;
  // The name of example i in errors: "example 7", or the file it comes from.
  virtual std::string name_of(std::int64_t i) const;
  // The names of the classes of labels 0, 1, ..; empty if there are none.
  virtual std::vector<std::string> classes() const { return {}; }
};
using DatasetPtr = std::shared_ptr<const Dataset>;

// Example i is function(i). Throws ConfigError for a size below 0.
DatasetPtr from_function(std::int64_t size, std::function<Example(std::int64_t)> function);
// Example i is row i of each tensor. Throws ShapeError, naming both, unless all have the same number of rows.
DatasetPtr from_tensors(std::vector<Tensor> tensors, std::vector<std::string> classes = {});
// The result of `function` for each example; several threads call it at once.
DatasetPtr mapped(DatasetPtr set, std::function<Example(Example)> function);
// Those examples, in that order. Throws ConfigError for an index outside of the set.
DatasetPtr subset(DatasetPtr set, std::vector<std::int64_t> numbers);
// The sets in sequence.
DatasetPtr concatenated(std::vector<DatasetPtr> sets);
// Two disjoint parts in a shuffled order, the second with round(size * share) examples: for validation.
// Throws ConfigError for a share outside of 0..1.
std::pair<DatasetPtr, DatasetPtr> split(const DatasetPtr& set, double share, std::uint64_t seed);

}  // namespace veldt::data
