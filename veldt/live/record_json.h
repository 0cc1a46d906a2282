// Parts of a record as JSON: for its file, and for the news that a page is sent. Only for this layer.
// Tests: tests/live/record_test.cpp, tests/live/board_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "veldt/live/record.h"

namespace veldt::live {

// A text in quotes, as JSON has it.
std::string text_json(const std::string& text);
// An object: what has one value, such as title, state and step.
std::string status_json(const Record& record);
// An object; `number` is the series' place in the record, `first` the place of its first point. What is not
// finite is null.
std::string series_json(const Series& series, std::size_t number, std::size_t first);
// A list; what is not finite is null.
std::string numbers_json(const std::vector<double>& values);
// A list, with the bytes or without; each has its number.
std::string pictures_json(const std::vector<Snapshot>& pictures, const std::vector<std::uint64_t>& numbers,
                          bool with_bytes);
// Lists.
std::string texts_json(const std::vector<Text>& texts);
std::string notes_json(const std::vector<Note>& notes);
std::string facts_json(const std::vector<Fact>& facts);
// An object of layers, confusion and worst examples, as far as there are any.
std::string outcome_json(const Record& record);

}  // namespace veldt::live
