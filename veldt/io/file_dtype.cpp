// The table of number types that files have, and how those that Veldt lacks are widened.
#include "veldt/io/file_dtype.h"

#include <algorithm>
#include <cstring>

#include "veldt/core/error.h"
#include "veldt/io/small_float.h"

namespace veldt::io {
namespace {

struct FileDTypeRow {
  const char* name;
  std::size_t bytes;
  DType dtype;
  bool converted;
};
// In the order of FileDType.
constexpr FileDTypeRow kFileDTypes[] = {
    {"float32", 4, DType::f32, false},    {"float64", 8, DType::f64, false},
    {"bfloat16", 2, DType::bf16, false},  {"float16", 2, DType::f16, false},
    {"int64", 8, DType::i64, false},      {"int32", 4, DType::i32, false},
    {"uint8", 1, DType::u8, false},       {"bool", 1, DType::boolean, false},
    {"int8", 1, DType::i8, false},        {"int16", 2, DType::i64, true},
    {"uint16", 2, DType::i64, true},      {"uint32", 4, DType::i64, true},
    {"uint64", 8, DType::i64, true},      {"float8_e4m3fn", 1, DType::f32, true},
    {"float8_e5m2", 1, DType::f32, true},
};

const FileDTypeRow& dtype_row(FileDType type) { return kFileDTypes[static_cast<std::size_t>(type)]; }

template <class From> void widen_integers(std::span<const std::byte> bytes, const Tensor& to) {
  auto* out = to.data<std::int64_t>();
  for (std::size_t i = 0; i < bytes.size() / sizeof(From); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    out[i] = static_cast<std::int64_t>(value);
  }
}

void widen_floats(std::span<const std::byte> bytes, const SmallFloat& format, const Tensor& to) {
  float table[256];
  for (unsigned i = 0; i < 256; ++i) table[i] = value_of(format, i);
  auto* out = to.data<float>();
  for (std::size_t i = 0; i < bytes.size(); ++i) out[i] = table[std::to_integer<unsigned>(bytes[i])];
}

}  // namespace

const char* name_of(FileDType type) { return dtype_row(type).name; }
std::size_t size_of(FileDType type) { return dtype_row(type).bytes; }
DType dtype_of(FileDType type) { return dtype_row(type).dtype; }
bool is_converted(FileDType type) { return dtype_row(type).converted; }

std::string convert(FileDType type, std::span<const std::byte> bytes, const Tensor& to) {
  switch (type) {
    case FileDType::int16: widen_integers<std::int16_t>(bytes, to); break;
    case FileDType::uint16: widen_integers<std::uint16_t>(bytes, to); break;
    case FileDType::uint32: widen_integers<std::uint32_t>(bytes, to); break;
    case FileDType::uint64: {
      widen_integers<std::uint64_t>(bytes, to);
      const auto* out = to.data<std::int64_t>();
      if (std::any_of(out, out + to.numel(), [](std::int64_t value) { return value < 0; }))
        return "it holds a uint64 beyond 2^63 - 1, the largest i64";
      break;
    }
    case FileDType::float8_e4m3fn: widen_floats(bytes, kE4m3fn, to); break;
    case FileDType::float8_e5m2: widen_floats(bytes, kE5m2, to); break;
    default:
      if (!bytes.empty()) std::memcpy(to.view().data, bytes.data(), bytes.size());
  }
  return {};
}

bool are_booleans(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
}

void swap_bytes(std::span<std::byte> bytes, std::size_t size) {
  for (std::size_t i = 0; i + size <= bytes.size(); i += size)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
}

}  // namespace veldt::io
