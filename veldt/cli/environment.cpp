// Reads an environment variable.
#include "veldt/cli/environment.h"

#include <cstdlib>

namespace veldt::cli {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace veldt::cli
