// veldt explain MODEL INPUT: why a network says what it says, as heat over a picture, coloured tokens, or the
// importance of a table's columns.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "veldt/app/explain_input.h"
#include "veldt/app/inputs.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/io/image.h"
#include "veldt/io/magic.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/suggest.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {

nn::Module& ExplainedNetwork::network() { return known ? *known->network : trained->model; }

bool ExplainedNetwork::takes_pictures() const {
  return known || (trained->recipe.is_of_pictures() && !trained->recipe.denoises());
}

Tensor ExplainedNetwork::prepare(const Tensor& picture) const {
  if (!known) return trained->prepare(picture);
  const std::vector<Tensor> parameters = known->network->parameters();
  return to(models::prepare(known->preprocessing, picture), parameters.at(0).device());
}

const std::vector<std::string>& ExplainedNetwork::classes() const {
  static const std::vector<std::string> none;
  return known ? none : trained->facts.classes;
}

std::string ExplainedNetwork::class_name(std::int64_t number) const {
  const auto place = static_cast<std::size_t>(number);
  return place < classes().size() ? classes()[place] : std::to_string(number);
}

ExplainedNetwork load_explained(const ExplainFlags& flags) {
  const std::string file = recipe::model_file(flags.model);
  const FileKind kind = kind_of_file(file);
  if (kind != FileKind::safetensors)
    throw IoError(IoError::Kind::malformed, fmt::format("cannot explain {}", on_one_line(file)),
                  kind == FileKind::onnx
                      ? std::string("it is an ONNX graph, which does not say how its pictures are prepared")
                      : io::seems_to_be(first_bytes(file)),
                  "give what veldt train or veldt import --as wrote, or explain it in C++: docs/explain.md");
  ExplainedNetwork explained;
  const auto metadata = io::read_safetensors_header(file).metadata;
  const auto told = metadata.find("kind");
  const Device device = choose_device(flags.device).device;
  if (told != metadata.end() && told->second == models::kModelKind) {
    explained.known = models::load(file);
    explained.known->network->to(device);
    return explained;
  }
  explained.trained = recipe::load(file);
  const recipe::Recipe& recipe = explained.trained->recipe;
  if (recipe.denoises() || recipe.kind == "series" || recipe.kind == "pairs")
    throw UsageError(fmt::format("there is no explanation of {}", on_one_line(flags.model)),
                     fmt::format("it was taught {}, and has no one output to explain", recipe.kind),
                     "explain a network that classifies pictures, reads tables, or writes on");
  explained.trained->to(device);
  return explained;
}

std::int64_t class_number(const ExplainFlags& flags, const std::vector<std::string>& names,
                          std::int64_t count) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == flags.class_name) return static_cast<std::int64_t>(i);
  std::int64_t number = -1;
  const char* const end = flags.class_name.data() + flags.class_name.size();
  const auto read = std::from_chars(flags.class_name.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= 0 && number < count) return number;
  const bool is_number = flags.class_name.find_first_not_of("+-.0123456789") == std::string::npos;
  const std::string numbers = fmt::format("a number of 0 .. {}", count - 1);
  // Names that are their numbers say no more than these.
  const bool are_names = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.find_first_not_of("0123456789") != std::string::npos;
  });
  constexpr std::size_t kMostSearched = 10'000, kMostNamed = 20;
  const std::string near =
      is_number || !are_names || names.size() > kMostSearched ? "" : io::nearest_of(flags.class_name, names);
  throw UsageError(fmt::format("--class cannot be '{}'", flags.class_name),
                   fmt::format("the network has {} classes, and none of that name or number", count),
                   !near.empty() ? fmt::format("did you mean '{}'? or give {}", near, numbers)
                   : are_names && names.size() <= kMostNamed
                       ? fmt::format("give {}, or one of {}", numbers, fmt::join(names, ", "))
                       : "give " + numbers);
}

UsageError wrong_method(const std::string& method, const std::string& why,
                        const std::vector<std::string>& fitting) {
  return UsageError(fmt::format("--method {} does not fit this network", method), why,
                    fmt::format("give one of {}", fmt::join(fitting, ", ")));
}

std::string in_words(const explain::SanityReport& report) {
  std::string text =
      "rank correlation of the heat with itself, the layers' weights random from the last to (0 where\nthe "
      "heat "
      "is the same everywhere by then)\n";
  for (const explain::SanityStage& stage : report.stages)
    text += fmt::format("  {:<28} {:6.3f}\n", on_one_line(stage.layer), stage.rank_correlation);
  if (!report.looks_at_the_network())
    return text +
           fmt::format("The heat hardly changes (above {}): it shows the input more than what was learned.\n",
                       explain::SanityReport::kSame);
  if (!report.looks_at_the_upper_layers())
    return text +
           fmt::format(
               "The heat changes only with the first layers (above {} halfway): it shows what they respond "
               "to,\nsuch as edges, more than what decided the answer.\n",
               explain::SanityReport::kSame);
  return text + "The heat depends on what the network has learned.\n";
}

nlohmann::ordered_json in_json(const explain::SanityReport& report) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const explain::SanityStage& stage : report.stages)
    stages.push_back({{"layer", stage.layer}, {"rank_correlation", stage.rank_correlation}});
  return {{"stages", stages},
          {"rank_correlation", report.last()},
          {"half", report.half()},
          {"looks_at_the_network", report.looks_at_the_network()},
          {"looks_at_the_upper_layers", report.looks_at_the_upper_layers()}};
}

namespace {

const std::vector<std::string>& explain_methods() {
  static const std::vector<std::string> names{"gradient",  "input-x-gradient", "integrated", "smoothgrad",
                                              "guided",    "gradcam",          "gradcam++",  "lrp",
                                              "occlusion", "rollout"};
  return names;
}

void refuse_flag(bool given, const char* flag, const char* use) {
  if (given) throw UsageError(fmt::format("{} does not fit this network", flag), use, "leave it out");
}

int explain_verb(const ExplainFlags& flags, Context& context) {
  if (!flags.output.empty()) {
    std::vector<std::string> read = flags.inputs;
    read.push_back(flags.model);
    check_output(flags.output, "--output", read, context);
  }
  ExplainedNetwork explained = load_explained(flags);
  const bool pictures = explained.takes_pictures();
  const bool is_table = !pictures && explained.trained->recipe.kind == "table";
  refuse_flag(!pictures && flags.filters, "--filters", "it is for networks that see pictures");
  refuse_flag(!pictures && flags.channel.has_value(), "--channel", "it is for networks that see pictures");
  refuse_flag((pictures || is_table) && !flags.prompt.empty(), "--prompt", "it is for networks that write");
  refuse_flag(is_table && flags.method.has_value(), "--method",
              "columns are shuffled and set, whatever the network is");
  refuse_flag(is_table && flags.check, "--check", "shuffled columns ask the network alone");
  if (is_table) return explain_table(flags, context, explained);
  if (!pictures) return explain_text(flags, context, explained);
  if (flags.filters && flags.channel)
    throw UsageError("--filters and --channel are two pictures", "one is drawn at a time", "leave one out");
  if (flags.filters) return explain_filters(flags, context, explained);
  if (flags.channel) return explain_channel(flags, context, explained);
  return explain_pictures(flags, context, explained);
}

}  // namespace

Run add_explain(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<ExplainFlags>();
  add_path(verb, "MODEL", flags->model,
           "what veldt train or veldt import --as wrote: a model file, or the folder of a run")
      .required();
  add_paths(verb, "INPUT", flags->inputs,
            "a picture, a table (.csv) with the column that is predicted, or a text");
  add_path(
      verb, "-o,--output", flags->output,
      "where the explanation goes: a picture (.png), for a table a chart (.svg), for a text a page (.html)");
  add_choice(
      verb, "--method", flags->method, explain_methods(),
      "how; without it gradcam where there are convolutions and no attention, else integrated (lrp: epsilon "
      "0.1)");
  add_text(verb, "--class", "NAME", "explain this class, by its name or number, not the likeliest",
           [flags](const io::Source&, const std::string& text) { flags->class_name = text; })
      .command_line_only();
  add_text(verb, "--layer", "NAME", "for gradcam and --channel: this layer, not the last convolution",
           [flags](const io::Source&, const std::string& text) { flags->layer = text; })
      .command_line_only();
  add_switch(
      verb, "--check", flags->check,
      "randomise the weights layer by layer, and say whether the heat changes: whether the method looks "
      "at the network at all");
  add_switch(verb, "--filters", flags->filters, "draw the filters of the first convolution")
      .command_line_only();
  add_count(verb, "--channel", flags->channel, {.least = 0},
            "of several pictures, draw those that drive this channel of --layer most")
      .command_line_only();
  add_count(verb, "--top", flags->top, {.least = 1, .most = 100}, "so many of them");
  add_text(verb, "--prompt", "TEXT", "the text before the token that is explained, instead of a file",
           [flags](const io::Source&, const std::string& text) { flags->prompt = text; })
      .command_line_only();
  add_count(verb, "--seed", flags->seed, {.least = 0}, "what smoothgrad, --check and shuffled columns draw");
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt explain runs/mnist digit.png -o why.png\n"
      "  veldt explain resnet18.safetensors cat.jpg -o why.png --method integrated --class 281 --check\n"
      "  veldt explain runs/flowers data/flowers.csv -o columns.svg\n"
      "  veldt explain runs/char_lstm --prompt ROMEO: -o why.html\n"
      "  veldt explain runs/mnist --filters -o filters.png\n");
  return [flags, &context] { return explain_verb(*flags, context); };
}

}  // namespace veldt::app
