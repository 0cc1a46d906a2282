// A configuration file, read as TOML 1.0 (except for lines joined by a backslash) and untrusted: a list of
// its values with their lines, all unchecked.
// Tests: tests/app/config_test.cpp, tests/fuzz/commands.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/core/error.h"

namespace veldt::io {

// A configuration file that cannot be read: too long, or not TOML.
class ConfigFileError : public ConfigError {
  using ConfigError::ConfigError;
};

enum class TomlType { table, text, whole, number, on_off, list, other };

// "a text", "a whole number"; of TomlType::other `what` says it.
struct ConfigEntry {
  std::vector<std::string> path;  // {"csv", "encode", "threshold"}
  int line = 0;
  TomlType type = TomlType::other;
  std::string type_in_words;
  std::string text;                     // the value; empty for tables, lists and other types
  std::vector<ConfigEntry> items = {};  // of a list, without paths
};

// How errors name it: "cannot read the recipe r.toml:3", and how it is written.
struct ConfigForm {
  const char* name = "configuration";
  const char* fix = "write it as in steps = 600, below a line such as [fit]; put texts in quotes";
  const char* wanted = "give a TOML file with settings of Veldt";
};

// The file's entries from top to bottom, a table before its values. Throws ConfigFileError, which names file
// and line; IoError missing if it is not there, may not be read, or is not a plain file.
std::vector<ConfigEntry> read_config_file(const std::string& path, const ConfigForm& form = {});
// The same for a text that errors call `where`.
std::vector<ConfigEntry> parse_config(const std::string& where, const std::string& text,
                                      const ConfigForm& form = {});

}  // namespace veldt::io
