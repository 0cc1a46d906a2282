// Tables of numbers from comma-separated text (RFC 4180), or separated by semicolons or tabs where the first
// line has these and no comma.
// Tests: tests/io/csv_test.cpp, tests/fuzz/text.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

struct CsvTable {
  std::vector<std::string> columns;
  Tensor values;                                     // f32 [rows, columns]
  std::vector<std::vector<std::string>> texts = {};  // the unchanged fields of each column read as text
};

// Reads the named columns, in that order, or all except `texts` if none is named; the columns `texts` as
// text. The first line holds the names; a field may be quoted; the decimal point is a point, whatever the
// locale. Other columns may hold anything. Throws IoError missing; malformed, for a file that is empty or not
// text, and with line and column for a field that is not a finite number of 32 bits, an empty text field, a
// line with too few or too many fields, a name that is missing or occurs twice; ConfigError for a name
// requested twice.
CsvTable read_csv(const std::string& path, const std::vector<std::string>& columns = {},
                  const std::vector<std::string>& texts = {});

// The names in the first line. Throws IoError as read_csv() does.
std::vector<std::string> csv_columns(const std::string& path);

}  // namespace veldt::io
