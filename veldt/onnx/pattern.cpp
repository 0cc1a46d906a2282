// Patterns to steps, and their simulation with a set of places.
#include "veldt/onnx/pattern.h"

#include <algorithm>
#include <memory>

#include "veldt/core/error.h"

namespace veldt::onnx {

namespace {

constexpr std::size_t kMaxSteps = 20000, kMaxWork = 1000000;
constexpr int kMaxDepth = 200, kMaxRepeat = 1000;

[[noreturn]] void refuse_pattern(std::string_view text, const std::string& why) {
  throw UsageError(str("the pattern \"", std::string(text.substr(0, 100)), "\" cannot be used"), why,
                   "write it in RE2's syntax");
}

// The characters of UTF-8; a byte that is none becomes U+FFFD.
std::u32string characters(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t more = byte < 0x80 ? 0 : byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 4;
    char32_t value = more == 0 ? byte : byte & (0x3FU >> more);
    bool whole = more < 4 && i + more < text.size();
    for (std::size_t k = 1; whole && k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      whole = (next & 0xC0U) == 0x80;
      value = value << 6U | (next & 0x3FU);
    }
    out.push_back(whole ? value : 0xFFFD);
    i += whole ? more + 1 : 1;
  }
  return out;
}

bool is_word(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A pattern as a tree.
struct Piece {
  enum class Kind : std::uint8_t {
    nothing,
    ranges,
    begin,
    end,
    word_edge,
    no_word_edge,
    all,
    any_of,
    repeat
  };
  Kind kind = Kind::nothing;
  Pattern::Ranges ranges = {};
  std::vector<Piece> parts = {};
  int least = 0, most = -1;  // -1: any number
};

using Range = std::pair<char32_t, char32_t>;
struct Class {
  std::u32string_view name;
  std::vector<Range> list;
};
const std::vector<Class>& named_classes() {
  static const std::vector<Class> classes = {
      {U"alpha", {{'a', 'z'}, {'A', 'Z'}}},
      {U"digit", {{'0', '9'}}},
      {U"alnum", {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}}},
      {U"word", {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'_', '_'}}},
      {U"upper", {{'A', 'Z'}}},
      {U"lower", {{'a', 'z'}}},
      {U"space", {{'\t', '\r'}, {' ', ' '}}},
      {U"blank", {{'\t', '\t'}, {' ', ' '}}},
      {U"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {U"xdigit", {{'0', '9'}, {'a', 'f'}, {'A', 'F'}}},
      {U"cntrl", {{0, 31}, {127, 127}}},
      {U"print", {{' ', '~'}}},
      {U"graph", {{'!', '~'}}},
      {U"ascii", {{0, 127}}},
  };
  return classes;
}

// Walks through a pattern's characters.
class PatternText {
 protected:
  explicit PatternText(std::string_view text) : text_(text), in_(characters(text)) {}
  [[noreturn]] void fail(const std::string& why) const { refuse_pattern(text_, why); }
  bool done() const { return at_ >= in_.size(); }
  bool next_is(char32_t c) const { return !done() && in_[at_] == c; }
  bool take(char32_t c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  bool take(std::u32string_view what) {
    if (in_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }
  char32_t any() {
    if (done()) fail("it ends in the middle");
    return in_[at_++];
  }

  std::string_view text_;
  std::u32string in_;
  std::size_t at_ = 0;
};

// Single characters, escapes and sets.
class CharacterParser : protected PatternText {
 protected:
  using PatternText::PatternText;

  Piece single(char32_t c) const {
    Piece piece{Piece::Kind::ranges};
    piece.ranges.list = {{c, c}};
    if (fold_) add_cases(piece.ranges);
    return piece;
  }

  static void add_cases(Pattern::Ranges& ranges) {
    const std::vector<Range> list = ranges.list;
    for (const auto& [low, high] : list) {
      const auto also = [&](char32_t first, char32_t last, int by) {
        const char32_t a = std::max(low, first), b = std::min(high, last);
        if (a <= b) ranges.list.emplace_back(a + static_cast<char32_t>(by), b + static_cast<char32_t>(by));
      };
      also('a', 'z', 'A' - 'a');
      also('A', 'Z', 'a' - 'A');
    }
  }

  // \d, \w, \s and their opposites, after the backslash.
  bool class_of(Pattern::Ranges& to) {
    for (const auto& [letter, name] : {std::pair{U'd', U"digit"}, {U'w', U"word"}, {U's', U"space"}}) {
      const bool opposite = next_is(letter - 'a' + 'A');
      if (!opposite && !next_is(letter)) continue;
      ++at_;
      const std::vector<Range> list =
          std::find_if(named_classes().begin(), named_classes().end(), [&, n = name](const Class& k) {
            return k.name == n;
          })->list;
      if (opposite)
        add_opposite(list, to);
      else
        to.list.insert(to.list.end(), list.begin(), list.end());
      return true;
    }
    return false;
  }

  static void add_opposite(std::vector<Range> list, Pattern::Ranges& to) {
    std::sort(list.begin(), list.end());
    char32_t first = 0;
    for (const auto& [low, high] : list) {
      if (low > first) to.list.emplace_back(first, low - 1);
      first = std::max<char32_t>(first, high + 1);
    }
    to.list.emplace_back(first, 0x10FFFF);
  }

  char32_t escaped() {
    const char32_t c = any();
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'a': return '\a';
      case 'x': return hexadecimal();
      default: break;
    }
    if (c < 128 && is_word(c)) fail(str("the escape \\", static_cast<char>(c), " is not supported"));
    return c;
  }

  char32_t hexadecimal() {
    const bool braces = take('{');
    char32_t value = 0;
    for (int i = 0; i < (braces ? 8 : 2); ++i) {
      const char32_t c = any();
      if (braces && c == '}') return value;
      const int digit = c >= '0' && c <= '9'   ? static_cast<int>(c - '0')
                        : c >= 'a' && c <= 'f' ? static_cast<int>(c - 'a') + 10
                        : c >= 'A' && c <= 'F' ? static_cast<int>(c - 'A') + 10
                                               : -1;
      if (digit < 0 || value > 0x10FFFF) fail("a number after \\x is not hexadecimal");
      value = value * 16 + static_cast<char32_t>(digit);
    }
    if (braces) fail("a number after \\x is too long");
    return value;
  }

  Piece set() {
    Piece piece{Piece::Kind::ranges};
    piece.ranges.negated = take('^');
    for (bool first = true; first || !next_is(']'); first = false) {
      if (take(U"[:")) {
        const bool opposite = take('^');
        const auto found = std::find_if(named_classes().begin(), named_classes().end(), [&](const Class& k) {
          return in_.compare(at_, k.name.size(), k.name) == 0;
        });
        if (found == named_classes().end()) fail("it names a class that is not known");
        at_ += found->name.size();
        if (!take(U":]")) fail("the name of a class does not end");
        if (opposite)
          add_opposite(found->list, piece.ranges);
        else
          piece.ranges.list.insert(piece.ranges.list.end(), found->list.begin(), found->list.end());
        continue;
      }
      char32_t low = any();
      if (low == '\\') {
        if (class_of(piece.ranges)) continue;
        low = next_is('b') ? ++at_, U'\b' : escaped();
      }
      char32_t high = low;
      if (next_is('-') && at_ + 1 < in_.size() && in_[at_ + 1] != ']') {
        ++at_;
        high = any();
        if (high == '\\') high = escaped();
        if (high < low) fail("a range ends before it begins");
      }
      piece.ranges.list.emplace_back(low, high);
    }
    take(']');
    if (fold_) add_cases(piece.ranges);
    return piece;
  }

  bool fold_ = false, dot_all_ = false;
};

// The whole syntax.
class Parser : private CharacterParser {
 public:
  explicit Parser(std::string_view text) : CharacterParser(text) {}
  Piece whole() {
    Piece piece = alternatives(0);
    if (!done()) fail("a closing bracket has no opening one");
    return piece;
  }

 private:
  Piece alternatives(int depth) {
    if (depth > kMaxDepth) fail("its brackets are nested too deep");
    const bool fold = fold_, dot_all = dot_all_;
    Piece out{Piece::Kind::any_of};
    do {
      Piece line{Piece::Kind::all};
      while (!done() && !next_is('|') && !next_is(')')) line.parts.push_back(repeated(depth));
      out.parts.push_back(std::move(line));
    } while (take('|'));
    fold_ = fold;  // flags end with their group
    dot_all_ = dot_all;
    return out;
  }

  Piece repeated(int depth) {
    Piece piece = atom(depth);
    for (int count = 0; !done(); ++count) {
      int least = 0, most = -1;
      const std::size_t before = at_;
      if (take('+')) {
        least = 1;
      } else if (take('?')) {
        most = 1;
      } else if (take('{')) {
        if (!bounds(least, most)) {  // then it stands for itself
          at_ = before;
          break;
        }
      } else if (!take('*')) {
        break;
      }
      if (count > 10) fail("it repeats repetitions too often");
      take('?');  // as few as possible, which is the same for a whole text
      Piece outer{Piece::Kind::repeat};
      outer.parts.push_back(std::move(piece));
      outer.least = least;
      outer.most = most;
      piece = std::move(outer);
    }
    return piece;
  }

  // "m}", "m,}" or "m,n}".
  bool bounds(int& least, int& most) {
    const auto number = [&](int& to) {
      const std::size_t first = at_;
      to = 0;
      while (!done() && in_[at_] >= '0' && in_[at_] <= '9' && at_ - first < 6)
        to = to * 10 + static_cast<int>(in_[at_++] - '0');
      return at_ > first;
    };
    if (!number(least)) return false;
    most = least;
    if (take(',') && !number(most)) most = -1;
    if (!take('}')) return false;
    if (least > kMaxRepeat || most > kMaxRepeat || (most >= 0 && most < least))
      fail(str("it repeats from ", least, " to ", most, " times; at most ", kMaxRepeat, " are allowed"));
    return true;
  }

  void flags() {
    bool on = true;
    for (;;) {
      const char32_t c = any();
      if (c == ')' || c == ':') {
        --at_;
        return;
      }
      if (c == '-')
        on = false;
      else if (c == 'i')
        fold_ = on;
      else if (c == 's')
        dot_all_ = on;
      else
        fail("it has a flag other than i and s");
    }
  }

  Piece group(int depth) {
    const bool fold = fold_, dot_all = dot_all_;
    if (take(U"?P<") || (take(U"?<"))) {
      while (any() != '>') {
      }
    } else if (take(U"?")) {
      flags();
      if (take(')')) return {};  // flags for the rest of the group around it
      take(':');
    }
    Piece piece = alternatives(depth + 1);
    if (!take(')')) fail("an opening bracket has no closing one");
    fold_ = fold;
    dot_all_ = dot_all;
    return piece;
  }

  Piece atom(int depth) {
    const char32_t c = any();
    switch (c) {
      case '(': return group(depth);
      case '[': return set();
      case '^': return {Piece::Kind::begin};
      case '$': return {Piece::Kind::end};
      case '\\': return escape();
      case '*':
      case '+':
      case '?': fail("a repetition has nothing to repeat");
      case '.': {
        Piece piece{Piece::Kind::ranges};
        if (!dot_all_) piece.ranges.list = {{'\n', '\n'}};
        piece.ranges.negated = true;
        return piece;
      }
      default: return single(c);
    }
  }

  Piece escape() {
    if (take('b')) return {Piece::Kind::word_edge};
    if (take('B')) return {Piece::Kind::no_word_edge};
    if (take('A')) return {Piece::Kind::begin};
    if (take('z')) return {Piece::Kind::end};
    Piece piece{Piece::Kind::ranges};
    if (class_of(piece.ranges)) return piece;
    return single(escaped());
  }
};

}  // namespace

bool Pattern::Ranges::has(char32_t c) const {
  return negated != std::any_of(list.begin(), list.end(),
                                [c](const auto& range) { return c >= range.first && c <= range.second; });
}

// Writes a tree out as steps.
class PatternCompiler {
 public:
  PatternCompiler(std::string_view text, Pattern& to) : text_(text), to_(to) {}
  void all(const Piece& piece) {
    write(piece);
    add(Pattern::Op::match);
  }

 private:
  std::size_t add(Pattern::Op op, std::size_t to = 0) {
    if (to_.steps_.size() >= kMaxSteps) refuse_pattern(text_, str("it has more than ", kMaxSteps, " steps"));
    to_.steps_.push_back({op, to, 0});
    return to_.steps_.size() - 1;
  }
  std::size_t here() const { return to_.steps_.size(); }

  void write(const Piece& piece) {
    using Kind = Piece::Kind;
    if (++work_ > kMaxWork) refuse_pattern(text_, "its repetitions are too many");
    switch (piece.kind) {
      case Kind::nothing: break;
      case Kind::begin: add(Pattern::Op::begin); break;
      case Kind::end: add(Pattern::Op::end); break;
      case Kind::word_edge: add(Pattern::Op::word_edge); break;
      case Kind::no_word_edge: add(Pattern::Op::no_word_edge); break;
      case Kind::ranges:
        add(Pattern::Op::character, to_.ranges_.size());
        to_.ranges_.push_back(piece.ranges);
        break;
      case Kind::all:
        for (const Piece& part : piece.parts) write(part);
        break;
      case Kind::any_of: any_of(piece.parts); break;
      case Kind::repeat: repeat(piece); break;
    }
  }

  void any_of(const std::vector<Piece>& parts) {
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const std::size_t fork = add(Pattern::Op::split);
      to_.steps_[fork].to = here();
      write(parts[i]);
      ends.push_back(add(Pattern::Op::jump));
      to_.steps_[fork].other = here();
    }
    write(parts.back());
    for (const std::size_t end : ends) to_.steps_[end].to = here();
  }

  void repeat(const Piece& piece) {
    for (int i = 0; i < piece.least; ++i) write(piece.parts[0]);
    if (piece.most < 0) {
      const std::size_t fork = add(Pattern::Op::split);
      to_.steps_[fork].to = here();
      write(piece.parts[0]);
      add(Pattern::Op::jump, fork);
      to_.steps_[fork].other = here();
      return;
    }
    std::vector<std::size_t> forks;
    for (int i = piece.least; i < piece.most; ++i) {
      forks.push_back(add(Pattern::Op::split));
      to_.steps_[forks.back()].to = here();
      write(piece.parts[0]);
    }
    for (const std::size_t fork : forks) to_.steps_[fork].other = here();
  }

  std::string_view text_;
  Pattern& to_;
  std::size_t work_ = 0;
};

Pattern::Pattern(std::string_view text) { PatternCompiler(text, *this).all(Parser(text).whole()); }

bool Pattern::matches(std::string_view text) const {
  const std::u32string in = characters(text);
  std::vector<std::size_t> now, next, open;
  std::vector<std::size_t> seen(steps_.size(),
                                ~std::size_t{0});  // the last position at which a step was reached
  bool matched = false;
  // All steps that can be reached from one without reading, at position i.
  const auto reach = [&](std::size_t first, std::size_t i, std::vector<std::size_t>& into) {
    open.push_back(first);
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (seen[at] == i) continue;
      seen[at] = i;
      const Step& step = steps_[at];
      const bool edge = (i > 0 && is_word(in[i - 1])) != (i < in.size() && is_word(in[i]));
      switch (step.op) {
        case Op::character: into.push_back(at); break;
        case Op::match: matched = matched || i == in.size(); break;
        case Op::jump: open.push_back(step.to); break;
        case Op::split:
          open.push_back(step.other);
          open.push_back(step.to);
          break;
        case Op::begin:
          if (i == 0) open.push_back(at + 1);
          break;
        case Op::end:
          if (i == in.size()) open.push_back(at + 1);
          break;
        case Op::word_edge:
          if (edge) open.push_back(at + 1);
          break;
        case Op::no_word_edge:
          if (!edge) open.push_back(at + 1);
          break;
      }
    }
  };
  reach(0, 0, now);
  for (std::size_t i = 0; i < in.size() && !now.empty(); ++i) {
    next.clear();
    for (const std::size_t at : now)
      if (ranges_[steps_[at].to].has(in[i])) reach(at + 1, i + 1, next);
    now.swap(next);
  }
  return matched;
}

}  // namespace veldt::onnx
