// The teacher of a recipe: train.teacher and what goes with it.
// Tests: tests/app/distil_test.cpp, tests/recipe/distilling_test.cpp
#pragma once

#include "veldt/core/device.h"
#include "veldt/nn/module.h"
#include "veldt/recipe/facts.h"
#include "veldt/recipe/recipe.h"
#include "veldt/train/trainer.h"

namespace veldt::recipe {

// Throws UsageError naming the line for keys that say nothing without a teacher, and for a hint that is not
// "LAYER = LAYER".
void check_distilling(const Recipe& recipe);
// Throws UsageError, which says what differs, for a teacher whose inputs are prepared in another way than the
// student's, or whose outputs mean something else.
void check_teacher(const Recipe& student, const Facts& facts, const Recipe& teacher, const Facts& its);
// Has the training learn from train.teacher, if there is one. Throws as load(), check_teacher(), and
// UsageError for a layer of a hint that is not there.
void add_teacher(const Recipe& recipe, const Facts& facts, const nn::Module& student, Device device,
                 train::TrainerOptions& options);

}  // namespace veldt::recipe
