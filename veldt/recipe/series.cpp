// Scales a time series for a network, subtracts its season, and undoes both for forecasts.
#include "veldt/recipe/series.h"

#include <fmt/format.h>

#include <cmath>

#include "veldt/io/csv.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/data.h"

namespace veldt::recipe {
namespace {

double as_network_sees(const Recipe& recipe, double value) {
  return recipe.logarithm ? std::log(value) : value;
}

}  // namespace

std::vector<double> read_series(const Recipe& recipe, const std::string& path) {
  const io::CsvTable table =
      io::read_csv(path, recipe.column.empty() ? std::vector<std::string>{} : std::vector{recipe.column});
  if (table.columns.size() != 1)
    throw UsageError(fmt::format("{} has {} columns", path, table.columns.size()), "a series is one of them",
                     "name it: column = \"..\" below [data]");
  return to(flatten(table.values), DType::f64).values<double>();
}

Series scaled_series(const Recipe& recipe, const Scaling& scaling, std::vector<double> values) {
  Series series;
  series.lag = recipe.difference ? static_cast<std::size_t>(recipe.season) : 0;
  if (recipe.difference && (recipe.season == 0 || recipe.horizon > recipe.season))
    throw UsageError("data.difference needs a data.season of the horizon or more",
                     fmt::format("the season is {}, the horizon {}", recipe.season, recipe.horizon),
                     "give, for example, season = 12 for months");
  for (std::size_t i = series.lag; i < values.size(); ++i) {
    const std::size_t low = values[i] <= 0 ? i : i - series.lag;
    if (recipe.logarithm && values[low] <= 0)
      throw IoError(IoError::Kind::malformed, fmt::format("'{}' has no logarithm", recipe.column),
                    fmt::format("value {} is {}", low + 1, values[low]), "set data.logarithm = false");
    double v = as_network_sees(recipe, values[i]);
    if (recipe.difference) v -= as_network_sees(recipe, values[i - series.lag]);
    series.scaled.push_back(static_cast<float>((v - scaling.mean) / scaling.deviation));
  }
  series.values = std::move(values);
  return series;
}

double unscaled(const Recipe& recipe, const Scaling& scaling, const std::vector<double>& values,
                std::size_t at, double forecast) {
  double v = forecast * scaling.deviation + scaling.mean;
  if (recipe.difference)
    v += as_network_sees(recipe, values.at(at - static_cast<std::size_t>(recipe.season)));
  return recipe.logarithm ? std::exp(v) : v;
}

std::pair<std::size_t, std::size_t> parts_of(const Recipe& recipe, std::size_t length) {
  const auto n = static_cast<double>(length);
  const auto test = static_cast<std::size_t>(std::llround(n * (1 - recipe.test)));
  return {static_cast<std::size_t>(std::llround(static_cast<double>(test) * (1 - recipe.validation))), test};
}

}  // namespace veldt::recipe
