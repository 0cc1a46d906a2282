// A tokenizer.json, part by part. For the files that read it.
// Tests: tests/data/subword_tokenizer_test.cpp
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/data/subword_parts.h"

namespace veldt::data {

constexpr std::int64_t kMaxTokens = 1 << 20;  // of a padded text

// A part of the file, with where it is: "pre_tokenizer.pretokenizers.0".
class JsonPart {
 public:
  // `json`: of nlohmann's library, which headers do not name.
  JsonPart(const void* json, std::string at, const std::string& file)
      : json_(json), at_(std::move(at)), file_(file) {}

  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_type();
  const void* json() const { return json_; }
  bool is_null() const;
  bool is_text() const;

  // The object's members; each has to be asked for, or finish() refuses it.
  JsonPart operator[](const std::string& key);
  void ignore(std::initializer_list<const char*> keys) { known_.insert(keys.begin(), keys.end()); }
  void finish() const;
  std::vector<JsonPart> items() const;  // of a list

  const std::string& text() const;
  std::string text(const std::string& otherwise) const { return is_null() ? otherwise : text(); }
  bool flag(bool otherwise) const;
  std::int64_t number(std::int64_t least, std::int64_t most) const;
  char32_t character() const;
  // The place of the text among the names.
  std::size_t choice(std::initializer_list<std::string_view> names) const;

  // Calls make(), and refuses with this place what it finds wrong.
  template <class Make> auto checked(const Make& make) const {
    try {
      return make();
    } catch (const ConfigError& e) {
      refuse(str("is wrong: ", e.summary(), ": ", e.why()));
    }
  }

 private:
  const void* json_;
  std::string at_;
  const std::string& file_;
  std::set<std::string> known_;
};

// Numbers are below twice the number of tokens and some, so that a list of them is no larger than the file.
struct Ids {
  std::int64_t most;
  std::int64_t of(const JsonPart& part) const { return part.number(0, most); }
};

// Steps before and after the model (subword_steps.cpp); empty ones for null.
Normalizer normalizer_of(JsonPart part);
PreTokenizer pre_tokenizer_of(JsonPart part);
void read_decoder(JsonPart part, std::vector<TokenDecoder>& into);
void read_post_processor(JsonPart part, Ids ids, PostProcessor& into);

}  // namespace veldt::data
