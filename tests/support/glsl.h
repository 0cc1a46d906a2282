// The elementwise formulas of kernels/ as GLSL, from the same structs that the CPU and CUDA compile: what a
// backend of Vulkan would make its shaders of.
#pragma once

#include <string>
#include <vector>

namespace veldt::test {

struct GlslFormula {
  std::string name;  // of the function: "unary_tanh", "slope_tanh"
  int op;            // as a backend counts it
  std::string text;  // float name(float x, ..) { .. }
  double a, b;       // the constants that it was written with
};

// Which of a family's functions take one, two or three numbers: forward of x; slope of x and y; binary and
// compare of a and b; ternary of a, b and c.
enum class GlslFamily { unary, slope, binary, ternary, compare };
int arity(GlslFamily family);

std::vector<GlslFormula> glsl_formulas(GlslFamily family);

// A compute shader that does one of them to each element: see Vulkan::run. The results y that slopes take are
// all in one buffer, formula by formula.
std::string glsl_shader(GlslFamily family);

}  // namespace veldt::test
