// The folder of a sweep: what the sweep is, a folder for each run, and how each run ended.
//   sweep.json                what is swept; a later sweep goes on only if it is the same
//   sweep.csv runs.csv sweep.svg
//   lr=0.1_seed=1/            a folder of `veldt train`, and in it
//     recipe.toml             the recipe as it was run
//     outcome.json            how it ended, round by round
//     result.json log.txt     what the process wrote on stdout and stderr
// Tests: tests/app/sweep_test.cpp, tests/app/sweep_data_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <map>
#include <optional>
#include <string>

#include "veldt/app/child.h"
#include "veldt/recipe/data_digest.h"
#include "veldt/recipe/sweep.h"

namespace veldt::app {

// Of each of the data that a sweep reads, by "kind path".
using DataDigests = std::map<std::string, recipe::DataDigest>;

class SweepFolder {
 public:
  // Makes the folder, or takes the one of this sweep if `resume`, and holds its lock; children hold it too,
  // so that it is free when the last of them has ended. `threads` and `device` of a run are part of what a
  // sweep is, and so are its data; the number of threads becomes what it was. Throws UsageError for a folder
  // with another sweep, with files that no sweep wrote or with a sweep that is not to be resumed, and while
  // it is in use; IoError corrupt and unwritable.
  SweepFolder(std::string path, const recipe::Sweep& sweep, bool resume, std::int64_t& threads,
              const std::string& device, const DataDigests& data);

  // Of a sweep that is there, to read. Nothing is locked.
  explicit SweepFolder(std::string path) : path_(std::move(path)) {}

  // What is swept, by sweep.json. Throws IoError missing and corrupt.
  recipe::Sweep sweep() const;

  const std::string& path() const { return path_; }
  std::string in(const std::string& name) const;
  std::string in_run(const recipe::Trial& trial, const char* name) const;

  // The outcome that was recorded, if it is one that another attempt would not change; else that of a process
  // that had ended before it was recorded. Throws IoError corrupt.
  std::optional<recipe::Outcome> known(const recipe::Trial& trial) const;
  void record(const recipe::Trial& trial, const recipe::Outcome& outcome) const;
  // What the process of this trial wrote, if it came to its end.
  std::optional<recipe::Outcome> result(const recipe::Trial& trial) const;

 private:
  nlohmann::json written() const;  // what sweep.json says
  void check_new() const;
  void check_empty() const;
  Descriptor locked() const;
  void check_same(const recipe::Sweep& sweep, const nlohmann::json& before, const nlohmann::json& now,
                  std::int64_t& threads) const;

  std::string path_;
  Descriptor lock_;
};

}  // namespace veldt::app
