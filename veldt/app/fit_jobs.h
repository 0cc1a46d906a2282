// What `veldt fit` is to do when it is given several files, or a folder.
#pragma once

#include <string>
#include <vector>

namespace veldt::app {

struct FitJob {
  std::string input, output;
  bool is_in_folder = false;  // that is made if it is missing
};

// One job for each of `inputs`, and for each picture, sound and pixel table in those that are folders (not in
// folders below them), by name. A single file goes into `output`, unless that is a folder or ends in '/';
// others go into files of their own names in the folder `output`. Throws UsageError for two that would become
// one file, IoError missing for a folder that holds nothing to fit.
std::vector<FitJob> fit_jobs(const std::vector<std::string>& inputs, const std::string& output);
// Throws UsageError where there can be no such folder.
void make_folder_of(const std::vector<FitJob>& jobs);

}  // namespace veldt::app
