// How libpng's errors become exceptions. libpng leaves its functions by longjmp, which must not jump over a
// C++ object that has a destructor, and a C++ exception must not fly through libpng. So libpng is called
// inside guarded() alone, in a lambda that holds plain values; callbacks keep what the file threw in a
// PngFailure and call png_error. For image_*.cpp alone.
#pragma once

#include <array>
#include <exception>

struct png_struct_def;  // png.h stays out of Veldt's headers

namespace veldt::io {

struct PngFailure {
  std::array<char, 160> message{};
  std::exception_ptr thrown;
};

// libpng's error callback; its pointer is a PngFailure.
[[noreturn]] void on_png_error(png_struct_def* png, const char* text);
void ignore_png_warning(png_struct_def* png, const char* text);

// Calls calls(context); false if libpng gave up in it.
bool run_guarded(png_struct_def* png, void (*calls)(const void* context), const void* context);

template <class Calls> bool guarded(png_struct_def* png, const Calls& calls) {
  return run_guarded(
      png, [](const void* context) { (*static_cast<const Calls*>(context))(); }, &calls);
}

}  // namespace veldt::io
