// Numbers in the shortest form that C++ and GLSL take for floats.
#include "veldt/publish/literals.h"

#include <fmt/format.h>

namespace veldt::publish {

std::string decimal(double x) {
  std::string text = fmt::format("{:.9g}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace veldt::publish
