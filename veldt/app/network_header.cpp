// What a recipe's network takes and gives, in a header's terms: levels of pictures, columns of tables.
#include "veldt/app/network_header.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "veldt/app/inputs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/core/error.h"
#include "veldt/field/field.h"
#include "veldt/io/file.h"
#include "veldt/io/magic.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/create.h"
#include "veldt/publish/header.h"
#include "veldt/publish/network_header.h"
#include "veldt/recipe/trained.h"

namespace veldt::app {
namespace {

// Of pictures of one level all over, what the network sees in each channel, if that is one number.
std::vector<double> seen_of(const recipe::Trained& trained, double level) {
  const Shape& input = trained.facts.model.input;
  const Tensor planes = trained.prepare(full({input[1], input[2], input[0]}, level));
  std::vector<double> seen;
  const auto all = planes.values<float>();
  const auto plane = all.size() / static_cast<std::size_t>(input[0]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % plane == 0) seen.push_back(static_cast<double>(all[i]));
    if (!(std::abs(static_cast<double>(all[i]) - seen.back()) < 1e-4)) return {};
  }
  return seen;
}

// Recipes may prepare pictures in any way; one that multiplies levels and adds to them is a part of the
// header.
void say_levels(const recipe::Trained& trained, publish::NetworkHeaderOptions& options) {
  options.level_words = "numbers as the recipe's data.prepare leaves them";
  if (trained.facts.model.input.rank() != 3) return;
  const auto dark = seen_of(trained, 0), middle = seen_of(trained, 0.5), light = seen_of(trained, 1);
  if (dark.empty() || middle.size() != dark.size() || light.size() != dark.size()) return;
  std::vector<double> gain;
  for (std::size_t c = 0; c < dark.size(); ++c) {
    if (!(std::abs(dark[c] + light[c] - 2 * middle[c]) < 1e-4)) return;
    gain.push_back(light[c] - dark[c]);
  }
  options.gain = gain, options.offset = dark;
  options.level_words = "levels from 0, black, to 1, white or the full colour";
}

publish::NetworkHeaderOptions options_of(const recipe::Trained& trained, const std::string& title) {
  publish::NetworkHeaderOptions o{.title = title};
  const recipe::Facts& facts = trained.facts;
  if (trained.recipe.is_of_pictures() && !trained.recipe.denoises()) {
    say_levels(trained, o);
  } else if (trained.recipe.kind == "table") {
    o.gain.clear(), o.offset.clear();
    std::string columns;
    for (std::size_t c = 0; c < facts.columns.size(); ++c) {
      o.gain.push_back(1 / facts.columns[c].deviation);
      o.offset.push_back(-facts.columns[c].mean / facts.columns[c].deviation);
      columns += (c == 0 ? "" : ", ") + facts.inputs[c];
    }
    o.level_words = "columns of the table, " + columns;
    if (!trained.recipe.classes)
      o.output_gain = facts.scaling.deviation, o.output_offset = facts.scaling.mean;
  } else if (trained.recipe.kind == "series") {
    if (trained.recipe.logarithm || trained.recipe.difference) {
      // One gain does not give them: the caller computes what the network sees, and undoes it.
      o.level_words = fmt::format("{}{}, minus {:.9g}, divided by {:.9g}; the results are such numbers too",
                                  trained.recipe.difference ? "differences to the season before, of " : "",
                                  trained.recipe.logarithm ? "logarithms of the series" : "the series",
                                  facts.scaling.mean, facts.scaling.deviation);
    } else {
      o.gain = {1 / facts.scaling.deviation}, o.offset = {-facts.scaling.mean / facts.scaling.deviation};
      o.level_words = "values of the series, the oldest first";
      o.output_gain = facts.scaling.deviation, o.output_offset = facts.scaling.mean;
    }
  }
  if (trained.recipe.knows_classes()) o.classes = facts.classes;
  o.scores = trained.scores;
  return o;
}

}  // namespace

bool holds_field(const std::string& model) {
  const std::string file = recipe::model_file(model);
  return kind_of_file(file) != FileKind::safetensors ||
         !field::field_kind(io::read_safetensors_header(file).metadata).empty();
}

int export_network_header(const std::string& model, const std::string& output, Context& context) {
  check_output(output, "--output", {model}, context);
  recipe::Trained trained = recipe::load(model);
  const recipe::ModelFacts& facts = trained.facts.model;
  if (facts.dtype != DType::f32 || facts.target.rank() > 0)
    throw UsageError(fmt::format("{} cannot become a header", on_one_line(model)), "it reads tokens",
                     "write it as ONNX (-o x.onnx)");
  if (trained.quantization.empty())
    throw UsageError(
        fmt::format("{} cannot become a header", on_one_line(model)), "it is a network of floats",
        fmt::format("quantize it first: veldt quantize {} --data DIR -o q.safetensors", on_one_line(model)));
  compress::unlink_layers(trained.model);
  const std::string title = std::filesystem::path(output).stem().string();
  const publish::NetworkHeader made =
      publish::network_header(trained.model, facts.input, options_of(trained, title));
  io::write_file(output, made.text);
  const std::string name = publish::cpp_name(title, "net");
  if (context.json)
    context.out.json({{"model", model},
                      {"output", output},
                      {"namespace", name},
                      {"bytes", made.text.size()},
                      {"arena", made.arena},
                      {"constants", made.constants},
                      {"multiplications", made.multiplies}});
  else
    context.out.text(
        fmt::format("wrote {}: void {}::run(const float* levels, float* results, Arena&); {} bytes of "
                    "memory, {} of constants, {} "
                    "multiplications a call\n",
                    on_one_line(output), name, made.arena, made.constants, made.multiplies));
  return kOk;
}

}  // namespace veldt::app
