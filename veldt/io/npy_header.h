// The header of an npy array: a Python dictionary, parsed as untrusted text; and NumPy's names of number
// types. Only for the files of io.
// Tests: tests/io/npy_test.cpp, tests/fuzz/arrays.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/io/file_dtype.h"

namespace veldt::io {

struct NpyHeader {
  std::string descr;  // "<f4": byte order, kind, bytes
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Takes {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } with its keys in any order, and spaces
// anywhere. Returns what is wrong, or "".
std::string parse_npy_header(std::string_view text, NpyHeader& header);

// Writes one, padded so that with `before` bytes it is a multiple of 64 long, with a newline at the end.
std::string npy_header_text(const NpyHeader& header, std::size_t before);

// By NumPy's name without the byte order, "f4"; nothing for a type that Veldt does not read.
std::optional<FileDType> numpy_dtype(std::string_view name);
// The name that NumPy has for it, "" if none.
std::string_view numpy_name(DType dtype);

}  // namespace veldt::io
