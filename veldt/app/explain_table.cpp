// Explains a network that reads rows: which columns matter, and how it depends on each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "veldt/app/explain_input.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/explain/tables.h"
#include "veldt/io/chart.h"
#include "veldt/io/csv.h"
#include "veldt/io/dot_chart.h"
#include "veldt/io/file.h"
#include "veldt/io/svg.h"

namespace veldt::app {
namespace {

constexpr std::size_t kMostCurves = 12;  // of the most important columns

struct ExplainedTable {
  Tensor rows;
  explain::TableScore score;
  explain::TablePrediction predict;
  std::string lost, predicted;  // what a score loses, and what a curve shows
};

ExplainedTable table_of_classes(const ExplainFlags& flags, const recipe::Trained& trained) {
  const io::CsvTable csv = io::read_csv(flags.inputs[0], trained.facts.inputs, {trained.recipe.target});
  const std::vector<std::string> truths = csv.texts.at(0);
  const auto score = [&trained, truths](const Tensor& rows) {
    const auto found = trained.classify_rows(rows);
    double right = 0;
    for (std::size_t i = 0; i < truths.size(); ++i) right += found[i].front().name == truths[i] ? 1 : 0;
    return right / static_cast<double>(truths.size());
  };
  const std::vector<std::string>& classes = trained.facts.classes;
  // Unless one is named, the class that is predicted most often.
  std::string name;
  if (flags.class_name.empty()) {
    std::vector<std::int64_t> counts(classes.size());
    for (const auto& row : trained.classify_rows(csv.values))
      ++counts[static_cast<std::size_t>(std::find(classes.begin(), classes.end(), row.front().name) -
                                        classes.begin())];
    name = classes[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
  } else {
    name = classes[static_cast<std::size_t>(class_number(flags, classes, std::ssize(classes)))];
  }
  const auto predict = [&trained, name](const Tensor& rows) {
    std::vector<double> found;
    for (const auto& row : trained.classify_rows(rows))
      for (const recipe::Guess& guess : row)
        if (guess.name == name) found.push_back(guess.probability);
    return found;
  };
  return {csv.values, score, predict, "accuracy lost", fmt::format("probability of {}", name)};
}

ExplainedTable table_of_numbers(const ExplainFlags& flags, const recipe::Trained& trained) {
  if (!flags.class_name.empty())
    throw UsageError("--class does not fit this network", "it predicts a number, and no class",
                     "leave it out");
  const Tensor rows = io::read_csv(flags.inputs[0], trained.facts.inputs).values;
  const std::vector<float> truths =
      io::read_csv(flags.inputs[0], {trained.recipe.target}).values.values<float>();
  const auto score = [&trained, truths](const Tensor& changed) {
    const std::vector<double> found = trained.predict(changed);
    double squares = 0;
    for (std::size_t i = 0; i < truths.size(); ++i)
      squares += (found[i] - truths[i]) * (found[i] - truths[i]);
    return -std::sqrt(squares / static_cast<double>(truths.size()));
  };
  const auto predict = [&trained](const Tensor& changed) { return trained.predict(changed); };
  return {rows, score, predict,
          fmt::format("error gained (root mean square, in units of {})", trained.recipe.target),
          trained.recipe.target};
}

// Charts below each other, as one document.
std::string charts_svg(const std::vector<std::pair<std::string, int>>& charts, int width) {
  int height = 0;
  std::string inner;
  for (const auto& [svg, high] : charts) {
    inner += fmt::format("<g transform='translate(0,{})'>\n{}</g>\n", height, svg);
    height += high;
  }
  return io::svg_head(width, height) + inner + "</svg>\n";
}

// The height that a document says it has.
int height_of(const std::string& svg) {
  const std::size_t place = svg.find("height='");
  return place == std::string::npos ? 0 : std::stoi(svg.substr(place + 8));
}

}  // namespace

int explain_table(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained) {
  if (flags.inputs.size() != 1)
    throw UsageError("there is no one table to explain by", "the network reads rows of one",
                     "name one (.csv), with the column that is predicted, after the model");
  if (!flags.output.empty() && !flags.output.ends_with(".svg"))
    throw UsageError(fmt::format("cannot write {}", on_one_line(flags.output)),
                     "a table's explanation is a chart", "give it the ending .svg");
  const recipe::Trained& trained = *explained.trained;
  const ExplainedTable table =
      trained.recipe.classes ? table_of_classes(flags, trained) : table_of_numbers(flags, trained);
  const double score = table.score(table.rows);
  const auto found = explain::permutation_importance(table.score, table.rows,
                                                     {.seed = static_cast<std::uint64_t>(flags.seed)});
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return found[a].mean > found[b].mean; });
  const std::vector<std::string>& names = trained.facts.inputs;

  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  io::DotChart importance{.title = "what is lost when a column is shuffled", .x = table.lost};
  std::vector<std::pair<std::string, int>> charts(1);
  std::string text = fmt::format("{:<24} {:>12} {:>12}\n", "column",
                                 table.lost.substr(0, table.lost.find(" (")), "deviation");
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t i = order[rank];
    const explain::Importance& one = found[i];
    nlohmann::ordered_json row = {
        {"column", names[i]}, {"importance", one.mean}, {"deviation", one.deviation}};
    importance.rows.push_back({names[i], one.losses});
    text += fmt::format("{:<24} {:>12.4g} {:>12.2g}\n", on_one_line(names[i]), one.mean, one.deviation);
    if (rank < kMostCurves) {
      const explain::Dependence on_it =
          explain::partial_dependence(table.predict, table.rows, static_cast<std::int64_t>(i));
      row["values"] = on_it.values;
      row["predictions"] = on_it.predictions;
      constexpr int kHeight = 240;
      charts.emplace_back(io::chart_svg({.title = fmt::format("{} as {} is set", table.predicted, names[i]),
                                         .x = names[i],
                                         .y = table.predicted,
                                         .lines = {{"mean over all rows", on_it.values, on_it.predictions}},
                                         .height = kHeight}),
                          kHeight);
    }
    columns.push_back(std::move(row));
  }
  if (!flags.output.empty()) {
    const std::string dots = io::dot_chart_svg(importance);
    charts[0] = {dots, height_of(dots)};
    io::write_file(flags.output, charts_svg(charts, importance.width));
  }
  if (context.json) {
    nlohmann::ordered_json out = {{"model", flags.model},
                                  {"input", flags.inputs[0]},
                                  {"rows", table.rows.size(0)},
                                  {"score", score},
                                  {"columns", columns}};
    if (!flags.output.empty()) out["output"] = flags.output;
    context.out.json(out);
    return kOk;
  }
  context.out.text(text);
  if (!flags.output.empty()) context.out.text(fmt::format("wrote {}\n", on_one_line(flags.output)));
  return kOk;
}

}  // namespace veldt::app
