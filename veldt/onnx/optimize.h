// Makes a program that only runs faster: what is constant is computed once, what scales or shifts the
// channels of a convolution goes into its weights, and what follows it into its pass.
// Tests: tests/onnx/optimize_test.cpp
#pragma once

#include "veldt/onnx/program.h"

namespace veldt::onnx {

// A copy of `from` for which its constants never change: nothing of it can be trained. Nodes whose inputs are
// constants are folded, unless they are random or their results are far larger than their inputs; a
// BatchNormalization with statistics, or a Mul, Add, Sub or Div by constants of channels, after a Conv whose
// result nothing else reads, becomes part of it; after that an Add, a Relu, or a Clip by constants, do too
// (frozen_convolution.h). The first steps that compute each example by itself are marked, so that a large
// batch passes them a few examples at a time.
Prepared optimized(const Prepared& from);

}  // namespace veldt::onnx
