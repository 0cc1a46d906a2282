// The teacher of a recipe: train.teacher and what goes with it.
// Tests: tests/app/distil_test.cpp, tests/recipe/distilling_test.cpp
#pragma once

#include <string>

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
// XXH3 of the teacher's file, by which a resumed run finds that it has changed; empty if there is no teacher.
// Throws IoError missing.
std::string teacher_digest(const Recipe& recipe);
// Has the training learn from train.teacher, if there is one. What its hints learn beside the student is
// returned, for the optimizer. Throws as load(), check_teacher(), and UsageError for a layer of a hint that
// is not there, or whose features cannot be compared.
NamedTensors add_teacher(const Recipe& recipe, const Facts& facts, const nn::Module& student, Device device,
                         train::TrainerOptions& options);

}  // namespace veldt::recipe
