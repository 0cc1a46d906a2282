// A time series as a network sees it: its logarithm if the recipe says so, minus the value of one season
// before, standardised.
// Tests: tests/app/train_test.cpp, tests/app/train_recipes_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "veldt/recipe/facts.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// A series as a recipe names it. If differences to the season before are learned, the first of `scaled`
// belongs to place `lag` of `values`.
struct Series {
  std::vector<double> values;
  std::vector<float> scaled;
  std::size_t lag = 0;
};
// `values` as the network sees them.
Series scaled_series(const Recipe& recipe, const Scaling& scaling, std::vector<double> values);
// The column of a table that the recipe names. Throws as io::read_csv(), and UsageError for a recipe that
// names none where the table has several.
std::vector<double> read_series(const Recipe& recipe, const std::string& path);
// The value that a forecast for place `at` stands for, given all values before it.
double unscaled(const Recipe& recipe, const Scaling& scaling, const std::vector<double>& values,
                std::size_t at, double forecast);
// Places of a series at which its validation and its test part begin.
std::pair<std::size_t, std::size_t> parts_of(const Recipe& recipe, std::size_t length);

}  // namespace veldt::recipe
