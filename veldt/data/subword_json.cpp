// Parts of a tokenizer.json, by nlohmann's library.
#include "veldt/data/subword_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "veldt/data/unicode.h"
#include "veldt/io/json.h"

namespace veldt::data {
namespace {

const nlohmann::json& read(const void* json) { return *static_cast<const nlohmann::json*>(json); }

}  // namespace

void JsonPart::refuse(const std::string& why) const {
  throw IoError(IoError::Kind::malformed, str("cannot read the tokenizer ", file_),
                at_.empty() ? why : str('"', at_, "\" ", why), "give a tokenizer.json with what Veldt knows");
}

void JsonPart::refuse_type() {
  (*this)["type"].refuse(str("is \"", (*this)["type"].text().substr(0, 80), "\", which is unknown"));
}

bool JsonPart::is_null() const { return read(json_).is_null(); }
bool JsonPart::is_text() const { return read(json_).is_string(); }

JsonPart JsonPart::operator[](const std::string& key) {
  const nlohmann::json& json = read(json_);
  if (!json.is_object()) refuse("is not an object");
  known_.insert(key);
  static const nlohmann::json kNull;
  const auto found = json.find(key);
  return JsonPart(found == json.end() ? &kNull : &*found, at_.empty() ? key : at_ + "." + key, file_);
}

void JsonPart::finish() const {
  for (const auto& [key, value] : read(json_).items())
    if (!known_.contains(key) && !value.is_null())
      refuse(str("has \"", key.substr(0, 80), "\", which is unknown"));
}

std::vector<JsonPart> JsonPart::items() const {
  const nlohmann::json& json = read(json_);
  if (!json.is_array()) refuse("is not a list");
  std::vector<JsonPart> parts;
  for (std::size_t i = 0; i < json.size(); ++i) parts.emplace_back(&json[i], str(at_, '.', i), file_);
  return parts;
}

const std::string& JsonPart::text() const {
  if (!is_text()) refuse("is not a text");
  return read(json_).get_ref<const std::string&>();
}

bool JsonPart::flag(bool otherwise) const {
  if (is_null()) return otherwise;
  if (!read(json_).is_boolean()) refuse("is not true or false");
  return read(json_).get<bool>();
}

std::int64_t JsonPart::number(std::int64_t least, std::int64_t most) const {
  const auto value = io::whole_number<std::int64_t>(read(json_));
  if (!value || *value < least || *value > most) refuse(str("is not a number from ", least, " to ", most));
  return *value;
}

char32_t JsonPart::character() const {
  if (text().empty() || character_at(text(), 0).bytes != text().size()) refuse("is not one character");
  return character_at(text(), 0).code;
}

std::size_t JsonPart::choice(std::initializer_list<std::string_view> names) const {
  const auto at = std::find(names.begin(), names.end(), text());
  if (at == names.end()) refuse(str("is \"", text().substr(0, 80), "\", which is unknown"));
  return static_cast<std::size_t>(at - names.begin());
}

}  // namespace veldt::data
