// Sums a sweep up over its seeds, and writes it as text, CSV and SVG.
#include "veldt/recipe/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veldt/io/dot_chart.h"

namespace veldt::recipe {
namespace {

void add_value(std::vector<Spread>& all, const std::string& name, double value) {
  for (Spread& one : all)
    if (one.name == name) return one.values.push_back(value);
  all.push_back({.name = name, .values = {value}});
}

// Twelve digits: no score has more, and a sum's last ones are noise.
double rounded(double value) {
  return std::isfinite(value) ? std::stod(fmt::format("{:.11e}", value)) : value;
}

void sum_up(Spread& spread) {
  const auto count = static_cast<double>(spread.values.size());
  double largest = 0;
  for (const double v : spread.values) spread.mean += v / count, largest = std::max(largest, std::abs(v));
  spread.mean = rounded(spread.mean);
  if (spread.values.size() < 2) return;
  double squares = 0;
  for (const double v : spread.values) squares += (v - spread.mean) * (v - spread.mean);
  const double deviation = rounded(std::sqrt(squares / (count - 1)));
  spread.deviation = deviation > 1e-11 * largest ? deviation : 0;
}

SweepRow row_of(const Sweep& sweep, std::int64_t configuration) {
  SweepRow row{.configuration = configuration,
               .settings = sweep.settings(configuration),
               .share = sweep.share(configuration),
               .scores = {},
               .seconds = {.name = "seconds"},
               .reason = {}};
  for (std::int64_t i = 0; i < sweep.options().seeds; ++i) {
    const Outcome* one = sweep.outcome(configuration, i);
    if (one == nullptr) continue;
    row.memory = std::max(row.memory, one->memory);
    row.parameters = std::max(row.parameters, one->parameters);
    if (one->end != Outcome::End::done) {
      ++row.failed;
      if (row.reason.empty()) row.reason = fmt::format("{}: {}", name_of(one->end), one->reason);
      continue;
    }
    row.share = row.done == 0 ? one->share : std::max(row.share, one->share);
    ++row.done;
    for (const auto& [name, value] : one->scores) add_value(row.scores, name, value);
    row.seconds.values.push_back(one->seconds);
  }
  for (Spread& score : row.scores) sum_up(score);
  sum_up(row.seconds);
  return row;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + csv_field(field);
  return line + '\n';
}

std::string exact(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
std::string known_count(std::int64_t value) { return value > 0 ? fmt::format("{}", value) : ""; }

// The names of all scores, in the order in which they come up.
std::vector<std::string> score_names(const SweepTable& table) {
  std::vector<std::string> names;
  for (const SweepRow& row : table.rows)
    for (const Spread& score : row.scores)
      if (std::find(names.begin(), names.end(), score.name) == names.end()) names.push_back(score.name);
  return names;
}

bool has_shares(const SweepTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const SweepRow& r) { return r.share < 1; });
}

// "0.9812 ± 0.0031": as many digits as the deviation makes sense of.
std::string spread_text(const Spread& spread) {
  if (spread.values.empty()) return "";
  if (!spread.deviation) return fmt::format("{:.4g}", spread.mean);
  const double deviation = *spread.deviation;
  if (!std::isfinite(deviation)) return fmt::format("{:.4g} ± {:.4g}", spread.mean, deviation);
  const int digits =
      deviation > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(deviation))), 0, 6) : 4;
  return fmt::format("{:.{}f} ± {:.{}f}", spread.mean, digits, deviation, digits);
}

std::string bytes_text(std::int64_t bytes) {
  return bytes > 0 ? fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6) : "";
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Columns as wide as what is in them.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines.at(0).size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  std::string text;
  for (const auto& line : lines) {
    std::string one;
    for (std::size_t i = 0; i < line.size(); ++i)
      one += (i > 0 ? "  " : "") + line[i] + std::string(widths[i] - width_of(line[i]), ' ');
    text += one.substr(0, one.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string last_of(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string settings_text(const SweepTable& table, const SweepRow& row) {
  std::string text;
  for (std::size_t i = 0; i < table.keys.size(); ++i)
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", last_of(table.keys[i]), row.settings[i]);
  return text;
}

// "2 of 3 diverged"
std::string failures_text(const SweepRow& row) {
  if (row.failed == 0) return "";
  const std::string how = row.reason.substr(0, row.reason.find(':'));
  return row.done + row.failed > 1 ? fmt::format("{} of {} {}", row.failed, row.done + row.failed, how) : how;
}

// Whether it is between 0 and 1 whatever happens.
bool is_share(const std::string& score) {
  for (const char* end : {"accuracy", "exact_match", "macro_f1", "auroc"})
    if (score.ends_with(end)) return true;
  return score.starts_with("val_top_") || score.starts_with("test_top_");
}

// What is far behind the better half of the rows is beyond the axis, so that those can be told apart. Of two
// rows neither is.
void bound_axis(io::DotChart& chart, const std::vector<std::vector<double>>& values, bool larger_is_better) {
  if (values.size() < 3) return;
  double low = values[0][0], high = low, least = low, greatest = high;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (const double v : values[i]) {
      if (2 * i < values.size()) low = std::min(low, v), high = std::max(high, v);
      least = std::min(least, v), greatest = std::max(greatest, v);
    }
  const double room = 3 * (high - low), end = larger_is_better ? low - room : high + room;
  if (room == 0 || (larger_is_better ? least >= end : greatest <= end)) return;
  double last = larger_is_better ? low : high;  // that is not beyond
  for (const std::vector<double>& row : values)
    for (const double v : row) {
      if (larger_is_better && v >= end) last = std::min(last, v);
      if (!larger_is_better && v <= end) last = std::max(last, v);
    }
  (larger_is_better ? chart.from : chart.to) = last;
}

}  // namespace

const char* name_of(Outcome::End end) {
  switch (end) {
    case Outcome::End::done: return "done";
    case Outcome::End::diverged: return "diverged";
    case Outcome::End::refused: return "refused";
    case Outcome::End::failed: return "failed";
  }
  return "";
}

const Spread* SweepRow::score(const std::string& name) const {
  for (const Spread& one : scores)
    if (one.name == name) return &one;
  return nullptr;
}

namespace {

std::string best_run_of(const Sweep& sweep, const SweepTable& table) {
  if (table.rows.empty()) return "";
  const std::int64_t configuration = table.rows[0].configuration;
  std::optional<double> best;
  std::string name;
  for (std::int64_t i = 0; i < sweep.options().seeds; ++i) {
    const Outcome* one = sweep.outcome(configuration, i);
    if (one == nullptr || one->end != Outcome::End::done) continue;
    for (const auto& [score, value] : one->scores) {
      if (score != table.score.name || !std::isfinite(value)) continue;
      if (best && (table.score.larger_is_better ? value <= *best : value >= *best)) continue;
      best = value;
      name = sweep.name_of_run(configuration, i);
    }
  }
  return name;
}

}  // namespace

SweepTable table_of(const Sweep& sweep) {
  SweepTable table{.keys = sweep.keys(), .score = sweep.score(), .rows = {}};
  for (const std::int64_t configuration : sweep.order())
    if (SweepRow row = row_of(sweep, configuration); row.done + row.failed > 0)
      table.rows.push_back(std::move(row));
  table.best_run = best_run_of(sweep, table);
  return table;
}

namespace {

// Whether a run of seconds spent more than a tenth of its time waiting for data.
bool has_waited(const SweepTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const SweepRow& row) {
    const Spread* waiting = row.score("waiting");
    return waiting != nullptr && waiting->mean > 0.1 && row.seconds.mean > 2;
  });
}

// The score of the test set that goes with the one that rows are ordered by.
std::string test_score(const SweepTable& table) {
  const std::string& name = table.score.name;
  return name.starts_with("val_") ? "test_" + name.substr(4) : name.starts_with("test_") ? name : "";
}

// The score that rows are ordered by, beside one of the validation set that of the test set, corrupted ones
// too; what was measured of the text that was written; and the time lost, if it matters.
std::vector<std::string> shown_scores(const SweepTable& table) {
  std::vector<std::string> shown;
  if (!table.score.name.empty()) shown.push_back(table.score.name);
  const std::string test = test_score(table);
  const bool is_validated = table.score.name.starts_with("val_");
  for (const std::string& name : score_names(table))
    if (name == test || (is_validated && name == "test_mae") || name.starts_with("sample_") ||
        (!test.empty() && name.starts_with(test + ' ')) || (name == "waiting" && has_waited(table)))
      if (std::find(shown.begin(), shown.end(), name) == shown.end()) shown.push_back(name);
  return shown;
}

// "shift(4)" of "test_accuracy shift(4)", which stands beside "test_accuracy".
std::string title_of(const std::string& score) { return score.substr(score.find(' ') + 1); }

}  // namespace

std::string text_of(const SweepTable& table, std::size_t most) {
  const bool shares = has_shares(table);
  const std::vector<std::string> scores = shown_scores(table);
  std::vector<std::vector<std::string>> lines(1);
  for (const std::string& key : table.keys) lines[0].push_back(last_of(key));
  for (const std::string& name : scores) lines[0].push_back(title_of(name));
  if (shares) lines[0].emplace_back("trained");
  const bool has_memory =
      std::any_of(table.rows.begin(), table.rows.end(), [](const SweepRow& row) { return row.memory > 0; });
  for (const char* name : {"seconds", "parameters", has_memory ? "memory" : "", ""})
    lines[0].emplace_back(name);
  std::string below;
  for (std::size_t i = 0; i < std::min(most, table.rows.size()); ++i) {
    const SweepRow& row = table.rows[i];
    std::vector<std::string>& line = lines.emplace_back(row.settings);
    for (const std::string& name : scores) {
      const Spread* score = row.score(name);
      line.push_back(score != nullptr ? spread_text(*score) : "");
    }
    if (shares) line.push_back(fmt::format("{:.0f} %", 100 * row.share));
    line.push_back(row.seconds.values.empty() ? "" : fmt::format("{:.1f}", row.seconds.mean));
    line.push_back(known_count(row.parameters));
    line.push_back(bytes_text(row.memory));
    line.push_back(failures_text(row));
    if (!row.reason.empty()) below += fmt::format("{}: {}\n", settings_text(table, row), row.reason);
  }
  std::string text = aligned(lines);
  if (table.rows.size() > most) text += fmt::format(".. and {} more\n", table.rows.size() - most);
  return text + (below.empty() ? "" : "\n" + below);
}

std::string csv_of(const SweepTable& table) {
  const std::vector<std::string> names = score_names(table);
  std::vector<std::string> header = table.keys;
  for (const char* name : {"share", "runs", "failed"}) header.emplace_back(name);
  for (const std::string& name : names) header.push_back(name), header.push_back(name + "_deviation");
  for (const char* name : {"seconds", "parameters", "memory_bytes", "reason"}) header.emplace_back(name);
  std::string text = csv_line(header);
  for (const SweepRow& row : table.rows) {
    std::vector<std::string> line = row.settings;
    line.push_back(exact(rounded(row.share)));
    line.push_back(std::to_string(row.done + row.failed));
    line.push_back(std::to_string(row.failed));
    for (const std::string& name : names) {
      const Spread* score = row.score(name);
      line.push_back(score != nullptr ? exact(score->mean) : "");
      line.push_back(score != nullptr && score->deviation ? exact(*score->deviation) : "");
    }
    line.push_back(row.seconds.values.empty() ? "" : fmt::format("{:.3f}", row.seconds.mean));
    line.push_back(known_count(row.parameters));
    line.push_back(known_count(row.memory));
    line.push_back(row.reason);
    text += csv_line(line);
  }
  return text;
}

std::string runs_csv(const Sweep& sweep) {
  const SweepTable table = table_of(sweep);
  const std::vector<std::string> names = score_names(table);
  std::vector<std::string> header{"run"};
  for (const std::string& key : table.keys) header.push_back(key);
  for (const char* name : {"train.seed", "share", "end"}) header.emplace_back(name);
  header.insert(header.end(), names.begin(), names.end());
  for (const char* name : {"seconds", "parameters", "memory_bytes", "reason"}) header.emplace_back(name);
  std::string text = csv_line(header);
  for (const SweepRow& row : table.rows)
    for (std::int64_t i = 0; i < sweep.options().seeds; ++i) {
      const Outcome* one = sweep.outcome(row.configuration, i);
      if (one == nullptr) continue;
      std::vector<std::string> line{sweep.name_of_run(row.configuration, i)};
      line.insert(line.end(), row.settings.begin(), row.settings.end());
      line.push_back(std::to_string(sweep.recipe().seed + i));
      line.push_back(exact(rounded(one->share)));
      line.emplace_back(name_of(one->end));
      for (const std::string& name : names) {
        const auto at = std::find_if(one->scores.begin(), one->scores.end(),
                                     [&](const auto& s) { return s.first == name; });
        line.push_back(at != one->scores.end() ? exact(at->second) : "");
      }
      line.push_back(one->seconds > 0 ? fmt::format("{:.3f}", one->seconds) : "");
      line.push_back(known_count(one->parameters));
      line.push_back(known_count(one->memory));
      line.push_back(one->reason);
      text += csv_line(line);
    }
  return text;
}

std::string chart_of(const SweepTable& table, const std::string& title, std::size_t most) {
  io::DotChart chart{.title = title, .x = table.score.name, .rows = {}};
  std::vector<std::vector<double>> values;  // of rows that have some
  for (std::size_t i = 0; i < std::min(most, table.rows.size()); ++i) {
    const SweepRow& row = table.rows[i];
    std::vector<double> finite;
    if (const Spread* score = row.score(table.score.name))
      for (const double v : score->values)
        if (std::isfinite(v)) finite.push_back(v);
    std::string note = failures_text(row);
    if (row.share < 1)
      note = fmt::format("{:.0f} % trained{}{}", 100 * row.share, note.empty() ? "" : ", ", note);
    chart.rows.push_back({settings_text(table, row), finite, note});
    if (!finite.empty()) values.push_back(finite);
  }
  if (values.empty()) return "";
  if (is_share(table.score.name)) chart.least = 0, chart.most = 1;
  bound_axis(chart, values, table.score.larger_is_better);
  return io::dot_chart_svg(chart);
}

}  // namespace veldt::recipe
