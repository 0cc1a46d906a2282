// What the command does with ONNX files. Where protozero was missing when Veldt was built, onnx_absent.cpp
// takes the place of the others, and says so.
// Tests: tests/app/onnx_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace veldt::app {

// Whether this build reads and writes ONNX.
extern const bool kHasOnnx;

// For veldt info: opsets, inputs, outputs, operators, weights, and what Veldt cannot run of it. `nodes` lists
// each node with the types of its results, for inputs whose unknown sizes are 1. `verify` makes the graph
// ready to run, which finds names that nothing defines, and counts the weights that are not finite; a mask
// may have infinities on purpose. The weights are read in either case. Throws IoError.
nlohmann::ordered_json describe_onnx(const std::string& path, bool nodes, bool verify);

// Where this build has none: throws the Error that says so.
[[noreturn]] void refuse_onnx();

}  // namespace veldt::app
