// A network's tensors from a file of any kind, as a JSON object for `veldt import` and `veldt info`.
// Tests: tests/app/import_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "veldt/io/loaded_state.h"

namespace veldt::app {

// "kind" (the format), "path", "bytes", "taken", "numbers", "tensors" with the dtype that the file has and
// the one that it has become, and "left_out".
nlohmann::ordered_json describe_state(const std::string& path, const io::LoadedState& state);

}  // namespace veldt::app
