// Cuts a time series into the windows that a recipe learns from and is measured on.
#include <fmt/format.h>

#include <cmath>

#include "veldt/data/sequences.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/series.h"

namespace veldt::recipe {
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

}  // namespace

void load_forecasts(const Recipe& recipe, const std::string& folder, const Facts* known, Data& into) {
  std::vector<double> values = read_series(recipe, below(folder, recipe.path));
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

}  // namespace veldt::recipe
