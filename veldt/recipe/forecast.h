// A trained network's forecast of a time series, beside the truth and the seasonal-naive forecast.
// Tests: tests/app/train_test.cpp
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veldt/recipe/data.h"
#include "veldt/recipe/recipe.h"
#include "veldt/train/trainer.h"

namespace veldt::recipe {

// Errors over the test part, in the units of the series: "test_mae" and "test_rmse"; "naive_mae", that of the
// forecast which repeats the last season (without one, the last value); and "better_than_naive", the share by
// which the network's is smaller. Draws both and the truth into `path`, unless that is empty. Does nothing
// without a test part.
train::Scores draw_forecast(const Recipe& recipe, const Facts& facts, train::Trainer& trainer,
                            std::optional<data::Loader>& test, const std::string& folder,
                            const std::string& path, const std::string& title);

// `count` values after the end of the series, each from those before it, predicted ones included.
std::vector<double> forecast_series(const Recipe& recipe, const Facts& facts, const nn::Module& model,
                                    std::vector<double> values, std::int64_t count);

}  // namespace veldt::recipe
