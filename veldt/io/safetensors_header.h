// The JSON header of a safetensors file, parsed as untrusted text. Only for safetensors.cpp.
// Tests: tests/io/safetensors_test.cpp, tests/fuzz/arrays.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/io/safetensors.h"

namespace veldt::io {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
// Far more than networks have; one tensor takes a kilobyte, however short its entry is.
inline constexpr std::size_t kMaxTensors = std::size_t{1} << 18;
inline constexpr const char* kDigestKey =
    "veldt.xxh3";  // metadata: {"": header's digest, "name": tensor's, ...}

// Fills `header` with entries in the order of the text and offsets as written. Returns what is wrong, or "".
std::string parse_safetensors_header(const std::string& text, SafeTensorsHeader& header);

}  // namespace veldt::io
