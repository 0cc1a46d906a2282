#include "veldt/io/json.h"

namespace veldt::io {
namespace {

IoError malformed(const std::string& why) {
  return {IoError::Kind::malformed, "cannot read the JSON of a file", why,
          "copy, download or save the file again"};
}

// Counts brackets outside of strings: right for all that is JSON, and the parser refuses the rest.
bool nests_deeper(std::string_view text, int max_depth) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

void check_json_limits(std::string_view text, int max_depth, std::size_t max_bytes) {
  if (text.size() > max_bytes)
    throw malformed(str("it has ", text.size(), " bytes, and ", max_bytes, " are allowed"));
  if (nests_deeper(text, max_depth)) throw malformed(str("it nests more than ", max_depth, " levels deep"));
}

IoError not_json() { return malformed("it is not JSON in UTF-8"); }

}  // namespace veldt::io
