// What the command is told: arguments, settings and recipes.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>
#include <set>

#include "tests/fuzz/target.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/command.h"
#include "veldt/io/config_file.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/recipe.h"
#include "veldt/recipe/sweep_table.h"

namespace veldt::fuzz {
namespace {

// ---- arguments ----

// Flags and verbs as docs/cli.md, which is made from them, has them.
std::vector<std::string> flags() {
  const std::string text = bytes_of_file(VELDT_SOURCE "/docs/cli.md");
  const std::regex flag("--[a-z][a-z-]*|`veldt [a-z]+( [a-z]+)?`");
  std::vector<std::string> words;
  for (std::sregex_iterator at(text.begin(), text.end(), flag), end; at != end; ++at)
    words.push_back(at->str());
  for (std::string& word : words)
    if (word.starts_with('`')) {
      word = word.substr(7, word.size() - 8);
      std::replace(word.begin(), word.end(), ' ', '\0');
    }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

// Each ends in a zero byte, as the system has them.
void read_command(const std::string& bytes) {
  std::vector<std::string> arguments = split(bytes);
  arguments.insert(arguments.begin(), "veldt");
  cli::parse_command(app::program(), arguments);
}

std::vector<std::string> command_seeds() {
  std::vector<std::string> seeds;
  for (const char* line :
       {"fit a.png -o a.safetensors --steps 10k --time 5m --model siren", "help fit", "--version",
        "csv encode a.png -o a.csv", "render a.safetensors -o b.png --size 12 --region 0,0,1,1 --json",
        "compare a b --min-psnr 30", "train r.toml --data d --set train.epochs=3 --resume -q",
        "config show fit --steps=3", "predict m.safetensors --threads 2"}) {
    seeds.emplace_back(line);
    std::replace(seeds.back().begin(), seeds.back().end(), ' ', '\0');
  }
  return seeds;
}

// ---- settings ----

void read_toml(const std::string& bytes) {
  const auto lines = 1 + std::count(bytes.begin(), bytes.end(), '\n');
  for (const io::ConfigEntry& entry : io::parse_config("a file", bytes))
    require(entry.line >= 1 && entry.line <= lines && !entry.path.empty(),
            "a value stands on a line of the file");
}

void read_settings(const std::string& bytes) {
  cli::parse_command(app::program(),
                     {"veldt", "fit", "a.png", "-o", "a.safetensors", "--config", file_of(bytes)});
}

std::vector<std::string> settings_seeds() {
  return {"threads = 2\n[fit]\nsteps = 1_000\ntime = \"5m\"\nmodel = 'siren'\nexplain = true\nlr = 1e-3\n",
          "quiet = true\n[csv.encode]\nthreshold = 0.5\n[render]\nsize = 0x10\n",
          "fit.steps = 3\n\"fit\".'seed' = +7\n",
          "a = [1, [2.5, nan], {b = \"\\u00e9\", c = \"\"\"x\ny\"\"\"}]\n[[t]]\nd = "
          "1979-05-27T07:32:00Z\n[[t]]\n"};
}

std::vector<std::string> settings_words() {
  std::vector<std::string> words{"[[",  "]]",  "\"\"\"",     "'''",        " = ",         "0x",
                                 "inf", "nan", "1979-05-27", "07:32:00.5", "\\U0001F600", "\n[fit]\n"};
  for (const std::string& flag : flags())
    if (flag.starts_with("--")) words.push_back(flag.substr(2) + " = ");
  return words;
}

// ---- recipes ----

// All that is made of one without data.
void use(const recipe::Recipe& recipe) {
  require(recipe::recipe_of(recipe.given, "a copy").given == recipe.given,
          "a recipe can be made again from what was given");
  recipe::check_model(recipe);
  recipe::transforms_of(recipe.prepare);
  recipe::transforms_of(recipe.augment);
  const std::string text = recipe::in_toml(recipe);
  require(recipe::in_toml(recipe::parse(text)) == text, "a recipe that is written is read as the same");
}

void read_recipe(const std::string& bytes) { use(recipe::read(file_of(bytes), {})); }

std::vector<std::string> recipe_seeds() { return files_in("recipes", ".toml"); }

std::vector<std::string> recipe_words() {
  std::vector<std::string> words{
      "\n[data]\n",  "\n[model]\n",   "\n[optimizer]\n", "\n[train]\n", "kind = \"pictures\"",
      "cosine(end=", "one_cycle(",    "random_crop(",    "cutmix(",     "normal(",
      "bpe(",        "\n[block.b]\n", "\n[values]\n",    "2 x ",        "a: ",
      "2*w",         "\"b(3)\"",      "Save(a)",         "Add(a)",      "w = 3\n"};
  for (const std::string& name : recipe::layer_names()) words.push_back(name + "(");
  for (const std::string& key : recipe::key_names()) words.push_back(key.substr(key.find('.') + 1) + " = ");
  return words;
}

// What --set says, each ending in a zero byte.
void read_sets(const std::string& bytes) {
  static const std::string path = scratch("recipe.toml");
  static const bool made =
      (test::put_bytes(
           path, "[data]\nkind = \"mnist\"\n[model]\nlayers = [\"Linear(outputs)\"]\n[train]\nepochs = 1\n"),
       true);
  require(made, "there is a recipe");
  use(recipe::read(path, split(bytes)));
}

std::vector<std::string> set_seeds() {
  const std::string zero(1, '\0');
  return {
      "train.epochs=3" + zero + "optimizer.lr=1e-3" + zero + "model.layers=[\"Flatten\", 'Linear(outputs)']",
      "train.time=5m" + zero + "data.augment=random_crop(28, 28, padding=2)" + zero +
          "optimizer.schedule=cosine(end=1e-4)"};
}

std::vector<std::string> set_words() {
  std::vector<std::string> words = recipe_words();
  for (const std::string& key : recipe::key_names()) words.push_back(key + "=");
  return words;
}

// What --over says, each ending in a zero byte; all combinations, or five at random, and halved.
void read_overs(const std::string& bytes) {
  static const recipe::Recipe base = recipe::parse(
      "[data]\nkind = \"mnist\"\nvalidation = 0.1\n[values]\nw = 3\n[model]\nlayers = [\"Flatten\", "
      "\"Linear(w)\", "
      "\"Linear(outputs)\"]\n[train]\nepochs = 9\n");
  const bool odd = bytes.size() % 2 == 1;
  recipe::Sweep sweep(base,
                      {.over = split(bytes), .seeds = 2, .random = odd ? 5 : 0, .halving = odd ? 3 : 0});
  std::set<std::string> names;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(sweep.configurations(), 20); ++i)
    names.insert(sweep.name_of_run(i, 0));
  require(std::ssize(names) == std::min<std::int64_t>(sweep.configurations(), 20),
          "each run has a name of its own");
  if (sweep.runs() > 100) return;
  recipe::run(sweep, [](const recipe::Trial& trial, const recipe::Recipe&) {
    return recipe::Outcome{.scores = {{"val_accuracy", trial.until}}};
  });
  require(sweep.over() && !recipe::csv_of(recipe::table_of(sweep)).empty(), "a sweep comes to an end");
}

std::vector<std::string> over_seeds() {
  const std::string zero(1, '\0');
  return {
      "optimizer.lr=1e-3,1e-2" + zero + "w=8,16" + zero,
      "optimizer.lr=log(1e-4, 1e-1)" + zero + "w=whole(3, 9)" + zero,
      "optimizer.schedule=cosine(0.1),\"constant\"" + zero + "data.augment=[],[\"horizontal_flip\"]" + zero};
}

}  // namespace

std::vector<Target> command_targets() {
  return {{"command", read_command, command_seeds, flags},
          {"toml", read_toml, settings_seeds, settings_words},
          {"settings", read_settings, settings_seeds, settings_words},
          {"recipe", read_recipe, recipe_seeds, recipe_words},
          {"set", read_sets, set_seeds, set_words},
          {"over", read_overs, over_seeds, set_words}};
}

}  // namespace veldt::fuzz
