// Loads the data that a recipe names, splits and scales them, and collects what the network must know about
// them.
#include "veldt/recipe/data.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "veldt/core/escape.h"
#include "veldt/data/mixing.h"
#include "veldt/data/pictures.h"
#include "veldt/data/sequences.h"
#include "veldt/data/table.h"
#include "veldt/data/subword_tokenizer.h"
#include "veldt/io/csv.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/call.h"
#include "veldt/recipe/known.h"

namespace veldt::recipe {
namespace {

namespace fs = std::filesystem;

data::Collate mix_of(const Recipe& recipe, std::int64_t classes) {
  if (!recipe.mix.given()) return {};
  Call call(recipe.mix.source(), recipe.mix.texts.at(0));
  call.must_be("way to mix", {"mixup", "cutmix"});
  const double alpha = call.number("alpha", 1, {.least = 0.05});
  call.finish();
  return call.name() == "mixup" ? data::mixup(alpha, classes) : data::cutmix(alpha, classes);
}

// Takes the recipe's shares from `train`, at random.
void hold_back(const Recipe& recipe, Data& into) {
  const auto seed = static_cast<std::uint64_t>(recipe.seed);
  const std::int64_t all = into.train->size();
  into.facts.examples = all;
  if (recipe.test > 0) std::tie(into.train, into.test) = data::split(into.train, recipe.test, seed);
  if (recipe.validation > 0)
    std::tie(into.train, into.validation) = data::split(into.train, recipe.validation, seed + 1);
  if (into.train->size() == 0)
    throw UsageError(
        fmt::format("there is nothing to learn from in data.path '{}'", recipe.data_path()),
        fmt::format("it has {} examples, and data.test = {} and data.validation = {} take all of them", all,
                    recipe.test, recipe.validation),
        "set them lower, or give more examples");
}

// Pictures that keep their sizes must all have the same one.
data::DatasetPtr of_one_size(const data::DatasetPtr& set, const Shape& shape) {
  return data::mapped(set, [shape](data::Example example) {
    if (example.at(0).shape() != shape)
      throw UsageError(str("the pictures have different sizes: ", shape, " and ", example.at(0).shape()),
                       "a network takes pictures of one size, [channels, height, width]",
                       "set data.height and data.width, to which all are resized");
    return example;
  });
}

// The shape of the network's input: that of an example as it is measured, which augmentation must not change.
Shape input_of(const Recipe& recipe, const Data& data) {
  Rng rng(static_cast<std::uint64_t>(recipe.seed));
  const auto shape_after = [&](const data::Transform& augment) {
    data::Example example = data.train->get(0);
    if (augment) example = augment(std::move(example), rng);
    if (data.prepare) example = data.prepare(std::move(example), rng);
    return example.at(0).shape();
  };
  const Shape measured = shape_after({}), learned = shape_after(data.augment);
  if (learned != measured)
    throw UsageError(str("data.augment turns pictures of ", measured, " into ", learned),
                     "a network is measured without it, and takes pictures of one size",
                     recipe.kind == "pictures"
                         ? "keep the size, or set data.height and data.width to the new one"
                         : str("keep the size: random_crop(", measured[2], ", ", measured[1], ", 4), say"));
  return measured;
}

void load_pictures(const Recipe& recipe, const std::string& folder, Data& into) {
  const std::string path = below(folder, recipe.data_path());
  if (!io::is_directory(path))
    throw IoError(
        IoError::Kind::missing, fmt::format("there is no folder {}", path),
        fmt::format("the recipe looks for '{}' below {}", recipe.data_path(), folder.empty() ? "." : folder),
        "give the folder above it, --data DIR, or another --set data.path=..");
  const auto both = [&](auto read) {
    into.train = read(path, data::Part::train);
    into.test = read(path, data::Part::test);
  };
  if (recipe.kind == "mnist") both(data::mnist);
  if (recipe.kind == "cifar10") both(data::cifar10);
  if (recipe.kind == "cifar100") both(data::cifar100);
  if (recipe.kind == "pictures") {
    data::FolderOptions options{.height = recipe.height, .width = recipe.width, .grey = recipe.grey};
    const std::string train = below(path, "train"), test = below(path, "test");
    const bool has_train = io::is_directory(train), has_test = has_train && io::is_directory(test);
    if (has_test && recipe.test > 0)
      throw UsageError(fmt::format("data.test is {}, and {} is there", recipe.test, test),
                       "that folder is the test set, so no training pictures are set aside for it",
                       "leave out data.test, or move the folder away");
    into.train = data::picture_folder(has_train ? train : path, options);
    options.classes = into.train->classes();
    if (has_test) into.test = data::picture_folder(test, options);
    if ((recipe.height == 0 || recipe.width == 0) && !fits_pictures(recipe)) {
      const Shape first = into.train->get(0).at(0).shape();
      into.train = of_one_size(into.train, first);
      if (has_test) into.test = of_one_size(into.test, first);
    }
  }
  hold_back(recipe, into);
  Facts& facts = into.facts;
  facts.classes = into.train->classes();
  facts.model.outputs = static_cast<std::int64_t>(facts.classes.size());
  facts.model.input = input_of(recipe, into);
}

// The windows of a part; `context` apart if they are only used for measuring.
data::DatasetPtr windows_of(const Tensor& tokens, std::int64_t context, bool apart) {
  if (tokens.size(0) <= context) return nullptr;
  data::DatasetPtr all = data::token_windows(tokens, context);
  if (!apart) return all;
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < all->size(); i += context) starts.push_back(i);
  return data::subset(std::move(all), std::move(starts));
}

// Each position of a window is an example of its own: targets [n, time] become [n time].
data::Batch flat_targets(std::vector<data::Example> examples, Rng& rng) {
  data::Batch batch = data::stacked(std::move(examples), rng);
  batch.back() = flatten(batch.back());
  return batch;
}

void load_translations(const Recipe& recipe, const std::string& folder, const Facts* known, Data& into) {
  into.train = load_pairs(recipe, folder, into.facts, known);
  into.collate = flat_targets;
  hold_back(recipe, into);
}

// Columns as standard scores, computed from the training rows.
void load_table(const Recipe& recipe, const std::string& folder, const Facts* known, Data& into) {
  const std::string path = below(folder, recipe.path);
  Facts& facts = into.facts;
  facts.inputs = known != nullptr ? known->inputs : recipe.inputs.texts;
  if (facts.inputs.empty()) {
    facts.inputs = io::csv_columns(path);
    std::erase(facts.inputs, recipe.target);
  }
  into.train =
      data::table(path, {.inputs = facts.inputs, .target = recipe.target, .classes = recipe.classes});
  if (into.train->size() < 4)
    throw IoError(IoError::Kind::malformed, fmt::format("there is too little to learn in {}", path),
                  fmt::format("it has {} rows", into.train->size()), "give a table of four rows or more");
  facts.classes = into.train->classes();
  const std::int64_t columns = into.train->get(0).at(0).size(0);
  facts.model = {{columns}, DType::f32, recipe.classes ? std::ssize(facts.classes) : 1};
  hold_back(recipe, into);
  const data::Moments found = data::moments(*into.train);
  const std::vector<float> mean = found.mean.values<float>(), deviation = found.deviation.values<float>();
  for (std::size_t c = 0; c < mean.size(); ++c) facts.columns.push_back({mean[c], deviation[c]});
  if (!recipe.classes) {
    const data::Moments target = data::moments(*into.train, 1);
    facts.scaling = {target.mean.values<float>().at(0), target.deviation.values<float>().at(0)};
  }
  if (known != nullptr) facts.columns = known->columns, facts.scaling = known->scaling;
  into.prepare = [columns = facts.columns, target = facts.scaling, is_number = !recipe.classes](
                     data::Example example, Rng&) {
    example.at(0) = scaled_columns(example.at(0), columns);
    if (is_number) example.at(1) = scaled_columns(example.at(1), {target});
    return example;
  };
}

// Byte pairs are learned from `learned`, the training part of the text; characters come from all of it.
std::shared_ptr<const data::Tokenizer> tokenizer_of(const Recipe& recipe, const std::string& text,
                                                    std::string_view learned) {
  if (!recipe.tokens.given()) return std::make_shared<data::CharTokenizer>(text);
  Call call(recipe.tokens.source(), recipe.tokens.texts.at(0));
  call.must_be("kind of token", {"characters", "bpe"});
  const bool is_bpe = call.name() == "bpe";
  const std::int64_t size = is_bpe ? call.count("size", {}, {.least = 257, .most = 100'000}) : 0;
  call.finish();
  if (!is_bpe) return std::make_shared<data::CharTokenizer>(text);
  return std::make_shared<data::SubwordTokenizer>(data::SubwordTokenizer::train_bpe(learned, size));
}

// Where the last `share` of the text begins, moved back to the start of a UTF-8 character.
std::size_t end_without(std::string_view text, double share) {
  std::size_t end = text.size() - static_cast<std::size_t>(static_cast<double>(text.size()) * share);
  for (int back = 0; back < 3 && end > 0 && end < text.size() && (text[end] & 0xC0) == 0x80; ++back) --end;
  return end;
}

// What is left of the text without the test part, and of that without the validation part.
struct TextParts {
  std::string_view kept, learned;
};
TextParts parts_of(const Recipe& recipe, std::string_view all) {
  const std::string_view kept = all.substr(0, end_without(all, recipe.test));
  return {kept, kept.substr(0, end_without(kept, recipe.validation))};
}

// The bytes are split first and each part is encoded separately, so that no pair is learned from another part
// or spans two.
void load_text(const Recipe& recipe, const std::string& folder, const Facts* known, Data& into) {
  const std::string text = io::read_file(below(folder, recipe.path));
  const std::string_view all = text;
  const auto [kept, learned] = parts_of(recipe, all);
  into.facts.tokenizer = known != nullptr ? known->tokenizer : tokenizer_of(recipe, text, learned);
  const data::Tokenizer& tokenizer = *into.facts.tokenizer;
  const Tensor train = tokenizer.encode(learned), validation = tokenizer.encode(kept.substr(learned.size())),
               test = tokenizer.encode(all.substr(kept.size()));
  if (train.size(0) <= recipe.context)
    throw UsageError(fmt::format("the text is too short: {} tokens are left to learn from", train.size(0)),
                     fmt::format("an example takes {}, one more than data.context", recipe.context + 1),
                     "give a longer one, or a smaller data.context, data.validation or data.test");
  into.train = windows_of(train, recipe.context, false);
  into.validation = windows_of(validation, recipe.context, true);
  into.test = windows_of(test, recipe.context, true);
  into.collate = flat_targets;
  into.facts.examples = train.size(0) + validation.size(0) + test.size(0);
  into.facts.model = {{recipe.context}, DType::i64, tokenizer.size()};
}

// A share that is too small for one example would leave out its scores silently.
void check_parts(const Recipe& recipe, const Data& data) {
  const std::int64_t needed = recipe.kind == "text"     ? recipe.context + 1
                              : recipe.kind == "series" ? recipe.horizon
                                                        : 1;
  const auto check = [&](const char* key, double share, double of, const data::DatasetPtr& part) {
    if (share == 0 || (part != nullptr && part->size() > 0)) return;
    const double least = std::ceil(1000 * (static_cast<double>(needed) + 0.5) / of) / 1000;
    throw UsageError(fmt::format("{} = {} is too small", key, share),
                     fmt::format("it is a share of {:.0f}, and an example takes {}", of, needed),
                     least > 0.9 ? "give more data, or leave it out"
                                 : fmt::format("give {} or more, or leave it out", least));
  };
  const auto all = static_cast<double>(data.facts.examples);
  check("data.test", recipe.test, all, data.test);
  check("data.validation", recipe.validation, all * (1 - recipe.test), data.validation);
}

// A model file stores them as JSON.
void check_names(const Facts& facts) {
  for (const auto* names : {&facts.classes, &facts.inputs})
    for (const std::string& name : *names) try {
        static_cast<void>(io::dump_json(nlohmann::ordered_json(name)));
      } catch (const nlohmann::json::exception&) {
        throw IoError(IoError::Kind::malformed,
                      fmt::format("'{}' cannot be the name of a class or a column", escape_controls(name)),
                      "it is not UTF-8", "convert the file, or rename the folder");
      }
}

}  // namespace

std::string training_text(const Recipe& recipe, const std::string& folder) {
  const std::string text = io::read_file(below(folder, recipe.path));
  return std::string(parts_of(recipe, text).learned);
}

std::string below(const std::string& folder, const std::string& path) {
  return folder.empty() ? path : (fs::path(folder) / path).string();
}

Data load_data(const Recipe& recipe, const std::string& folder, const Facts* facts) {
  Data data;
  data.prepare = preparing(recipe);
  data.augment = transforms_of(recipe.augment);
  if (recipe.kind == "text")
    load_text(recipe, folder, facts, data);
  else if (recipe.kind == "series")
    load_forecasts(recipe, folder, facts, data);
  else if (recipe.kind == "table")
    load_table(recipe, folder, facts, data);
  else if (recipe.kind == "pairs")
    load_translations(recipe, folder, facts, data);
  else if (recipe.denoises())
    load_noisy_pictures(recipe, folder, data);
  else
    load_pictures(recipe, folder, data);
  check_parts(recipe, data);
  check_names(data.facts);
  if (recipe.is_of_pictures()) data.mix = mix_of(recipe, data.facts.model.outputs);
  return data;
}

}  // namespace veldt::recipe
