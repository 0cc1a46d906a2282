// Jumps out of libpng when it reports an error, and keeps its message.
#include "veldt/io/png_errors.h"

#include <png.h>

#include <cstdio>

namespace veldt::io {

void on_png_error(png_struct_def* png, const char* text) {
  auto* failure = static_cast<PngFailure*>(png_get_error_ptr(png));
  std::snprintf(failure->message.data(), failure->message.size(), "%s", text);
  png_longjmp(png, 1);
}

void ignore_png_warning(png_struct_def*, const char*) {}

}  // namespace veldt::io
