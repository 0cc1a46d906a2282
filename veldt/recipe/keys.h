// The table of a recipe's keys: the name of each, its type, and where its value goes.
// Tests: tests/app/train_recipes_test.cpp, tests/app/train_test.cpp, tests/recipe/written_recipe_test.cpp
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "veldt/io/config_file.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

struct RecipeKey {
  // Puts a value of that type into the recipe. Throws UsageError for one that is not allowed.
  using Take = std::function<void(Recipe&, const io::Source&, const Written&)>;

  const char* name;
  io::TomlType type;
  Take take;
  std::vector<std::string> kinds = {};  // kinds of data that it applies to; none: all
  // Instead of `take`, for a key of any name: "block.NAME.layers".
  void (*take_named)(Recipe&, const std::string& name, const Written&) = nullptr;
  bool has_dots = false;  // NAME may have some, as those of parameters do
};

const std::vector<RecipeKey>& recipe_keys();
// What stands for NAME in a key of any name; empty if this is not such a key.
std::string name_in(const RecipeKey& key, const std::string& text);
// Null if there is none of that name.
const RecipeKey* find_recipe_key(const std::string& name);

}  // namespace veldt::recipe
