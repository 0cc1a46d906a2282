// Reads tables of pixels in any order of lines, reports the place of every error, and writes them.
#include "veldt/io/pixel_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/pixels.h"

namespace veldt::io {
namespace {

struct Layout {
  PixelColumns columns;
  std::string_view header;
  std::int64_t channels;
  std::array<const char*, 3> names;
};
constexpr Layout kLayouts[] = {
    {PixelColumns::ink, "x,y,pixel_value", 1, {"pixel_value"}},
    {PixelColumns::grey, "x,y,grey", 1, {"grey"}},
    {PixelColumns::rgb, "x,y,r,g,b", 3, {"r", "g", "b"}},
};

// ---- reading ----

struct Table {
  std::vector<std::uint32_t> x, y;
  std::vector<float> values;  // [rows, channels]
  std::int64_t width = 0, height = 0;
};

class TableReader {
 public:
  TableReader(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  const Layout& read_header();
  Table read_rows(const Layout& layout, std::int64_t max_pixels);

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& why, const std::string& fix) const {
    throw IoError(IoError::Kind::malformed, str("cannot read ", path_, ": line ", line_, ", column ", at + 1),
                  why, fix);
  }
  void next_line();
  std::string_view next_field(std::size_t wanted);
  void end_of_fields(std::size_t wanted) const;
  std::uint32_t read_coordinate(const char* name, std::size_t wanted);
  float read_value(PixelColumns columns, const char* name, std::size_t wanted);

  const std::string& path_;
  std::string_view text_;  // not yet read
  std::int64_t line_ = 0;
  std::string_view row_;   // the current line, without its end
  std::size_t begin_ = 0;  // start of the current field in row_
  std::size_t next_ = 0;   // start of the next field; beyond row_ if there is none
};

void TableReader::next_line() {
  ++line_;
  const std::size_t end = std::min(text_.find('\n'), text_.size());
  row_ = text_.substr(0, end);
  text_.remove_prefix(std::min(end + 1, text_.size()));
  if (row_.ends_with('\r')) row_.remove_suffix(1);
  begin_ = next_ = 0;
}

const Layout& TableReader::read_header() {
  constexpr const char* kFix = "begin the file with x,y,pixel_value or x,y,grey or x,y,r,g,b";
  const bool is_empty = text_.empty();
  next_line();
  if (is_empty) fail(0, "the file is empty", kFix);
  for (const std::string_view mark : {"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"})
    if (row_.starts_with(mark))
      fail(0, "the file begins with a byte order mark", "save it as UTF-8 without a byte order mark");
  for (const Layout& layout : kLayouts)
    if (row_ == layout.header) return layout;
  fail(0, str("the header is missing: '", row_.substr(0, 40), "' is none"), kFix);
}

std::string_view TableReader::next_field(std::size_t wanted) {
  if (next_ > row_.size()) {
    const auto fields = static_cast<std::size_t>(std::count(row_.begin(), row_.end(), ',')) + 1;
    fail(row_.size(),
         str("the line has ", fields, fields == 1 ? " field" : " fields", " and the header has ", wanted),
         "give each pixel one line with a number for each column");
  }
  begin_ = next_;
  const std::size_t comma = std::min(row_.find(',', begin_), row_.size());
  next_ = comma + 1;
  return row_.substr(begin_, comma - begin_);
}

void TableReader::end_of_fields(std::size_t wanted) const {
  if (next_ > row_.size()) return;
  const auto fields = static_cast<std::size_t>(std::count(row_.begin(), row_.end(), ',')) + 1;
  fail(next_ - 1,
       str("the line has ", fields, fields == 1 ? " field" : " fields", " and the header has ", wanted),
       "give each pixel one line with a number for each column");
}

std::uint32_t TableReader::read_coordinate(const char* name, std::size_t wanted) {
  const std::string_view field = next_field(wanted);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool is_number = error == std::errc() || error == std::errc::result_out_of_range;
  if (!is_number || end != field.data() + field.size())
    fail(begin_, str(name, " is '", field.substr(0, 40), "', not a whole number of 0 or more"),
         "give the pixel's index, counted from 0");
  if (error != std::errc() || value > 0x7ffffffe)
    fail(begin_, str(name, " is ", field.substr(0, 40), ", beyond 2^31 - 2"),
         "give the pixel's index, counted from 0");
  return value;
}

float TableReader::read_value(PixelColumns columns, const char* name, std::size_t wanted) {
  const std::string_view field = next_field(wanted);
  const char* last = field.data() + field.size();
  const char* range = columns == PixelColumns::ink ? "within 0 and 1" : "a whole number from 0 to 255";
  const auto refuse = [&] {
    fail(begin_, str(name, " is '", field.substr(0, 40), "' and must be ", range),
         columns == PixelColumns::ink ? "give 1 for ink and 0 for paper, or name the column grey for 0..255"
                                      : "write whole numbers, scaled to 0..255");
  };
  if (columns == PixelColumns::ink) {
    if (field.size() == 1 && (field[0] == '0' || field[0] == '1')) return field[0] == '0' ? 1.0f : 0.0f;
    double ink = -1;
    const auto [end, error] = std::from_chars(field.data(), last, ink);
    if (error != std::errc() || end != last || !(ink >= 0 && ink <= 1)) refuse();  // a NaN is not >= 0
    return static_cast<float>(1 - ink);
  }
  unsigned level = 0;
  const auto [end, error] = std::from_chars(field.data(), last, level);
  if (error != std::errc() || end != last || level > 255) refuse();
  return static_cast<float>(level) / 255.0f;
}

Table TableReader::read_rows(const Layout& layout, std::int64_t max_pixels) {
  const auto wanted = static_cast<std::size_t>(layout.channels + 2);
  Table table;
  while (!text_.empty()) {
    next_line();
    if (static_cast<std::int64_t>(table.x.size()) == max_pixels)
      fail(0, str("there are more than ", max_pixels, " pixels"),
           "raise max_pixels if the picture is meant to be this large");
    table.x.push_back(read_coordinate("x", wanted));
    table.y.push_back(read_coordinate("y", wanted));
    for (std::int64_t c = 0; c < layout.channels; ++c)
      table.values.push_back(read_value(layout.columns, layout.names[static_cast<std::size_t>(c)], wanted));
    end_of_fields(wanted);
    table.width = std::max<std::int64_t>(table.width, std::int64_t{table.x.back()} + 1);
    table.height = std::max<std::int64_t>(table.height, std::int64_t{table.y.back()} + 1);
  }
  if (table.x.empty()) fail(0, "there are no pixels after the header", "give each pixel one line");
  return table;
}

// Every pixel of width x height must be there once. The sizes come from the file, so memory is allocated by
// the number of rows: if a pixel is missing, one of the first rows + 1 is.
void check_complete(const std::string& path, const Table& table) {
  const auto rows = static_cast<std::int64_t>(table.x.size());
  const std::int64_t pixels = table.width * table.height;  // each is below 2^31
  const auto index_of = [&](std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    return std::int64_t{table.y[i]} * table.width + table.x[i];
  };
  std::vector<bool> seen(static_cast<std::size_t>(std::min(pixels, rows + 1)));
  const auto line = [](std::int64_t row) { return row + 2; };  // counted from 1, after the header
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t index = index_of(row);
    if (index >= static_cast<std::int64_t>(seen.size())) continue;
    if (seen[static_cast<std::size_t>(index)]) {
      std::int64_t first = 0;
      while (index_of(first) != index) ++first;
      throw IoError(IoError::Kind::malformed, str("cannot read ", path, ": line ", line(row), ", column 1"),
                    str("the pixel ", index % table.width, ",", index / table.width, " is on line ",
                        line(first), " already"),
                    "give each pixel one line");
    }
    seen[static_cast<std::size_t>(index)] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
  if (missing == static_cast<std::ptrdiff_t>(seen.size())) return;
  throw IoError(IoError::Kind::malformed, str("cannot read ", path, ": pixels are missing"),
                str("the largest x and y make a picture of ", table.width, " x ", table.height, ", ", rows,
                    " pixels are there, and ", missing % table.width, ",", missing / table.width, " is not"),
                "give each pixel one line");
}

// ---- writing ----

const Layout& layout_for(const Pixels& pixels, const WritePixelCsvOptions& options) {
  if (pixels.channels != 1 && pixels.channels != 3)
    throw ShapeError(str("cannot write ", pixels.image.shape(), " as a table of pixels"),
                     "there are columns for 1 or 3 channels, and none for alpha",
                     "drop the alpha channel first");
  if (pixels.width == 0 || pixels.height == 0)
    throw ShapeError(str("cannot write ", pixels.image.shape(), " as a table of pixels"), "it has no pixels",
                     "give a picture with pixels in it");
  const auto is_bit = [](float v) { return v == 0.0f || v == 1.0f; };
  const bool one_bit =
      std::all_of(pixels.values, pixels.values + pixels.width * pixels.height * pixels.channels, is_bit);
  const PixelColumns columns = options.columns.value_or(pixels.channels == 3 ? PixelColumns::rgb
                                                        : one_bit            ? PixelColumns::ink
                                                                             : PixelColumns::grey);
  return *std::find_if(std::begin(kLayouts), std::end(kLayouts),
                       [&](const Layout& layout) { return layout.columns == columns; });
}

void append(std::string& text, std::int64_t number) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_pixel(std::string& text, const float* pixel, std::int64_t channels, PixelColumns columns,
                  float threshold) {
  // Luma of Rec. ITU-R BT.709-6.
  const float grey = channels == 1 ? pixel[0] : 0.2126f * pixel[0] + 0.7152f * pixel[1] + 0.0722f * pixel[2];
  if (columns == PixelColumns::ink) {
    text += grey < threshold ? ",1" : ",0";
    return;
  }
  const int count = columns == PixelColumns::grey ? 1 : 3;
  for (int c = 0; c < count; ++c) {
    text += ',';
    append(text, level_of(count == 1 || channels == 1 ? grey : pixel[c], 255.0f));
  }
}

}  // namespace

Tensor read_pixel_csv(const std::string& path, const ReadPixelCsvOptions& options) {
  constexpr std::int64_t kLongestLine = 64;
  const auto max_bytes =
      static_cast<std::uint64_t>(std::min(options.max_pixels, std::int64_t{1} << 40) + 1) * kLongestLine;
  const std::string text = read_file(path, max_bytes);
  TableReader reader(path, text);
  const Layout& layout = reader.read_header();
  const Table table = reader.read_rows(layout, options.max_pixels);
  check_complete(path, table);
  Tensor image = empty({table.height, table.width, layout.channels});
  float* out = image.data<float>();
  for (std::size_t i = 0; i < table.x.size(); ++i)
    std::copy_n(table.values.data() + static_cast<std::int64_t>(i) * layout.channels, layout.channels,
                out + (std::int64_t{table.y[i]} * table.width + table.x[i]) * layout.channels);
  return image;
}

void write_pixel_csv(const std::string& path, const Tensor& image, const WritePixelCsvOptions& options) {
  const Pixels pixels = host_pixels(image);
  const Layout& layout = layout_for(pixels, options);
  AtomicFile file(path);
  std::string text(layout.header);
  text += '\n';
  const float* pixel = pixels.values;
  for (std::int64_t y = 0; y < pixels.height; ++y) {
    for (std::int64_t x = 0; x < pixels.width; ++x, pixel += pixels.channels) {
      if (std::any_of(pixel, pixel + pixels.channels, [](float v) { return std::isnan(v); }))
        throw nan_in_picture(x, y);
      append(text, x);
      text += ',';
      append(text, y);
      append_pixel(text, pixel, pixels.channels, layout.columns, options.threshold);
      text += '\n';
    }
    file.write(text.data(), text.size());
    text.clear();
  }
  file.commit();
}

}  // namespace veldt::io
