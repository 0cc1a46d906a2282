// Shuffles columns, and sets them.
#include "veldt/explain/tables.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"

namespace veldt::explain {
namespace {

std::vector<float> checked_rows(const Tensor& rows) {
  if (rows.dtype() != DType::f32 || rows.rank() != 2 || rows.size(0) < 2 || rows.size(1) < 1)
    throw ShapeError(str("cannot explain by rows of ", rows.dtype(), ' ', rows.shape()),
                     "a table is f32 [rows, columns], of two rows or more",
                     "give the rows that the model reads");
  std::vector<float> values = rows.values<float>();
  const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (bad != values.end())
    throw ConfigError("cannot explain by rows that are not finite",
                      str("row ", (bad - values.begin()) / rows.size(1), " has ", *bad, " in column ",
                          (bad - values.begin()) % rows.size(1)),
                      "fill in what is missing, or leave such rows out");
  return values;
}

Tensor with_column(std::vector<float> values, const Shape& shape, std::int64_t column,
                   const std::vector<float>& put) {
  for (std::size_t row = 0; row < put.size(); ++row)
    values[row * static_cast<std::size_t>(shape[1]) + static_cast<std::size_t>(column)] = put[row];
  return Tensor::from<float>(shape, values);
}

std::vector<float> column_of(const std::vector<float>& values, const Shape& shape, std::int64_t column) {
  std::vector<float> found;
  for (std::int64_t row = 0; row < shape[0]; ++row)
    found.push_back(values[static_cast<std::size_t>(row * shape[1] + column)]);
  return found;
}

// By linear interpolation between the two nearest, as NumPy's quantile().
double quantile(const std::vector<float>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (double{sorted[above]} - sorted[below]);
}

}  // namespace

std::vector<Importance> permutation_importance(const TableScore& score, const Tensor& rows,
                                               const PermutationOptions& o) {
  const std::vector<float> values = checked_rows(rows);
  if (o.repeats < 1)
    throw ConfigError(str("columns cannot be shuffled ", o.repeats, " times"), "a mean is of one or more",
                      "give 1 or more repeats");
  const double whole = score(rows);
  std::vector<Importance> all;
  for (std::int64_t column = 0; column < rows.size(1); ++column) {
    Importance found;
    for (std::int64_t repeat = 0; repeat < o.repeats; ++repeat) {
      std::vector<float> shuffled = column_of(values, rows.shape(), column);
      Rng rng(o.seed, static_cast<std::uint64_t>(column * o.repeats + repeat));
      for (std::size_t i = shuffled.size() - 1; i > 0; --i)
        std::swap(shuffled[i], shuffled[rng.next_below(i + 1)]);
      found.losses.push_back(whole - score(with_column(values, rows.shape(), column, shuffled)));
    }
    const auto n = static_cast<double>(found.losses.size());
    found.mean = std::accumulate(found.losses.begin(), found.losses.end(), 0.0) / n;
    double squares = 0;
    for (const double loss : found.losses) squares += (loss - found.mean) * (loss - found.mean);
    found.deviation = std::sqrt(squares / n);
    all.push_back(std::move(found));
  }
  return all;
}

Dependence partial_dependence(const TablePrediction& predict, const Tensor& rows, std::int64_t column,
                              std::int64_t points) {
  const std::vector<float> values = checked_rows(rows);
  if (column < 0 || column >= rows.size(1) || points < 2)
    throw ConfigError(str("there is no dependence on column ", column, " at ", points, " points"),
                      str("the table has ", rows.size(1), " columns, and a curve has two points or more"),
                      str("give a column of 0 .. ", rows.size(1) - 1, ", and 2 points or more"));
  std::vector<float> sorted = column_of(values, rows.shape(), column);
  std::sort(sorted.begin(), sorted.end());
  Dependence found;
  constexpr double kFirst = 0.05, kLast = 0.95;  // beyond, a few rows would decide
  for (std::int64_t i = 0; i < points; ++i) {
    const double share = kFirst + (kLast - kFirst) * static_cast<double>(i) / static_cast<double>(points - 1);
    const auto value = static_cast<float>(quantile(sorted, share));
    if (!found.values.empty() && found.values.back() == value) continue;
    const std::vector<float> put(sorted.size(), value);
    const std::vector<double> predicted = predict(with_column(values, rows.shape(), column, put));
    found.values.push_back(value);
    found.predictions.push_back(std::accumulate(predicted.begin(), predicted.end(), 0.0) /
                                static_cast<double>(predicted.size()));
  }
  return found;
}

}  // namespace veldt::explain
