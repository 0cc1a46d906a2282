// The files that veldt export makes of fields alone, by the output's ending: pages, headers, GLSL, SVG,
// tiles.
// Tests: tests/app/publish_test.cpp
#pragma once

#include <string>

#include "veldt/app/frame.h"
#include "veldt/app/picture_size.h"
#include "veldt/cli/context.h"

namespace veldt::app {

// Whether a file of this name is one of them.
bool is_published(const std::string& output);

// Their endings, for help and errors.
inline constexpr const char* kPublishedEndings =
    ".html, .h, .glsl, .svg, or a folder's name with / at its end";

// Writes it, and says what came of it. `size` is of tiles alone. Returns the exit code. Throws UsageError for
// a size where there is none, and Error as the writers do.
int publish_field(const std::string& model, const std::string& output, const WishedSize& size,
                  Context& context);

}  // namespace veldt::app
