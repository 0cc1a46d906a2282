#include "veldt/app/recipe_data.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/app/call.h"
#include "veldt/data/augment.h"
#include "veldt/data/mixing.h"
#include "veldt/data/pictures.h"
#include "veldt/data/sequences.h"
#include "veldt/data/tokenizer.h"
#include "veldt/io/csv.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"

namespace veldt::app {
namespace {

namespace fs = std::filesystem;

std::pair<double, double> pair_of(Call& call, const char* name, std::pair<double, double> otherwise) {
  const auto both = call.numbers(name, std::vector<double>{otherwise.first, otherwise.second});
  if (both.size() != 2)
    throw call.refused(fmt::format("{} is a range", name), fmt::format("write {}=[0.9, 1.1]", name));
  return {both[0], both[1]};
}

struct TransformKind {
  const char* name;
  data::Transform (*make)(Call& call);
};

data::Transform make_affine(Call& call) {
  data::AffineOptions o;
  o.degrees = call.number("degrees", 0);
  o.translate = call.number("translate", 0);
  o.scale = pair_of(call, "scale", {1, 1});
  o.shear = call.number("shear", 0);
  o.fill = call.number("fill", 0);
  return data::random_affine(o);
}

data::Transform make_jitter(Call& call) {
  data::JitterOptions o;
  o.brightness = call.number("brightness", 0);
  o.contrast = call.number("contrast", 0);
  o.saturation = call.number("saturation", 0);
  o.hue = call.number("hue", 0);
  return data::colour_jitter(o);
}

data::Transform make_erasing(Call& call) {
  data::ErasingOptions o;
  o.p = call.number("p", o.p);
  o.area = pair_of(call, "area", o.area);
  o.ratio = pair_of(call, "ratio", o.ratio);
  o.value = call.number("value", 0);
  return data::random_erasing(o);
}

const std::vector<TransformKind>& transform_kinds() {
  static const std::vector<TransformKind> all = {
      {"random_crop",
       [](Call& call) {
         const auto height = call.count("height"), width = call.count("width");
         return data::random_crop(height, width, call.count("padding", 0, {.least = 0}));
       }},
      {"random_resized_crop",
       [](Call& call) {
         const auto height = call.count("height"), width = call.count("width");
         data::ResizedCropOptions o;
         o.area = pair_of(call, "area", o.area);
         o.ratio = pair_of(call, "ratio", o.ratio);
         return data::random_resized_crop(height, width, o);
       }},
      {"horizontal_flip", [](Call& call) { return data::horizontal_flip(call.number("p", 0.5)); }},
      {"vertical_flip", [](Call& call) { return data::vertical_flip(call.number("p", 0.5)); }},
      {"random_affine", make_affine},
      {"random_rotation",
       [](Call& call) {
         const double degrees = call.number("degrees");
         return data::random_rotation(degrees, call.number("fill", 0));
       }},
      {"colour_jitter", make_jitter},
      {"random_erasing", make_erasing},
      {"gaussian_noise", [](Call& call) { return data::gaussian_noise(call.number("deviation")); }},
      {"normalise",
       [](Call& call) {
         const auto mean = call.numbers("mean"), deviation = call.numbers("deviation");
         return data::normalise(mean, deviation);
       }},
  };
  return all;
}

data::Transform transform_of(const Source& source, const std::string& text) {
  Call call(source, text);
  std::vector<std::string> known;
  for (const TransformKind& kind : transform_kinds()) {
    known.emplace_back(kind.name);
    if (!same_name(kind.name, call.name())) continue;
    try {
      data::Transform made = kind.make(call);
      call.finish();
      return made;
    } catch (const UsageError&) {
      throw;
    } catch (const Error& e) {
      throw call.refused(fmt::format("{}: {}", e.summary(), e.why()), e.fix());
    }
  }
  throw call.unknown("transform", known);
}

data::Collate mix_of(const Recipe& recipe, std::int64_t classes) {
  if (!recipe.mix.given()) return {};
  Call call(recipe.mix.source(), recipe.mix.texts.at(0));
  const double alpha = call.number("alpha", 1, {.least = 0.05});
  call.finish();
  if (call.name() == "mixup") return data::mixup(alpha, classes);
  if (call.name() == "cutmix") return data::cutmix(alpha, classes);
  throw call.unknown("way to mix", {"mixup", "cutmix"});
}

std::string joined(const std::string& folder, const std::string& path) {
  return folder.empty() ? path : (fs::path(folder) / path).string();
}

void load_pictures(const Recipe& recipe, const std::string& folder, RecipeData& into) {
  const std::string path = joined(folder, recipe.path.empty() ? recipe.kind : recipe.path);
  const auto both = [&](auto read) {
    into.train = read(path, data::Part::train);
    into.test = read(path, data::Part::test);
  };
  if (recipe.kind == "mnist") both(data::mnist);
  if (recipe.kind == "cifar10") both(data::cifar10);
  if (recipe.kind == "cifar100") both(data::cifar100);
  if (recipe.kind == "pictures") {
    const data::FolderOptions options{recipe.height, recipe.width, recipe.grey, {}};
    const std::string train = joined(path, "train"), test = joined(path, "test");
    into.train = data::picture_folder(io::is_directory(train) ? train : path, options);
    if (io::is_directory(train) && io::is_directory(test)) into.test = data::picture_folder(test, options);
  }
  const auto seed = static_cast<std::uint64_t>(recipe.seed);
  if (into.test == nullptr && recipe.test > 0)
    std::tie(into.train, into.test) = data::split(into.train, recipe.test, seed);
  if (recipe.validation > 0)
    std::tie(into.train, into.validation) = data::split(into.train, recipe.validation, seed + 1);
  DataFacts& facts = into.facts;
  facts.classes = into.train->classes();
  facts.model.outputs = static_cast<std::int64_t>(facts.classes.size());
  data::Example first = into.train->get(0);
  Rng rng(seed);
  if (into.prepare) first = into.prepare(std::move(first), rng);
  facts.model.input = first.at(0).shape();
}

// The windows of part [begin, end), `context` apart where they are only measured.
data::DatasetPtr windows_of(const Tensor& tokens, std::int64_t begin, std::int64_t end, std::int64_t context,
                            bool apart) {
  if (begin == end) return nullptr;
  data::DatasetPtr all = data::token_windows(narrow(tokens, 0, begin, end - begin), context);
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

std::shared_ptr<const data::Tokenizer> tokenizer_of(const Recipe& recipe, const std::string& text) {
  if (!recipe.tokens.given()) return std::make_shared<data::CharTokenizer>(text);
  Call call(recipe.tokens.source(), recipe.tokens.texts.at(0));
  const std::int64_t size =
      call.name() == "bpe" ? call.count("size", {}, {.least = 257, .most = 100'000}) : 0;
  call.finish();
  if (call.name() == "characters") return std::make_shared<data::CharTokenizer>(text);
  if (call.name() == "bpe")
    return std::make_shared<data::BpeTokenizer>(data::BpeTokenizer::train(text, size));
  throw call.unknown("kind of token", {"characters", "bpe"});
}

void load_text(const Recipe& recipe, const std::string& folder, const DataFacts* known, RecipeData& into) {
  const std::string text = io::read_file(joined(folder, recipe.path));
  into.facts.tokenizer = known != nullptr ? known->tokenizer : tokenizer_of(recipe, text);
  const Tensor tokens = into.facts.tokenizer->encode(text);
  const auto n = tokens.size(0);
  const auto share = [&](double s) { return static_cast<std::int64_t>(static_cast<double>(n) * s); };
  const std::int64_t test = n - share(recipe.test), validation = test - share(recipe.validation);
  into.train = windows_of(tokens, 0, validation, recipe.context, false);
  into.validation = windows_of(tokens, validation, test, recipe.context, true);
  into.test = windows_of(tokens, test, n, recipe.context, true);
  into.collate = flat_targets;
  into.facts.model = {{recipe.context}, DType::i64, into.facts.tokenizer->size()};
}

// The windows whose forecasts are all within [begin, end) of the values.
data::DatasetPtr forecasts_of(const data::DatasetPtr& windows, const Recipe& recipe, const Series& series,
                              std::size_t begin, std::size_t end) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < windows->size(); ++i) {
    const std::size_t first = series.lag + static_cast<std::size_t>(i + recipe.context);
    if (first >= begin && first + static_cast<std::size_t>(recipe.horizon) <= end) numbers.push_back(i);
  }
  return numbers.empty() ? nullptr : data::subset(windows, std::move(numbers));
}

// [horizon, 1] becomes [horizon].
data::Example flat_forecast(data::Example example) {
  example.at(1) = flatten(example.at(1));
  return example;
}

void load_forecasts(const Recipe& recipe, const std::string& folder, const DataFacts* known,
                    RecipeData& into) {
  std::vector<double> values = read_series(recipe, folder);
  const auto [validation, test] = parts_of(recipe, values.size());
  Scaling& scaling = into.facts.scaling;
  if (known != nullptr) {
    scaling = known->scaling;
  } else {
    const Series plain =
        scaled_series(recipe, {}, {values.begin(), values.begin() + static_cast<long>(validation)});
    double sum = 0, squares = 0;
    for (const float v : plain.scaled) sum += v;
    const auto n = static_cast<double>(plain.scaled.size());
    for (const float v : plain.scaled) squares += (v - sum / n) * (v - sum / n);
    scaling = {sum / n, std::sqrt(squares / n)};
    if (!(scaling.deviation > 0))
      throw IoError(IoError::Kind::malformed, fmt::format("there is nothing to learn in '{}'", recipe.column),
                    "its values are all the same", "name another column");
  }
  const Series series = scaled_series(recipe, scaling, std::move(values));
  const Tensor rows = Tensor::from<float>({std::ssize(series.scaled), 1}, series.scaled);
  const data::DatasetPtr windows =
      data::mapped(data::series_windows(rows, recipe.context, recipe.horizon), flat_forecast);
  into.train = forecasts_of(windows, recipe, series, 0, validation);
  into.validation = forecasts_of(windows, recipe, series, validation, test);
  into.test = forecasts_of(windows, recipe, series, test, series.values.size());
  if (into.train == nullptr)
    throw UsageError(
        fmt::format("the series is too short: it has {} values", series.values.size()),
        fmt::format("what is held back and a context of {} leave none to learn from", recipe.context),
        "give a smaller data.context, data.validation or data.test");
  into.facts.model = {{recipe.context, 1}, DType::f32, recipe.horizon};
}

double as_network_sees(const Recipe& recipe, double value) {
  return recipe.logarithm ? std::log(value) : value;
}

}  // namespace

data::Transform transforms_of(const Written& written) {
  std::vector<data::Transform> all;
  for (std::size_t i = 0; i < written.texts.size(); ++i)
    all.push_back(transform_of(written.source(i), written.texts[i]));
  return all.empty() ? data::Transform() : data::sequence(std::move(all));
}

RecipeData load_data(const Recipe& recipe, const std::string& folder, const DataFacts* facts) {
  RecipeData data;
  data.prepare = transforms_of(recipe.prepare);
  data.augment = transforms_of(recipe.augment);
  const bool is_windows = recipe.kind == "text" || recipe.kind == "series";
  for (const Written* w : {&recipe.prepare, &recipe.augment, &recipe.mix})
    if (is_windows && w->given())
      throw UsageError(fmt::format("{} is for pictures", w->where),
                       fmt::format("the data are a {}", recipe.kind), "leave it out");
  if (recipe.kind == "text")
    load_text(recipe, folder, facts, data);
  else if (recipe.kind == "series")
    load_forecasts(recipe, folder, facts, data);
  else
    load_pictures(recipe, folder, data);
  if (!is_windows) data.mix = mix_of(recipe, data.facts.model.outputs);
  return data;
}

std::vector<double> read_series(const Recipe& recipe, const std::string& folder) {
  const io::CsvTable table =
      io::read_csv(joined(folder, recipe.path),
                   recipe.column.empty() ? std::vector<std::string>{} : std::vector{recipe.column});
  if (table.columns.size() != 1)
    throw UsageError(fmt::format("{} has {} columns", recipe.path, table.columns.size()),
                     "a series is one of them", "name it: column = \"..\" below [data]");
  return to(flatten(table.values), DType::f64).values<double>();
}

Series scaled_series(const Recipe& recipe, const Scaling& scaling, std::vector<double> values) {
  Series series;
  series.lag = recipe.difference ? static_cast<std::size_t>(recipe.season) : 0;
  if (recipe.difference && (recipe.season == 0 || recipe.horizon > recipe.season))
    throw UsageError("data.difference needs a data.season of the horizon or more",
                     fmt::format("the season is {}, the horizon {}", recipe.season, recipe.horizon),
                     "give season = 12 for months, say");
  for (std::size_t i = series.lag; i < values.size(); ++i) {
    if (recipe.logarithm && (values[i] <= 0 || values[i - series.lag] <= 0))
      throw IoError(IoError::Kind::malformed, fmt::format("'{}' has no logarithm", recipe.column),
                    fmt::format("value {} is {}", i + 1, values[i]), "set data.logarithm = false");
    double v = as_network_sees(recipe, values[i]);
    if (recipe.difference) v -= as_network_sees(recipe, values[i - series.lag]);
    series.scaled.push_back(static_cast<float>((v - scaling.mean) / scaling.deviation));
  }
  series.values = std::move(values);
  return series;
}

double unscaled(const Recipe& recipe, const Scaling& scaling, const std::vector<double>& values,
                std::size_t at, double forecast) {
  double v = forecast * scaling.deviation + scaling.mean;
  if (recipe.difference)
    v += as_network_sees(recipe, values.at(at - static_cast<std::size_t>(recipe.season)));
  return recipe.logarithm ? std::exp(v) : v;
}

std::pair<std::size_t, std::size_t> parts_of(const Recipe& recipe, std::size_t length) {
  const auto n = static_cast<double>(length);
  const auto test = static_cast<std::size_t>(std::llround(n * (1 - recipe.test)));
  return {static_cast<std::size_t>(std::llround(static_cast<double>(test) * (1 - recipe.validation))), test};
}

nlohmann::ordered_json facts_in_json(const DataFacts& facts) {
  nlohmann::ordered_json json;
  json["input"] = std::vector<std::int64_t>(facts.model.input.begin(), facts.model.input.end());
  json["tokens"] = facts.model.dtype == DType::i64;
  json["outputs"] = facts.model.outputs;
  json["classes"] = facts.classes;
  if (const auto* bpe = dynamic_cast<const data::BpeTokenizer*>(facts.tokenizer.get()))
    json["byte_pairs"] = bpe->text();
  else if (facts.tokenizer != nullptr)
    json["characters"] = facts.tokenizer->vocabulary();
  json["mean"] = facts.scaling.mean;
  json["deviation"] = facts.scaling.deviation;
  return json;
}

DataFacts facts_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  const auto refused = [&](const std::string& why) {
    return IoError(IoError::Kind::malformed, fmt::format("{} holds no model of a recipe", where), why,
                   "give a file that veldt train has written");
  };
  try {
    DataFacts facts;
    std::int64_t elements = 1;
    for (const auto& size : json.at("input")) {
      const auto n = size.get<std::int64_t>();
      if (n < 1 || n > (1 << 24) || facts.model.input.rank() >= 6 || (elements *= n) > (1 << 28))
        throw refused("its input's shape makes no sense");
      facts.model.input.push_back(n);
    }
    facts.model.dtype = json.at("tokens").get<bool>() ? DType::i64 : DType::f32;
    facts.model.outputs = json.at("outputs").get<std::int64_t>();
    if (facts.model.outputs < 1 || facts.model.outputs > (1 << 24))
      throw refused("its outputs make no sense");
    facts.classes = json.at("classes").get<std::vector<std::string>>();
    if (json.contains("byte_pairs"))
      facts.tokenizer = std::make_shared<data::BpeTokenizer>(
          data::BpeTokenizer::parse(json.at("byte_pairs").get<std::string>(), "of " + where));
    else if (json.contains("characters"))
      facts.tokenizer = std::make_shared<data::CharTokenizer>(
          data::CharTokenizer::of(json.at("characters").get<std::vector<std::string>>()));
    facts.scaling = {json.at("mean").get<double>(), json.at("deviation").get<double>()};
    if (!std::isfinite(facts.scaling.mean) || !(facts.scaling.deviation > 0))
      throw refused("its scaling makes no sense");
    const std::int64_t outputs = facts.model.outputs;
    if ((!facts.classes.empty() && std::ssize(facts.classes) != outputs) ||
        (facts.tokenizer != nullptr && facts.tokenizer->size() != outputs))
      throw refused("it names other outputs than it has");
    return facts;
  } catch (const nlohmann::json::exception& e) {
    throw refused(e.what());
  } catch (const ConfigError& e) {
    throw refused(e.summary());
  }
}

}  // namespace veldt::app
