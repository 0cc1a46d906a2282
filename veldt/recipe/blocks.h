// The blocks and words of a recipe, under names that are looked at once.
// Tests: tests/recipe/network_test.cpp
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/recipe/call.h"
#include "veldt/recipe/item.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

struct BlockParameter {
  std::string name;
  std::optional<std::string> otherwise;  // what it is unless given
};

class Blocks {
 public:
  // Throws UsageError naming the line for a name that is none, or that means something else in layers, and
  // for a block without layers.
  Blocks(const Recipe& recipe, std::int64_t outputs);

  // What stands in all layers: the recipe's values, and "outputs".
  const Words& words() const { return words_; }
  // Null if there is none of that name; capitals do not matter.
  const Block* find(const std::string& name) const;
  std::vector<std::string> names() const;
  static std::vector<BlockParameter> parameters_of(const Block& block);

 private:
  void check_block(const Block& block) const;

  const Recipe& recipe_;
  Words words_;
};

// The words within a block that is called so, and its title: "residual(64, 2)".
std::pair<Words, std::string> words_in(const Block& block, Call& call, Words words);

}  // namespace veldt::recipe
