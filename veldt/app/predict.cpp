// veldt predict: a trained network classifies pictures, writes on, or predicts a series.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "veldt/app/inputs.h"
#include "veldt/app/progress_line.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/trained.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

struct PredictFlags {
  std::string model, prompt, output, device = "auto";
  std::vector<std::string> inputs;
  std::int64_t count = 0, top = 3, seed = 1;
  double temperature = 0.8;
};

void predict_pictures(const PredictFlags& flags, Context& context, const recipe::Trained& trained) {
  if (flags.inputs.empty())
    throw UsageError("there is no picture to classify", "the network classifies pictures",
                     "name one or more after the model");
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& path : flags.inputs) {
    std::vector<recipe::Guess> found = trained.classify(path);
    found.resize(std::min(found.size(), static_cast<std::size_t>(flags.top)));
    std::string text = on_one_line(path) + ":";
    nlohmann::ordered_json one = {
        {"input", path}, {"class", found.front().name}, {"top", nlohmann::json::array()}};
    for (const auto& [name, share] : found) {
      text += fmt::format("  {} {:.1f} %", on_one_line(name), 100 * share);
      one["top"].push_back({{"class", name}, {"probability", share}});
    }
    list.push_back(std::move(one));
    if (!context.json) context.out.text(text + "\n");
  }
  if (context.json) context.out.json({{"model", flags.model}, {"predictions", list}});
}

int denoise_picture(const PredictFlags& flags, Context& context, const recipe::Trained& trained) {
  if (flags.inputs.size() != 1 || flags.output.empty())
    throw UsageError("there is no picture to take the noise out of, or no place for the result",
                     "the network makes a picture of a picture", "name one after the model, and -o OUT.png");
  check_output(flags.output, "--output", {flags.model, flags.inputs[0]}, context);
  const Tensor noisy = io::read_image(flags.inputs[0]);
  const bool alpha = noisy.size(2) % 2 == 0;
  if (alpha) check_alpha(flags.output);
  const StopOnSignal stop;
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  Tensor picture = trained.denoise(noisy, [&](std::int64_t rows, std::int64_t all) {
    line.update_rows(rows, all);
    return !stop.requested();
  });
  line.finish();
  if (!picture.defined()) return stop.exit_code();
  if (alpha) picture = cat({picture, slice(noisy, 2, noisy.size(2) - 1, noisy.size(2))}, 2);
  io::write_image(flags.output, picture, {.bits = bits_for_copy(flags.inputs[0], flags.output)});
  if (context.json)
    context.out.json({{"model", flags.model},
                      {"input", flags.inputs[0]},
                      {"output", flags.output},
                      {"width", picture.size(1)},
                      {"height", picture.size(0)}});
  else
    context.out.text(fmt::format("wrote {}: {} x {} pixels\n", on_one_line(flags.output), picture.size(1),
                                 picture.size(0)));
  return kOk;
}

void predict_series(const PredictFlags& flags, Context& context, recipe::Trained& trained) {
  if (flags.inputs.size() != 1)
    throw UsageError("there is no series to continue", "the network predicts what comes next",
                     "name one table (.csv) after the model");
  const std::vector<double> next = trained.forecast(trained.read_series(flags.inputs[0]), flags.count);
  if (context.json)
    context.out.json({{"model", flags.model}, {"forecast", next}});
  else
    for (const double v : next) context.out.text(fmt::format("{:.6g}\n", v));
}

// One line for each row of each table: its class, or the predicted number.
void predict_tables(const PredictFlags& flags, Context& context, const recipe::Trained& trained) {
  if (flags.inputs.empty())
    throw UsageError("there is no table", "the network reads rows of one", "name one (.csv) after the model");
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const auto show = [&](nlohmann::ordered_json value, const std::string& text) {
    list.push_back(std::move(value));
    if (!context.json) context.out.text(text + "\n");
  };
  for (const std::string& path : flags.inputs) {
    const Tensor rows = trained.read_rows(path);
    if (trained.recipe.classes)
      for (const auto& row : trained.classify_rows(rows))
        show(row.front().name, on_one_line(row.front().name));
    else
      for (const double number : trained.predict(rows)) show(number, fmt::format("{:.6g}", number));
  }
  if (context.json) context.out.json({{"model", flags.model}, {"predictions", list}});
}

// The prompt, and what stands before a tab, if there is one, in each line of each file.
void translate_texts(const PredictFlags& flags, Context& context, const recipe::Trained& trained) {
  std::vector<std::string> texts;
  if (!flags.prompt.empty()) texts.push_back(flags.prompt);
  for (const std::string& path : flags.inputs) {
    std::istringstream lines(io::read_file(path));
    for (std::string line; std::getline(lines, line);) {
      line = line.substr(0, line.find_first_of("\t\r"));
      if (!line.empty()) texts.push_back(line);
    }
  }
  if (texts.empty())
    throw UsageError("there is no text", "the network turns one text into another",
                     "give one by --prompt \"..\", or name a file with one in each line");
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t begin = 0; begin < texts.size(); begin += kAtOnce) {
    const std::vector<std::string> some(
        texts.begin() + static_cast<std::ptrdiff_t>(begin),
        texts.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kAtOnce, texts.size())));
    for (const std::string& text : trained.translate(some)) {
      list.push_back(text);
      if (!context.json) context.out.foreign_text(text + "\n");
    }
  }
  if (context.json) context.out.json({{"model", flags.model}, {"predictions", list}});
}

int predict(const PredictFlags& flags, Context& context) {
  recipe::Trained trained = recipe::load(flags.model);
  const bool is_text = trained.recipe.kind == "text";
  if (is_text && !flags.inputs.empty())
    throw UsageError(fmt::format("'{}' is not an input of this network", flags.inputs[0]), "it writes text",
                     "give it a beginning: --prompt \"..\"");
  const bool is_of_pairs = trained.recipe.kind == "pairs";
  if (!is_text && !is_of_pairs && !flags.prompt.empty())
    throw UsageError("--prompt is for networks that write",
                     fmt::format("this one was taught {}", trained.recipe.kind), "leave it out");
  if (!trained.recipe.denoises() && !flags.output.empty())
    throw UsageError("--output is for networks that make pictures",
                     fmt::format("this one was taught {}", trained.recipe.kind), "leave it out");
  trained.to(choose_device(flags.device).device);
  if (is_of_pairs) return translate_texts(flags, context, trained), kOk;
  if (trained.recipe.denoises()) return denoise_picture(flags, context, trained);
  if (trained.recipe.kind == "series") return predict_series(flags, context, trained), kOk;
  if (trained.recipe.kind == "table") return predict_tables(flags, context, trained), kOk;
  if (!is_text) return predict_pictures(flags, context, trained), kOk;
  const StopOnSignal signal;
  const std::string text = trained.write({.prompt = flags.prompt,
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
  add_path(verb, "MODEL", flags->model, "what veldt train wrote: a model.safetensors, or the folder of a run")
      .required();
  add_paths(verb, "INPUT", flags->inputs,
            "pictures to classify, one to take the noise out of, a table (.csv): rows to read, or a series, "
            "or texts, one a line");
  add_path(verb, "-o,--output", flags->output,
           fmt::format("where the picture goes that a network makes of one ({})", io::kWrittenPictures));
  add_count(verb, "--top", flags->top, {.least = 1}, "classes shown for a picture");
  add_text(verb, "--prompt", "TEXT", "how the text begins; or the one to turn into another",
           [flags](const io::Source&, const std::string& text) { flags->prompt = text; })
      .command_line_only();
  add_count(verb, "--count", flags->count, {.least = 1, .most = 1'000'000},
            "characters or byte pairs to write (500 unless given), or values to predict");
  add_number(verb, "--temperature", flags->temperature, {.least = 0},
             "how random the text is: below 1 likely tokens become more likely; 0: always the likeliest");
  add_count(verb, "--seed", flags->seed, {.least = 0}, "the same seed writes the same text");
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt predict runs/mnist digit.png\n"
      "  veldt predict runs/unet noisy.png -o clean.png\n"
      "  veldt predict runs/char_lstm --prompt ROMEO: --count 300\n"
      "  veldt predict runs/dates --prompt 'the third of march nineteen eighty four'\n"
      "  veldt predict runs/airline airline-passengers.csv --count 12\n");
  return [flags, &context] { return predict(*flags, context); };
}

}  // namespace veldt::app
