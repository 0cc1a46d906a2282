// Checks the names of blocks, their parameters and of values.
#include "veldt/recipe/blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "veldt/recipe/call.h"
#include "veldt/recipe/layers.h"

namespace veldt::recipe {
namespace {

constexpr std::size_t kMostParameters = 64;  // of a block

// Names of [values], and what they stand for.
void check_values(const Recipe& recipe) {
  for (const auto& [name, text] : recipe.values) {
    const bool taken = name == "outputs" || is_layer(name);
    if (!is_name(name) || taken || trimmed(text).empty())
      throw UsageError(
          fmt::format("values.{} cannot be '{}'", name, text),
          taken ? fmt::format("'{}' means something else in layers", name)
                : "it is a name of letters, digits and _, and a number or a text that is not empty",
          "write, for example, width = 64 below [values]");
  }
}

}  // namespace

Blocks::Blocks(const Recipe& recipe, std::int64_t outputs) : recipe_(recipe), words_(recipe.values) {
  check_values(recipe);
  const Words known{{"outputs", std::to_string(outputs)}};
  for (auto& [name, text] : words_)
    text = resolved(text, known, [&, key = name](const std::string& why, const std::string& fix) {
      return UsageError(fmt::format("values.{} cannot be '{}'", key, recipe.values.at(key)), why, fix);
    });
  words_.insert(known.begin(), known.end());
  for (const Block& block : recipe.blocks) check_block(block);
}

void Blocks::check_block(const Block& block) const {
  const Written& given = block.layers.given()     ? block.layers
                         : block.shortcut.given() ? block.shortcut
                         : block.then.given()     ? block.then
                                                  : block.parameters;
  const auto refuse = [&](const std::string& why, const std::string& fix) {
    return UsageError(fmt::format("{}: there cannot be a block '{}'", given.where, block.name), why, fix);
  };
  if (!is_name(block.name) || is_layer(block.name) || words_.contains(block.name))
    throw refuse(
        is_name(block.name) ? "that name means something else in layers" : "a name has letters, digits and _",
        "give it another name");
  if (block.layers.texts.empty())
    throw refuse("it has no layers", fmt::format("add layers = [\"..\"] below [block.{}]", block.name));
  for (const Block& other : recipe_.blocks)
    if (&other != &block && same_name(other.name, block.name))
      throw refuse(fmt::format("there is a block '{}', and capitals do not matter", other.name),
                   "give one of them another name");
  if (block.parameters.texts.size() > kMostParameters)
    throw refuse(
        fmt::format("it has {} parameters, and may have {}", block.parameters.texts.size(), kMostParameters),
        "leave some out");
  std::vector<std::string> names;
  for (const auto& [name, otherwise] : parameters_of(block)) {
    if (!is_name(name) || name == "outputs" || is_layer(name) ||
        std::find(names.begin(), names.end(), name) != names.end())
      throw refuse(fmt::format("'{}' cannot be a parameter", name),
                   "give names of letters, digits and _, each once, as in [\"channels\", \"stride=1\"]");
    names.push_back(name);
  }
}

std::vector<BlockParameter> Blocks::parameters_of(const Block& block) {
  std::vector<BlockParameter> all;
  for (const std::string& text : block.parameters.texts) {
    const auto equals = text.find('=');
    all.push_back({trimmed(text.substr(0, equals)), std::nullopt});
    if (equals != std::string::npos) all.back().otherwise = trimmed(text.substr(equals + 1));
  }
  return all;
}

const Block* Blocks::find(const std::string& name) const {
  for (const Block& block : recipe_.blocks)
    if (same_name(block.name, name)) return &block;
  return nullptr;
}

std::vector<std::string> Blocks::names() const {
  std::vector<std::string> all;
  for (const Block& block : recipe_.blocks) all.push_back(block.name);
  return all;
}

std::pair<Words, std::string> words_in(const Block& block, Call& call, Words words) {
  const Refusal refused = [&](const std::string& why, const std::string& fix) {
    return call.refused(why, fix);
  };
  std::string title = block.name;
  for (const auto& [parameter, otherwise] : Blocks::parameters_of(block)) {
    words[parameter] = call.written(
        parameter.c_str(), otherwise ? std::optional(resolved(*otherwise, words, refused)) : std::nullopt);
    title += (title.size() == block.name.size() ? "(" : ", ") + words[parameter];
  }
  call.finish();
  if (title.size() > block.name.size()) title += ')';
  return {std::move(words), std::move(title)};
}

}  // namespace veldt::recipe
