// Where the command finds the priors that redraw pictures.
// Tests: tests/app/fit_test.cpp
#pragma once

#include <memory>
#include <string>

#include "veldt/field/prior.h"

namespace veldt::app {

struct Priors {
  std::shared_ptr<const field::Prior> means = {}, two_tone = {};  // null: none
  std::shared_ptr<const field::Prior> given = {};                 // the one of these that was named
};

// Veldt's own are in ../share/veldt from the program; one that is not installed is left out; one that cannot
// be read is left out with a warning. `path`: "none": no prior; empty: Veldt's own; else the file, as
// field::load_prior() reads it, in place of the one of its kind.
Priors priors_from(const std::string& path);

}  // namespace veldt::app
