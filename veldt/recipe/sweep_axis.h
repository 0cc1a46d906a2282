// What a sweep varies: a key of a recipe with a list of values, or with a range to draw from.
// Tests: tests/recipe/sweep_axis_test.cpp, tests/fuzz/commands.cpp
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

struct ValueRange {
  enum class Kind { uniform, log, whole } kind = Kind::uniform;
  double low = 0, high = 0;
};

struct SweepAxis {
  std::string key;                  // "optimizer.lr"
  std::vector<std::string> values;  // as --set takes them; none of a range
  std::optional<ValueRange> range = {};
  bool whole = false;  // the key's values are whole numbers
};

// "optimizer.lr=1e-3,3e-3", or a range: "optimizer.lr=log(1e-4, 1e-1)", "values.width=whole(8, 64)",
// "optimizer.momentum=uniform(0.5, 0.99)". A comma in quotes or brackets divides nothing. A name alone is
// that of a value: "width" is "values.width". Throws UsageError, saying "--over", for a key that does not
// exist, for no value, one that is there twice or that the key cannot have, and for a range without `random`.
SweepAxis sweep_axis(const Recipe& recipe, const std::string& over, bool random);

// A value at random, of four digits where it is from a range.
std::string drawn_value(const SweepAxis& axis, Rng& rng);

}  // namespace veldt::recipe
