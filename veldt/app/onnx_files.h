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
// each node with the types of its results, for inputs whose unknown sizes are 1.
nlohmann::ordered_json describe_onnx(const std::string& path, bool nodes);

// Where this build has none: throws the Error that says so.
[[noreturn]] void refuse_onnx();

}  // namespace veldt::app
