// Reads tables of separated numbers line by line, and reports the line and column of an error.
#include "veldt/io/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/magic.h"

namespace veldt::io {
namespace {

class CsvReader {
 public:
  CsvReader(const std::string& path, std::string_view text) : path_(path), text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    if (text_.empty())
      throw IoError(IoError::Kind::malformed, str("cannot read ", path), "the file is empty",
                    "begin it with a line that names its columns");
    const std::string_view first = text_.substr(0, kMagicBytes);
    if (first.find('\0') != first.npos)  // known_content() alone would mistake a column P5 for a picture
      throw IoError(IoError::Kind::malformed, path + " is not a text table", seems_to_be(first),
                    "give a table of text in UTF-8, with a comma between two fields");
    const std::string_view header = text_.substr(0, text_.find_first_of("\r\n"));
    if (const std::size_t other = header.find_first_of(";\t");
        header.find(',') == header.npos && other != header.npos)
      separator_ = header[other];
  }

  bool at_end() const { return text_.empty(); }
  // The fields of the next line, or of several lines if a newline is quoted.
  std::vector<std::string> read_line();
  float number(const std::string& field, const std::string& column) const;
  const std::string& text(const std::string& field, const std::string& column) const {
    if (field.empty()) fail(str("column ", column, " is empty"), "fill the field in, or leave out the line");
    return field;
  }
  [[noreturn]] void fail(const std::string& why, const std::string& fix) const {
    throw IoError(IoError::Kind::malformed, str("cannot read ", path_, ": line ", line_), why, fix);
  }

 private:
  std::string read_field();

  const std::string& path_;
  std::string_view text_;                  // not yet read
  char separator_ = ',';                   // or what stands in the first line, where that has no comma
  std::int64_t line_ = 0, next_line_ = 1;  // the first line of the record, and the line after it
};

// Stops before the end of the field: a separator, the end of the line, or the end of the file.
std::string CsvReader::read_field() {
  if (!text_.starts_with('"')) {
    const std::size_t end =
        std::min(text_.find_first_of(std::array{separator_, '\r', '\n', '\0'}.data()), text_.size());
    std::string field(text_.substr(0, end));
    text_.remove_prefix(end);
    return field;
  }
  std::string field;
  for (bool again = false; text_.starts_with('"'); again = true) {
    if (again) field += '"';  // a quote within quotes is written twice
    const std::size_t end = text_.find('"', 1);
    if (end == std::string_view::npos)
      fail("a quote is not closed", "close it, or double a quote that is meant");
    field += text_.substr(1, end - 1);
    next_line_ += std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    text_.remove_prefix(end + 1);
  }
  return field;
}

std::vector<std::string> CsvReader::read_line() {
  line_ = next_line_++;
  std::vector<std::string> fields = {read_field()};
  while (text_.starts_with(separator_)) {
    text_.remove_prefix(1);
    fields.push_back(read_field());
  }
  const bool has_return = text_.starts_with('\r');
  if (has_return) text_.remove_prefix(1);
  if (text_.starts_with('\n')) {
    text_.remove_prefix(1);
  } else if (has_return) {
    fail("a carriage return is not at the end of a line", "end lines by \\n or \\r\\n");
  } else if (!text_.empty()) {
    fail("a field goes on after its closing quote", "put the whole field between quotes");
  }
  return fields;
}

float CsvReader::number(const std::string& field, const std::string& column) const {
  std::string_view digits = text(field, column);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const auto refuse = [&](const char* is, const char* fix) {
    fail(str("column ", column, " holds '", field.substr(0, 40), "', which is ", is), fix);
  };
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size() || !std::isfinite(value))
    refuse("not a finite number", "correct the line, or name only the columns that hold numbers");
  if (error != std::errc() || !std::isfinite(static_cast<float>(value)))
    refuse("beyond the range of a 32-bit number", "scale the column, or leave it out");
  return static_cast<float>(value);
}

// The indices of the wanted columns in the header.
std::vector<std::size_t> places_of(const CsvReader& reader, const std::vector<std::string>& header,
                                   const std::vector<std::string>& wanted) {
  std::vector<std::size_t> places;
  for (const std::string& name : wanted) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      std::string names;
      for (const std::string& known : header) names += str(names.empty() ? "" : ", ", known.substr(0, 40));
      reader.fail(str("there is no column ", name), names.empty()
                                                        ? "begin the file with a line that names its columns"
                                                        : str("choose from ", names.substr(0, 400)));
    }
    if (std::count(header.begin(), header.end(), name) > 1)
      reader.fail(str("two columns have the name ", name), "give each its own name");
    places.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  return places;
}

}  // namespace

CsvTable read_csv(const std::string& path, const std::vector<std::string>& columns,
                  const std::vector<std::string>& texts) {
  const std::string bytes = read_file(path);
  CsvReader reader(path, bytes);
  const std::vector<std::string> header = reader.read_line();
  CsvTable table{.columns = columns, .values = {}, .texts = {}};
  if (columns.empty())
    std::copy_if(
        header.begin(), header.end(), std::back_inserter(table.columns),
        [&](const std::string& name) { return std::find(texts.begin(), texts.end(), name) == texts.end(); });
  const std::vector<std::size_t> places = places_of(reader, header, table.columns);
  const std::vector<std::size_t> text_places = places_of(reader, header, texts);
  std::vector<std::string> asked = columns;
  asked.insert(asked.end(), texts.begin(), texts.end());
  for (const std::string& name : asked)
    if (std::count(asked.begin(), asked.end(), name) > 1)
      throw ConfigError(str("cannot read column ", name, " twice"), "a table has each column once",
                        "name it once");
  table.texts.resize(texts.size());
  std::vector<float> values;
  std::int64_t rows = 0;
  for (; !reader.at_end(); ++rows) {
    const std::vector<std::string> fields = reader.read_line();
    if (fields.size() != header.size())
      reader.fail(str("the line has ", fields.size(), fields.size() == 1 ? " field" : " fields",
                      " and the header has ", header.size()),
                  "give each line a field for each column");
    for (std::size_t i = 0; i < places.size(); ++i)
      values.push_back(reader.number(fields[places[i]], table.columns[i]));
    for (std::size_t i = 0; i < texts.size(); ++i)
      table.texts[i].push_back(reader.text(fields[text_places[i]], texts[i]));
  }
  table.values = Tensor::from<float>({rows, std::ssize(places)}, values);
  return table;
}

std::vector<std::string> csv_columns(const std::string& path) {
  const std::string bytes = read_file(path);
  return CsvReader(path, bytes).read_line();
}

}  // namespace veldt::io
