// Text: CSV and the tables in it, JSON, tokenizers.
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"
#include "veldt/data/table.h"
#include "veldt/data/subword_tokenizer.h"
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

// A tokenizer.json, and what it makes of a text; one over bytes that was written is read as it was.
void read_tokenizer(const std::string& bytes) {
  const auto tokenizer = data::SubwordTokenizer::parse(bytes, "a file");
  const std::string text = "The caf\xC3\xA9's 12\xE2\x82\xAC\t\xFF [MASK] <s> \xF0\x9F\x98\x80  end\n";
  const data::Encoding e = tokenizer.encoded(text);
  for (const auto& [begin, end] : e.offsets)
    require(begin <= end && end <= text.size(), "a token is within its text");
  tokenizer.decode(e.ids, false);
  tokenizer.encoded(text, bytes.substr(0, 64));
}

std::vector<std::string> tokenizer_seeds() {
  std::vector<std::string> seeds;
  for (const std::string& text : text_seeds())
    seeds.push_back(data::SubwordTokenizer::train_bpe(text, 260).text());
  const std::string head = R"({"added_tokens":[{"id":1,"content":"[MASK]","lstrip":true,"special":true}],)";
  seeds.push_back(head +
                  R"("normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
                  R"("decoder":{"type":"WordPiece"},"padding":{"strategy":{"Fixed":9},"direction":"Left",)"
                  R"("pad_to_multiple_of":8,"pad_id":0,"pad_type_id":0,"pad_token":"x"},"post_processor":)"
                  R"({"type":"BertProcessing","sep":["a",1],"cls":["b",1]},"model":{"type":"WordPiece",)"
                  R"("unk_token":"u","continuing_subword_prefix":"##","max_input_chars_per_word":99,)"
                  R"("vocab":{"u":0,"[MASK]":1,"t":2,"##he":3}}})");
  seeds.push_back(head +
                  R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Replace",)"
                  R"("pattern":{"Regex":" +"},"content":" "},{"type":"Prepend","prepend":"e"}]},)"
                  R"("pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first"},)"
                  R"("post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A",)"
                  R"("type_id":0}},{"SpecialToken":{"id":"s","type_id":1}}],"pair":[{"Sequence":{"id":"A",)"
                  R"("type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"s":{"id":"s",)"
                  R"("ids":[1],"tokens":["s"]}}},"model":{"type":"Unigram","unk_id":0,)"
                  R"("vocab":[["u",0.0],["[MASK]",-1],["_",-2.5],["e",-3]],"byte_fallback":true}})");
  return seeds;
}

std::vector<std::string> tokenizer_words() {
  return {"\"added_tokens\":[]", "\"merges\":[",  "\"vocab\":{",      "\"ByteLevel\"",   "\"use_regex\":true",
          "\"\\u0120",           "[\"a\",\"b\"]", "\"Split\"",        "\"Regex\"",       "(?!\\\\S)",
          "\\\\p{L}+",           "\"Isolated\"",  "\"Digits\"",       "\"Precompiled\"", "\"NFC\"",
          "\"Lowercase\"",       "\"WordLevel\"", "\"ByteFallback\"", "\"Strip\""};
}

void encode_text(const std::string& bytes) {
  static const auto tokenizers = [] {
    std::vector<data::SubwordTokenizer> all;
    for (const std::string& seed : tokenizer_seeds())
      all.push_back(data::SubwordTokenizer::parse(seed, "a seed"));
    return all;
  }();
  for (const data::SubwordTokenizer& tokenizer : tokenizers)
    for (const auto& [begin, end] : tokenizer.encoded(bytes).offsets)
      require(begin <= end && end <= bytes.size(), "a token is within its text");
  require(tokenizers.front().decode(tokenizers.front().encode(bytes)) == bytes,
          "any bytes come back as they were");
}

void learn_bpe(const std::string& bytes) {
  const auto tokenizer = data::SubwordTokenizer::train_bpe(bytes, 256 + 24);
  require(tokenizer.decode(tokenizer.encode(bytes)) == bytes, "any bytes come back as they were");
}

}  // namespace

std::vector<Target> text_targets() {
  return {{"csv", read_csv, csv_seeds, csv_words},
          {"table", read_table, csv_seeds, csv_words},
          {"series", read_series, csv_seeds, csv_words},
          {"json", read_json, json_seeds, json_words},
          {"characters", read_characters, text_seeds},
          {"tokenizer", read_tokenizer, tokenizer_seeds, tokenizer_words},
          {"tokens", encode_text, text_seeds},
          {"bpe_learned", learn_bpe, text_seeds}};
}

}  // namespace veldt::fuzz
