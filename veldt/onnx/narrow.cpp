// Bits to numbers, and floats to the nearest of few bits.
#include "veldt/onnx/narrow.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "veldt/io/small_float.h"
#include "veldt/ops/binary.h"

namespace veldt::onnx {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

io::SmallFloat format_of(ElementType type) {
  switch (type) {
    case ElementType::float8e4m3fn: return io::kE4m3fn;
    case ElementType::float8e4m3fnuz: return io::kE4m3fnuz;
    case ElementType::float8e5m2: return io::kE5m2;
    case ElementType::float8e5m2fnuz: return io::kE5m2fnuz;
    default: return io::kE2m1;  // float4e2m1
  }
}

// float8e8m0 is a power of two.
float float_from(ElementType type, unsigned bits) {
  if (type != ElementType::float8e8m0) return io::value_of(format_of(type), bits);
  return bits == 0xFF ? kNan : std::ldexp(1.0F, static_cast<int>(bits) - 127);
}

template <class To, class Fn>
Tensor spread(const Shape& shape, std::string_view bytes, int bits, const Fn& fn) {
  std::vector<To> out(static_cast<std::size_t>(numel(shape)));
  const int a_byte = bits >= 8 ? 1 : 8 / bits;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i / static_cast<std::size_t>(a_byte)]);
    const int shift = a_byte == 1 ? 0 : static_cast<int>(i % static_cast<std::size_t>(a_byte)) * bits;
    out[i] = fn(static_cast<unsigned>(byte >> shift) & (bits >= 8 ? 0xFFU : (1U << bits) - 1));
  }
  return Tensor::from<To>(shape, out);
}

template <class From, class To> Tensor widened_to(const Shape& shape, std::string_view bytes) {
  std::vector<To> out(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(value);
  }
  return Tensor::from<To>(shape, out);
}

}  // namespace

int bits_of(ElementType type) {
  switch (type) {
    case ElementType::float64:
    case ElementType::int64:
    case ElementType::uint64: return 64;
    case ElementType::float32:
    case ElementType::int32:
    case ElementType::uint32: return 32;
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::int16:
    case ElementType::uint16: return 16;
    case ElementType::uint4:
    case ElementType::int4:
    case ElementType::float4e2m1: return 4;
    case ElementType::uint2:
    case ElementType::int2: return 2;
    default: break;
  }
  held_as(type);  // throws for those that have no bits here
  return 8;
}

int packed_in_a_byte(ElementType type) {
  const int bits = bits_of(type);
  return bits >= 8 ? 1 : 8 / bits;
}

Value from_packed(const Shape& shape, ElementType type, std::string_view bytes) {
  const int bits = bits_of(type);
  switch (type) {
    case ElementType::int16: return {widened_to<std::int16_t, std::int32_t>(shape, bytes), type};
    case ElementType::uint16: return {widened_to<std::uint16_t, std::int32_t>(shape, bytes), type};
    case ElementType::uint32: return {widened_to<std::uint32_t, std::int64_t>(shape, bytes), type};
    case ElementType::uint4:
    case ElementType::uint2:
      return {
          spread<std::int32_t>(shape, bytes, bits, [](unsigned b) { return static_cast<std::int32_t>(b); }),
          type};
    case ElementType::int4:
    case ElementType::int2: {
      const std::int32_t half = 1 << (bits - 1);
      return {
          spread<std::int32_t>(shape, bytes, bits,
                               [half](unsigned b) { return (static_cast<std::int32_t>(b) ^ half) - half; }),
          type};
    }
    case ElementType::boolean:  // any other byte than 0 and 1 is no boolean in memory
      return Value(not_equal(
          spread<std::uint8_t>(shape, bytes, 8, [](unsigned b) { return static_cast<std::uint8_t>(b); }), 0));
    default: break;
  }
  if (held_as(type) == DType::f32 && type != ElementType::float32)
    return {spread<float>(shape, bytes, bits, [type](unsigned b) { return float_from(type, b); }), type};
  return {Tensor::from_bytes(shape, held_as(type), std::as_bytes(std::span(bytes))), type};
}

float rounded_to(ElementType type, float x, bool saturate, Rounding rounding) {
  if (std::isnan(x)) return type == ElementType::float4e2m1 ? -0.0F : x;
  if (type == ElementType::float8e8m0) {
    if (x <= 0) return x == 0 ? std::ldexp(1.0F, -127) : kNan;
    if (std::isinf(x)) return saturate ? std::ldexp(1.0F, 127) : kNan;
    int exponent = 0;
    const float fraction = std::frexp(x, &exponent);  // [0.5, 1)
    const bool away =
        rounding == Rounding::up ? fraction > 0.5F : rounding == Rounding::nearest && fraction >= 0.75F;
    return std::ldexp(1.0F, std::min(std::max(exponent - 1 + (away ? 1 : 0), -127), 127));
  }
  using Special = io::SmallFloat::Special;
  const io::SmallFloat at = format_of(type);
  const bool unsigned_zero = at.special == Special::minus_zero, infinite = at.special == Special::infinities;
  const float magnitude = std::fabs(x);
  const auto signed_as_x = [&](float value) {
    if (value == 0 && unsigned_zero) return 0.0F;
    return std::signbit(x) ? -value : value;
  };
  if (std::isinf(x))
    return saturate || at.special == Special::none ? signed_as_x(at.largest) : infinite ? x : kNan;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int lowest = 1 - at.bias;  // of normal numbers
  const int step = std::max(exponent - 1, lowest) - at.mantissa;
  const float rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, -step)), step);
  if (rounded <= at.largest) return signed_as_x(rounded);
  if (saturate || at.special == Special::none) return signed_as_x(at.largest);
  return infinite ? signed_as_x(kInf) : kNan;
}

}  // namespace veldt::onnx
