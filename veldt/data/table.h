// Tables and time series from CSV files (io/csv.h), and the numbers that scale their columns.
// Tests: tests/data/table_test.cpp, tests/fuzz/text.cpp
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "veldt/data/dataset.h"

namespace veldt::data {

struct TableOptions {
  std::vector<std::string> inputs = {};  // columns of numbers, in that order; none: all except the target
  std::string target = {};               // the column to be learned; none: examples are only inputs
  // The target's fields are the names of classes. They are numbered in alphabetical order, or in numerical
  // order if all are integers.
  bool classes = false;
};

// Example i is row i of a CSV with a header: {inputs f32 [columns], target f32 [1]}, or with classes {inputs,
// label i64 []}. Throws IoError missing; malformed, with line and column, for a field that is missing, NaN,
// infinite, or text where a number should be; ConfigError for an input that is the target too, and classes
// without one.
DatasetPtr table(const std::string& path, const TableOptions& options);

struct Series {
  Tensor values;  // f32 [n, columns]
  std::vector<std::string>
      times;  // the first column's text for each row; empty if that is one of the columns
};

// Columns of a CSV whose rows are in order of time, for series_windows(). Throws as table() does, and
// ConfigError if no column is named.
Series series(const std::string& path, const std::vector<std::string>& columns);

struct Moments {
  Tensor mean, deviation;  // f32, of the shape of an example's tensor; a deviation of 0 is returned as 1
};

// Over all examples, for tensor number `part` of each. mapped() can make standard scores of them, (x - mean)
// / deviation; use the training set's for the test set too. Throws ConfigError for a set without examples,
// ShapeError for examples that differ in shape or lack the part.
Moments moments(const Dataset& set, std::size_t part = 0);

}  // namespace veldt::data
