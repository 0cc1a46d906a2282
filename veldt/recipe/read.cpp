// Reads a TOML file by the table of keys: each must be known and have a valid type and value.
#include "veldt/recipe/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "veldt/io/config_file.h"
#include "veldt/io/json.h"
#include "veldt/io/suggest.h"
#include "veldt/recipe/keys.h"

namespace veldt::recipe {
namespace {

constexpr io::ConfigForm kRecipe{
    "recipe", "write it as in epochs = 10, below a line such as [train]; put texts in quotes",
    "a recipe is a TOML file, such as recipes/mnist.toml: give one"};
constexpr io::ConfigForm kSet{
    "value of", "write it as in --set optimizer.kind=adam or --set 'data.files=[\"a\", \"b\"]'"};

constexpr std::array<const char*, 9> kRecipeTables{"data",  "model",     "block", "values", "environment",
                                                   "agent", "optimizer", "prune", "train"};

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// What other programs call a key.
std::string usual_name(const std::string& word) {
  static const std::map<std::string, std::string> others = {
      {"rate", "lr"},           {"learning_rate", "lr"},    {"batch_size", "batch"},
      {"max_epochs", "epochs"}, {"num_epochs", "epochs"},   {"max_steps", "steps"},
      {"wd", "weight_decay"},   {"num_workers", "workers"}, {"augmentation", "augment"},
      {"scheduler", "schedule"}};
  const auto found = others.find(word);
  return found == others.end() ? word : found->second;
}

// "'data.kind' or 'optimizer.kind'": what a name that is none may mean; of `known` those that are near, of
// all keys those that end in it, and the recipe's own values. Empty if nothing is.
std::string meant_by(const Recipe& recipe, const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> keys = key_names(), lasts;
  if (!recipe.acts()) std::erase_if(keys, [](const std::string& key) { return key.starts_with("agent."); });
  for (const std::string& key : keys) lasts.push_back(last_part(key));
  for (const auto& [value, text] : recipe.values) lasts.push_back(value);
  const std::string table = name.substr(0, name.find('.') + 1), last = usual_name(last_part(name));
  const auto ending_in = [&](const std::string& word) {
    if (recipe.values.contains(word)) return std::vector{"values." + word};
    std::vector<std::string> all;
    for (const std::string& key : keys)
      if (last_part(key) == word && key.find("NAME") == std::string::npos) all.push_back(key);
    const auto is_elsewhere = [&](const std::string& key) { return !key.starts_with(table); };
    if (!table.empty() && std::any_of(all.begin(), all.end(), [&](auto& key) { return !is_elsewhere(key); }))
      std::erase_if(all, is_elsewhere);
    return all;
  };
  std::vector<std::string> meant = ending_in(last);
  if (meant.empty())
    if (const std::string nearest = io::nearest_of(name, known); !nearest.empty()) meant = {nearest};
  if (meant.empty()) meant = ending_in(io::nearest_of(last, lasts));
  for (std::string& key : meant) key = fmt::format("'{}'", key);
  return fmt::format("{}", fmt::join(meant, " or "));
}

const RecipeKey& known_recipe_key(const Recipe& recipe, const std::string& name, const std::string& where) {
  if (const RecipeKey* key = find_recipe_key(name)) return *key;
  // The keys of its table, or the tables if there is no such one.
  const std::string table = name.substr(0, name.find('.') + 1);
  const std::string rest = name.substr(table.size()), block = rest.substr(0, rest.find('.'));
  std::vector<std::string> known;
  for (const RecipeKey& key : recipe_keys()) {
    if (table.empty() || !std::string(key.name).starts_with(table)) continue;
    known.emplace_back(key.name);
    const std::size_t at = key.take_named != nullptr && block.size() < rest.size() ? known.back().find("NAME")
                                                                                   : std::string::npos;
    if (at != std::string::npos) known.back().replace(at, 4, block);
  }
  const std::string meant = meant_by(recipe, name, known.empty() ? key_names() : known);
  throw UsageError(fmt::format("{}: there is nothing called '{}' in a recipe", where, name),
                   known.empty()
                       ? fmt::format("a key stands in one of the tables {}", fmt::join(kRecipeTables, ", "))
                       : fmt::format("there are {}", fmt::join(known, ", ")),
                   meant.empty() ? "see docs/recipes.md" : fmt::format("did you mean {}?", meant));
}

const char* recipe_type_in_words(io::TomlType type) {
  switch (type) {
    case io::TomlType::text: return "a text in quotes";
    case io::TomlType::whole: return "a whole number";
    case io::TomlType::number: return "a number";
    case io::TomlType::on_off: return "true or false";
    case io::TomlType::list: return "a list of texts in quotes, as in [\"Linear(10)\", \"ReLU\"]";
    case io::TomlType::other: return "a number, or a text in quotes";
    default: return "something else";
  }
}

bool fits_recipe(io::TomlType wanted, io::TomlType given) {
  return wanted == given || (wanted == io::TomlType::number && given == io::TomlType::whole) ||
         (wanted == io::TomlType::list && given == io::TomlType::text) ||
         (wanted == io::TomlType::other && given != io::TomlType::list && given != io::TomlType::table &&
          given != io::TomlType::other);
}

[[noreturn]] void refuse_type(const std::string& where, const RecipeKey& key, const std::string& is) {
  throw UsageError(fmt::format("{}: '{}' cannot be {}", where, key.name, is), "it has the wrong type",
                   fmt::format("write {}", recipe_type_in_words(key.type)));
}

void take_value(Recipe& recipe, const std::string& name, std::vector<std::string> texts,
                const std::string& where) {
  const RecipeKey& key = known_recipe_key(recipe, name, where);
  const std::string place = fmt::format("{}: '{}'", where, name);
  const std::string last = name.substr(name.find('.') + 1);
  if (key.type != io::TomlType::list && texts.size() != 1) refuse_type(where, key, "a list");
  const Written written{texts, place};
  if (key.take_named != nullptr)
    key.take_named(recipe, name_in(key, name), written);
  else
    key.take(recipe, {place, last + " = ", true}, written);
  for (auto& [before, value] : recipe.given)
    if (before == name) {
      value = std::move(texts);
      return;
    }
  recipe.given.emplace_back(name, std::move(texts));
}

void take_entry(Recipe& recipe, const io::ConfigEntry& entry, const std::string& where) {
  const std::string name = fmt::format("{}", fmt::join(entry.path, "."));
  const RecipeKey& key = known_recipe_key(recipe, name, where);
  if (!fits_recipe(key.type, entry.type)) refuse_type(where, key, entry.type_in_words);
  std::vector<std::string> texts;
  if (entry.type != io::TomlType::list) texts.push_back(entry.text);
  for (const io::ConfigEntry& item : entry.items) {
    if (item.type != io::TomlType::text) refuse_type(where, key, "a list with " + item.type_in_words);
    texts.push_back(item.text);
  }
  take_value(recipe, name, std::move(texts), where);
}

// "train.epochs=3": as in a file, except that a text needs no quotes and a list of one needs no brackets.
void take_set(Recipe& recipe, const std::string& set, const std::string& flag) {
  const auto equals = set.find('=');
  const std::string where = fmt::format("{} {}", flag, set.substr(0, equals));
  if (equals == std::string::npos)
    throw UsageError(fmt::format("{} cannot be '{}'", flag, set), "it sets nothing",
                     fmt::format("write it as in {} train.epochs=3", flag));
  try {
    static_cast<void>(io::dump_json(nlohmann::json(set)));
  } catch (const nlohmann::json::exception&) {
    throw UsageError(fmt::format("{} is not UTF-8", where), "a model file keeps it as JSON",
                     "write it in UTF-8");
  }
  const std::string name = whole_key(recipe, set.substr(0, equals)), value = set.substr(equals + 1);
  const RecipeKey& key = known_recipe_key(recipe, name, where);
  const bool is_toml = value.starts_with('"') || value.starts_with('\'') ||
                       (key.type == io::TomlType::list && value.starts_with('['));
  if (!is_toml) {
    take_value(recipe, name, {value}, where);
    return;
  }
  for (const io::ConfigEntry& entry : io::parse_config(where, name + '=' + value, kSet))
    if (entry.type != io::TomlType::table) take_entry(recipe, entry, where);
}

// What is for known networks alone, and what for layers.
void check_network_keys(const Recipe& recipe, const std::string& where) {
  for (const auto& [name, texts] : recipe.given) {
    const bool of_known = name == "model.from" || name == "model.head" || name == "model.freeze";
    const bool of_layers = name == "model.layers" || name == "model.init" || name.starts_with("block.") ||
                           name.starts_with("values.");
    if (of_known && !recipe.is_known_network())
      throw UsageError(fmt::format("{}: '{}' is for known networks alone", where, name),
                       "the recipe has no 'model.architecture'",
                       "add, for example, architecture = \"resnet18\" below [model]");
    if (of_layers && recipe.is_known_network())
      throw UsageError(fmt::format("{}: '{}' is not for known networks", where, name),
                       "'model.architecture' says what the network is", "leave out one of them");
  }
}

constexpr const char* kLayersExample = "layers = [\"Linear(outputs)\"] below [model]";

[[noreturn]] void lacks(const std::string& where, const char* key, const char* example) {
  throw UsageError(fmt::format("{} has no '{}'", where, key), "a recipe needs it",
                   fmt::format("add {}", example));
}

Recipe taken_from(const std::vector<io::ConfigEntry>& entries, const std::string& name,
                  const std::vector<std::string>& sets) {
  Recipe recipe;
  for (const io::ConfigEntry& entry : entries) {
    const std::string where = fmt::format("{}:{}", name, entry.line);
    if (entry.type != io::TomlType::table) {
      take_entry(recipe, entry, where);
      continue;
    }
    const std::string table = fmt::format("{}", fmt::join(entry.path, "."));
    const std::vector<std::string> tables(kRecipeTables.begin(), kRecipeTables.end());
    if (std::find(tables.begin(), tables.end(), table) != tables.end()) continue;
    if (entry.path.size() == 2 && entry.path[0] == "block") continue;
    if (entry.path.size() >= 2 && entry.path[0] == "optimizer" && entry.path[1] == "groups") continue;
    const std::string nearest = io::nearest_of(table, tables);
    throw UsageError(fmt::format("{}: a recipe has no table [{}]", where, table),
                     fmt::format("it has {}", fmt::join(tables, ", ")),
                     nearest.empty() ? "see docs/recipes.md" : fmt::format("did you mean [{}]?", nearest));
  }
  for (const std::string& set : sets) take_set(recipe, set, "--set");
  return recipe;
}

// What is for agents alone, and what they have no use for.
void check_acting_keys(const Recipe& recipe, const std::string& where) {
  for (const auto& [name, texts] : recipe.given) {
    const std::string table = name.substr(0, name.find('.'));
    const bool of_agents =
        table == "environment" || table == "agent" || name == "train.goal" || name == "train.episodes";
    const std::vector<std::string> of_data{
        "optimizer.ema", "optimizer.accumulate", "optimizer.warmup",
        "train.epochs",  "train.watch",          "train.autocast",
        "train.loss",    "train.metrics",        "train.progressive_resizing",
        "train.teacher", "train.temperature",    "train.teacher_weight",
        "train.hints",   "train.hint_loss",      "train.hint_weight"};
    const bool is_of_data = table == "data" || table == "model" || table == "block" || table == "values" ||
                            table == "prune" || name.starts_with("optimizer.groups.") ||
                            std::find(of_data.begin(), of_data.end(), name) != of_data.end();
    if (of_agents && !recipe.acts())
      throw UsageError(fmt::format("{}: '{}' is for agents alone", where, name),
                       "the recipe has no 'environment.name'",
                       "add, for example, name = \"CartPole-v1\" below [environment]");
    if (is_of_data && recipe.acts())
      throw UsageError(fmt::format("{}: '{}' is not for agents", where, name),
                       "they learn from what they do in an environment", "leave it out");
  }
}

// Throws for a key that belongs to kinds of data, or of agents, other than the recipe's.
void check_kinds(const Recipe& recipe, const std::string& where) {
  const std::string& kind = recipe.acts() ? recipe.acting.agent : recipe.kind;
  for (const auto& [name, texts] : recipe.given)
    if (const auto& kinds = find_recipe_key(name)->kinds;
        !kinds.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      throw UsageError(fmt::format("{}: '{}' is not for {} '{}'", where, name,
                                   recipe.acts() ? "the agent" : "data of the kind", kind),
                       fmt::format("it is for {}", fmt::join(kinds, ", ")), "leave it out");
}

void check_acting(const Recipe& recipe, const std::string& where) {
  if (recipe.acting.agent.empty()) lacks(where, "agent.kind", "kind = \"ppo\" below [agent]");
  if (recipe.steps == 0 && recipe.seconds == 0)
    lacks(where, "train.steps", "steps = 100_000 below [train], or time");
  if (recipe.steps == 0 && recipe.acting.agent == "dqn")
    throw UsageError(fmt::format("{}: 'train.steps' is missing", where),
                     "a DQN explores less and less over its steps, so their number has to be known",
                     "write steps = 100_000 below [train]; time may end it sooner");
  const bool is_grid = recipe.acting.environment == "GridWorld-v0";
  if (!is_grid && (recipe.acting.map.given() || recipe.acting.slip > 0))
    throw UsageError(fmt::format("{}: '{}' is for GridWorld-v0 alone", where,
                                 recipe.acting.map.given() ? "environment.map" : "environment.slip"),
                     fmt::format("the environment is {}", recipe.acting.environment), "leave it out");
  check_kinds(recipe, where);
}

void check_recipe(const Recipe& recipe, const std::string& where) {
  check_acting_keys(recipe, where);
  if (recipe.acts()) return check_acting(recipe, where);
  if (recipe.kind.empty()) lacks(where, "data.kind", "kind = \"mnist\" below [data]");
  check_network_keys(recipe, where);
  if (recipe.layers.texts.empty() && !recipe.is_known_network()) lacks(where, "model.layers", kLayersExample);
  if (recipe.epochs == 0 && recipe.steps == 0 && recipe.seconds == 0) {
    for (const auto& [name, texts] : recipe.given)
      if (name == "train.epochs" || name == "train.steps")
        throw UsageError(fmt::format("{}: '{}' must be 1 or more", where, name),
                         "it is 0, and no other setting ends the training", "give more, or set train.time");
    lacks(where, "train.epochs", "epochs = 10 below [train], or steps, or time");
  }
  check_kinds(recipe, where);
  const bool is_windows = recipe.kind == "text" || recipe.kind == "series";
  if (is_windows && recipe.context == 0)
    lacks(where, "data.context", "context = 100, the length of what it looks at");
  if (recipe.denoises() && recipe.crop == 0)
    lacks(where, "data.crop", "crop = 64, the side of the pieces of pictures that it learns from");
  if (recipe.denoises() && recipe.noise == 0)
    lacks(where, "data.noise", "noise = 0.1, the deviation of the noise that is added to pictures in 0..1");
  if (recipe.kind == "table" && recipe.target.empty())
    lacks(where, "data.target", "target = \"..\", the column to be learned");
  if (!recipe.is_of_pictures() && recipe.path.empty())
    lacks(where, "data.path", "path = \"..\", a file below --data");
}

}  // namespace

io::Source Written::source(std::size_t item) const {
  return {texts.size() == 1 ? where : fmt::format("{}, number {}", where, item + 1), "", true};
}

const std::vector<std::string>& data_kinds() {
  static const std::vector<std::string> all{"mnist", "cifar10", "cifar100", "pictures", "denoise",
                                            "text",  "pairs",   "series",   "table"};
  return all;
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const RecipeKey& key : recipe_keys()) names.emplace_back(key.name);
  return names;
}

std::optional<io::TomlType> type_of_key(const std::string& name) {
  const RecipeKey* key = find_recipe_key(name);
  return key != nullptr ? std::optional(key->type) : std::nullopt;
}

std::string whole_key(const Recipe& recipe, const std::string& name) {
  return recipe.values.contains(name) ? "values." + name : name;
}

Recipe changed(const Recipe& recipe, const std::vector<std::string>& sets, const std::string& flag) {
  Recipe other = recipe;
  for (const std::string& set : sets) take_set(other, set, flag);
  check_recipe(other, "the recipe");
  return other;
}

void check_set(const Recipe& recipe, const std::string& set, const std::string& flag) {
  Recipe any;
  any.values = recipe.values;
  take_set(any, set, flag);
}

Recipe read(const std::string& path, const std::vector<std::string>& sets) {
  Recipe recipe = taken_from(io::read_config_file(path, kRecipe), path, sets);
  check_recipe(recipe, path);
  return recipe;
}

Recipe parse(const std::string& toml, const std::vector<std::string>& sets) {
  Recipe recipe = taken_from(io::parse_config("recipe", toml, kRecipe), "recipe", sets);
  check_recipe(recipe, "recipe");
  return recipe;
}

Recipe parse_model(const std::string& toml) {
  Recipe recipe = taken_from(io::parse_config("recipe", toml, kRecipe), "recipe", {});
  check_network_keys(recipe, "recipe");
  if (recipe.layers.texts.empty() && !recipe.is_known_network())
    lacks("recipe", "model.layers", kLayersExample);
  return recipe;
}

Recipe recipe_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& given,
                 const std::string& where) {
  Recipe recipe;
  for (const auto& [name, texts] : given) take_value(recipe, name, texts, where);
  check_recipe(recipe, where);
  return recipe;
}

}  // namespace veldt::recipe
