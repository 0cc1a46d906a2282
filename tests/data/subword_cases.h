// What tests/golden/subword.py writes of a tokenizer, and the comparison with it.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "veldt/core/escape.h"
#include "veldt/data/subword_tokenizer.h"
#include "veldt/data/unicode.h"

namespace veldt::test {

// Each byte that is no UTF-8 as U+FFFD, which is what Hugging Face's decoders have there, one for several.
inline std::string without_invalid(const std::string& text) {
  std::string valid;
  for (std::size_t at = 0; at < text.size();) {
    const data::Character c = data::character_at(text, at);
    if (c.code < data::kInvalid && c.code != 0xFFFD) valid.append(text, at, c.bytes);
    at += c.bytes;
  }
  return valid;
}

// How many of the cases differ: in tokens or decoded text, or in offsets alone; the first few of the former
// are failures with their texts.
struct Differences {
  int tokens = 0, offsets = 0;
};
inline Differences differences(const data::SubwordTokenizer& tokenizer, const std::string& name,
                               const nlohmann::json& cases) {
  Differences all;
  for (const nlohmann::json& wanted : cases) {
    const auto text = wanted.at("text").get<std::string>();
    const data::Encoding e = wanted.at("second").is_null()
                                 ? tokenizer.encoded(text)
                                 : tokenizer.encoded(text, wanted.at("second").get<std::string>());
    nlohmann::json offsets = nlohmann::json::array(), attention = nlohmann::json::array();
    for (const auto& [begin, end] : e.offsets) offsets.push_back({begin, end});
    for (const bool counts : e.attention) attention.push_back(counts ? 1 : 0);
    const nlohmann::json found = {
        {"ids", e.ids}, {"types", e.type_ids}, {"offsets", offsets}, {"attention", attention}};
    std::string differs;
    bool moved = false;
    for (const auto& [key, value] : found.items())
      if (value != wanted.at(key) && key == "offsets")
        moved = true;
      else if (value != wanted.at(key))
        differs += key + ": " + value.dump() + " instead of " + wanted.at(key).dump() + '\n';
    for (const bool skips : {true, false}) {
      const std::string decoded = tokenizer.decode(e.ids, skips),
                        theirs = wanted.at(skips ? "decoded" : "decoded_all");
      if (without_invalid(decoded) != without_invalid(theirs))
        differs += "decoded: " + escape_controls(decoded) + " instead of " + escape_controls(theirs) + '\n';
    }
    if (differs.empty() && moved) ++all.offsets;
    if (differs.empty()) continue;
    if (++all.tokens <= 5) ADD_FAILURE() << name << " for \"" << escape_controls(text) << "\"\n" << differs;
  }
  return all;
}

}  // namespace veldt::test
