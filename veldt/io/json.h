// Reads JSON, which is untrusted, and writes it.
// Tests: tests/io/json_test.cpp, tests/fuzz/text.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace veldt::io {

// Veldt's own documents nest five deep and take a few kilobytes. Copying, comparing and printing a document
// are recursive, so deep nesting would overflow the stack; and a document takes up to 30 times the memory of
// its text.
inline constexpr int kMaxJsonDepth = 16;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 20;

// A document of the type nlohmann::json or nlohmann::ordered_json, which this public header does not include;
// both are parsed and written only in json.cpp, because each file that does so itself grows by 0.1 MB. Throws
// IoError malformed if `text` is not JSON in UTF-8 or beyond the limits, before anything is built.
template <class Json>
Json parse_json(std::string_view text, int max_depth = kMaxJsonDepth, std::size_t max_bytes = kMaxJsonBytes);

// The value as a T, an integer type, or nothing if it is not one. Stricter than the JSON library, which
// truncates 1.5 to 1, takes true for 1, lets large numbers wrap around, and has undefined results for 1e300.
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
