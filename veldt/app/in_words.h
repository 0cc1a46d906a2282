// What a verb found, as text for people: the readable form of the JSON that --json prints.
// Tests: tests/app/verbs_test.cpp, tests/app/import_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace veldt::app {

// "key  value" lines; objects within are indented by two more spaces than `depth` levels.
std::string in_words(const nlohmann::ordered_json& object, int depth);

}  // namespace veldt::app
