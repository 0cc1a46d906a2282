// Reads a colour from its name or from hexadecimal digits.
#include "veldt/cli/colour.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <optional>

namespace veldt::cli {
namespace {

// CSS Color Module Level 4 (W3C, 2022), 6.1; and the American spelling gray.
constexpr struct {
  const char* name;
  std::uint32_t rgb;
} kNames[] = {{"black", 0x000000},   {"silver", 0xc0c0c0}, {"gray", 0x808080}, {"grey", 0x808080},
              {"white", 0xffffff},   {"maroon", 0x800000}, {"red", 0xff0000},  {"purple", 0x800080},
              {"fuchsia", 0xff00ff}, {"green", 0x008000},  {"lime", 0x00ff00}, {"olive", 0x808000},
              {"yellow", 0xffff00},  {"navy", 0x000080},   {"blue", 0x0000ff}, {"teal", 0x008080},
              {"aqua", 0x00ffff}};

// The digits after the #; of three, each stands for two.
std::optional<std::uint32_t> number_in(const std::string& digits) {
  if (digits.size() != 6 && digits.size() != 3) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : digits) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    const auto digit = static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    value = digits.size() == 6 ? value * 16 + digit : value * 256 + digit * 17;
  }
  return value;
}

std::optional<std::uint32_t> rgb_of(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (text.starts_with('#')) return number_in(text.substr(1));
  for (const auto& [name, rgb] : kNames)
    if (text == name) return rgb;
  return std::nullopt;
}

}  // namespace

Colour colour_from(const io::Source& source, const std::string& text) {
  const std::optional<std::uint32_t> rgb = rgb_of(text);
  if (!rgb)
    throw io::bad_value(source, text, "it is not a colour: neither #rrggbb nor one of CSS's basic names",
                        fmt::format("use {} or {}", io::example_of(source, "white", true),
                                    io::example_of(source, "#1e90ff", true)));
  const auto part = [&](int shift) { return static_cast<float>(*rgb >> shift & 255) / 255.0f; };
  return {part(16), part(8), part(0)};
}

}  // namespace veldt::cli
