// Bytes as text that pages and terminals take: base64 (RFC 4648), with padding.
// Tests: tests/core/base64_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace veldt {

std::string to_base64(std::string_view bytes);
// Nothing if the text is not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace veldt
