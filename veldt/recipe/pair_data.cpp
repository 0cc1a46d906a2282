// Pairs of texts, one a line with a tab between them, as examples for a network of an encoder and a decoder.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "veldt/core/escape.h"
#include "veldt/io/file.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/translate.h"

namespace veldt::recipe {
namespace {

constexpr std::int64_t kMostTokens = 1 << 27;  // of all examples: a gigabyte
constexpr std::int64_t kLongest = 4096;        // of one text
constexpr std::int64_t kNoLabel = -100;

using Pair = std::pair<std::string, std::string>;

IoError no_pairs(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, fmt::format("{} has no pairs of texts", path), why,
          "give a file with a pair in each line, and a tab between the two texts"};
}

std::vector<Pair> read_pairs(const std::string& path) {
  const std::string text = io::read_file(path);
  std::vector<Pair> pairs;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1, ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size() ||
        line.find('\t', tab + 1) != std::string::npos)
      throw no_pairs(path, fmt::format("line {} is '{}'", number, escape_controls(line.substr(0, 80))));
    pairs.emplace_back(line.substr(0, tab), line.substr(tab + 1));
  }
  if (pairs.size() < 4) throw no_pairs(path, fmt::format("it has {} lines with text", pairs.size()));
  return pairs;
}

// The numbers of one text, without what fills it up.
std::vector<std::int64_t> numbers_of(const data::Tokenizer& tokenizer, const std::string& text) {
  return tokenizer.encode(text).values<std::int64_t>();
}

// {source, target so far, target}: the second begins with the end of a text, the third ends with it.
class PairTable {
 public:
  PairTable(const ModelFacts& model, std::int64_t end, std::size_t count)
      : source_(model.input[0]),
        target_(model.target[0]),
        end_(end),
        count_(static_cast<std::int64_t>(count)) {}

  void add(const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target) {
    put(sources_, source, source_, end_);
    std::vector<std::int64_t> before{end_}, after = target;
    before.insert(before.end(), target.begin(), target.end());
    after.push_back(end_);
    put(befores_, before, target_, end_);
    put(afters_, after, target_, kNoLabel);
  }

  data::DatasetPtr set() const {
    return data::from_tensors({Tensor::from<std::int64_t>({count_, source_}, sources_),
                               Tensor::from<std::int64_t>({count_, target_}, befores_),
                               Tensor::from<std::int64_t>({count_, target_}, afters_)});
  }

 private:
  static void put(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& line, std::int64_t length,
                  std::int64_t filling) {
    all.insert(all.end(), line.begin(), line.end());
    all.insert(all.end(), static_cast<std::size_t>(length) - line.size(), filling);
  }

  std::int64_t source_, target_, end_, count_;
  std::vector<std::int64_t> sources_, befores_, afters_;
};

}  // namespace

data::DatasetPtr load_pairs(const Recipe& recipe, const std::string& folder, Facts& facts,
                            const Facts* known) {
  const std::string path = below(folder, recipe.path);
  const std::vector<Pair> pairs = read_pairs(path);
  std::string letters(1, kTextEnd);
  for (const auto& [source, target] : pairs) letters += source + target;
  facts.tokenizer = known != nullptr ? known->tokenizer : std::make_shared<data::CharTokenizer>(letters);
  const data::Tokenizer& tokenizer = *facts.tokenizer;
  std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> numbers;
  std::size_t source = 1, target = 1;
  for (const Pair& pair : pairs) {
    numbers.emplace_back(numbers_of(tokenizer, pair.first), numbers_of(tokenizer, pair.second));
    source = std::max(source, numbers.back().first.size());
    target = std::max(target, numbers.back().second.size() + 1);
  }
  const auto longest = static_cast<std::int64_t>(std::max(source, target));
  if (longest > kLongest || longest * std::ssize(pairs) > kMostTokens)
    throw no_pairs(path, fmt::format("{} texts of up to {} characters are too much", pairs.size(), longest));
  facts.model = {.input = {static_cast<std::int64_t>(source)},
                 .dtype = DType::i64,
                 .outputs = tokenizer.size(),
                 .target = {static_cast<std::int64_t>(target)}};
  const std::int64_t end = numbers_of(tokenizer, std::string(1, kTextEnd)).at(0);
  PairTable table(facts.model, end, pairs.size());
  for (const auto& [from, into] : numbers) table.add(from, into);
  return table.set();
}

}  // namespace veldt::recipe
