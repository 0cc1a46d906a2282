// docs/cli.md, made from the option tree: `veldt help --markdown`.
#pragma once

#include <string>

#include "veldt/app/options.h"

namespace veldt::app {

std::string manual(const VerbOptions& tree);

}  // namespace veldt::app
