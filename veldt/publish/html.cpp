// Texts of pages, escaped, filled in and shortened.
#include "veldt/publish/html.h"

#include <algorithm>

#include "veldt/core/escape.h"

namespace veldt::publish {

const std::string_view picture_controls =
    R"html(<button id="out" title="Smaller (-)" aria-label="Smaller">−</button>
<span id="scale"></span>
<button id="in" title="Larger (+)" aria-label="Larger">+</button>
<button id="whole" title="The whole picture (0)">Fit</button>
<button id="own" title="Pixel on pixel (1)">1:1</button>
<button id="save" class="push" disabled>Save PNG</button>)html";

std::string in_html(const std::string& text) {
  std::string out;
  for (const char c : escape_controls(text)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string_view>>& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find("{{", at);
    out += text.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = text.find("}}", begin);
    for (const auto& [name, value] : values)
      if (name == text.substr(begin + 2, end - begin - 2)) out += value;
    at = end + 2;
  }
  return out;
}

std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = std::ssize(digits) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string stripped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty() && !line.starts_with("//")) (out += line) += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace veldt::publish
