// Normalizers as functions that write a text anew.
#include "veldt/data/normalizer.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "veldt/core/error.h"
#include "veldt/data/bpe_alphabet.h"

namespace veldt::data {
namespace {

// The blocks that BERT's own code calls Chinese.
bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_blank_of_bert(char32_t c) { return c == '\t' || c == '\n' || c == '\r' || is_white_space(c); }

AlignedText cleaned(const AlignedText& text) {
  return rewritten(text, [](char32_t c, ByteRange from, AlignedText& into) {
    if (c == 0 || c == 0xFFFD) return;
    if (c == '\t' || c == '\n' || c == '\r')
      into.add(U' ', from);
    else if (!is_control(c))
      into.add(is_blank_of_bert(c) ? U' ' : c, from);
  });
}

AlignedText with_spaced_ideographs(const AlignedText& text) {
  ByteRange last{0, 0};
  return rewritten(text, [&last](char32_t c, ByteRange from, AlignedText& into) {
    if (is_ideograph(c)) into.add(U' ', last);
    into.add(c, from);
    if (is_ideograph(c)) into.add(U' ', from);
    last = from;
  });
}

AlignedText in_form(const AlignedText& text, NormalForm form) {
  std::vector<char32_t> codes;
  std::vector<ByteRange> origins;
  codes.reserve(text.text.size());
  for (std::size_t at = 0; at < text.text.size();) {
    const Character c = character_at(text.text, at);
    codes.push_back(c.code);
    origins.push_back(text.origins[at]);
    at += c.bytes;
  }
  AlignedText into;
  for (const auto& [code, source] : normalized(codes, form)) into.add(code, origins[source]);
  return into;
}

AlignedText without(const AlignedText& text, bool (*drops)(char32_t)) {
  return rewritten(text, [drops](char32_t c, ByteRange from, AlignedText& into) {
    if (!drops(c)) into.add(c, from);
  });
}

AlignedText lowered_text(const AlignedText& text) {
  return rewritten(text, [](char32_t c, ByteRange from, AlignedText& into) {
    into.add(c == 0x130 ? U'i' : lower(c), from);
    if (c == 0x130) into.add(char32_t{0x307}, from);  // i and a dot: the one that becomes two
  });
}

// What a range of a text with a mapping of each byte to `letters` becomes.
void add_byte_letters(const AlignedText& text, ByteRange range, AlignedText& into) {
  for (std::size_t i = range.begin; i < range.end; ++i)
    into.add(letter_of(static_cast<unsigned char>(text.text[i])), text.origins[i]);
}

// SentencePiece's rules: the length of a trie, the trie (Darts-clone: a double array of 32-bit units), and
// the replacements, each ended by a zero.
class Charsmap {
 public:
  explicit Charsmap(const std::string& blob) {
    std::uint32_t bytes = 0;
    const auto refuse = [&](const char* why) {
      throw ConfigError("cannot use a precompiled_charsmap", why, "give the file as SentencePiece wrote it");
    };
    if (blob.size() < sizeof bytes) refuse("it is shorter than its own head");
    std::memcpy(&bytes, blob.data(), sizeof bytes);
    if (bytes % 4 != 0 || bytes == 0 || bytes > blob.size() - sizeof bytes)
      refuse("the trie is longer than all of it");
    units_.resize(bytes / 4);
    std::memcpy(units_.data(), blob.data() + sizeof bytes, bytes);
    replacements_ = blob.substr(sizeof bytes + bytes);
  }

  // What replaces the shortest beginning of `text` that has a rule; null: it has none.
  const char* find(std::string_view text) const {
    std::size_t at = 0;
    if (!move(at, units_[0])) return nullptr;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) return nullptr;
      at ^= byte;
      if (at >= units_.size() || (units_[at] & 0x800000FFu) != byte) return nullptr;
      const bool has_leaf = (units_[at] >> 8 & 1) == 1;
      if (!move(at, units_[at])) return nullptr;
      if (has_leaf) {
        const std::uint32_t value = units_[at] & 0x7FFFFFFFu;
        return value < replacements_.size() ? replacements_.c_str() + value : nullptr;
      }
    }
    return nullptr;
  }

 private:
  bool move(std::size_t& at, std::uint32_t unit) const {
    at ^= (unit >> 10) << ((unit & (1u << 9)) >> 6);
    return at < units_.size();
  }

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace

Normalizer bert_normalizer(const BertNormalizerOptions& o) {
  return [o](AlignedText& text) {
    if (o.clean_text) text = cleaned(text);
    if (o.handle_chinese_chars) text = with_spaced_ideographs(text);
    if (o.strip_accents) text = without(in_form(text, NormalForm::nfd), is_nonspacing_mark);
    if (o.lowercase) text = lowered_text(text);
  };
}

Normalizer unicode_normalizer(NormalForm form) {
  return [form](AlignedText& text) { text = in_form(text, form); };
}

Normalizer lowercase_normalizer() {
  return [](AlignedText& text) { text = lowered_text(text); };
}

Normalizer strip_accents_normalizer() {
  return [](AlignedText& text) { text = without(text, is_mark); };
}

Normalizer strip_normalizer(bool left, bool right) {
  return [left, right](AlignedText& text) {
    std::size_t begin = text.text.size(), end = 0;  // of what is not white space
    for (std::size_t at = 0; at < text.text.size();) {
      const Character c = character_at(text.text, at);
      if (!is_white_space(c.code)) {
        begin = std::min(begin, at);
        end = at + c.bytes;
      }
      at += c.bytes;
    }
    AlignedText into;
    if (!left) begin = 0;
    if (!right) end = text.text.size();
    if (begin < end) into.add(text, {begin, end});
    text = std::move(into);
  };
}

Normalizer replace_normalizer(Matcher pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](AlignedText& text) {
    AlignedText into;
    std::size_t at = 0;
    pattern(text.text, [&](std::size_t begin, std::size_t end) {
      into.add(text, {at, begin});
      into.add(content, text.origins[end - 1]);
      into.check_growth();
      at = end;
    });
    into.add(text, {at, text.text.size()});
    text = std::move(into);
  };
}

Normalizer prepend_normalizer(std::string prefix) {
  return [prefix = std::move(prefix)](AlignedText& text) {
    if (text.text.empty()) return;
    AlignedText into;
    into.add(prefix, text.origins.front());
    into.add(text, {0, text.text.size()});
    text = std::move(into);
  };
}

Normalizer nmt_normalizer() {
  return [](AlignedText& text) {
    text = rewritten(text, [](char32_t c, ByteRange from, AlignedText& into) {
      const bool is_dropped = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
                              c == 0x7F || c == 0x8F || c == 0x9F;
      const bool is_blank = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                            (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                            c == 0xFEFF || c == 0xFFFD;
      if (!is_dropped) into.add(is_blank ? U' ' : c, from);
    });
  };
}

Normalizer byte_level_normalizer() {
  return [](AlignedText& text) {
    AlignedText into;
    add_byte_letters(text, {0, text.text.size()}, into);
    text = std::move(into);
  };
}

void to_byte_letters(Pieces& pieces) {
  AlignedText into;
  into.text.reserve(pieces.text.text.size() * 5 / 4);
  into.origins.reserve(pieces.text.text.size() * 5 / 4);
  for (ByteRange& range : pieces.ranges) {
    const std::size_t begin = into.text.size();
    add_byte_letters(pieces.text, range, into);
    range = {begin, into.text.size()};
  }
  pieces.text = std::move(into);
}

// As Hugging Face does it: whole graphemes of less than six bytes, by the first rule that one of their
// beginnings has; else character by character.
Normalizer precompiled_normalizer(std::string blob) {
  return [map = Charsmap(blob)](AlignedText& text) {
    AlignedText into;
    // The replacement's characters come from those that they replace, one by one; any more from the last.
    const auto replace = [&](std::size_t at, std::size_t end, std::string_view by) {
      ByteRange from = text.origins[at];
      for (std::size_t i = 0; i < by.size();) {
        const Character c = character_at(by, i);
        if (at < end) {
          from = text.origins[at];
          at += character_at(text.text, at).bytes;
        }
        into.add(c.code, from);
        i += c.bytes;
      }
      into.check_growth();
    };
    for (std::size_t at = 0; at < text.text.size();) {
      const std::size_t end = at + grapheme_bytes(text.text, at);
      const std::string_view whole = std::string_view(text.text).substr(at, end - at);
      if (const char* by = whole.size() < 6 ? map.find(whole) : nullptr) {
        replace(at, end, by);
        at = end;
        continue;
      }
      while (at < end) {
        const Character c = character_at(text.text, at);
        if (const char* by = map.find(std::string_view(text.text).substr(at, c.bytes)))
          replace(at, at + c.bytes, by);
        else
          into.add(c.code, text.origins[at]);
        at += c.bytes;
      }
    }
    text = std::move(into);
  };
}

}  // namespace veldt::data
