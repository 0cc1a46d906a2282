// Walks through a TOML text token by token, and stops at bytes, lines and nesting that the TOML library
// cannot handle.
#include "veldt/io/config_text.h"

#include <fmt/format.h>

#include <cstddef>

namespace veldt::io {
namespace {

constexpr std::size_t kMaxLine = 2000;
constexpr int kMaxDepth = 16;  // of brackets, and parts of a name

bool in_a_bare_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Walks from token to token. Where this accepts a text that the library does not, the library has already
// stopped with an error and reads no further.
class ConfigScanner {
 public:
  explicit ConfigScanner(std::string_view text) : text_(text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
  }

  std::optional<ConfigTextFault> run() {
    check_bytes();
    while (!fault_ && at_ < text_.size()) step();
    return fault_;
  }

 private:
  char next(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n'; }

  void refuse(std::string why, std::string fix) {
    if (!fault_) fault_ = ConfigTextFault{line_, std::move(why), std::move(fix)};
  }

  void check_bytes() {
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text_.size() && !fault_; ++i) {
      const char c = i < text_.size() ? text_[i] : '\n';
      const bool ends_line = c == '\r' && i + 1 < text_.size() && text_[i + 1] == '\n';
      if (c == '\0')
        refuse("there is a zero byte, so it is not text", "give a TOML file with settings of Veldt");
      else if ((c >= 0 && c < 32 && c != '\t' && c != '\n' && !ends_line) || c == 127)
        refuse(fmt::format("there is a control character, 0x{:02x}", static_cast<int>(c)),
               "leave it out; in a text between \" it can be written like \\u0000, with its own number");
      if (c != '\n') continue;
      if (i - begin > kMaxLine)
        refuse(fmt::format("the line has {} bytes, and at most {} are read", i - begin, kMaxLine),
               "write one setting on a line");
      begin = i + 1;
      ++line_;
    }
    line_ = 1;
  }

  void step() {
    const char c = text_[at_];
    if (c == '#') return skip_comment();
    if (c == '"' || c == '\'') return skip_text(c);
    ++at_;
    if (c == ' ' || c == '\t' || c == '\r') return;
    if (c == '\n') {
      ++line_;
      if (depth_ > 0) return;  // a list goes on
    }
    if (static_cast<unsigned char>(c) > 127)
      return refuse("a character beyond ASCII is outside of quotes",
                    "put texts, and names that have one, in quotes");
    parts_ = c == '.' ? parts_ + 1 : in_a_bare_key(c) ? parts_ : 1;
    if (parts_ > kMaxDepth)
      return refuse(fmt::format("a name has more than {} parts", kMaxDepth),
                    "use a name of Veldt's settings");
    if (c == ']' || c == '}') --depth_;
    if (c == '[' || c == '{') open(c);
    before_ = c;
  }

  void open(char c) {
    const bool begins_table = c == '[' && before_ == '\n';
    if (++depth_ > kMaxDepth)
      return refuse(fmt::format("brackets nest deeper than {}", kMaxDepth), "write lists of plain values");
    if (!begins_table) return;
    if (next() == '[') {
      ++at_;
      ++depth_;
    }
    std::size_t space = 0;
    while (next(space) == ' ' || next(space) == '\t') ++space;
    const char first = next(space);
    if (!in_a_bare_key(first) && first != '"' && first != '\'')
      refuse("a [ at the beginning of a line has no name after it",
             "write the name of a table, as in [train]");
  }

  void skip_comment() {
    while (next() != '\n') ++at_;
  }

  // From an opening quote to just past the closing one.
  void skip_text(char quote) {
    if (std::string_view("\n=,[{.").find(before_) == std::string_view::npos)
      return refuse("a quote is in the middle of a value or a name",
                    "put the whole text in quotes, and a comma between two");
    before_ = quote;
    const bool tripled = next(1) == quote && next(2) == quote;
    for (at_ += tripled ? 3 : 1; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n' && !tripled) break;
      line_ += c == '\n';
      if (c == '\\' && quote == '"') {
        ++at_;
        // After a backslash at the end of a line, the library reads on as if outside of quotes.
        if (std::string_view("btnfr\"\\uU").find(next()) == std::string_view::npos)
          return refuse("a backslash is before a character that needs none",
                        "write \\\\ for a backslash in a text, and long texts on one line");
      } else if (c == quote && (!tripled || (next(1) == quote && next(2) == quote))) {
        at_ += tripled ? 3 : 1;
        for (int more = 0; tripled && more < 2 && next() == quote; ++more) ++at_;  // they belong to the text
        return;
      }
    }
    refuse("a text has no closing quote", "put a quote of the same kind after it");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, depth_ = 0, parts_ = 1;
  char before_ = '\n';  // the last character that is not a space; the quote of a text
  std::optional<ConfigTextFault> fault_ = {};
};

}  // namespace

std::optional<ConfigTextFault> fault_in_config(std::string_view text) { return ConfigScanner(text).run(); }

}  // namespace veldt::io
