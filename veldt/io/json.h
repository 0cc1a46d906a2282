// JSON that comes from a file, and so from anyone.
#pragma once

#include <cstddef>
#include <string_view>

#include "veldt/core/error.h"

namespace veldt::io {

// What Veldt itself writes nests five deep and takes some kilobytes. Copying, comparing and printing a
// document recurse, so that one which nests without end would end the stack; and a document takes up to 30
// times the memory of its text.
inline constexpr int kMaxJsonDepth = 16;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 20;

// Throws IoError malformed if `text` has more than `max_bytes` or nests deeper than `max_depth`; whether it
// is JSON otherwise is left to the parser.
void check_json_limits(std::string_view text, int max_depth, std::size_t max_bytes);

// The IoError of a text that is not JSON in UTF-8.
IoError not_json();

// A document of the type nlohmann::json or nlohmann::ordered_json, which this public header does not include.
// Throws IoError malformed if `text` is not JSON in UTF-8 or beyond the limits, before anything is built.
template <class Json>
Json parse_json(std::string_view text, int max_depth = kMaxJsonDepth, std::size_t max_bytes = kMaxJsonBytes) {
  check_json_limits(text, max_depth, max_bytes);
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) throw not_json();
  return value;
}

}  // namespace veldt::io
