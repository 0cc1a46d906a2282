// JSON: read from a file, and so from anyone; and written.
// Tests: tests/io/json_test.cpp, tests/fuzz/text.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace veldt::io {

// What Veldt itself writes nests five deep and takes some kilobytes. Copying, comparing and printing a
// document recurse, so that one which nests without end would end the stack; and a document takes up to 30
// times the memory of its text.
inline constexpr int kMaxJsonDepth = 16;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 20;

// A document of the type nlohmann::json or nlohmann::ordered_json, which this public header does not include;
// both are made and written in json.cpp alone, because each file that does so itself is 0.1 MB larger.
// Throws IoError malformed if `text` is not JSON in UTF-8 or beyond the limits, before anything is built.
template <class Json>
Json parse_json(std::string_view text, int max_depth = kMaxJsonDepth, std::size_t max_bytes = kMaxJsonBytes);

// The value as a T, which is of whole numbers, or nothing where it is none of them. Stricter than the JSON
// library, which cuts 1.5 to 1, takes true for 1, lets large numbers wrap around, and makes anything of
// 1e300.
template <class T, class Json> std::optional<T> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.template get<std::uint64_t>();
    return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
  }
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.template get<std::int64_t>();
  return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
}

// The text of a document: one line, or lines indented by `indent` spaces a level. Throws
// nlohmann::json::exception if it holds a string that is not UTF-8.
template <class Json> std::string dump_json(const Json& value, int indent = -1);

}  // namespace veldt::io
