// Calls into C libraries that report errors by longjmp (libpng, libjpeg). A jump must not skip a destructor,
// so the calls run inside guarded(), where only trivial values may exist. A callback catches its own
// exceptions, stores them, and makes the library report an error.
// Tests: tests/io/image_read_test.cpp, tests/io/image_write_test.cpp, tests/io/picture_formats_test.cpp
#pragma once

#include <csetjmp>

namespace veldt::io {

// Calls calls(context); false if the library jumped to `back`.
bool run_guarded(std::jmp_buf& back, void (*calls)(const void* context), const void* context);

template <class Calls> bool guarded(std::jmp_buf& back, const Calls& calls) {
  return run_guarded(
      back, [](const void* context) { (*static_cast<const Calls*>(context))(); }, &calls);
}

}  // namespace veldt::io
