// Writes the table of a sweep, and makes it again from the sweep's folder.
#include "veldt/app/sweep_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "veldt/app/frame.h"
#include "veldt/app/sweep_folder.h"
#include "veldt/cli/terminal.h"
#include "veldt/io/directory.h"

namespace veldt::app {
namespace {

std::string path_in(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

}  // namespace

nlohmann::ordered_json sweep_in_json(const recipe::SweepTable& table, const std::string& path) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const recipe::SweepRow& row : table.rows) {
    nlohmann::ordered_json one, values, scores;
    for (std::size_t i = 0; i < table.keys.size(); ++i) values[table.keys[i]] = row.settings[i];
    for (const recipe::Spread& score : row.scores)
      scores[score.name] = {
          {"mean", score.mean},
          {"deviation", score.deviation ? nlohmann::ordered_json(*score.deviation) : nullptr},
          {"values", score.values}};
    one = {{"values", values},
           {"share", row.share},
           {"runs", row.done + row.failed},
           {"failed", row.failed},
           {"scores", scores},
           {"seconds", row.seconds.mean},
           {"parameters", row.parameters},
           {"memory_bytes", row.memory}};
    if (!row.reason.empty()) one["reason"] = row.reason;
    rows.push_back(one);
  }
  nlohmann::ordered_json out = {
      {"output", path}, {"score", table.score.name}, {"larger_is_better", table.score.larger_is_better}};
  if (!table.best_run.empty()) out["best_run"] = path_in(path, table.best_run);
  out["rows"] = rows;
  return out;
}

std::string sweep_in_words(const recipe::SweepTable& table, const std::string& path) {
  std::string text = recipe::text_of(table) + '\n';
  for (const char* name : {"sweep.csv", "sweep.svg"})
    if (const std::string file = path_in(path, name); io::exists(file)) text += on_one_line(file) + '\n';
  if (!table.best_run.empty())
    text += fmt::format("the best run: {}\n", on_one_line(path_in(path, table.best_run)));
  return text;
}

recipe::SweepTable table_in_folder(const std::string& path) {
  const SweepFolder folder(path);
  recipe::Sweep sweep = folder.sweep();
  while (const std::optional<recipe::Trial> trial = sweep.take())
    if (std::optional<recipe::Outcome> outcome = folder.known(*trial))
      sweep.tell(*trial, std::move(*outcome));
  return recipe::table_of(sweep);
}

}  // namespace veldt::app
