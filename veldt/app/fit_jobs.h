// The work of `veldt fit` when it is given several files, or a folder.
// Tests: tests/app/fit_test.cpp, tests/app/bad_input_test.cpp
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace veldt::app {

struct FitJob {
  std::string input, output;
  bool is_in_folder = false;  // created if it is missing
};

// One job for each of `inputs`, and for each picture, sound and pixel table in those that are folders (not in
// folders below them), by name. A single file goes into `output`, unless that is a folder or ends in '/';
// others go into files of their own names in the folder `output`. Names in a folder that begin with a dot are
// left out. Throws UsageError if two would become one file, for a folder with the ending of one of Veldt's
// files, IoError missing for a folder that holds nothing to fit.
std::vector<FitJob> fit_jobs(const std::vector<std::string>& inputs, const std::string& output);

// The folder of the models, created if it is missing. Folders that were created and stay empty are removed
// again.
class ModelFolder {
 public:
  // Throws UsageError where there can be no such folder.
  explicit ModelFolder(const std::vector<FitJob>& jobs);
  ~ModelFolder() { remove_empty(); }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

 private:
  void remove_empty();
  std::vector<std::filesystem::path> made_;  // the innermost first
};

}  // namespace veldt::app
