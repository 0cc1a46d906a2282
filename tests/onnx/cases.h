// Cases as ONNX's own tests lie in folders: model.onnx, and test_data_set_N with input_I.pb and output_I.pb.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "veldt/onnx/value.h"

namespace veldt::onnx {

// The folders below `root` that hold a model.onnx, sorted.
std::vector<std::string> cases_in(const std::string& root);
// Runs all data sets of a case on a device, each input as `placed` gives it; what went wrong, or "" if
// nothing did.
std::string failure_of(const std::string& folder, Device device = {},
                       const std::function<Value(const Value&)>& placed = {});
// Where Debian's package libonnx-testdata has its cases.
inline const std::string kDebianCases = "/usr/share/libonnx-testdata/data/";
// "" if `got` is `wanted` within ONNX's tolerances: relative 1e-3, absolute 1e-7.
std::string difference(const Value& got, const Value& wanted);

}  // namespace veldt::onnx
