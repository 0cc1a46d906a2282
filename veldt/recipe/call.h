// "Conv2d(6, 5, padding=2)": a name with arguments, as recipes write layers, transforms and schedules.
// Tests: tests/recipe/call_test.cpp, tests/app/train_recipes_test.cpp
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/io/text_values.h"
#include "veldt/recipe/item.h"

namespace veldt::recipe {

// Arguments are read one by one, in the order in which they may be given without a name. After the last one,
// finish() refuses any that were not read. A number may be a list in brackets.
//   const auto out = call.count("out"), kernel = call.count("kernel");
//   const auto stride = call.count("stride", 1);
//   call.finish();
class Call {
 public:
  // `words` stand in arguments for other texts: {"outputs", "10"}. Throws UsageError, naming `source`, for
  // text that is not a call and for a value that cannot be used.
  Call(io::Source source, const std::string& text, const Words& words = {});

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }

  // Without a default they are required.
  std::int64_t count(const char* name, std::optional<std::int64_t> otherwise = {},
                     io::CountRange range = {.least = 1});
  double number(const char* name, std::optional<double> otherwise = {}, io::NumberRange range = {});
  bool on(const char* name, bool otherwise);
  // Whole numbers, one or a list of them.
  std::vector<std::int64_t> counts(const char* name,
                                   const std::optional<std::vector<std::int64_t>>& otherwise = {},
                                   io::CountRange range = {.least = 1});
  std::vector<double> numbers(const char* name, const std::optional<std::vector<double>>& otherwise = {});
  // One of `choices`, if one was written; else empty, and the argument can be read as something else.
  std::string word(const char* name, const std::vector<std::string>& choices);
  bool has(const char* name) const;  // by name
  // As it is written, with its words replaced.
  std::string written(const char* name, const std::optional<std::string>& otherwise = {});
  // The name of a value that was saved before; and all that have none, one or more. Read afterwards in
  // values().
  void value(const char* name);
  void all_values();
  const std::vector<std::string>& values() const { return values_; }
  // Arguments read from here on are given by name only.
  void by_name() { places_ = asked_.size(); }
  void finish() const;
  // The call as a text, its words replaced, and with other values for these arguments. `first`: what an
  // argument without a name that comes first is.
  std::string rewritten(const std::map<std::string, std::string>& values, const std::string& first) const;

  // An error about the whole call.
  UsageError refused(const std::string& why, const std::string& fix) const;
  // Throws unknown() unless the name is one of those.
  void must_be(const char* kind, const std::vector<std::string>& known) const;
  // The error for a name that is not among those.
  UsageError unknown(const char* kind, const std::vector<std::string>& known) const;

 private:
  struct Argument {
    std::string name, value;  // without a name: by its place
    bool taken = false;
  };
  std::optional<std::string> take(const char* name);
  std::string required(const char* name);
  io::Source source_of(const char* name) const;

  io::Source source_;
  std::string text_, name_;
  std::vector<Argument> arguments_;
  std::vector<std::string> values_;
  std::vector<std::string> asked_;
  std::size_t places_ = std::numeric_limits<std::size_t>::max();  // arguments that need no name
};

// Whether two names are the same except for capitals: "ReLU" and "Relu".
bool same_name(const std::string& a, const std::string& b);

}  // namespace veldt::recipe
