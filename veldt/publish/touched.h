// Which entries of a grid's table a picture needs.
// Tests: tests/publish/page_test.cpp
#pragma once

#include "veldt/publish/parts.h"

namespace veldt::publish {

// Sets the entries to 0 that no place of the picture reads, or only such as are flat ground, whose level the
// closing has. Nothing that is drawn within the picture changes. Tables of
// levels that are much finer than the picture, and pictures of more than 2^23 pixels, stay as they are.
void clear_untouched(Parts& parts);

}  // namespace veldt::publish
