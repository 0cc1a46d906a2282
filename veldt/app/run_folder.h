// The folder of a run of `veldt train`: its name, and what it may replace.
// Tests: tests/app/run_folder_test.cpp
#pragma once

#include <string>

namespace veldt::app {

// What a folder below runs/ is of: what is put behind the recipe's name, and the entry by which it is known.
struct FolderKind {
  const char* suffix = "";
  const char* mark = "checkpoints";
};
inline constexpr FolderKind kSweepFolder{"-sweep", "sweep.json"};

// runs/NAME after the recipe's NAME.toml; where that holds a run, runs/NAME-2 and so on. `again`: the one
// of them whose run was saved last, if there is one. Throws UsageError for a name that would lead elsewhere
// or hide the folder ("..", ".x", "-x", one with a control character), and for a symbolic link.
std::string folder_named_after(const std::string& recipe, bool again, const FolderKind& kind = {});

// Throws UsageError if `folder` holds a file that a new run would replace and that no run wrote: a folder of
// a run has checkpoints/.
void check_for_strange_files(const std::string& folder);

}  // namespace veldt::app
