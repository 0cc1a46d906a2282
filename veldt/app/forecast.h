// What a network that was taught a time series foretells, beside the truth and the seasonal-naive forecast.
// Tests: tests/app/train_test.cpp
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veldt/app/recipe.h"
#include "veldt/app/recipe_data.h"
#include "veldt/train/trainer.h"

namespace veldt::app {

// Over the test part, in the units of the series: "test_mae", "test_rmse", of the forecast that repeats the
// last season (without one, the last value) "naive_mae", and the share by which the network's is less,
// "better_than_naive". Draws both and the truth into `path`, unless that is empty. Without a test part
// nothing.
train::Scores draw_forecast(const Recipe& recipe, const DataFacts& facts, train::Trainer& trainer,
                            std::optional<data::Loader>& test, const std::string& folder,
                            const std::string& path, const std::string& title);

// `count` values beyond the end of the series, each from those before it, foretold ones included.
std::vector<double> foretold(const Recipe& recipe, const DataFacts& facts, const nn::Module& model,
                             std::vector<double> values, std::int64_t count);

}  // namespace veldt::app
