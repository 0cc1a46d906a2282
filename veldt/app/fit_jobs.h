// What `veldt fit` is to do when it is given several files, or a folder.
#pragma once

#include <string>
#include <vector>

namespace veldt::app {

struct FitJob {
  std::string input, output;
};

// One job for each of `inputs`, and for each picture and sound in those that are folders (not in folders
// below them), by name. A single file goes into `output`, unless that is a folder; others go into files of
// their own names in the folder `output`, which is made if it is missing. Throws UsageError for two that
// would become one file, for a folder without pictures and sounds, and where `output` cannot be a folder.
std::vector<FitJob> fit_jobs(const std::vector<std::string>& inputs, const std::string& output);

}  // namespace veldt::app
