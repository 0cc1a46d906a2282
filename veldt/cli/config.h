// Where the values of settings come from: a flag, else an environment variable, else a configuration file,
// else the default. Files, from the strongest: --config FILE, ./veldt.toml, the user's own.
// Tests: tests/app/config_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/cli/option_tree.h"
#include "veldt/io/config_file.h"

namespace veldt::cli {

struct ConfigPlace {
  std::string path;  // empty if there can be none; `what` says why
  std::string what;  // "--config", "the working directory", "the user's own"
  bool must_exist = false;
  bool exists = false;
};

// The files that are looked for, the strongest first. `named`: the value of --config, or nothing.
std::vector<ConfigPlace> config_places(const std::string& named);

struct ConfigFile {
  std::string path;
  std::vector<io::ConfigEntry> entries;
};

// The note for an unknown variable VELDT_.. that resembles a setting's: "VELDT_STPES is not a setting; did
// you mean VELDT_STEPS?"
std::vector<std::string> mistyped_variables(const VerbOptions& tree);

// Reads the files that exist, and checks them against the whole tree: names and types of every entry, also of
// verbs that are not run. Throws UsageError, ConfigFileError, IoError missing.
std::vector<ConfigFile> read_config(const std::string& named, VerbOptions& tree);

// Sets values of `verb` from the environment, then from the files, where nothing stronger has set one.
void apply_environment(VerbOptions& verb);
void apply_config(VerbOptions& verb, const std::vector<ConfigFile>& files);

// All of it, for a verb whose command line has been read.
void resolve(VerbOptions& verb, const std::string& named, VerbOptions& tree);

}  // namespace veldt::cli
