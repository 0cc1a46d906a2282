// What came of a sweep, as a table: a row for each combination of values, over its seeds.
// Tests: tests/recipe/sweep_table_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veldt/recipe/sweep.h"

namespace veldt::recipe {

// Over the seeds that ended well.
struct Spread {
  std::string name;  // "val_accuracy"
  double mean = 0;
  std::optional<double> deviation = {};  // of the sample, with n - 1; none of one value
  std::vector<double> values = {};       // one a seed
};

struct SweepRow {
  std::int64_t configuration = 0;
  std::vector<std::string> settings;  // a value for each key
  double share = 1;                   // of the training
  std::int64_t done = 0, failed = 0;  // seeds
  std::vector<Spread> scores;
  Spread seconds;
  std::int64_t parameters = 0, memory = 0;  // memory: bytes at the most of any seed; 0: unknown
  std::string reason;                       // of the first seed that did not end well

  // Null if there is none of that name.
  const Spread* score(const std::string& name) const;
};

struct SweepTable {
  std::vector<std::string> keys;
  Watched score;               // what rows are ordered by
  std::vector<SweepRow> rows;  // best first; of combinations that have an outcome
  std::string best_run = {};   // the name of the first row's run with the best score; empty: none has one
};

SweepTable table_of(const Sweep& sweep);

// For people: at most `most` rows, with what failed below them.
std::string text_of(const SweepTable& table, std::size_t most = 30);
// All of it, RFC 4180: keys; share, runs, failed; mean and deviation of each score; seconds, parameters,
// memory_bytes, reason.
std::string csv_of(const SweepTable& table);
// A line for each run: its name, keys, seed, share, how it ended, scores, seconds, parameters, memory_bytes,
// reason.
std::string runs_csv(const Sweep& sweep);
// The ordering score of the best `most` rows, each seed a dot, as SVG. Empty if there is none.
std::string chart_of(const SweepTable& table, const std::string& title, std::size_t most = 40);

// "done", "diverged" ..
const char* name_of(Outcome::End end);

}  // namespace veldt::recipe
