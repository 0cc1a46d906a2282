// Where the command finds the prior that redraws pictures.
#pragma once

#include <memory>
#include <string>

#include "veldt/field/prior.h"

namespace veldt::app {

// "none": null. Empty: Veldt's own, in ../share/veldt from the program, or null where that is not installed.
// Else the file, as field::load_prior() reads it.
std::shared_ptr<const field::Prior> prior_from(const std::string& path);

}  // namespace veldt::app
