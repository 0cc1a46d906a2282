// veldt predict: a trained network classifies pictures, writes on, or predicts a series.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "veldt/app/exit.h"
#include "veldt/app/option_tree.h"
#include "veldt/app/signals.h"
#include "veldt/app/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/data/pictures.h"
#include "veldt/io/csv.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/recipe/forecast.h"
#include "veldt/recipe/series.h"
#include "veldt/recipe/trained.h"
#include "veldt/recipe/writing.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

struct PredictFlags {
  std::string model, prompt, device = "auto";
  std::vector<std::string> inputs;
  std::int64_t count = 0, top = 3, seed = 1;
  double temperature = 0.8;
};

// The classes of a picture with the network's probability for each, the likeliest first.
std::vector<std::pair<std::string, double>> classified(recipe::Trained& trained, const std::string& path,
                                                       Device device) {
  const Shape& input = trained.facts.model.input;
  if (input.rank() != 3)
    throw UsageError("the network takes no pictures", str("it takes ", input), "give another model");
  const data::FolderOptions form{input[1], input[2], input[0] == 1, {}};
  data::Example example{data::read_picture(path, form)};
  Rng rng(0);
  if (const data::Transform prepare = recipe::transforms_of(trained.recipe.prepare))
    example = prepare(example, rng);
  const Tensor logits = select(trained.model(to(unsqueeze(example[0], 0), device)), 0, 0);
  const std::vector<float> shares = to(softmax(logits, 0), Device{}).values<float>();
  std::vector<std::pair<std::string, double>> all;
  for (std::size_t i = 0; i < shares.size(); ++i)
    all.emplace_back(i < trained.facts.classes.size() ? trained.facts.classes[i] : std::to_string(i),
                     shares[i]);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

void predict_pictures(const PredictFlags& flags, Context& context, recipe::Trained& trained, Device device) {
  if (flags.inputs.empty())
    throw UsageError("there is no picture to classify", "the network classifies pictures",
                     "name one or more after the model");
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& path : flags.inputs) {
    auto found = classified(trained, path, device);
    found.resize(std::min(found.size(), static_cast<std::size_t>(flags.top)));
    std::string text = on_one_line(path) + ":";
    nlohmann::ordered_json one = {
        {"input", path}, {"class", found.front().first}, {"top", nlohmann::json::array()}};
    for (const auto& [name, share] : found) {
      text += fmt::format("  {} {:.1f} %", on_one_line(name), 100 * share);
      one["top"].push_back({{"class", name}, {"probability", share}});
    }
    list.push_back(std::move(one));
    if (!context.json) context.out.text(text + "\n");
  }
  if (context.json) context.out.json({{"model", flags.model}, {"predictions", list}});
}

void predict_series(const PredictFlags& flags, Context& context, recipe::Trained& trained) {
  if (flags.inputs.size() != 1)
    throw UsageError("there is no series to continue", "the network predicts what comes next",
                     "name one table (.csv) after the model");
  const recipe::Recipe& recipe = trained.recipe;
  const std::vector<double> values = recipe::read_series(recipe, flags.inputs[0]);
  const std::vector<double> next = recipe::forecast_series(recipe, trained.facts, trained.model, values,
                                                           flags.count > 0 ? flags.count : recipe.horizon);
  if (context.json)
    context.out.json({{"model", flags.model}, {"forecast", next}});
  else
    for (const double v : next) context.out.text(fmt::format("{:.6g}\n", v));
}

// One line for each row of each table: its class, or the predicted number.
void predict_tables(const PredictFlags& flags, Context& context, recipe::Trained& trained, Device device) {
  if (flags.inputs.empty())
    throw UsageError("there is no table", "the network reads rows of one", "name one (.csv) after the model");
  const recipe::Recipe& recipe = trained.recipe;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& path : flags.inputs) {
    const Tensor rows = io::read_csv(path, trained.facts.inputs).values;
    const Tensor scaled = recipe::scaled_columns(rows, trained.facts.columns);
    const Tensor y = to(trained.model(to(scaled, device)), Device{});
    const std::vector<std::int64_t> classes =
        recipe.classes ? argmax(y, 1).values<std::int64_t>() : std::vector<std::int64_t>();
    for (std::int64_t i = 0; i < y.size(0); ++i) {
      if (recipe.classes)
        list.push_back(
            trained.facts.classes.at(static_cast<std::size_t>(classes[static_cast<std::size_t>(i)])));
      else
        list.push_back(select(select(y, 0, i), 0, 0).item() * trained.facts.scaling.deviation +
                       trained.facts.scaling.mean);
      if (!context.json)
        context.out.text((recipe.classes ? on_one_line(list.back().get<std::string>())
                                         : fmt::format("{:.6g}", list.back().get<double>())) +
                         "\n");
    }
  }
  if (context.json) context.out.json({{"model", flags.model}, {"predictions", list}});
}

int predict(const PredictFlags& flags, Context& context) {
  const NoGrad off;
  recipe::Trained trained = recipe::load(flags.model);
  const bool is_text = trained.recipe.kind == "text";
  if (is_text && !flags.inputs.empty())
    throw UsageError(fmt::format("'{}' is not an input of this network", flags.inputs[0]), "it writes text",
                     "give it a beginning: --prompt \"..\"");
  if (!is_text && !flags.prompt.empty())
    throw UsageError("--prompt is for networks that write",
                     fmt::format("this one was taught {}", trained.recipe.kind), "leave it out");
  const Device device = choose_device(flags.device).device;
  trained.model.to(device);
  if (trained.recipe.kind == "series") {
    predict_series(flags, context, trained);
    return kOk;
  }
  if (trained.recipe.kind == "table") {
    predict_tables(flags, context, trained, device);
    return kOk;
  }
  if (!is_text) {
    predict_pictures(flags, context, trained, device);
    return kOk;
  }
  const StopOnSignal signal;
  const std::string text = recipe::written_text(trained.recipe, trained.facts, trained.model,
                                                {.prompt = flags.prompt,
                                                 .count = flags.count > 0 ? flags.count : 500,
                                                 .temperature = flags.temperature,
                                                 .seed = static_cast<std::uint64_t>(flags.seed),
                                                 .should_stop = [&signal] { return signal.requested(); }});
  if (context.json)
    context.out.json({{"model", flags.model}, {"text", text}});
  else
    context.out.foreign_text(text + "\n");
  return signal.exit_code();
}

}  // namespace

Run add_predict(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<PredictFlags>();
  add_path(verb, "MODEL", flags->model, "a model.safetensors that veldt train wrote").required();
  add_paths(verb, "INPUT", flags->inputs,
            "pictures to classify, or a table (.csv): rows to read, or a series");
  add_count(verb, "--top", flags->top, {.least = 1}, "classes shown for a picture");
  add_text(verb, "--prompt", "TEXT", "how the text begins",
           [flags](const io::Source&, const std::string& text) { flags->prompt = text; })
      .command_line_only();
  add_count(verb, "--count", flags->count, {.least = 1, .most = 1'000'000},
            "characters or byte pairs to write (500 unless given), or values to predict");
  add_number(verb, "--temperature", flags->temperature, {.least = 0.001},
             "how random the text is: below 1 likely tokens become more likely");
  add_count(verb, "--seed", flags->seed, {.least = 0}, "the same seed writes the same text");
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt predict runs/mnist/model.safetensors digit.png\n"
      "  veldt predict runs/char_lstm/model.safetensors --prompt ROMEO: --count 300\n"
      "  veldt predict runs/airline/model.safetensors airline-passengers.csv --count 12\n");
  return [flags, &context] { return predict(*flags, context); };
}

}  // namespace veldt::app
