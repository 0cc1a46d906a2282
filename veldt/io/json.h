// JSON that comes from a file, and so from anyone.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace veldt::io {

// What Veldt itself writes nests five deep and takes some kilobytes. Copying, comparing and printing a
// document recurse, so that one which nests without end would end the stack; and a document takes up to 30
// times the memory of its text.
inline constexpr int kMaxJsonDepth = 16;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 20;

// Throws IoError malformed if `text` is not JSON in UTF-8, nests deeper than `max_depth` or has more than
// `max_bytes`; the limits are checked before anything is built.
nlohmann::json parse_json(std::string_view text, int max_depth = kMaxJsonDepth,
                          std::size_t max_bytes = kMaxJsonBytes);
// The same, with the keys of objects in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text, int max_depth = kMaxJsonDepth,
                                          std::size_t max_bytes = kMaxJsonBytes);

}  // namespace veldt::io
