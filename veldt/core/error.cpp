// The shared parts of error.h, compiled once, because every file of Veldt throws.
#include "veldt/core/error.h"

#include <sstream>

#include "veldt/core/escape.h"

namespace veldt {

void StrPart::write_text(std::ostream& out, const void* text) {
  if (text) out << static_cast<const char*>(text);
}

std::string join_parts(std::initializer_list<StrPart> parts) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // else text that finds no memory is left out silently
  for (const StrPart& part : parts) part.write_to(out);
  return out.str();
}

Error::Error(std::string_view what, std::string_view why, std::string_view fix)
    : std::runtime_error(std::string(what)),
      summary_(escape_controls(what)),
      why_(escape_controls(why)),
      fix_(escape_controls(fix)),
      first_line_(summary_) {
  join();
}

Error::~Error() = default;

void Error::set_place(Place place) {
  place_ = std::move(place);
  const std::string where = place_.path.empty() ? place_.title : place_.path + " (" + place_.title + ")";
  summary_ = first_line_ + ", in " + escape_controls(where);
  join();
}

void Error::join() { text_ = summary_ + "\n  why: " + why_ + "\n  fix: " + fix_; }

IoError::IoError(Kind kind, std::string_view what, std::string_view why, std::string_view fix)
    : Error(what, why, fix), kind_(kind) {}

ShapeError::~ShapeError() = default;
DeviceError::~DeviceError() = default;
NoKernel::~NoKernel() = default;
OutOfMemory::~OutOfMemory() = default;
ConfigError::~ConfigError() = default;
UsageError::~UsageError() = default;
DivergedError::~DivergedError() = default;
LostError::~LostError() = default;
IoError::~IoError() = default;

}  // namespace veldt
