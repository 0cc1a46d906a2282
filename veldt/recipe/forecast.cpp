// Forecasts a series with a network, window by window, in the series' own units, and compares its errors with
// the naive ones.
#include "veldt/recipe/forecast.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "veldt/io/chart.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/series.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {
namespace {

// The last known value at the same place of an earlier season. `first`: the place of the first unknown value.
double naive_forecast(const Recipe& recipe, const std::vector<double>& values, std::size_t at,
                      std::size_t first) {
  const auto season = static_cast<std::size_t>(recipe.season);
  if (season == 0 || first < season) return values.at(first - 1);
  while (at >= first && at >= season) at -= season;
  return values.at(at);
}

}  // namespace

train::Scores draw_forecast(const Recipe& recipe, const Facts& facts, train::Trainer& trainer,
                            std::optional<data::Loader>& test, const std::string& folder,
                            const std::string& path, const std::string& title) {
  if (!test) return {};
  const std::vector<double> values = read_series(recipe, below(folder, recipe.path));
  const std::vector<float> forecasts = to(flatten(trainer.predict(*test)), Device{}).values<float>();
  const auto horizon = static_cast<std::size_t>(recipe.horizon);
  const std::size_t windows = forecasts.size() / horizon, begin = values.size() - horizon + 1 - windows;
  io::ChartLine truth{"truth", {}, {}}, naive{recipe.season > 0 ? "season before" : "value before", {}, {}},
      network{"network", {}, {}};
  double error = 0, squares = 0, naive_error = 0;
  for (std::size_t w = 0; w < windows; ++w)
    for (std::size_t k = 0; k < horizon; ++k) {
      const std::size_t at = begin + w + k;
      const double predicted = unscaled(recipe, facts.scaling, values, at, forecasts[w * horizon + k]);
      const double before = naive_forecast(recipe, values, at, begin + w);
      error += std::abs(predicted - values[at]);
      squares += (predicted - values[at]) * (predicted - values[at]);
      naive_error += std::abs(before - values[at]);
      // If a forecast has several values, the last one is drawn.
      if (k + 1 < horizon) continue;
      for (auto& [line, y] : {std::pair{&truth, values[at]}, {&naive, before}, {&network, predicted}}) {
        line->x.push_back(static_cast<double>(at));
        line->y.push_back(y);
      }
    }
  const auto n = static_cast<double>(windows * horizon);
  if (!path.empty())
    io::write_chart(path,
                    {.title = fmt::format("{}: values it had not seen, {} ahead", title, recipe.horizon),
                     .x = "row",
                     .y = recipe.column,
                     .lines = {naive, truth, network}});
  train::Scores scores{
      {"test_mae", error / n}, {"test_rmse", std::sqrt(squares / n)}, {"naive_mae", naive_error / n}};
  if (naive_error > 0) scores.push_back({"better_than_naive", 1 - error / naive_error});
  return scores;
}

std::vector<double> forecast_series(const Recipe& recipe, const Facts& facts, const nn::Module& model,
                                    std::vector<double> values, std::int64_t count) {
  const NoGrad off;
  const Device device = model.parameters().at(0).device();
  const std::size_t known = values.size(), wanted = known + static_cast<std::size_t>(count);
  while (values.size() < wanted) {
    const Series series = scaled_series(recipe, facts.scaling, values);
    if (std::ssize(series.scaled) < recipe.context)
      throw UsageError(fmt::format("the series has {} values", known),
                       fmt::format("the network looks at {} of them, after a season", recipe.context),
                       "give a longer one");
    const std::vector<float> window(series.scaled.end() - recipe.context, series.scaled.end());
    const Tensor x = to(Tensor::from<float>({1, recipe.context, 1}, window), device);
    const std::vector<float> next = to(flatten(model(x)), Device{}).values<float>();
    for (const float v : next)
      if (values.size() < wanted) values.push_back(unscaled(recipe, facts.scaling, values, values.size(), v));
  }
  return {values.begin() + static_cast<long>(known), values.end()};
}

}  // namespace veldt::recipe
