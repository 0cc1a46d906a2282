// What the library carries to pack photographs: see veldt_layer() in veldt/CMakeLists.txt.
// Tests: tests/pack/analysis_test.cpp
#pragma once

#include <string_view>

namespace veldt::pack {

extern const std::string_view analysis_base64;

}  // namespace veldt::pack
