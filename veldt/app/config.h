// Where the values of settings come from: a flag, else an environment variable, else a configuration file,
// else the default. Files, from the strongest: --config FILE, ./veldt.toml, the user's own.
// Tests: tests/app/config_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/app/config_file.h"
#include "veldt/app/option_tree.h"

namespace veldt::app {

struct ConfigPlace {
  std::string path;  // empty: there can be none, and `what` says why
  std::string what;  // "--config", "the working directory", "the user's own"
  bool must_exist = false;
  bool exists = false;
};

// The files looked for, from the strongest. `named`: what --config gave, or nothing.
std::vector<ConfigPlace> config_places(const std::string& named);

struct ConfigFile {
  std::string path;
  std::vector<ConfigEntry> entries;
};

// A variable VELDT_.. that is near to a setting's and means nothing: "VELDT_STPES is not a setting; did you
// mean VELDT_STEPS?"
std::vector<std::string> mistyped_variables(const VerbOptions& tree);

// Those of the places that exist, read, and checked against the whole tree: names and types of every entry,
// also of other verbs than the one that runs. Throws UsageError, ConfigFileError, IoError missing.
std::vector<ConfigFile> read_config(const std::string& named, VerbOptions& tree);

// Gives `verb` what the environment and then the files say, where nothing stronger set a value.
void apply_environment(VerbOptions& verb);
void apply_config(VerbOptions& verb, const std::vector<ConfigFile>& files);

// All of it, for a verb whose command line has been read.
void resolve(VerbOptions& verb, const std::string& named, VerbOptions& tree);

}  // namespace veldt::app
