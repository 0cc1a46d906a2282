// Reads an environment variable.
#include "veldt/app/environment.h"

#include <cstdlib>

namespace veldt::app {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace veldt::app
