// Reads counts, numbers, times, choices and paths from text, within their bounds.
#include "veldt/io/text_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "veldt/io/suggest.h"

namespace veldt::io {
namespace {

// Number and what follows it; nullopt if the text does not start with a finite number.
template <class T> std::optional<std::pair<T, std::string_view>> split_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(static_cast<double>(value))) return std::nullopt;
  return std::pair{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

template <class T>
void check_bounds(const Source& source, const std::string& text, T value, T least, T most) {
  if (value < least)
    throw bad_value(source, text, fmt::format("the minimum is {}", least),
                    fmt::format("give {} or more", least));
  if (value > most)
    throw bad_value(source, text, fmt::format("the maximum is {}", most),
                    fmt::format("give {} or less", most));
}

}  // namespace

std::string example_of(const Source& source, const std::string& value, bool is_text) {
  return source.example + (is_text && source.quoted ? '"' + value + '"' : value);
}

UsageError bad_value(const Source& source, const std::string& text, const std::string& why,
                     const std::string& fix) {
  return {fmt::format("{} cannot be '{}'", source.name, text), why, fix};
}

std::int64_t count_from(const Source& source, const std::string& text, CountRange range) {
  std::string digits = text;
  std::erase(digits, '_');
  const auto number = split_number<std::int64_t>(digits);
  std::int64_t unit = 1;
  if (number && number->second == "k") unit = 1'000;
  if (number && number->second == "M") unit = 1'000'000;
  if (!number || (unit == 1 && !number->second.empty()))
    throw bad_value(source, text, "it is not a whole number",
                    fmt::format("write a number, as in {}", example_of(source, "100")));
  std::int64_t value = 0;
  if (__builtin_mul_overflow(number->first, unit, &value)) value = range.most;
  check_bounds(source, text, value, range.least, range.most);
  return value;
}

double number_from(const Source& source, const std::string& text, NumberRange range) {
  const auto number = split_number<double>(text);
  if (!number || !number->second.empty())
    throw bad_value(source, text, "it is not a finite number",
                    fmt::format("write a number, as in {}", example_of(source, "0.5")));
  const double value = number->first;
  if (value <= range.above)
    throw bad_value(source, text, fmt::format("it has to be above {}", range.above),
                    fmt::format("give a number above {}", range.above));
  check_bounds(source, text, value, range.least, range.most);
  return value;
}

double seconds_from(const Source& source, const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},   {"s", 1},    {"ms", 1e-3},
                                                            {"m", 60}, {"min", 60}, {"h", 3600}};
  const auto number = split_number<double>(text);
  if (number)
    for (const auto& [unit, seconds] : kUnits)
      if (number->second == unit && number->first > 0) return number->first * seconds;
  throw bad_value(source, text, "it is not a length of time above 0",
                  fmt::format("write it as in {}, 5m or 1.5h", example_of(source, "30s", true)));
}

std::string choice_from(const Source& source, const std::string& text,
                        const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  const std::string all = fmt::format("choose one of {}", fmt::join(choices, ", "));
  const std::string nearest = nearest_of(text, choices);
  throw bad_value(source, text, "there is no such choice",
                  nearest.empty() ? all : fmt::format("did you mean '{}'? {}", nearest, all));
}

std::string path_from(const Source& source, const std::string& text) {
  if (text.empty())
    throw bad_value(source, text, "a path has at least one character", "give a path, or leave it out");
  if (text == "-")
    throw bad_value(source, text, "files are read and written by name, and this does not name a stream",
                    "write ./- for a file of this name, or /dev/stdout for an output");
  return text;
}

bool switch_from(const Source& source, const std::string& text) {
  for (const char* yes : {"true", "yes", "on", "1"})
    if (text == yes) return true;
  for (const char* no : {"false", "no", "off", "0"})
    if (text == no) return false;
  throw bad_value(source, text, "it is either on or off",
                  fmt::format("write {} or {}", example_of(source, "true"), example_of(source, "false")));
}

}  // namespace veldt::io
