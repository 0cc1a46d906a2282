// Parts of a record as JSON: for its file, and for the news that a page is sent. Only for this layer.
// Tests: tests/live/record_test.cpp
#pragma once

#include <nlohmann/json.hpp>

#include "veldt/live/record.h"

namespace veldt::live {

using Json = nlohmann::ordered_json;

// What is not finite is null.
Json in_json(const Series& series);
// With its bytes, or without them.
Json in_json(const Snapshot& picture, bool with_bytes);
Json in_json(const Text& text);
Json in_json(const Note& note);
// What has one value: title, state, step, seconds ..
Json status_in_json(const Record& record);
Json facts_in_json(const Record& record);
// Layers, confusion, worst examples, as far as there are any.
Json outcome_in_json(const Record& record);

}  // namespace veldt::live
