// --explain: why each choice of a fit was made.
// Tests: tests/app/fit_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "veldt/field/reasons.h"

namespace veldt::app {

// One line a choice: its name, its value, why. Long ones are wrapped to the terminal.
std::string in_words(const std::vector<field::Reason>& reasons);
// [{"choice", "value", "why"}, ..]
nlohmann::ordered_json in_json(const std::vector<field::Reason>& reasons);

}  // namespace veldt::app
