// The table of a sweep as JSON and as text, for the command that makes it and for `veldt info`.
// Tests: tests/app/sweep_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "veldt/recipe/sweep_table.h"

namespace veldt::app {

// Of the sweep in the folder `path`: "output", "score", "best_run" (a path), "rows".
nlohmann::ordered_json sweep_in_json(const recipe::SweepTable& table, const std::string& path);
// The table, and below it the files and the best run that are in the folder.
std::string sweep_in_words(const recipe::SweepTable& table, const std::string& path);

// The table of the runs in a folder that have ended so far. Throws IoError corrupt and missing.
recipe::SweepTable table_in_folder(const std::string& path);

}  // namespace veldt::app
