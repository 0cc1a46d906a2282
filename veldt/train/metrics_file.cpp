// Rewrites metrics.csv and its JSON lines completely, so that readers never see half a
// line.
#include "veldt/train/metrics_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "veldt/io/file.h"

namespace veldt::train {
namespace {

// {"step":10,"train_loss":0.5}: a line of the table, whose fields hold no commas.
std::string in_json(const std::vector<std::string>& columns, const std::string& line) {
  std::string lines;
  std::size_t at = 0;
  for (const std::string& column : columns) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    const std::string field = at > line.size() ? "" : line.substr(at, end - at);
    double value = 0;  // a line read from the file may hold anything
    const auto [last, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    const bool is_number =
        error == std::errc() && last == field.data() + field.size() && std::isfinite(value);
    lines += fmt::format("{}\"{}\":{}", lines.empty() ? "{" : ",", column,
                         is_number ? fmt::format("{}", value) : "null");
    at = end + 1;
  }
  return lines + "}\n";
}

}  // namespace

void MetricsFile::begin(std::int64_t step) {
  lines_.clear();
  std::error_code error_there;  // then reading reports the error
  if (step == 0 || (!std::filesystem::exists(path_, error_there) && !error_there)) return;
  const std::string text = io::read_file(path_);
  for (std::size_t at = text.find('\n'); at != std::string::npos && at + 1 < text.size();) {
    const std::size_t end = text.find('\n', at + 1);
    const std::string line = text.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    std::int64_t of = 0;
    const auto [last, error] = std::from_chars(line.data(), line.data() + line.size(), of);
    if (error == std::errc() && *last == ',' && of <= step) lines_.push_back(line);
    at = end;
  }
}

void MetricsFile::add(const std::vector<std::string>& columns, const std::vector<double>& values) {
  std::string line = fmt::format("{}", static_cast<std::int64_t>(values.at(0)));
  for (std::size_t i = 1; i < values.size(); ++i)
    line += std::isnan(values[i]) ? std::string(",") : fmt::format(",{:.9g}", values[i]);
  if (!lines_.empty() && lines_.back().starts_with(line.substr(0, line.find(',') + 1))) lines_.pop_back();
  lines_.push_back(line);
  columns_ = columns;
}

void MetricsFile::write() {
  if (columns_.empty()) return;
  std::string table = fmt::format("{}\n", fmt::join(columns_, ",")), lines;
  for (const std::string& l : lines_) table += l + '\n', lines += in_json(columns_, l);
  io::write_file(path_, table);
  io::write_file(std::filesystem::path(path_).replace_extension(".jsonl").string(), lines);
  columns_.clear();  // what failed is written the next time
}

}  // namespace veldt::train
