// A field as one C++17 header without dependencies.
// Tests: tests/publish/header_test.cpp
#pragma once

#include <string>

#include "veldt/field/field.h"

namespace veldt::publish {

// The text of a header: namespace cpp_name(`name`) with float3 field(float x, float y), the level at a point
// as a field draws it much enlarged, x and y from 0, 0 at the top left to 1, 1. All numbers are the field's
// own f32. Those of a large field are text that is decoded at the first call, because compilers take long
// over arrays. Throws ConfigError for a sound.
std::string header(const field::Field& field, const std::string& name);

// A name of C++ made of any text: "lion cub.v2" -> "lion_cub_v2_field". It ends
// in `ending` always, so that no keyword and no name of <cmath> is hit.
std::string cpp_name(const std::string& text, const std::string& ending = "field");

}  // namespace veldt::publish
