// Text to values, from a flag, an environment variable or a configuration file. For an invalid text a
// UsageError is thrown that names where it was given.
// Tests: tests/app/pieces_test.cpp, tests/app/config_test.cpp
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "veldt/core/error.h"

namespace veldt::io {

// Where a text was given, in the words of an error and of its example.
struct Source {
  std::string name;     // "--steps", "VELDT_STEPS", "steps in veldt.toml:3"
  std::string example;  // what precedes a value there: "--steps ", "VELDT_STEPS=", "steps = "
  bool quoted = false;  // texts are in quotes there
};

// A whole number; 10k, 2M and 1_000 are understood.
struct CountRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
std::int64_t count_from(const Source& source, const std::string& text, CountRange range);

// A finite number; `above` excludes a bound that `least` would include.
struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  double above = -std::numeric_limits<double>::infinity();
};
double number_from(const Source& source, const std::string& text, NumberRange range);

// Seconds above 0, from 30, 30s, 500ms, 5m, 1.5h.
double seconds_from(const Source& source, const std::string& text);

std::string choice_from(const Source& source, const std::string& text,
                        const std::vector<std::string>& choices);

// The path of a file or a folder: not empty, and not "-", which does not mean a stream here.
std::string path_from(const Source& source, const std::string& text);

// true, false, yes, no, on, off, 1, 0.
bool switch_from(const Source& source, const std::string& text);

// "--steps 100", "steps = 100"; texts in quotes where a file needs them.
std::string example_of(const Source& source, const std::string& value, bool is_text = false);

// "--size cannot be '12y'" with a reason and a way out.
UsageError bad_value(const Source& source, const std::string& text, const std::string& why,
                     const std::string& fix);

}  // namespace veldt::io
