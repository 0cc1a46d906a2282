// Operators on texts.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "veldt/io/pattern.h"
#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"

namespace veldt::onnx {

namespace {

// A character of two bytes in UTF-8 in the other case: Latin, Greek, Cyrillic. Others stay.
char32_t in_case(char32_t c, bool upper) {
  const auto moved_by = [&](char32_t first, char32_t last,
                            char32_t by) -> char32_t {  // capitals, and how far small ones are
    if (upper ? c >= first + by && c <= last + by : c >= first && c <= last) return upper ? c - by : c + by;
    return char32_t{0};
  };
  if (c == 0xD7 || c == 0xF7 || c == 0x3A2 || c == 0x3C2) return c;
  for (const auto& [first, last, by] :
       {std::array<char32_t, 3>{0xC0, 0xDE, 32}, {0x391, 0x3AB, 32}, {0x410, 0x42F, 32}, {0x400, 0x40F, 80}})
    if (const char32_t other = moved_by(first, last, by); other != 0) return other;
  const bool pairs = (c >= 0x100 && c <= 0x137 && c != 0x130 && c != 0x131) || (c >= 0x14A && c <= 0x177) ||
                     (c >= 0x460 && c <= 0x481) || (c >= 0x48A && c <= 0x4BF) || (c >= 0x4D0 && c <= 0x52F);
  if (pairs) return upper ? c & ~char32_t{1} : c | 1;
  const bool odd_pairs = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
  if (odd_pairs) return upper == ((c & 1) == 0) ? c + (upper ? char32_t(-1) : char32_t{1}) : c;
  return c;
}

std::string cased(const std::string& text, bool upper) {
  std::string out = text;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    if (byte < 0x80) {
      if (upper ? byte >= 'a' && byte <= 'z' : byte >= 'A' && byte <= 'Z')
        out[i] = static_cast<char>(byte ^ 32U);
    } else if ((byte & 0xE0U) == 0xC0 && i + 1 < out.size()) {
      const char32_t c =
          in_case((byte & 0x1FU) << 6U | (static_cast<unsigned char>(out[i + 1]) & 0x3FU), upper);
      out[i] = static_cast<char>(0xC0U | c >> 6U);
      out[++i] = static_cast<char>(0x80U | (c & 0x3FU));
    }
  }
  return out;
}

// Leaves out stop words, and changes the case.
Values string_normalizer(const Call& c) {
  const Texts& x = c.value(0).texts();
  if (x.shape.rank() != 1 && !(x.shape.rank() == 2 && x.shape[0] == 1))
    c.fail(str("its texts are ", x.shape, ", not one list"));
  const std::string action = c.text("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    c.fail("its case_change_action is \"" + action + "\", which ONNX does not have");
  const bool exact = c.integer("is_case_sensitive", 0) != 0;
  std::set<std::string> stop;
  for (const std::string& word : c.texts("stopwords")) stop.insert(exact ? word : cased(word, false));
  std::vector<std::string> out;
  for (const std::string& text : x.values) {
    if (stop.count(exact ? text : cased(text, false)) > 0) continue;
    out.push_back(action == "NONE" ? text : cased(text, action == "UPPER"));
  }
  if (out.empty()) out.emplace_back();
  const auto n = static_cast<std::int64_t>(out.size());
  return {Value(Texts{x.shape.rank() == 2 ? Shape{1, n} : Shape{n}, std::move(out)})};
}

// As Python's str.split: at most `most` cuts (-1: all); no delimiter: at white space.
std::vector<std::string> split_text(const std::string& text, const std::string& delimiter,
                                    std::int64_t most) {
  std::vector<std::string> out;
  const auto full = [&] { return most >= 0 && static_cast<std::int64_t>(out.size()) >= most; };
  if (!delimiter.empty()) {
    std::size_t at = 0;
    for (std::size_t end = 0; !full() && (end = text.find(delimiter, at)) != std::string::npos;
         at = end + delimiter.size())
      out.push_back(text.substr(at, end - at));
    out.push_back(text.substr(at));
    return out;
  }
  constexpr const char* kSpace = " \t\n\r\f\v";
  std::size_t at = text.find_first_not_of(kSpace);
  while (at != std::string::npos) {
    const std::size_t end = full() ? std::string::npos : text.find_first_of(kSpace, at);
    out.push_back(text.substr(at, end == std::string::npos ? end : end - at));
    at = end == std::string::npos ? end : text.find_first_not_of(kSpace, end);
  }
  return out;
}

Values string_split(const Call& c) {
  const Texts& x = c.value(0).texts();
  const std::string delimiter = c.text("delimiter");
  std::vector<std::vector<std::string>> parts;
  std::vector<std::int64_t> counts;
  std::size_t longest = 0;
  for (const std::string& text : x.values) {
    parts.push_back(split_text(text, delimiter, c.integer("maxsplit", -1)));
    counts.push_back(static_cast<std::int64_t>(parts.back().size()));
    longest = std::max(longest, parts.back().size());
  }
  constexpr std::size_t kMostTexts = std::size_t{1} << 24;
  if (!parts.empty() && longest > kMostTexts / parts.size())
    c.fail("its result would have more than 2^24 texts");
  Texts out{x.shape, {}};
  out.shape.push_back(static_cast<std::int64_t>(longest));
  for (auto& list : parts) {
    list.resize(longest);
    std::move(list.begin(), list.end(), std::back_inserter(out.values));
  }
  return {Value(std::move(out)), Tensor::from<std::int64_t>(x.shape, counts)};
}

Values regex_full_match(const Call& c) {
  const Texts& x = c.value(0).texts();
  const io::Pattern pattern(c.text("pattern"));
  std::vector<std::uint8_t> out;
  for (const std::string& text : x.values) out.push_back(pattern.matches(text) ? 1 : 0);
  return {to(Tensor::from<std::uint8_t>(x.shape, out), DType::boolean)};
}

// Runs of words as a tree: from each place, the words that may follow, and the run that ends there.
template <class Word> struct Runs {
  struct Place {
    std::map<Word, std::size_t> next;
    std::int64_t run = -1;
  };
  std::vector<Place> places = std::vector<Place>(1);
  template <class It> void add(It first, It last, std::int64_t run) {
    std::size_t at = 0;
    for (; first != last; ++first) {
      const auto [found, fresh] = places[at].next.insert({*first, places.size()});
      at = found->second;
      if (fresh) places.emplace_back();
    }
    places[at].run = run;
  }
};

template <class Word>
Values counted_runs(const Call& c, const std::vector<Word>& words, const Shape& shape,
                    const std::vector<Word>& pool) {
  const std::vector<std::int64_t> starts = c.integers("ngram_counts"), columns = c.integers("ngram_indexes");
  const std::vector<double> weights = c.reals("weights");
  const std::int64_t shortest = c.integer("min_gram_length"), longest = c.integer("max_gram_length");
  const std::string mode = c.text("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    c.fail("its mode is \"" + mode + "\", which ONNX does not have");
  if (shortest < 1 || longest < shortest || columns.empty())
    c.fail("its lengths of runs, or its columns, are missing");
  if (!weights.empty() && weights.size() != columns.size()) c.fail("it has not one weight for each run");
  Runs<Word> runs;
  std::int64_t run = 0;
  for (std::size_t length = 1; length <= starts.size(); ++length) {
    const std::int64_t begin = starts[length - 1],
                       end = length < starts.size() ? starts[length] : static_cast<std::int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(pool.size()))
      c.fail("its ngram_counts do not fit its pool");
    const auto size = static_cast<std::int64_t>(length);
    for (std::int64_t at = begin; at + size <= end; at += size, ++run)
      if (size >= shortest && size <= longest) runs.add(pool.begin() + at, pool.begin() + at + size, run);
  }
  if (run > static_cast<std::int64_t>(columns.size())) c.fail("it has fewer columns than runs");
  const auto [low, high] = std::minmax_element(columns.begin(), columns.end());
  if (*low < 0) c.fail("a column is below 0");
  const std::int64_t rows = shape.rank() == 2 ? shape[0] : 1,
                     length = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  if (shape.rank() > 2) c.fail(str("its input is ", shape));
  if (*high > std::int64_t{1} << 30) c.fail(str("its result would have ", *high, " columns"));
  const std::int64_t width = *high + 1;
  const Shape result = shape.rank() == 2 ? Shape{rows, width} : Shape{width};
  check_size(c, {rows, width});
  std::vector<float> count(static_cast<std::size_t>(rows * width)),
      weight(static_cast<std::size_t>(width), 1.0F);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weight[static_cast<std::size_t>(columns[i])] = static_cast<float>(weights[i]);
  // A distance beyond the row finds nothing.
  const std::int64_t skips = std::min(c.integer("max_skip_count"), length);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t step = 1; step <= skips + 1; ++step)
      for (std::int64_t first = 0; first < length; ++first) {
        std::size_t at = 0;
        for (std::int64_t i = first, size = 1; i < length && size <= longest; i += step, ++size) {
          const auto& next = runs.places[at].next;
          const auto found = next.find(words[static_cast<std::size_t>(row * length + i)]);
          if (found == next.end()) break;
          at = found->second;
          const std::int64_t hit = runs.places[at].run;
          if (hit < 0 || size < shortest || (size == 1 && step > 1)) continue;  // single words count once
          ++count[static_cast<std::size_t>(row * width + columns[static_cast<std::size_t>(hit)])];
        }
      }
  for (std::size_t i = 0; i < count.size(); ++i) {
    const float by = weight[i % static_cast<std::size_t>(width)];
    if (mode == "IDF") count[i] = count[i] > 0 ? by : 0;
    if (mode == "TFIDF") count[i] *= by;
  }
  return {Tensor::from<float>(result, count)};
}

// How often runs of words come, words that are skipped between them included.
Values tfidf_vectorizer(const Call& c) {
  if (c.value(0).kind() == Value::Kind::texts)
    return counted_runs<std::string>(c, c.value(0).texts().values, c.value(0).shape(),
                                     c.texts("pool_strings"));
  return counted_runs<std::int64_t>(c, c.integers(0), c.value(0).shape(), c.integers("pool_int64s"));
}

}  // namespace

void add_text(OperatorTable& t) {
  t.add("StringNormalizer", string_normalizer);
  t.add("StringSplit", string_split);
  t.add("RegexFullMatch", regex_full_match);
  t.add("TfIdfVectorizer", tfidf_vectorizer);
}

}  // namespace veldt::onnx
