// The file of a BpeTokenizer: the JSON of Hugging Face's tokenizers, in which each byte is a letter that JSON
// can hold.
#include <nlohmann/json.hpp>

#include "veldt/core/error.h"
#include "veldt/data/bpe_alphabet.h"
#include "veldt/data/tokenizer.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"

namespace veldt::data {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;  // of a file: about 200,000 tokens

// The rule of word_length() in bpe_tokenizer.cpp as a regular expression.
constexpr const char* kWordPattern =
    R"('(?:[sdmt]|ll|ve|re)| ?[A-Za-z\x{80}-\x{10FFFF}]+| ?[0-9]+| ?[^\t-\r 0-9A-Za-z\x{80}-\x{10FFFF}]+)"
    R"(|[\t-\r ]+(?![^\t-\r ])|[\t-\r ]+)";

// Everything except the vocabulary and the merges; it is the same in all files.
Json frame() {
  const Json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  const Json words = {
      {"type", "Split"}, {"pattern", {{"Regex", kWordPattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", Json::array({words, bytes})}}},
          {"post_processor", nullptr},
          {"decoder", bytes},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false}}}};
}

// The letter of a byte: itself if it is printable, else one from U+0100 on. In UTF-8.
std::string letter_of(unsigned char byte) {
  static const std::vector<std::string> letters = [] {
    std::vector<std::string> all(kBytes);
    unsigned next = 0x100;
    for (unsigned b = 0; b < kBytes; ++b) {
      const unsigned code = is_visible(static_cast<int>(b)) ? b : next++;
      if (code < 0x80)
        all[b] = std::string(1, static_cast<char>(code));
      else
        all[b] = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    }
    return all;
  }();
  return letters[byte];
}

std::string in_letters(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += letter_of(static_cast<unsigned char>(c));
  return text;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw IoError(IoError::Kind::malformed, str("cannot read the tokenizer ", path), why,
                "give a file that BpeTokenizer::save() wrote");
}

// A file may hold other values; anything except `expected` is refused.
void check_frame(const std::string& path, const Json& found, const Json& expected, const std::string& at) {
  for (const auto& [key, value] : found.items()) {
    const std::string name = at.empty() ? key : at + "." + key;
    if (name == "model.vocab" || name == "model.merges") continue;
    const auto wanted = expected.find(key);
    if (wanted == expected.end()) {
      if (!value.is_null()) refuse(path, str("\"", name.substr(0, 80), "\" is unknown"));
    } else if (value.is_object() && wanted->is_object()) {
      check_frame(path, value, *wanted, name);
    } else if (value != *wanted) {
      refuse(path, str("\"", name, "\" is ", io::dump_json(value).substr(0, 80), ", and Veldt supports ",
                       io::dump_json(*wanted).substr(0, 80), " alone"));
    }
  }
  for (const auto& [key, value] : expected.items())
    if (!found.contains(key) && !value.is_null())
      refuse(path, str("\"", at.empty() ? key : at + "." + key, "\" is not there"));
}

}  // namespace

std::string BpeTokenizer::text() const {
  Json file = frame();
  Json vocabulary = Json::object();
  for (const auto& [token, number] : numbers_) vocabulary[in_letters(token)] = number;
  Json merges = Json::array();
  for (const auto& [left, right] : merges_)
    merges.push_back({in_letters(tokens_[static_cast<std::size_t>(left)]),
                      in_letters(tokens_[static_cast<std::size_t>(right)])});
  file["model"]["vocab"] = std::move(vocabulary);
  file["model"]["merges"] = std::move(merges);
  const std::string text = io::dump_json(file, 1) + "\n";
  if (text.size() > kMaxBytes)
    throw ConfigError(str("cannot keep a tokenizer of ", size(), " tokens"),
                      str("its file would have ", text.size(), " bytes, and ", kMaxBytes, " are allowed"),
                      "train a smaller vocabulary");
  return text;
}

void BpeTokenizer::save(const std::string& path) const { io::write_file(path, text()); }

BpeTokenizer BpeTokenizer::load(const std::string& path) {
  return parse(io::read_file(path, kMaxBytes), path);
}

BpeTokenizer BpeTokenizer::parse(const std::string& text, const std::string& path) {
  Json file;
  try {
    file = io::parse_json<Json>(text, io::kMaxJsonDepth, kMaxBytes);
  } catch (const IoError& e) {
    refuse(path, e.why());
  }
  if (!file.is_object()) refuse(path, "it is not an object");
  check_frame(path, file, frame(), "");
  const auto part = [&](const char* name) {
    const auto at = file["model"].find(name);
    return at == file["model"].end() ? Json() : *at;
  };
  const Json vocabulary = part("vocab"), merges = part("merges");
  if (!vocabulary.is_object() || !merges.is_array())
    refuse(path, "\"model\" lacks the object \"vocab\" or the list \"merges\"");

  BpeTokenizer tokenizer;
  std::unordered_map<std::string, std::int64_t> numbers;  // by letters
  for (std::int64_t i = 0; i < kBytes; ++i)
    numbers[in_letters(tokenizer.tokens_[static_cast<std::size_t>(i)])] = i;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto number = [&](std::size_t side) {
      const Json& merge = merges[i];
      if (!merge.is_array() || merge.size() != 2 || !merge[side].is_string())
        refuse(path, str("merge ", i, " is not a pair of tokens"));
      const auto at = numbers.find(merge[side].get_ref<const std::string&>());
      if (at == numbers.end())
        refuse(path, str("merge ", i, " joins \"", merge[side].get<std::string>().substr(0, 40),
                         "\", which is not a byte and which no earlier merge makes"));
      return at->second;
    };
    const std::int64_t left = number(0), right = number(1);
    if (tokenizer.merge_of_.contains(key_of(left, right))) refuse(path, str("merge ", i, " is there twice"));
    const std::int64_t token = tokenizer.add_merge(left, right);
    numbers[in_letters(tokenizer.tokens_[static_cast<std::size_t>(token)])] = token;
  }
  if (vocabulary.size() != numbers.size())
    refuse(path, str("\"vocab\" has ", vocabulary.size(), " tokens, and the merges make ", numbers.size()));
  for (const auto& [letters, number] : vocabulary.items())
    if (const auto at = numbers.find(letters); at == numbers.end() || number != at->second)
      refuse(path,
             str("\"vocab\" has \"", letters.substr(0, 40), "\" at ", io::dump_json(number).substr(0, 40),
                 at == numbers.end() ? std::string(", which no merge makes")
                                     : str(", where the merges make it ", at->second)));
  return tokenizer;
}

}  // namespace veldt::data
