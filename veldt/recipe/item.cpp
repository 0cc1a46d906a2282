// Reads one text of a list of layers: its name, how often, what; and puts in what words stand for.
#include "veldt/recipe/item.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

namespace veldt::recipe {
namespace {

constexpr std::size_t kMostText = 4096;  // of an argument, after all words are put in
constexpr std::int64_t kMostNumber = 1'000'000'000'000;

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Whether a text is whole numbers with signs between them.
bool is_arithmetic(const std::string& text) {
  const bool has_only = text.find_first_not_of("0123456789+-*/ ") == std::string::npos;
  return has_only && text.find_first_of("+-*/", 1) != std::string::npos;
}

// A sum of products of whole numbers, from left to right.
class Arithmetic {
 public:
  Arithmetic(const std::string& text, const Refusal& refused) : text_(text), refused_(refused) {}

  std::int64_t value() {
    std::int64_t sum = product();
    while (at_ < text_.size()) {
      const char sign = text_[at_++];
      if (sign != '+' && sign != '-') throw not_one();
      const std::int64_t next = product();
      sum = bounded(sign == '+' ? sum + next : sum - next);
    }
    return sum;
  }

 private:
  UsageError not_one() const {
    return refused_(fmt::format("'{}' is not a sum or a product of whole numbers", text_),
                    "write it as in 2*width or channels/2 + 1");
  }
  std::int64_t bounded(std::int64_t value) const {
    if (std::abs(value) > kMostNumber)
      throw refused_(fmt::format("'{}' is a number beyond all sizes", text_), "give smaller numbers");
    return value;
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::int64_t number() {
    skip();
    const bool negative = at_ < text_.size() && text_[at_] == '-';
    if (negative) ++at_;
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
      value = bounded(10 * value + (text_[at_] - '0'));
    if (at_ == begin) throw not_one();
    skip();
    return negative ? -value : value;
  }

  std::int64_t product() {
    std::int64_t all = number();
    while (at_ < text_.size() && (text_[at_] == '*' || text_[at_] == '/')) {
      const bool divides = text_[at_++] == '/';
      const std::int64_t next = number();
      std::int64_t multiplied = 0;
      if (!divides && __builtin_mul_overflow(all, next, &multiplied)) multiplied = kMostNumber + 1;
      if (divides && (next == 0 || all % next != 0))
        throw refused_(fmt::format("{} / {} in '{}' is no whole number", all, next, text_),
                       "give numbers that divide without a rest");
      all = bounded(divides ? all / next : multiplied);
    }
    return all;
  }

  const std::string& text_;
  const Refusal& refused_;
  std::size_t at_ = 0;
};

// The token at text[i], and where it ends: letters that may be a word, or one other character.
struct Token {
  std::size_t end = 0;
  bool may_be_word = false;
};

// Names are not replaced where they begin "name=value", as in a call that is an argument.
Token token_at(const std::string& text, std::size_t i) {
  std::size_t end = i;
  while (end < text.size() && is_letter(text[end])) ++end;
  if (end == i) return {i + 1};
  const std::size_t next = text.find_first_not_of(' ', end);
  const bool is_argument = next != std::string::npos && text[next] == '=';
  const bool goes_on = i > 0 && text[i - 1] == '.';  // of a number: 1.5k
  return {end, !is_argument && !goes_on};
}

std::string with_words(const std::string& text, const Words& words) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() <= kMostText;) {
    const auto [end, may_be_word] = token_at(text, i);
    const std::string token = text.substr(i, end - i);
    const auto word = may_be_word ? words.find(token) : words.end();
    out += word == words.end() ? token : word->second;
    i = end;
  }
  return out;
}

}  // namespace

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<std::string> split_arguments(const std::string& text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == ',' && depth == 0)
      parts.push_back(trimmed(std::exchange(part, "")));
    else
      part += c;
  }
  if (!trimmed(part).empty() || !parts.empty()) parts.push_back(trimmed(part));
  return parts;
}

bool is_name(const std::string& text) {
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_letter);
}

bool has_word(const std::string& text, const std::string& word) {
  for (std::size_t i = 0; i < text.size();) {
    const auto [end, may_be_word] = token_at(text, i);
    if (may_be_word && text.compare(i, end - i, word) == 0) return true;
    i = end;
  }
  return false;
}

std::string resolved(const std::string& text, const Words& words, const Refusal& refused) {
  std::string put = with_words(text, words);
  if (put.size() > kMostText)
    throw refused(fmt::format("an argument becomes longer than {} letters", kMostText), "give a shorter one");
  const auto computed = [&](const std::string& one) {
    return is_arithmetic(one) ? std::to_string(Arithmetic(one, refused).value()) : one;
  };
  if (put.size() < 2 || put.front() != '[' || put.back() != ']') return computed(put);
  std::vector<std::string> items = split_arguments(put.substr(1, put.size() - 2));
  for (std::string& item : items) item = computed(item);
  return fmt::format("[{}]", fmt::join(items, ", "));
}

Item read_item(const std::string& text, const Refusal& refused) {
  Item item;
  std::string head = text.substr(0, text.find('('));
  const std::string arguments = text.substr(head.size());
  if (const auto colon = head.find(':'); colon != std::string::npos) {
    item.name = trimmed(head.substr(0, colon));
    if (!is_name(item.name))
      throw refused(fmt::format("'{}' is not a name", item.name),
                    "write letters, digits and _, as in stem: Conv2d(64, 3)");
    head = head.substr(colon + 1);
  }
  if (const auto times = head.find(" x "); times != std::string::npos) {
    item.count = trimmed(head.substr(0, times));
    head = head.substr(times + 3);
    if (item.count.empty()) throw refused("nothing says how often", "write a number, as in 2 x ReLU");
  }
  item.call = trimmed(head + arguments);
  return item;
}

Item read_item(const std::string& text, const Words& words, const Refusal& refused) {
  Item item = read_item(text, refused);
  const std::string kind = trimmed(item.call.substr(0, item.call.find('(')));
  if (const auto word = words.find(kind); word != words.end()) {
    const bool both = kind.size() != item.call.size() && word->second.find('(') != std::string::npos;
    if (both)
      throw refused(fmt::format("'{}' is {} here, which has arguments", kind, word->second),
                    "give arguments in one place");
    item.call = word->second + item.call.substr(item.call.find(kind) + kind.size());
  }
  return item;
}

}  // namespace veldt::recipe
