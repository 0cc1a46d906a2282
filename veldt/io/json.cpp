// Reads JSON within limits of depth and length, and writes it.
#include "veldt/io/json.h"

#include <nlohmann/json.hpp>

#include "veldt/core/error.h"

namespace veldt::io {
namespace {

IoError malformed_json(const std::string& why) {
  return {IoError::Kind::malformed, "cannot read the JSON of a file", why,
          "copy, download or save the file again"};
}

// Counts brackets outside of strings. This is exact for valid JSON, and the parser refuses the rest.
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

// Whether it is JSON otherwise is left to the parser.
void check_limits(std::string_view text, int max_depth, std::size_t max_bytes) {
  if (text.size() > max_bytes)
    throw malformed_json(str("it has ", text.size(), " bytes, and ", max_bytes, " are allowed"));
  if (nests_deeper(text, max_depth))
    throw malformed_json(str("it nests more than ", max_depth, " levels deep"));
}

}  // namespace

template <class Json> Json parse_json(std::string_view text, int max_depth, std::size_t max_bytes) {
  check_limits(text, max_depth, max_bytes);
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) throw malformed_json("it is not JSON in UTF-8");
  return value;
}

template <class Json> std::string dump_json(const Json& value, int indent) { return value.dump(indent); }

template nlohmann::json parse_json(std::string_view, int, std::size_t);
template nlohmann::ordered_json parse_json(std::string_view, int, std::size_t);
template std::string dump_json(const nlohmann::json&, int);
template std::string dump_json(const nlohmann::ordered_json&, int);

}  // namespace veldt::io
