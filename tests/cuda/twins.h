// One call of a backend's table on the CPU and on the emulated device, over the same bytes: for what a Tensor
// does not reach (halves, bit patterns, gaps between elements).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/support/layouts.h"
#include "veldt/core/backend.h"

namespace veldt::test {

// A view's memory, gaps and all.
struct Operand {
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
  std::vector<unsigned char> bytes;

  // The bits of elements 0, 1, .. of the memory come from bits(i); as many bytes as the dtype has are kept.
  Operand(DType dtype, const Shape& shape, Layout layout,
          const std::function<std::uint64_t(std::int64_t)>& bits);
  // All elements of the view in row-major order, as floats, doubles or whole numbers are as doubles.
  std::vector<double> numbers() const;
};

// Bits of a number of the dtype, by its index: for floats ordinary ones with every special one among them (a
// seed of 0 leaves those out), for whole numbers the extremes with small ones.
std::function<std::uint64_t(std::int64_t)> some_bits(DType dtype, std::uint64_t seed);
std::uint64_t bits_of(DType dtype, double value);

using TableCall = std::function<void(const Backend&, std::span<const View>)>;
struct Twins {
  std::vector<Operand> cpu, device;  // as the call left them
  std::string fault;                 // what went wrong on the device
};
Twins run_on_both(const std::vector<Operand>& operands, const TableCall& call);

// "" if the last operands have the same bits, gaps too, or else where they differ. With ulps: floats may
// differ by as many of their last digits, and NaN equals NaN.
std::string difference(const Twins& twins, double ulps = 0);

}  // namespace veldt::test
