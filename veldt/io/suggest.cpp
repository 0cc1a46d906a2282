// Counts the edits from one word to another, and finds the word with the fewest.
#include "veldt/io/suggest.h"

#include <algorithm>

namespace veldt::io {

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<int> two_ago(columns), last(columns), row(columns);
  for (std::size_t j = 0; j < columns; ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < columns; ++j) {
      const int replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_ago[j - 2] + 1);
    }
    std::swap(two_ago, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 64;  // a mistyped word is short; a pasted page is not one
  if (word.empty() || word.size() > kLongest) return {};
  const std::string_view letters = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  if (letters.empty()) return {};
  const int allowed = std::max(1, static_cast<int>(letters.size()) / 3);
  std::string best;
  int best_distance = allowed + 1;
  std::string begun, within;
  int begun_count = 0, within_count = 0;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
    if (letters.size() >= 2 && candidate.starts_with(word)) {
      begun = candidate;
      ++begun_count;
    }
    if (letters.size() >= 4 && candidate.find(word) != std::string::npos) {
      within = candidate;
      ++within_count;
    }
  }
  if (!best.empty()) return best;
  if (begun_count == 1) return begun;
  return within_count == 1 ? within : std::string();
}

}  // namespace veldt::io
