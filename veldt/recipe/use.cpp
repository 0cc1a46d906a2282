// Uses a trained network: classes of pictures and rows, numbers of rows, forecasts and texts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "veldt/data/pictures.h"
#include "veldt/io/csv.h"
#include "veldt/io/image.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/denoise.h"
#include "veldt/recipe/forecast.h"
#include "veldt/recipe/known.h"
#include "veldt/recipe/series.h"
#include "veldt/recipe/trained.h"
#include "veldt/recipe/translate.h"
#include "veldt/recipe/views.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {
namespace {

// What a network of this recipe is taught, and the call that uses it.
std::pair<const char*, const char*> use_of(const Recipe& recipe) {
  if (recipe.kind == "text") return {"a text", "write()"};
  if (recipe.kind == "series") return {"a series", "forecast(values)"};
  if (recipe.kind == "pairs") return {"to turn one text into another", "translate(texts)"};
  if (recipe.denoises()) return {"to take noise out of pictures", "denoise(picture)"};
  if (recipe.kind != "table") return {"pictures", "classify(picture)"};
  if (recipe.classes) return {"the classes of a table's rows", "classify_rows(rows)"};
  return {"a number of a table's rows", "predict(rows)"};
}

// Refuses `call`, which is for networks of another kind.
void check_use(const Recipe& recipe, bool fits, const char* call, const char* does) {
  if (fits) return;
  const auto [taught, use] = use_of(recipe);
  throw UsageError(fmt::format("{} is not for this network: it does not {}", call, does),
                   fmt::format("it was taught {}", taught),
                   fmt::format("call {}, or load another network", use));
}

// For each line of outputs [n, classes], its classes, the likeliest first.
std::vector<std::vector<Guess>> guesses_of(const Facts& facts, const Tensor& outputs) {
  const std::vector<float> shares = to(softmax(outputs, 1), Device{}).values<float>();
  std::vector<std::vector<Guess>> lines(static_cast<std::size_t>(outputs.size(0)));
  std::size_t next = 0;
  for (std::vector<Guess>& line : lines) {
    for (const std::string& name : facts.classes) line.push_back({name, shares.at(next++)});
    std::stable_sort(line.begin(), line.end(),
                     [](const Guess& a, const Guess& b) { return a.probability > b.probability; });
  }
  return lines;
}

// The network's outputs for rows of a table, [rows, outputs].
Tensor outputs_for_rows(const Trained& trained, const Tensor& rows) {
  const Facts& facts = trained.facts;
  const std::int64_t columns = std::ssize(facts.inputs);
  if (rows.dtype() != DType::f32 || rows.rank() != 2 || rows.size(1) != columns)
    throw ShapeError(
        str("rows cannot be ", rows.dtype(), ' ', rows.shape()),
        fmt::format("the network takes f32 [rows, {}]: {}", columns, fmt::join(facts.inputs, ", ")),
        "give these columns in this order, as read_rows() does");
  const Tensor scaled = scaled_columns(to(rows, Device{}), facts.columns);
  return trained.model(to(scaled, trained.device()));
}

}  // namespace

Device Trained::device() const {
  const auto parameters = model.parameters();
  return parameters.empty() ? Device{} : parameters.front().device();
}

void Trained::to(Device device) { model.to(device); }

Tensor Trained::prepare(const Tensor& picture) const {
  check_use(recipe, recipe.is_of_pictures() && !recipe.denoises(), "prepare()", "classify pictures");
  const NoGrad off;
  const Shape& input = facts.model.input;
  data::FolderOptions read{.grey = input[0] == 1};
  if (!fits_pictures(recipe)) read.height = input[1], read.width = input[2];
  data::Example example{data::picture_planes(picture, read)};
  Rng rng(0);
  if (const data::Transform transform = preparing(recipe)) example = transform(example, rng);
  return veldt::to(unsqueeze(example.at(0), 0), device());
}

std::vector<Guess> Trained::classify(const Tensor& picture) const {
  check_use(recipe, recipe.is_of_pictures() && !recipe.denoises(), "classify()", "classify pictures");
  const NoGrad off;
  return guesses_of(facts, outputs_of(recipe, model, prepare(picture))).front();
}

std::vector<Guess> Trained::classify(const std::string& path) const {
  check_use(recipe, recipe.is_of_pictures() && !recipe.denoises(), "classify()", "classify pictures");
  return classify(io::read_image(path));
}

Tensor Trained::denoise(const Tensor& picture, const RowsHeard& heard) const {
  check_use(recipe, recipe.denoises(), "denoise()", "take noise out of pictures");
  return denoised_picture(facts, model, picture, heard);
}

Tensor Trained::read_rows(const std::string& path) const {
  check_use(recipe, recipe.kind == "table", "read_rows()", "read tables");
  return io::read_csv(path, facts.inputs).values;
}

std::vector<double> Trained::predict(const Tensor& rows) const {
  check_use(recipe, recipe.kind == "table" && !recipe.classes, "predict()", "predict numbers of rows");
  const NoGrad off;
  std::vector<double> numbers;
  for (const float y : veldt::to(outputs_for_rows(*this, rows), Device{}).values<float>())
    numbers.push_back(static_cast<double>(y) * facts.scaling.deviation + facts.scaling.mean);
  return numbers;
}

std::vector<std::vector<Guess>> Trained::classify_rows(const Tensor& rows) const {
  check_use(recipe, recipe.kind == "table" && recipe.classes, "classify_rows()", "know classes of rows");
  const NoGrad off;
  return guesses_of(facts, outputs_for_rows(*this, rows));
}

std::vector<double> Trained::read_series(const std::string& path) const {
  check_use(recipe, recipe.kind == "series", "read_series()", "read series");
  return recipe::read_series(recipe, path);
}

std::vector<double> Trained::forecast(const std::vector<double>& values, std::int64_t count) const {
  check_use(recipe, recipe.kind == "series", "forecast()", "continue series");
  if (count < 0)
    throw ConfigError(fmt::format("a forecast cannot have {} values", count), "it has at least one",
                      "give 1 or more, or 0 for as many as the network predicts at once");
  return forecast_series(recipe, facts, model, values, count > 0 ? count : recipe.horizon);
}

std::vector<std::string> Trained::translate(const std::vector<std::string>& texts) const {
  check_use(recipe, recipe.kind == "pairs", "translate()", "turn one text into another");
  return translated_texts(facts, model, texts);
}

std::string Trained::write(const WritingOptions& how) const {
  check_use(recipe, recipe.kind == "text", "write()", "write texts");
  return written_text(recipe, facts, model, how);
}

}  // namespace veldt::recipe
