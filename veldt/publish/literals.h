// Numbers as the programs of this layer write them.
// Tests: tests/publish/header_test.cpp, tests/publish/network_header_test.cpp, tests/publish/glsl_test.cpp
#pragma once

#include <string>

namespace veldt::publish {

// Nine digits, which tell all f32 apart, and a point: "0.5", "3.0", "1e-09".
std::string decimal(double x);
// x exactly, as C++ has it: "0.5f".
inline std::string float_literal(float x) { return decimal(static_cast<double>(x)) + "f"; }

}  // namespace veldt::publish
