// Reads what a sweep varies, and draws values at random.
#include "veldt/recipe/sweep_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "veldt/recipe/call.h"

namespace veldt::recipe {
namespace {

constexpr const char* kExampleOfOver = "write it as in --over optimizer.lr=1e-3,3e-3";

UsageError refused_over(const std::string& over, const std::string& why, const std::string& fix) {
  return {fmt::format("--over cannot be '{}'", over), why, fix};
}

// Parts at commas, but for those in brackets and quotes.
std::vector<std::string> values_in(const std::string& over, const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      parts.back() += c;
      if (c == '\\' && quote == '"' && i + 1 < text.size())
        parts.back() += text[++i];
      else if (c == quote)
        quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (depth < 0) break;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (quote != 0 || depth != 0)
    throw refused_over(over, quote != 0 ? "a quote is not closed" : "its brackets do not match",
                       kExampleOfOver);
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

std::string key_of(const Recipe& recipe, const std::string& over) {
  const std::size_t equals = over.find('=');
  if (equals == std::string::npos) throw refused_over(over, "it gives no values", kExampleOfOver);
  const std::string key = whole_key(recipe, trimmed(over.substr(0, equals)));
  if (key.empty()) throw refused_over(over, "it names no key", kExampleOfOver);
  if (key == "train.seed")
    throw UsageError("--over cannot vary train.seed", "runs that differ by their seed alone are one row",
                     "give --seeds 3");
  return key;
}

double bound(Call& call, const char* name, ValueRange::Kind kind) {
  if (kind == ValueRange::Kind::whole)
    return static_cast<double>(call.count(name, {}, {.least = -(1LL << 50), .most = 1LL << 50}));
  return call.number(name, {},
                     kind == ValueRange::Kind::log ? io::NumberRange{.above = 0} : io::NumberRange{});
}

std::optional<ValueRange> range_in(const SweepAxis& axis, const std::string& text) {
  const std::string name = trimmed(text.substr(0, text.find('(')));
  if (name.size() == text.size()) return std::nullopt;
  ValueRange range;
  if (name == "log")
    range.kind = ValueRange::Kind::log;
  else if (name == "whole")
    range.kind = ValueRange::Kind::whole;
  else if (name != "uniform")
    return std::nullopt;
  Call call({"--over " + axis.key, "", false}, text);
  range.low = bound(call, "low", range.kind), range.high = bound(call, "high", range.kind);
  call.finish();
  if (!(range.low < range.high))
    throw call.refused("it ends where it begins, or before",
                       "give the smaller number first, as in log(1e-4, 1e-1)");
  if (axis.whole && std::ceil(range.low) > std::floor(range.high))
    throw call.refused("there is no whole number in it", "give a wider one");
  return range;
}

// Texts that mean the same number are one value.
std::string meaning_of(const SweepAxis& axis, const std::string& value) {
  const io::TomlType type = type_of_key(axis.key).value_or(io::TomlType::text);
  const io::Source source{axis.key, "", false};
  if (type == io::TomlType::whole) return fmt::format("{}", io::count_from(source, value, {}));
  if (type == io::TomlType::number) return fmt::format("{}", io::number_from(source, value, {}));
  if (type == io::TomlType::on_off) return io::switch_from(source, value) ? "true" : "false";
  return value;
}

std::string number_text(const SweepAxis& axis, double value) {
  if (axis.whole || axis.range->kind == ValueRange::Kind::whole)
    return fmt::format(
        "{:.0f}", std::clamp(std::round(value), std::ceil(axis.range->low), std::floor(axis.range->high)));
  const std::string text = fmt::format("{:.4g}", value);
  const double rounded = io::number_from({axis.key, "", false}, text, {});
  return fmt::format("{}", std::clamp(rounded, axis.range->low, axis.range->high));
}

}  // namespace

SweepAxis sweep_axis(const Recipe& recipe, const std::string& over, bool random) {
  SweepAxis axis{.key = key_of(recipe, over), .values = {}};
  const std::string text = trimmed(over.substr(over.find('=') + 1));
  if (!type_of_key(axis.key)) check_set(recipe, axis.key + "=1", "--over");  // says what there is
  if (text.empty()) throw refused_over(over, "the list of values is empty", kExampleOfOver);
  const io::TomlType type = *type_of_key(axis.key);
  axis.whole = type == io::TomlType::whole;
  axis.values = values_in(over, text);
  const bool may_be_range = axis.whole || type == io::TomlType::number || type == io::TomlType::other;
  if (may_be_range && axis.values.size() == 1) axis.range = range_in(axis, axis.values[0]);
  if (axis.range) {
    if (!random)
      throw refused_over(over, "it is a range, and all combinations of values are to be trained",
                         "list the values, or draw from the range: --random 20");
    axis.values.clear();
    for (const double end : {axis.range->low, axis.range->high})
      check_set(recipe, axis.key + '=' + number_text(axis, end), "--over");
    return axis;
  }
  std::set<std::string> meanings;
  for (const std::string& value : axis.values) {
    if (value.empty())
      throw refused_over(over, "one of its values is empty",
                         "remove a comma, or write \"\" for an empty text");
    check_set(recipe, axis.key + '=' + value, "--over");
    if (!meanings.insert(meaning_of(axis, value)).second)
      throw refused_over(over, fmt::format("{} is there twice", value), "give each value once");
  }
  return axis;
}

std::string drawn_value(const SweepAxis& axis, Rng& rng) {
  if (!axis.range) return axis.values[rng.next_below(axis.values.size())];
  const double share = static_cast<double>(rng.next_uniform());
  const auto [kind, low, high] = *axis.range;
  if (kind == ValueRange::Kind::whole)
    return number_text(axis,
                       low + static_cast<double>(rng.next_below(static_cast<std::uint64_t>(high - low) + 1)));
  if (kind == ValueRange::Kind::log)
    return number_text(axis, std::exp(std::lerp(std::log(low), std::log(high), share)));
  return number_text(axis, std::lerp(low, high, share));
}

}  // namespace veldt::recipe
