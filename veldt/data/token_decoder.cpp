// From tokens to text: Hugging Face's decoders.
#include <array>

#include "veldt/data/bpe_alphabet.h"
#include "veldt/data/subword_parts.h"

namespace veldt::data {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string made;
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != text.npos; found = text.find(from, at)) {
    made.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  text = made.append(text, at);
}

// The byte of "<0x41>", or -1.
int byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    byte = 16 * byte + digit;
  }
  return byte;
}

// The bytes that letters stand for; a token with a character that is no letter is as it is.
std::string bytes_of_letters(const std::string& token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const Character c = character_at(token, at);
    const int byte = byte_of(c.code);
    if (byte < 0) return token;
    bytes += static_cast<char>(byte);
    at += c.bytes;
  }
  return bytes;
}

}  // namespace

TokenDecoder byte_level_decoder() {
  return [](std::vector<std::string>& tokens) {
    for (std::string& token : tokens) token = bytes_of_letters(token);
  };
}

TokenDecoder word_piece_decoder(std::string prefix, bool cleanup) {
  return [prefix = std::move(prefix), cleanup](std::vector<std::string>& tokens) {
    static constexpr std::array<std::array<std::string_view, 2>, 11> kTidied = {{{" .", "."},
                                                                                 {" ?", "?"},
                                                                                 {" !", "!"},
                                                                                 {" ,", ","},
                                                                                 {" ' ", "'"},
                                                                                 {" n't", "n't"},
                                                                                 {" 'm", "'m"},
                                                                                 {" do not", " don't"},
                                                                                 {" 's", "'s"},
                                                                                 {" 've", "'ve"},
                                                                                 {" 're", "'re"}}};
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) {
        if (tokens[i].starts_with(prefix))
          tokens[i].erase(0, prefix.size());
        else
          tokens[i].insert(0, " ");
      }
      if (cleanup)
        for (const auto& [from, to] : kTidied) replace_all(tokens[i], from, to);
    }
  };
}

TokenDecoder metaspace_decoder(char32_t replacement, Prepend prepend) {
  std::string mark;
  append(mark, replacement);
  return [mark, prepend](std::vector<std::string>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], mark, i == 0 && prepend != Prepend::never ? "" : " ");
  };
}

TokenDecoder bpe_decoder(std::string suffix) {
  return [suffix = std::move(suffix)](std::vector<std::string>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (!suffix.empty()) replace_all(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
  };
}

TokenDecoder byte_fallback_decoder() {
  return [](std::vector<std::string>& tokens) {
    for (std::string& token : tokens)
      if (const int byte = byte_of_token(token); byte >= 0) token.assign(1, static_cast<char>(byte));
  };
}

TokenDecoder fuse_decoder() {
  return [](std::vector<std::string>& tokens) {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, std::move(all));
  };
}

TokenDecoder strip_decoder(char32_t content, std::int64_t start, std::int64_t stop) {
  std::string mark;
  append(mark, content);
  return [mark, start, stop](std::vector<std::string>& tokens) {
    for (std::string& token : tokens) {
      std::size_t begin = 0, end = token.size();
      for (std::int64_t i = 0; i < start && token.compare(begin, mark.size(), mark) == 0; ++i)
        begin += mark.size();
      for (std::int64_t i = 0;
           i < stop && end >= begin + mark.size() && token.compare(end - mark.size(), mark.size(), mark) == 0;
           ++i)
        end -= mark.size();
      token = token.substr(begin, end - begin);
    }
  };
}

constexpr std::size_t kMaxDecoded = std::size_t{64} << 20;

TokenDecoder replace_decoder(Matcher pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](std::vector<std::string>& tokens) {
    std::size_t all = 0;
    for (std::string& token : tokens) {
      std::string made;
      std::size_t at = 0;
      pattern(token, [&](std::size_t begin, std::size_t end) {
        made.append(token, at, begin - at).append(content);
        at = end;
        if (all + made.size() > kMaxDecoded)
          throw ConfigError(str("a decoded text grows to more than ", kMaxDecoded, " bytes"),
                            "the tokenizer's steps replace what is short by what is long",
                            "look at the decoder of its file, or decode fewer tokens at a time");
      });
      token = made.append(token, at);
      all += token.size();
    }
  };
}

}  // namespace veldt::data
