// The records of runs in folders, for those who look at them afterwards or from elsewhere.
// Tests: tests/app/live_test.cpp
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "veldt/live/record.h"

namespace veldt::app {

// Name and folder of each run: `paths` are folders of runs, or folders of such folders. Names are as short as
// they can be to differ. Throws UsageError for a path without a run.
std::vector<std::pair<std::string, std::string>> run_folders(const std::vector<std::string>& paths);

struct RunRecord {
  std::string name, folder;
  live::Record record;
};
// Those of run_folders(), read. Of several runs those that cannot be read are left out with a warning. Throws
// IoError if none is left.
std::vector<RunRecord> read_runs(const std::vector<std::string>& paths);

}  // namespace veldt::app
