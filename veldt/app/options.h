// Flags with types, ranges and suggestions, on top of CLI11. What is wrong with a value is thrown as a
// UsageError that names the flag and the value. `names` is CLI11's: "-o,--output", or "PICTURE" for a
// positional one. A value that a variable already holds is its default, and help shows it. Of a flag given
// twice the last one counts.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "veldt/app/context.h"
#include "veldt/app/exit.h"

namespace veldt::app {

// A whole number; 10k, 2M and 1_000 are understood.
struct CountRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
CLI::Option* add_count(CLI::App& app, const std::string& names, std::int64_t& into, CountRange range,
                       const std::string& help);
CLI::Option* add_count(CLI::App& app, const std::string& names, std::optional<std::int64_t>& into,
                       CountRange range, const std::string& help);

// A finite number; `above` excludes a bound that `least` would include.
struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  double above = -std::numeric_limits<double>::infinity();
};
CLI::Option* add_number(CLI::App& app, const std::string& names, double& into, NumberRange range,
                        const std::string& help);
CLI::Option* add_number(CLI::App& app, const std::string& names, std::optional<double>& into,
                        NumberRange range, const std::string& help);

// Seconds above 0, from 30, 30s, 500ms, 5m, 1.5h.
CLI::Option* add_duration(CLI::App& app, const std::string& names, double& into, const std::string& help);
CLI::Option* add_duration(CLI::App& app, const std::string& names, std::optional<double>& into,
                          const std::string& help);

// One of `choices`.
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& into,
                        const std::vector<std::string>& choices, const std::string& help);
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::optional<std::string>& into,
                        const std::vector<std::string>& choices, const std::string& help);

// A path; not checked here.
CLI::Option* add_path(CLI::App& app, const std::string& names, std::string& into, const std::string& help);
// Any text, called `kind` in help ("W,H").
CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& into, const std::string& kind,
                      const std::string& help);
// True when given.
CLI::Option* add_switch(CLI::App& app, const std::string& names, bool& into, const std::string& help);

// --threads, for verbs that compute.
void add_threads(CLI::App& app, Context& context);
// --json and --quiet; the command adds them to every verb.
void add_shared_flags(CLI::App& app, Context& context);

// "--size cannot be '12y'" with a reason and a way out; for values that a verb reads itself.
UsageError bad_value(const std::string& flag, const std::string& value, const std::string& why,
                     const std::string& fix);

}  // namespace veldt::app
