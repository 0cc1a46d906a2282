// A field in GLSL ES 3.00 (WebGL2, Shadertoy): the functions that a page's shader is made of, and a text to
// paste.
// Tests: tests/publish/glsl_test.cpp, tests/publish/pages_test.py
#pragma once

#include <string>
#include <vector>

#include "veldt/publish/parts.h"

namespace veldt::publish {

// vec4 levels(vec2 c, vec2 place, float gain): the levels at one point. c is what enters the network; place
// is in fitted pixels, or squares; gain multiplies the output before the head. It calls what the text before
// it has to define:
//   vec4 W(int i)   glsl_weights(), four numbers each
//   vec4 T(int i)   the tables of the grids one after the other, each entry in ceil(F / 4) vectors, F the
//   most
//                   features of any
//   vec4 C(int i)   the closing: its numbers for each pixel, row by row, then the second ones
//   kTurn           a vec3 whose sum is pi, so that multiples of its first two parts are exact in f32
std::string glsl_levels(const Parts& parts);

// The frequencies of Fourier's encodings, a vector each; then of each layer the biases, and of each four
// outputs and each four inputs the columns of their 4 x 4 weights. Missing rows and columns are 0.
std::vector<float> glsl_weights(const Parts& parts);

// The vectors of an entry that T() has.
int table_vectors(const Parts& parts);

// A whole text with vec3 field(vec2 p), p from 0, 0 at the top left to 1, 1: the level there, greys repeated.
// Throws ConfigError for a sound, and for a field of more than kMostGlslNumbers.
std::string glsl(const field::Field& field, const std::string& title);
inline constexpr std::int64_t kMostGlslNumbers = 32768;

}  // namespace veldt::publish
