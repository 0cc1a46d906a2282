// Tables and time series from CSV files (io/csv.h), and the numbers to bring their columns to one scale by.
// Tests: tests/data/table_test.cpp, tests/fuzz/text.cpp
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "veldt/data/dataset.h"

namespace veldt::data {

struct TableOptions {
  std::vector<std::string> inputs = {};  // columns of numbers, in that order; none: all but the target
  std::string target = {};               // the column to be learned; none: examples are only inputs
  // The target's fields are the names of classes. Those are numbered in the order of the names, or of the
  // numbers, if all are whole ones.
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
      times;  // what the first column says of each row; empty if that is one of the columns
};

// Columns of a CSV whose rows follow each other in time, for series_windows(). Throws as table() does, and
// ConfigError if no column is named.
Series series(const std::string& path, const std::vector<std::string>& columns);

struct Moments {
  Tensor mean, deviation;  // f32, of the shape of an example's tensor; a deviation of 0 is given as 1
};

// Over all examples, for tensor number `part` of each: what mapped() makes standard scores with, of a
// training set for the test set too: (x - mean) / deviation. Throws ConfigError for a set without examples,
// ShapeError for examples that differ in shape or lack the part.
Moments moments(const Dataset& set, std::size_t part = 0);

}  // namespace veldt::data
