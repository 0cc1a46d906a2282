// Each add_ function gives CLI11 a callback that reads the text itself, so that errors are Veldt's.
#include "veldt/app/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include "veldt/app/suggest.h"

namespace veldt::app {
namespace {

// "-o,--output" -> "--output"
std::string flag_of(const std::string& names) { return names.substr(names.find_last_of(',') + 1); }

// Number and what follows it; nullopt if the text does not start with a finite number.
template <class T> std::optional<std::pair<T, std::string_view>> split_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(static_cast<double>(value))) return std::nullopt;
  return std::pair{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::int64_t count_from(const std::string& flag, const std::string& text, CountRange range) {
  std::string digits = text;
  std::erase(digits, '_');
  const auto number = split_number<std::int64_t>(digits);
  std::int64_t unit = 1;
  if (number && number->second == "k") unit = 1'000;
  if (number && number->second == "M") unit = 1'000'000;
  if (!number || (unit == 1 && !number->second.empty()))
    throw bad_value(flag, text, "it is not a whole number",
                    fmt::format("write a number, as in {} 100", flag));
  std::int64_t value = 0;
  if (__builtin_mul_overflow(number->first, unit, &value)) value = range.most;
  if (value < range.least)
    throw bad_value(flag, text, fmt::format("the least that makes sense is {}", range.least),
                    fmt::format("give {} or more", range.least));
  if (value > range.most)
    throw bad_value(flag, text, fmt::format("the most that makes sense is {}", range.most),
                    fmt::format("give {} or less", range.most));
  return value;
}

double number_from(const std::string& flag, const std::string& text, NumberRange range) {
  const auto number = split_number<double>(text);
  if (!number || !number->second.empty())
    throw bad_value(flag, text, "it is not a finite number",
                    fmt::format("write a number, as in {} 0.5", flag));
  const double value = number->first;
  if (value <= range.above)
    throw bad_value(flag, text, fmt::format("it has to be above {}", range.above),
                    fmt::format("give a number above {}", range.above));
  if (value < range.least)
    throw bad_value(flag, text, fmt::format("the least that makes sense is {}", range.least),
                    fmt::format("give {} or more", range.least));
  if (value > range.most)
    throw bad_value(flag, text, fmt::format("the most that makes sense is {}", range.most),
                    fmt::format("give {} or less", range.most));
  return value;
}

double seconds_from(const std::string& flag, const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},   {"s", 1},    {"ms", 1e-3},
                                                            {"m", 60}, {"min", 60}, {"h", 3600}};
  const auto number = split_number<double>(text);
  if (number)
    for (const auto& [unit, seconds] : kUnits)
      if (number->second == unit && number->first > 0) return number->first * seconds;
  throw bad_value(flag, text, "it is not a length of time above 0",
                  fmt::format("write it as in {0} 30s, {0} 5m or {0} 1.5h", flag));
}

std::string choice_from(const std::string& flag, const std::string& text,
                        const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  const std::string all = fmt::format("choose one of {}", fmt::join(choices, ", "));
  const std::string nearest = nearest_of(text, choices);
  throw bad_value(flag, text, "there is no such choice",
                  nearest.empty() ? all : fmt::format("did you mean '{}'? {}", nearest, all));
}

std::string shown(std::int64_t value) { return std::to_string(value); }
std::string shown(double value) { return fmt::format("{}", value); }
std::string shown(const std::string& value) { return value; }
template <class T> std::string shown(const std::optional<T>& value) {
  return value ? shown(*value) : std::string();
}

// Reads with `read(flag, text)` into `into`.
template <class T, class Read>
CLI::Option* add(CLI::App& app, const std::string& names, T& into, const std::string& kind,
                 const std::string& help, Read read) {
  CLI::Option* option = app.add_option(
      names,
      [&into, read, flag = flag_of(names)](const CLI::results_t& given) {
        into = read(flag, given.back());
        return true;
      },
      help);
  return option->type_name(kind)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->default_str(shown(into));
}

template <class T>
CLI::Option* add_any_count(CLI::App& app, const std::string& names, T& into, CountRange range,
                           const std::string& help) {
  return add(app, names, into, "N", help,
             [range](auto& flag, auto& text) { return count_from(flag, text, range); });
}

template <class T>
CLI::Option* add_any_number(CLI::App& app, const std::string& names, T& into, NumberRange range,
                            const std::string& help) {
  return add(app, names, into, "X", help,
             [range](auto& flag, auto& text) { return number_from(flag, text, range); });
}

template <class T>
CLI::Option* add_any_choice(CLI::App& app, const std::string& names, T& into,
                            const std::vector<std::string>& choices, const std::string& help) {
  return add(app, names, into, fmt::format("{}", fmt::join(choices, "|")), help,
             [choices](auto& flag, auto& text) { return choice_from(flag, text, choices); });
}

}  // namespace

CLI::Option* add_count(CLI::App& app, const std::string& names, std::int64_t& into, CountRange range,
                       const std::string& help) {
  return add_any_count(app, names, into, range, help);
}
CLI::Option* add_count(CLI::App& app, const std::string& names, std::optional<std::int64_t>& into,
                       CountRange range, const std::string& help) {
  return add_any_count(app, names, into, range, help);
}
CLI::Option* add_number(CLI::App& app, const std::string& names, double& into, NumberRange range,
                        const std::string& help) {
  return add_any_number(app, names, into, range, help);
}
CLI::Option* add_number(CLI::App& app, const std::string& names, std::optional<double>& into,
                        NumberRange range, const std::string& help) {
  return add_any_number(app, names, into, range, help);
}
CLI::Option* add_duration(CLI::App& app, const std::string& names, double& into, const std::string& help) {
  return add(app, names, into, "TIME", help, seconds_from)->default_str(into > 0 ? shown(into) + "s" : "");
}
CLI::Option* add_duration(CLI::App& app, const std::string& names, std::optional<double>& into,
                          const std::string& help) {
  return add(app, names, into, "TIME", help, seconds_from)->default_str(into ? shown(into) + "s" : "");
}
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& into,
                        const std::vector<std::string>& choices, const std::string& help) {
  return add_any_choice(app, names, into, choices, help);
}
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::optional<std::string>& into,
                        const std::vector<std::string>& choices, const std::string& help) {
  return add_any_choice(app, names, into, choices, help);
}

CLI::Option* add_path(CLI::App& app, const std::string& names, std::string& into, const std::string& help) {
  return add_text(app, names, into, "PATH", help);
}
CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& into, const std::string& kind,
                      const std::string& help) {
  return add(app, names, into, kind, help, [](const std::string&, const std::string& text) { return text; });
}
CLI::Option* add_switch(CLI::App& app, const std::string& names, bool& into, const std::string& help) {
  return app.add_flag(names, into, help);
}

void add_threads(CLI::App& app, Context& context) {
  app.add_option(
         "--threads",
         [&context](const CLI::results_t& given) {
           const CountRange range{.least = 1, .most = 1024};
           context.threads = static_cast<int>(count_from("--threads", given.back(), range));
           return true;
         },
         "how many threads compute (all cores unless given)")
      ->type_name("N")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group("Everywhere");
}

void add_shared_flags(CLI::App& app, Context& context) {
  add_switch(app, "--json", context.json, "print the result as one JSON object")->group("Everywhere");
  add_switch(app, "--quiet", context.quiet, "no progress and no notes on stderr")->group("Everywhere");
}

UsageError bad_value(const std::string& flag, const std::string& value, const std::string& why,
                     const std::string& fix) {
  return {fmt::format("{} cannot be '{}'", flag, value), why, fix};
}

}  // namespace veldt::app
