// What a model makes of a table's columns, whatever the model is.
// Tests: tests/explain/tables_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::explain {

// How good a model is on rows f32 [rows, columns] whose truths the caller knows, in their order.
using TableScore = std::function<double(const Tensor& rows)>;
// A number for each row.
using TablePrediction = std::function<std::vector<double>(const Tensor& rows)>;

struct PermutationOptions {
  std::int64_t repeats = 10;
  std::uint64_t seed = 1;
};
struct Importance {
  double mean = 0, deviation = 0;   // of the losses
  std::vector<double> losses = {};  // of each repeat: score(rows) less that with the column shuffled
};
// For each column, what the score loses when the column's values change rows by chance (Breiman 2001, "Random
// forests"; Fisher et al. 2019). For a score of which less is better the losses are below 0. Throws
// ShapeError unless rows are f32 [rows, columns] with two rows or more, ConfigError for less than one repeat
// and for rows that are not finite.
std::vector<Importance> permutation_importance(const TableScore& score, const Tensor& rows,
                                               const PermutationOptions& options = {});

struct Dependence {
  std::vector<double> values;       // of the column: some of its quantiles, rising
  std::vector<double> predictions;  // the mean over all rows with the column set to each
};
// Partial dependence (Friedman 2001, "Greedy function approximation"): `points` quantiles from the 5th to the
// 95th hundredth, those that are equal once. Throws as permutation_importance(), and ConfigError for less
// than two points and for a column that does not exist.
Dependence partial_dependence(const TablePrediction& predict, const Tensor& rows, std::int64_t column,
                              std::int64_t points = 20);

}  // namespace veldt::explain
