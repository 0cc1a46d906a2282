// A packed photograph as one HTML file that decodes it in the viewer's browser, and needs nothing else:
// little larger than the photograph itself.
// Tests: tests/publish/photograph_page_test.cpp, tests/publish/pages_test.py
#pragma once

#include <string>
#include <string_view>

#include "veldt/publish/page.h"

namespace veldt::publish {

// `packed` are the bytes of the file, and the name is for messages. Throws IoError malformed for others, and
// for a packed drawing; ConfigError for a picture that browsers do not show.
std::string photograph_page(std::string_view packed, const std::string& name,
                            const PageOptions& options = {});

}  // namespace veldt::publish
