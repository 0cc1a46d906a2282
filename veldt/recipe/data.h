// The data of a recipe: its sets, the transforms of its examples, and what a network has to know about them.
// Tests: tests/recipe/data_test.cpp, tests/recipe/denoise_test.cpp, tests/app/data_show_test.cpp,
// tests/fuzz/commands.cpp
#pragma once

#include <string>

#include "veldt/data/loader.h"
#include "veldt/recipe/facts.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

struct Data {
  Facts facts;
  data::DatasetPtr train, validation, test;  // the last two may be null
  data::Transform prepare, augment;          // of all sets; of the training set, prepared afterwards
  data::Collate collate;                     // of all sets
  data::Collate mix;                         // of the training set, if there is one
};

// Reads what the recipe names from below `folder` (--data). `facts` of a trained model replaces what would be
// computed from the training data. Throws UsageError and IoError.
Data load_data(const Recipe& recipe, const std::string& folder, const Facts* facts = nullptr);

// Of a text: the part that is learned. Throws IoError.
std::string training_text(const Recipe& recipe, const std::string& folder);

// The windows of the training, validation and test part of a series, for load_data().
void load_forecasts(const Recipe& recipe, const std::string& folder, const Facts* known, Data& into);

// Noise and tiles of the pictures, for load_data(). Parts are whole pictures, the last by name; those of a
// folder test/ are the test part.
void load_noisy_pictures(const Recipe& recipe, const std::string& folder, Data& into);

// All pairs of texts, {source, target so far, target}, for load_data(), and what a network has to know of
// them.
data::DatasetPtr load_pairs(const Recipe& recipe, const std::string& folder, Facts& facts,
                            const Facts* known);

// The transforms of a list, one after the other; null for an empty list.
data::Transform transforms_of(const Written& written);
// Those of data.prepare, or what a known network wants of pictures, if that is not given. Null for none.
data::Transform preparing(const Recipe& recipe);
// Whether the transforms of a recipe exist: data.prepare, data.augment and data.corrupt. Throws UsageError
// naming the line, also for a corruption that is given twice.
void check_transforms(const Recipe& recipe);
// What of it brings a known network's pictures to one size, without normalising them: to look at. Null if
// they are of one size.
data::Transform fitting(const Recipe& recipe);

// A path in the recipe, resolved below the folder of --data.
std::string below(const std::string& folder, const std::string& path);

}  // namespace veldt::recipe
