// Counts words, and sequences of them, of what a network wrote.
#include "veldt/recipe/coherence.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace veldt::recipe {
namespace {

constexpr std::size_t kSequence = 3;  // words

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (static_cast<unsigned char>(c) & 0x80) != 0;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    const bool joins = c == '\'' && !word.empty() && i + 1 < text.size() && in_word(text[i + 1]);
    if (in_word(c) || joins) {
      word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  }
  return words;
}

double share(std::size_t part, std::size_t of) {
  return of == 0 ? std::numeric_limits<double>::quiet_NaN()
                 : static_cast<double>(part) / static_cast<double>(of);
}

}  // namespace

train::Scores coherence(std::string_view written, std::string_view learned) {
  const std::vector<std::string> all = words_of(learned);
  const std::unordered_set<std::string> known(all.begin(), all.end());
  std::vector<std::string> words = words_of(written);
  if (!words.empty() && in_word(written.back())) words.pop_back();
  std::size_t real = 0, repeated = 0;
  for (const std::string& word : words) real += known.contains(word);
  std::set<std::vector<std::string>> before;
  const std::size_t sequences = words.size() < kSequence ? 0 : words.size() - kSequence + 1;
  for (std::size_t i = 0; i < sequences; ++i) {
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(i);
    repeated += !before.insert({begin, begin + static_cast<std::ptrdiff_t>(kSequence)}).second;
  }
  return {{"sample_words", share(real, words.size())}, {"sample_repeats", share(repeated, sequences)}};
}

}  // namespace veldt::recipe
