// What the library carries to make pages of: see veldt_layer() in veldt/CMakeLists.txt.
// Tests: tests/publish/page_test.cpp, tests/publish/pages_test.py
#pragma once

#include <string_view>

namespace veldt::publish {

extern const std::string_view page_html, page_css, core_js, page_js, sound_js, view_glsl, pyramid_html,
    photograph_html, photograph_js, viewer_js;

}  // namespace veldt::publish
