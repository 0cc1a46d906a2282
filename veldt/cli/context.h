// What every verb is given: the flags that all share, stdout, and the command line.
// Tests: tests/app/pieces_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veldt/cli/output.h"

namespace veldt::cli {

struct VerbOptions;

struct Context {
  bool json = false;                    // one JSON object on stdout in place of text
  bool quiet = false;                   // no progress and no notes on stderr; warnings and errors remain
  std::optional<std::int64_t> threads;  // none: as many as there are cores
  std::string config;                   // --config: a file to read settings from; empty: none
  VerbOptions* tree = nullptr;          // all verbs with their settings: cli/option_tree.h
  Output out;
  std::vector<std::string> arguments;  // argv, with the program's name
};

// Arguments joined so that a shell reads them back as they are: for "resume with: veldt fit ..".
std::string quoted_for_shell(const std::vector<std::string>& arguments);

}  // namespace veldt::cli
