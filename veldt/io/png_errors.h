// libpng's error handling, separated from C++ (guarded.h). Only for png_*.cpp.
// Tests: tests/io/image_read_test.cpp, tests/io/image_write_test.cpp
#pragma once

#include <array>
#include <exception>

struct png_struct_def;  // png.h stays out of Veldt's headers

namespace veldt::io {

struct PngFailure {
  std::array<char, 160> message{};
  std::exception_ptr thrown;  // by the file, in a callback
};

// libpng's error callback; its pointer is a PngFailure.
[[noreturn]] void on_png_error(png_struct_def* png, const char* text);
void ignore_png_warning(png_struct_def* png, const char* text);

}  // namespace veldt::io
