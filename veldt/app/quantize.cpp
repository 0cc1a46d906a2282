// veldt quantize MODEL: integers in the place of a trained network's weights, and what that costs and gains.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "veldt/app/output_name.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/recipe_files.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/compress/quantize.h"
#include "veldt/io/file.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/trained.h"
#include "veldt/recipe/trainer.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

struct QuantizeFlags {
  std::string model, data, output, method = "static", calibration = "mse", part = "test";
  std::int64_t bits = 8, examples = 512, seed = 1;
  std::vector<std::string> keep;
  bool no_layers = false;
};

compress::QuantizeOptions options_of(const QuantizeFlags& flags) {
  compress::QuantizeOptions o{.bits = static_cast<int>(flags.bits), .keep = flags.keep};
  if (flags.bits != 8 && flags.bits != 4)
    throw UsageError(fmt::format("--bits cannot be {}", flags.bits), "weights have 8 or 4 bits",
                     "give --bits 8 or --bits 4");
  o.method = flags.method == "weights"   ? compress::Method::weights
             : flags.method == "dynamic" ? compress::Method::dynamic
                                         : compress::Method::calibrated;
  o.calibration = *compress::calibration_named(flags.calibration);
  return o;
}

// `count` examples of a set, drawn, or all of them.
data::DatasetPtr some_of(const data::DatasetPtr& set, std::int64_t count, std::int64_t seed) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(set->size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  Rng rng(static_cast<std::uint64_t>(seed));
  for (std::size_t i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1], numbers[static_cast<std::size_t>(rng.next_below(i))]);
  numbers.resize(std::min(numbers.size(), static_cast<std::size_t>(count)));
  return data::subset(set, numbers);
}

std::size_t bytes_of(const nn::Module& network) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : network.state_dict())
    bytes += static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype());
  return bytes;
}

// A network on its data: its scores, and the time of a batch.
class Judge {
 public:
  Judge(recipe::Trained& trained, const recipe::Data& data)
      : trained_(trained),
        data_(data),
        options_(recipe::trainer_options_of(trained.recipe, trained.facts)),
        optimizer_(recipe::optimizer_of(trained.recipe, trained.model)),
        trainer_(trained.model, *optimizer_, options_) {}

  train::Scores scores(const data::DatasetPtr& set, const train::Trainer::Look& look = {}) {
    data::Loader loader = recipe::measuring_loader(trained_.recipe, data_, set);
    return trainer_.evaluate(loader, look);
  }
  Tensor outputs(const data::Batch& batch) const {
    const NoGrad off;
    return options_.forward ? options_.forward(trained_.model, batch).at(0) : trained_.model(batch.at(0));
  }
  double seconds(const data::Batch& batch) const {
    const auto begin = std::chrono::steady_clock::now();
    outputs(batch);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  recipe::Trained& trained_;
  const recipe::Data& data_;
  train::TrainerOptions options_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  train::Trainer trainer_;
};

struct QuantizeReport {
  std::size_t bytes_before = 0, bytes_after = 0;
  train::Scores before, after;
  double speed_before = 0, speed_after = 0;  // examples a second
  std::int64_t batch = 0;
  compress::Scheme scheme;
  bool learned = false;  // the scheme, with the network
  std::vector<compress::Sensitivity> layers;
};

// Batches in turns, so that both meet the same machine; the middle of each one's times.
void time_both(const Judge& before, const Judge& after, const data::Batch& batch, QuantizeReport& report) {
  constexpr double kSeconds = 1.5;
  constexpr std::size_t kLeast = 5;
  std::vector<double> a, b;
  double spent = 0;
  before.seconds(batch), after.seconds(batch);
  while (a.size() < kLeast || (spent < kSeconds && a.size() < 1000)) {
    a.push_back(before.seconds(batch)), b.push_back(after.seconds(batch));
    spent += a.back() + b.back();
  }
  const auto middle = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  report.batch = batch.at(0).size(0);
  report.speed_before = static_cast<double>(report.batch) / middle(a);
  report.speed_after = static_cast<double>(report.batch) / middle(b);
}

std::string in_words(const QuantizeReport& r) {
  std::string text;
  if (!r.layers.empty()) {
    std::size_t widest = 6;
    for (const auto& [name, unused] : r.layers) widest = std::max(widest, name.size());
    text += fmt::format("{:<{}}  bits  input    disturbs the result by\n", "weight", widest);
    for (const auto& [name, decibels] : r.layers) {
      const nn::WeightFormat& f = r.scheme.weights.at(name);
      text += fmt::format("{:<{}}  {:>4}  {:<7}  {}\n", name, widest, f.bits, compress::input_name(f.input),
                          std::isfinite(decibels) ? fmt::format("{:.1f} dB", -decibels) : "nothing");
    }
    text += '\n';
  }
  const auto row = [&](const std::string& what, const std::string& a, const std::string& b,
                       const std::string& change) {
    text += fmt::format("{:<18}  {:>12}  {:>12}  {}\n", what, a, b, change);
  };
  row("", "floats", "integers", "");
  row("bytes of weights", fmt::format("{}", r.bytes_before), fmt::format("{}", r.bytes_after),
      fmt::format("{:.1f} %",
                  100.0 * static_cast<double>(r.bytes_after) / static_cast<double>(r.bytes_before)));
  for (const auto& [name, value] : r.before) {
    const double now = train::score(r.after, name);
    row(name, fmt::format("{:.5g}", value), fmt::format("{:.5g}", now), fmt::format("{:+.5f}", now - value));
  }
  row("examples a second", fmt::format("{:.0f}", r.speed_before), fmt::format("{:.0f}", r.speed_after),
      fmt::format("{:.2f} times as fast, in batches of {}", r.speed_after / r.speed_before, r.batch));
  return text;
}

nlohmann::ordered_json in_json(const QuantizeFlags& flags, const QuantizeReport& r) {
  nlohmann::ordered_json json = {{"model", flags.model},
                                 {"output", flags.output},
                                 {"method", r.learned         ? "learned"
                                            : flags.bits == 4 ? "weights"
                                                              : flags.method},
                                 {"bytes", {{"before", r.bytes_before}, {"after", r.bytes_after}}}};
  for (const auto& [name, value] : r.before)
    json["scores"][name] = {{"before", value}, {"after", train::score(r.after, name)}};
  json["examples_per_second"] = {{"before", r.speed_before}, {"after", r.speed_after}};
  json["folded"] = r.scheme.folded.size();
  json["links"] = r.scheme.links.size();
  json["weights"] = nlohmann::ordered_json::array();
  for (const auto& [name, f] : r.scheme.weights) {
    nlohmann::ordered_json row = {{"name", name}, {"bits", f.bits}, {"input", compress::input_name(f.input)}};
    for (const auto& layer : r.layers)
      if (layer.name == name && std::isfinite(layer.decibels)) row["decibels"] = layer.decibels;
    json["weights"].push_back(row);
  }
  return json;
}

data::DatasetPtr measured_part(const recipe::Data& data, const std::string& part) {
  const data::DatasetPtr set = part == "test"         ? data.test
                               : part == "validation" ? data.validation
                                                      : data.train;
  if (set == nullptr)
    throw UsageError(fmt::format("there is no {} part", part), "the recipe sets none aside",
                     "name another part: --part train, say");
  return set;
}

// Formats and ranges that a network has learned are those it is quantised with. Settings of files and of the
// environment, which are for all networks, stand back.
void refuse_flags(VerbOptions& verb, const std::string& model) {
  for (const char* key : {"method", "bits", "calibration", "keep"})
    if (const Setting* setting = verb.find_key(key); setting != nullptr && setting->origin == "flag")
      throw UsageError(
          fmt::format("{} changes nothing", setting->flag()),
          fmt::format("{} has learned its formats and ranges (train.quantize)", on_one_line(model)),
          "leave it out, or quantise a network that has learned without");
}

int quantize_model(QuantizeFlags flags, VerbOptions& verb, Context& context) {
  const compress::QuantizeOptions options = options_of(flags);
  std::error_code ignored;
  if (std::filesystem::equivalent(recipe::model_file(flags.model), flags.output, ignored))
    throw UsageError("the output is the input", fmt::format("{} would be overwritten", flags.output),
                     "give another name after -o");
  check_ending(flags.output, "--output", kModelFile);
  io::check_writable(flags.output);
  recipe::Trained floats = recipe::load(flags.model), trained = recipe::load(flags.model);
  if (!floats.quantization.empty())
    throw UsageError(fmt::format("{} is quantised already", on_one_line(flags.model)), "it holds integers",
                     "give the network of floats that it was made of");
  if (!floats.recipe.quantize.empty()) refuse_flags(verb, flags.model);
  flags.data = data_folder(floats.recipe, flags.data, context);
  const recipe::Data data = recipe::load_data(floats.recipe, flags.data, &floats.facts);
  const data::DatasetPtr measured = measured_part(data, flags.part),
                         shown = some_of(data.train, flags.examples, flags.seed);
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  Judge before(floats, data), after(trained, data);
  data::Loader first(recipe::measuring_loader(floats.recipe, data, shown));
  const data::Batch batch = first.batch(0);
  QuantizeReport report;
  report.bytes_before = bytes_of(floats.model);

  std::vector<compress::FoldedNorm> folded = floats.model.inputs() == 1
                                                 ? compress::fold_batch_norms(trained.model, batch.at(0))
                                                 : std::vector<compress::FoldedNorm>{};
  compress::Taught taught = compress::end_simulation(trained.model);
  compress::end_simulation(floats.model);  // what it is compared with multiplies floats
  report.learned = !taught.scheme.empty();
  compress::Scheme scheme = report.learned ? taught.scheme : compress::planned(trained.model, options);
  if (!report.learned && flags.bits == 4 &&
      std::none_of(scheme.weights.begin(), scheme.weights.end(),
                   [](const auto& weight) { return weight.second.bits == 4; }))
    throw UsageError("no weight that becomes integers can have 4 bits",
                     "those are for linear layers whose number of inputs is a multiple of 32",
                     flags.keep.empty() ? "choose --bits 8" : "choose --bits 8, or keep others");
  const auto counted = [&](const char* what, std::int64_t all) {
    return [&line, what, all, done = std::int64_t{0}](const TensorList&, const data::Batch& b) mutable {
      done += b.at(0).size(0);
      line.update(static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(1, all)),
                  fmt::format("{} {}/{}", what, done, all));
    };
  };
  const auto show = [&] { after.scores(shown, counted("calibrating", shown->size())); };
  std::map<std::string, compress::NumberRange> ranges =
      report.learned ? taught.ranges : compress::calibrated(trained.model, scheme, options.calibration, show);
  if (!flags.no_layers)
    report.layers = compress::sensitivities(
        trained.model, scheme, ranges, [&] { return after.outputs(batch); },
        [&](std::size_t done, std::size_t all) {
          line.update(static_cast<double>(done) / static_cast<double>(all),
                      fmt::format("weight {}/{}", done + 1, all));
        });
  compress::apply(trained.model, scheme, ranges);
  scheme.folded = folded;
  if (trained.model.inputs() == 1) scheme.links = compress::link_layers(trained.model, batch.at(0));
  trained.quantization = report.scheme = scheme;
  report.bytes_after = bytes_of(trained.model);
  report.before = before.scores(measured, counted("floats", measured->size()));
  report.after = after.scores(measured, counted("integers", measured->size()));
  time_both(before, after, batch, report);
  trained.scores.clear();
  for (const auto& [name, value] : report.after) trained.scores.emplace_back(flags.part + "_" + name, value);
  recipe::save(flags.output, trained);
  line.finish();
  if (context.json) {
    context.out.json(in_json(flags, report));
    return kOk;
  }
  context.out.text(in_words(report));
  context.out.text(fmt::format("\nwritten to {}, {} bytes\n", on_one_line(flags.output),
                               std::filesystem::file_size(flags.output)));
  return kOk;
}

}  // namespace

Run add_quantize(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<QuantizeFlags>();
  add_path(verb, "MODEL", flags->model, "what veldt train wrote: a model.safetensors, or the folder of a run")
      .required();
  add_path(verb, "--data", flags->data,
           "the folder that data.path starts from; without it the recipe's files are downloaded");
  add_path(verb, "-o,--output", flags->output, "the quantised network (.safetensors)").required();
  add_choice(
      verb, "--method", flags->method, {"static", "dynamic", "weights"},
      "what weights are multiplied by: bytes of a range that examples have shown, bytes of a range that "
      "each call finds, or floats");
  add_count(verb, "--bits", flags->bits, {.least = 4, .most = 8},
            "of a weight: 8, or 4 in groups of 32, which floats multiply, for linear layers whose inputs are "
            "a multiple of 32");
  std::vector<std::string> calibrations;
  for (const std::string_view name : compress::calibration_names()) calibrations.emplace_back(name);
  add_choice(verb, "--calibration", flags->calibration, calibrations,
             "how a static range is chosen from the numbers that were seen");
  add_count(verb, "--examples", flags->examples, {.least = 1}, "of the training part, to calibrate on");
  add_texts(verb, "--keep", "NAME", flags->keep,
            "a weight, or a module with all in it, that stays floats; may be given several times");
  add_choice(verb, "--part", flags->part, {"test", "validation", "train"},
             "which part of the data is scored");
  add_count(verb, "--seed", flags->seed, {.least = 0}, "what draws the examples");
  add_switch(verb, "--no-layers", flags->no_layers, "do not measure what each weight disturbs");
  add_threads(verb, context);
  verb.examples(
      "  veldt quantize runs/mnist --data data -o mnist_int8.safetensors\n"
      "  veldt eval mnist_int8.safetensors --data data\n");
  return [flags, &verb, &context] { return quantize_model(*flags, verb, context); };
}

}  // namespace veldt::app
