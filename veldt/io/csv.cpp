#include "veldt/io/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/io/file.h"

namespace veldt::io {
namespace {

class CsvReader {
 public:
  CsvReader(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  bool at_end() const { return text_.empty(); }
  // The fields of the next line.
  std::vector<std::string> read_line();
  float number(const std::string& field, const std::string& column) const;
  [[noreturn]] void fail(const std::string& why, const std::string& fix) const {
    throw IoError(IoError::Kind::malformed, str("cannot read ", path_, ": line ", line_), why, fix);
  }

 private:
  std::string read_field();

  const std::string& path_;
  std::string_view text_;  // not yet read
  std::int64_t line_ = 0;
};

// Leaves what ends the field: a comma, the end of the line, or nothing.
std::string CsvReader::read_field() {
  if (!text_.starts_with('"')) {
    const std::size_t end = std::min(text_.find_first_of(",\r\n"), text_.size());
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
    text_.remove_prefix(end + 1);
  }
  return field;
}

std::vector<std::string> CsvReader::read_line() {
  ++line_;
  std::vector<std::string> fields = {read_field()};
  while (text_.starts_with(',')) {
    text_.remove_prefix(1);
    fields.push_back(read_field());
  }
  if (text_.starts_with('\r')) text_.remove_prefix(1);
  if (text_.starts_with('\n')) {
    text_.remove_prefix(1);
  } else if (!text_.empty()) {
    fail("a field goes on after its closing quote", "put the whole field between quotes");
  }
  return fields;
}

float CsvReader::number(const std::string& field, const std::string& column) const {
  std::string_view text = field;
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(static_cast<float>(value)))
    fail(str("column ", column, " holds '", field.substr(0, 40), "', which is no finite number"),
         "mend the line, or name only the columns that hold numbers");
  return static_cast<float>(value);
}

// Where the wanted columns are among those of the header.
std::vector<std::size_t> places_of(const CsvReader& reader, const std::vector<std::string>& header,
                                   const std::vector<std::string>& wanted) {
  std::vector<std::size_t> places;
  for (const std::string& name : wanted) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      std::string names;
      for (const std::string& known : header) names += str(names.empty() ? "" : ", ", known.substr(0, 40));
      reader.fail(str("there is no column ", name), str("choose from ", names.substr(0, 400)));
    }
    if (std::count(header.begin(), header.end(), name) > 1)
      reader.fail(str("two columns are called ", name), "give each its own name");
    places.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  return places;
}

}  // namespace

CsvTable read_csv(const std::string& path, const std::vector<std::string>& columns) {
  for (const std::string& name : columns)
    if (std::count(columns.begin(), columns.end(), name) > 1)
      throw ConfigError(str("cannot read column ", name, " twice"), "a table has each column once",
                        "name it once");
  const std::string text = read_file(path);
  std::string_view rest = text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  CsvReader reader(path, rest);
  const std::vector<std::string> header = reader.read_line();
  CsvTable table{.columns = columns.empty() ? header : columns, .values = {}};
  const std::vector<std::size_t> places = places_of(reader, header, table.columns);
  std::vector<float> values;
  while (!reader.at_end()) {
    const std::vector<std::string> fields = reader.read_line();
    if (fields.size() != header.size())
      reader.fail(str("the line has ", fields.size(), " fields and the header has ", header.size()),
                  "give each line a field for each column");
    for (std::size_t i = 0; i < places.size(); ++i)
      values.push_back(reader.number(fields[places[i]], table.columns[i]));
  }
  const auto width = static_cast<std::int64_t>(places.size());
  table.values = Tensor::from<float>({static_cast<std::int64_t>(values.size()) / width, width}, values);
  return table;
}

}  // namespace veldt::io
