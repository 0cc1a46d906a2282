// Text: CSV and the tables in it, JSON, tokenizers.
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"
#include "veldt/data/table.h"
#include "veldt/data/tokenizer.h"
#include "veldt/io/csv.h"
#include "veldt/io/json.h"

namespace veldt::fuzz {
namespace {

// All columns as numbers, then the first as text.
void read_csv(const std::string& bytes) {
  const std::string& path = file_of(bytes);
  const std::vector<std::string> columns = io::csv_columns(path);
  const io::CsvTable texts = io::read_csv(path, {}, {columns.at(0)});
  require(texts.texts.at(0).size() == static_cast<std::size_t>(texts.values.size(0)),
          "a column has a field a row");
  const io::CsvTable numbers = io::read_csv(path);
  require(numbers.columns == columns && numbers.values.size(1) == std::ssize(columns),
          "a table has its columns");
}

std::vector<std::string> csv_seeds() {
  return {"a,b\n1,2\n3,4.5\n", "\"a\",\"b \"\"c\"\"\"\r\n-1e-3,\"2\"\r\n",
          "name,x,class\nu,0.5,first\nv,1,second\nw,2,first\n", "time,x\n1949-01,112\n1949-02,118\n"};
}

std::vector<std::string> csv_words() {
  return {"\"\"", "\",\"", "\r\n", "\xEF\xBB\xBF", "1e39", "1e-400", "inf", "nan", "0x1p3"};
}

// The last column as classes.
void read_table(const std::string& bytes) {
  const std::string& path = file_of(bytes);
  const data::DatasetPtr table = data::table(path, {.target = io::csv_columns(path).back(), .classes = true});
  for (std::int64_t i = 0; i < table->size(); ++i)
    require(table->get(i).at(1).item<std::int64_t>() < std::ssize(table->classes()),
            "a label is that of a class");
  data::moments(*table);
}

void read_series(const std::string& bytes) {
  const std::string& path = file_of(bytes);
  const data::Series series = data::series(path, {io::csv_columns(path).back()});
  require(series.times.empty() || std::ssize(series.times) == series.values.size(0), "each row has its time");
}

template <class Json> void read_json_as(const std::string& bytes) {
  const Json value = io::parse_json<Json>(bytes);
  for (const int indent : {-1, 2})
    require(io::parse_json<Json>(io::dump_json(value, indent)) == value,
            "JSON that is written and read again is the same");
}

void read_json(const std::string& bytes) {
  read_json_as<nlohmann::json>(bytes);
  read_json_as<nlohmann::ordered_json>(bytes);
}

std::vector<std::string> json_seeds() {
  return {R"({"a":[1,-2,3.5e-7,true,null],"b":{"c":"\u00e9\n\"","d":{}}})", "[[[[]]]]",
          R"([18446744073709551615,-0.0,1e308])"};
}

std::vector<std::string> json_words() {
  return {"true",
          "false",
          "null",
          "\\u",
          "\\ud83d\\ude00",
          "\\\"",
          "1e308",
          "-9223372036854775808",
          "18446744073709551616"};
}

void read_characters(const std::string& bytes) {
  const data::CharTokenizer tokenizer{std::string_view(bytes)};
  require(tokenizer.decode(tokenizer.encode(bytes)) == bytes, "text comes back as it was");
  require(data::CharTokenizer::of(tokenizer.vocabulary()).vocabulary() == tokenizer.vocabulary(),
          "a vocabulary can be kept");
}

std::vector<std::string> text_seeds() {
  return {"the cat sat on the mat, the cat's 12 o'clock",
          "z\xC3\xBCrich \xE2\x82\xAC 5 \xF0\x9F\x98\x80\n\t"};
}

void check_round_trip(const data::BpeTokenizer& tokenizer, const std::string& text) {
  require(tokenizer.decode(tokenizer.encode(text)) == text, "any bytes come back as they were");
  const auto copy = data::BpeTokenizer::parse(tokenizer.text(), "a copy");
  require(copy.vocabulary() == tokenizer.vocabulary() && copy.merges() == tokenizer.merges(),
          "a tokenizer that is written and read again is the same");
}

void read_bpe(const std::string& bytes) {
  check_round_trip(data::BpeTokenizer::parse(bytes, "a file"), bytes);
}

std::vector<std::string> bpe_seeds() {
  std::vector<std::string> seeds;
  for (const std::int64_t size : {256, 260})
    for (const std::string& text : text_seeds())
      seeds.push_back(data::BpeTokenizer::train(text, size).text());
  return seeds;
}

std::vector<std::string> bpe_words() {
  return {"\"added_tokens\":[]", "\"merges\":[", "\"vocab\":{",  "\"ByteLevel\"",
          "\"use_regex\":true",  "\"\\u0120",    "[\"a\",\"b\"]"};
}

void learn_bpe(const std::string& bytes) {
  check_round_trip(data::BpeTokenizer::train(bytes, 256 + 24), bytes);
}

}  // namespace

std::vector<Target> text_targets() {
  return {{"csv", read_csv, csv_seeds, csv_words},       {"table", read_table, csv_seeds, csv_words},
          {"series", read_series, csv_seeds, csv_words}, {"json", read_json, json_seeds, json_words},
          {"characters", read_characters, text_seeds},   {"bpe", read_bpe, bpe_seeds, bpe_words},
          {"bpe_learned", learn_bpe, text_seeds}};
}

}  // namespace veldt::fuzz
