// How good a trained network is on data.
// Tests: tests/recipe/trained_test.cpp, tests/app/train_test.cpp, tests/app/train_recipes_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/recipe/data.h"
#include "veldt/recipe/trained.h"
#include "veldt/train/metric.h"
#include "veldt/train/trainer.h"

namespace veldt::recipe {

struct MeasureOptions {
  std::string part = "test";  // or "validation", or "train"
  std::string drawing = {};   // of the test part of a series: where forecast and truth are drawn (.svg)
  // Of pictures: changes to them, each written as one of data.augment ("shift(4)"), under each of which they
  // are measured once more. The same seed draws the same.
  std::vector<std::string> corruptions = {};
  std::uint64_t seed = 1;
};

struct Measured {
  train::Scores scores;  // "loss" and the recipe's metrics; of the test part of a series its errors too
  std::int64_t examples = 0;
  std::vector<train::Scores> corrupted = {};  // of each corruption
};

// The scores over a part of the recipe's data, read from below `folder`. Throws UsageError for a part that
// the recipe does not set aside, for a drawing of anything but the test part of a series, and for a
// corruption that does not exist, that changes the size of pictures, or of something else than pictures;
// IoError missing, and malformed for data that are not those, or not of the form, that the network was
// trained on.
Measured measure(Trained& trained, const std::string& folder, const MeasureOptions& options = {});

// Of data.corrupt or --corrupt. Throws UsageError naming the line where there is no
// test set, and for a corruption that changes the size of its pictures.
void check_corruptions(const data::DatasetPtr& test, const Written& corruptions);
// The scores of the network that a trainer has, on pictures that are changed by one of `corruptions` before
// they are prepared. The same seed draws the same.
train::Scores corrupted_scores(train::Trainer& trainer, const Recipe& recipe, const Data& data,
                               const data::DatasetPtr& set, const Written& corruptions, std::size_t which,
                               std::uint64_t seed = MeasureOptions().seed);

}  // namespace veldt::recipe
