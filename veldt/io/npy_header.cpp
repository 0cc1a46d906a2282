// Parses the dictionary of an npy header character by character, and writes one.
#include "veldt/io/npy_header.h"

#include <charconv>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::io {
namespace {

constexpr std::pair<std::string_view, FileDType> kNumpyDTypes[] = {
    {"f4", FileDType::float32}, {"f8", FileDType::float64}, {"f2", FileDType::float16},
    {"i8", FileDType::int64},   {"i4", FileDType::int32},   {"i2", FileDType::int16},
    {"i1", FileDType::int8},    {"u1", FileDType::uint8},   {"u2", FileDType::uint16},
    {"u4", FileDType::uint32},  {"u8", FileDType::uint64},  {"b1", FileDType::boolean},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::string dictionary(NpyHeader& header) {
    if (!take('{')) return "its header does not begin with a brace";
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return "its header is not a dictionary of descr, fortran_order and shape";
      if (const std::string fault = value(key, header); !fault.empty()) return fault;
      if (!take(',') && !at('}')) return "its header lacks a comma or a closing brace";
    }
    skip_spaces();
    if (!text_.empty()) return "its header goes on after the closing brace";
    return seen_ == 7 ? "" : "its header lacks descr, fortran_order or shape";
  }

 private:
  std::string value(const std::string& key, NpyHeader& header) {
    const unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
    if (bit == 0) return str("its header has the unknown key ", key);
    if ((seen_ & bit) != 0) return str("its header has the key ", key, " twice");
    seen_ |= bit;
    if (bit == 1) {
      if (at('[')) return "it is a structured array, of several dtypes at once";
      return string(header.descr) ? "" : "the descr of its header is not text";
    }
    if (bit == 4) return tuple(header.shape) ? "" : "the shape of its header is not a tuple of sizes";
    header.fortran_order = word("True");
    return header.fortran_order || word("False") ? "" : "the fortran_order of its header is not a boolean";
  }

  bool string(std::string& out) {
    skip_spaces();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return false;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos || end > 64) return false;
    out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out.find('\\') == std::string::npos;
  }

  bool tuple(std::vector<std::int64_t>& out) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip_spaces();
      std::int64_t size = 0;
      const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (parsed.ec != std::errc() || size < 0 || out.size() == 64) return false;
      text_.remove_prefix(static_cast<std::size_t>(parsed.ptr - text_.data()));
      out.push_back(size);
      if (!take(',') && !at(')')) return false;
    }
    return true;
  }

  bool word(std::string_view expected) {
    skip_spaces();
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }

  bool take(char c) {
    if (!at(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool at(char c) {
    skip_spaces();
    return text_.starts_with(c);
  }
  void skip_spaces() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }

  std::string_view text_;
  unsigned seen_ = 0;  // a bit per key found
};

}  // namespace

std::string parse_npy_header(std::string_view text, NpyHeader& header) {
  return Parser(text).dictionary(header);
}

std::string npy_header_text(const NpyHeader& header, std::size_t before) {
  std::string shape;
  for (const std::int64_t size : header.shape) shape += str(shape.empty() ? "" : ", ", size);
  if (header.shape.size() == 1) shape += ',';
  std::string text =
      str("{'descr': '", header.descr, "', 'fortran_order': ", header.fortran_order ? "True" : "False",
          ", 'shape': (", shape, "), }");
  text.resize((before + text.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  return text + '\n';
}

std::optional<FileDType> numpy_dtype(std::string_view name) {
  for (const auto& [known, type] : kNumpyDTypes)
    if (name == known) return type;
  return {};
}

std::string_view numpy_name(DType dtype) {
  for (const auto& [known, type] : kNumpyDTypes)
    if (dtype_of(type) == dtype && !is_converted(type)) return known;
  return {};
}

}  // namespace veldt::io
