// Where a recipe's data are: the folder of --data, or the user's cache, into which they are downloaded.
// Tests: tests/app/train_test.cpp
#pragma once

#include <string>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"
#include "veldt/recipe/recipe.h"

namespace veldt::app {

// `given`, if --data was; nothing is downloaded then. Else veldt in the user's cache, with the files that
// data.files names, each checked by its hash. Throws UsageError for a recipe that names none, or whose
// data.path leads out of the folder; and as data::fetch().
std::string data_folder(const recipe::Recipe& recipe, const std::string& given, const Context& context);

}  // namespace veldt::app
