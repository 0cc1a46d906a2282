// Number types of files that tensors do not have: 8-bit floats, and small, unsigned or wide integers. They
// are converted as they are read, and the reader says so.
// Tests: tests/io/file_dtype_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

// A tensor whose numbers a reader had to convert, because Veldt has no such dtype.
struct ConvertedTensor {
  std::string name;
  std::string from;  // "int8", "float8_e4m3fn": PyTorch's name of it
  DType to = DType::f32;
};

// A number type of a file. The names are PyTorch's.
enum class FileDType : std::uint8_t {
  float32,
  float64,
  bfloat16,
  float16,
  int64,
  int32,
  uint8,
  boolean,
  int8,  // as Veldt has them
  int16,
  uint16,
  uint32,
  uint64,  // become i64
  float8_e4m3fn,
  float8_e5m2,  // become f32 (Micikevicius 2022)
};

const char* name_of(FileDType type);
std::size_t size_of(FileDType type);
// What a tensor of these numbers is of.
DType dtype_of(FileDType type);
// Whether that is another type.
bool is_converted(FileDType type);

// Fills a contiguous tensor of dtype_of(type) from `bytes`, which hold its numbers in order, little-endian.
// Returns what is wrong, or "": a uint64 beyond the largest i64.
std::string convert(FileDType type, std::span<const std::byte> bytes, const Tensor& to);

// Whether all of these are booleans, bytes of 0 or 1.
bool are_booleans(std::span<const std::byte> bytes);

// Turns around the bytes of each of these numbers.
void swap_bytes(std::span<std::byte> bytes, std::size_t size);

}  // namespace veldt::io
