// Scales a time series for a network, subtracts its season, and undoes both for forecasts.
#include "veldt/app/recipe_series.h"

#include <fmt/format.h>

#include <cmath>

#include "veldt/data/sequences.h"
#include "veldt/io/csv.h"
#include "veldt/ops/shape.h"

namespace veldt::app {
namespace {

// The windows whose forecasts lie entirely within values [begin, end).
data::DatasetPtr forecasts_of(const data::DatasetPtr& windows, const Recipe& recipe, const Series& series,
                              std::size_t begin, std::size_t end) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < windows->size(); ++i) {
    const std::size_t first = series.lag + static_cast<std::size_t>(i + recipe.context);
    if (first >= begin && first + static_cast<std::size_t>(recipe.horizon) <= end) numbers.push_back(i);
  }
  return numbers.empty() ? nullptr : data::subset(windows, std::move(numbers));
}

// [horizon, 1] becomes [horizon].
data::Example flat_forecast(data::Example example) {
  example.at(1) = flatten(example.at(1));
  return example;
}

double as_network_sees(const Recipe& recipe, double value) {
  return recipe.logarithm ? std::log(value) : value;
}

}  // namespace

void load_forecasts(const Recipe& recipe, const std::string& folder, const DataFacts* known,
                    RecipeData& into) {
  std::vector<double> values = read_series(recipe, folder);
  const auto [validation, test] = parts_of(recipe, values.size());
  into.facts.examples = std::ssize(values);
  Scaling& scaling = into.facts.scaling;
  if (known != nullptr) {
    scaling = known->scaling;
  } else {
    const Series plain =
        scaled_series(recipe, {}, {values.begin(), values.begin() + static_cast<long>(validation)});
    double sum = 0, squares = 0;
    for (const float v : plain.scaled) sum += v;
    const auto n = static_cast<double>(plain.scaled.size());
    for (const float v : plain.scaled) squares += (v - sum / n) * (v - sum / n);
    scaling = {sum / n, std::sqrt(squares / n)};
    if (!(scaling.deviation > 0))
      throw IoError(IoError::Kind::malformed, fmt::format("there is nothing to learn in '{}'", recipe.column),
                    "its values are all the same", "name another column");
  }
  const Series series = scaled_series(recipe, scaling, std::move(values));
  const Tensor rows = Tensor::from<float>({std::ssize(series.scaled), 1}, series.scaled);
  const data::DatasetPtr windows =
      data::mapped(data::series_windows(rows, recipe.context, recipe.horizon), flat_forecast);
  into.train = forecasts_of(windows, recipe, series, 0, validation);
  into.validation = forecasts_of(windows, recipe, series, validation, test);
  into.test = forecasts_of(windows, recipe, series, test, series.values.size());
  if (into.train == nullptr)
    throw UsageError(fmt::format("the series is too short: it has {} values", series.values.size()),
                     fmt::format("the test and validation parts and a context of {} leave none to learn from",
                                 recipe.context),
                     "give a smaller data.context, data.validation or data.test");
  into.facts.model = {{recipe.context, 1}, DType::f32, recipe.horizon};
}

std::vector<double> read_series(const Recipe& recipe, const std::string& folder) {
  const io::CsvTable table =
      io::read_csv(below(folder, recipe.path),
                   recipe.column.empty() ? std::vector<std::string>{} : std::vector{recipe.column});
  if (table.columns.size() != 1)
    throw UsageError(fmt::format("{} has {} columns", recipe.path, table.columns.size()),
                     "a series is one of them", "name it: column = \"..\" below [data]");
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

}  // namespace veldt::app
