// A recipe: what a network is, what it learns from and how, as `veldt train` reads it from a TOML file.
// Tests: tests/app/train_recipes_test.cpp, tests/app/train_test.cpp, tests/recipe/written_recipe_test.cpp,
// tests/fuzz/commands.cpp
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/io/config_file.h"
#include "veldt/io/text_values.h"
#include "veldt/rl/dqn.h"
#include "veldt/rl/ppo.h"

namespace veldt::recipe {

// A value of a recipe: a text or a list of them, and where it was given, for errors.
struct Written {
  std::vector<std::string> texts;
  std::string where;  // "recipes/mnist.toml:12: layers"; empty if it was not given
  bool given() const { return !where.empty(); }
  io::Source source() const { return {where, "", true}; }
  io::Source source(std::size_t item) const;
};

// Layers under a name, which layers of [model] and of other blocks may use: [block.NAME].
struct Block {
  std::string name;
  Written parameters, layers, shortcut, then;
};

// What [optimizer.groups] says of one beginning of names.
struct RateGroup {
  double rate = 0;
  std::string where;  // as Written's
};

// What [environment] and [agent] say.
struct Acting {
  std::string environment;
  std::int64_t copies = 8;
  Written map;  // of GridWorld-v0
  double slip = 0;
  std::string agent;  // "ppo" or "dqn"
  rl::PolicyOptions policy;
  bool dueling = false;
  rl::PpoOptions ppo;    // but for its seed, which is the recipe's
  rl::DqnOptions dqn;    // but for its seed, steps, and explore
  double explore = 0.2;  // the share of the run over which a DQN's random actions become few
};

// What [prune] says: which weights become 0 while the network learns.
struct Pruning {
  double share = 0;  // of the weights; 0: none
  Written pattern;   // "2:4"
  std::string scope = "network", method = "magnitude";
  double begin = 0.1, end = 0.6;  // shares of the run's steps
  std::int64_t every = 0;         // steps; 0: a hundredth of the run's
  bool keep_zeros = false;
  Written except;

  bool cuts() const { return share > 0 || pattern.given(); }
  bool given() const { return cuts() || keep_zeros; }
};

struct Recipe {
  Acting acting;  // in the place of [data] and [model]
  // [data]
  std::string kind;    // see data_kinds()
  std::string path;    // a folder or a file, below --data
  std::string column;  // of a series
  std::string target;  // of a table, whose inputs are `inputs`
  bool classes = false;
  double validation = 0, test = 0;  // shares
  std::int64_t batch = 64, workers = 1;
  std::int64_t context = 0, horizon = 1, season = 0;
  bool logarithm = false, difference = false;
  std::int64_t height = 0, width = 0;
  bool grey = false;
  std::int64_t crop = 0;  // of pictures with noise
  double noise = 0;
  std::string test_time_augment;  // "horizontal_flip", "multi_crop"
  Written files, inputs, prepare, augment, corrupt, mix, tokens;
  // [model]
  Written layers, init;
  Written architecture;                       // a network of models::names() in the place of layers
  std::string from;                           // a file with its weights
  std::string head = "new";                   // or "kept": the outputs are the file's
  Written freeze;                             // beginnings of names; "body": all but the head; "norms"
  std::vector<Block> blocks;                  // in the order of their first keys
  std::map<std::string, std::string> values;  // [values]: what stands in layers for a name
  // [optimizer]
  std::string optimizer = "adam";
  std::optional<double> lr, weight_decay, momentum;
  bool nesterov = false;
  double clip = 0, ema = 0;
  std::int64_t warmup = 0, accumulate = 1;
  Written schedule;
  std::map<std::string, RateGroup> groups;  // [optimizer.groups], by the beginnings of names
  Pruning pruning;
  // [train]
  std::int64_t seed = 1, epochs = 0, steps = 0, patience = 0, evaluate_every = 0;
  std::string quantize;  // "static", "dynamic", "weights", "4-bit": what training sees of the weights
  double seconds = 0;
  std::optional<double> goal;  // of agents: a mean return at which training ends
  std::int64_t episodes = 20;  // of agents: of an evaluation
  std::string watch, autocast;
  Written loss, metrics, resizing;
  std::string teacher;  // a model file
  double temperature = 4, teacher_weight = 0.7, hint_weight = 1;
  Written hints;  // "3 = 6": the network's layer, and the teacher's
  std::string hint_loss = "similarity";

  // Below the folder of data: unless data.path is given, a folder named after the kind.
  const std::string& data_path() const { return path.empty() ? kind : path; }
  bool acts() const { return !acting.environment.empty(); }
  bool is_of_pictures() const { return !acts() && kind != "series" && kind != "table" && !learns_tokens(); }
  bool learns_tokens() const { return kind == "text" || kind == "pairs"; }
  bool denoises() const { return kind == "denoise"; }
  bool knows_classes() const { return (is_of_pictures() && !denoises()) || (kind == "table" && classes); }
  bool learns_numbers() const { return kind == "series" || (kind == "table" && !classes) || denoises(); }

  bool is_known_network() const { return architecture.given(); }

  // All keys that were given, from which the same recipe can be rebuilt.
  std::vector<std::pair<std::string, std::vector<std::string>>> given;
};

// The possible values of data.kind, and all keys; those of any name as "block.NAME.layers".
const std::vector<std::string>& data_kinds();
std::vector<std::string> key_names();
// What a key's value is written as in TOML: a text, a number .. Nothing for a key that does not exist.
std::optional<io::TomlType> type_of_key(const std::string& name);

// "values.width" of "width" where the recipe has such a value; other names as they are.
std::string whole_key(const Recipe& recipe, const std::string& name);

// The file's recipe, with its values overridden by `sets` ("train.epochs=3", "width=16"). Throws
// ConfigFileError and UsageError naming file and line for invalid TOML, an unknown key or an invalid value;
// IoError missing.
Recipe read(const std::string& path, const std::vector<std::string>& sets = {});
// The same of the text of such a file. Errors call it "recipe".
Recipe parse(const std::string& toml, const std::vector<std::string>& sets = {});
// The same of a text that need not have more than layers, below [model].
Recipe parse_model(const std::string& toml);
// The recipe with other values, as if they had been among `sets` above. Errors say that `flag` gave them.
Recipe changed(const Recipe& recipe, const std::vector<std::string>& sets, const std::string& flag = "--set");
// Throws as above if the key of "train.epochs=3" does not exist or cannot have this value in any recipe with
// the [values] of this one.
void check_set(const Recipe& recipe, const std::string& set, const std::string& flag = "--set");
// The text of a file that gives the same recipe. Comments are gone.
std::string in_toml(const Recipe& recipe);
// Rebuilds a recipe from the texts of a model file, which are untrusted. Errors name `where`.
Recipe recipe_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& given,
                 const std::string& where);

}  // namespace veldt::recipe
