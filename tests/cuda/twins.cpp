// Calls an entry on both devices, and tells how far the results are apart.
#include "tests/cuda/twins.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/gpu_emulation.h"
#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/kernels/convert.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

std::vector<Operand> run_on(const Backend& backend, std::vector<Operand> operands, const TableCall& call) {
  std::vector<View> views;
  std::vector<void*> memory;
  for (const Operand& o : operands) {
    memory.push_back(backend.allocate(o.bytes.size()));
    backend.upload(memory.back(), o.bytes.data(), o.bytes.size());
    auto* first =
        static_cast<unsigned char*>(memory.back()) + o.offset * static_cast<std::int64_t>(size_of(o.dtype));
    views.push_back({first, o.dtype, o.shape, o.strides});
  }
  call(backend, views);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    backend.download(operands[i].bytes.data(), memory[i], operands[i].bytes.size());
    backend.deallocate(memory[i], operands[i].bytes.size());
  }
  return operands;
}

// The distance of a number to the next larger one of its dtype.
double step_of(DType dtype, double x) {
  const int digits = dtype == DType::f64 ? 53 : dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
  const int lowest = dtype == DType::f64   ? -1074
                     : dtype == DType::f32 ? -149
                     : dtype == DType::f16 ? -24
                                           : -133;
  return std::ldexp(1.0, std::max(x == 0 ? lowest : std::ilogb(x) - digits + 1, lowest));
}

}  // namespace

Operand::Operand(DType dtype_, const Shape& shape_, Layout layout,
                 const std::function<std::uint64_t(std::int64_t)>& bits)
    : dtype(dtype_), shape(shape_), strides(contiguous_strides(shape_)) {
  const int last = shape.rank() - 1;
  if (layout == Layout::transposed) {
    std::int64_t next = 1;
    for (int d = 0; d <= last; next *= shape[d++]) strides[d] = next;
  }
  if (layout == Layout::padded)  // rows that still begin at multiples of four where they did
    for (int d = 0; d < last; ++d) strides[d] = strides[d] / shape[last] * (shape[last] + 4);
  if (layout == Layout::stepped)
    for (int d = 0; d <= last; ++d) strides[d] *= 2;
  if (layout == Layout::offset) offset = 3;
  if (layout == Layout::repeated_first) strides[0] = 0;
  if (layout == Layout::repeated_last) strides[last] = 0;
  std::int64_t elements = offset + 1;
  for (int d = 0; d <= last; ++d) elements += strides[d] * std::max<std::int64_t>(shape[d] - 1, 0);
  const std::size_t size = size_of(dtype);
  bytes.resize(static_cast<std::size_t>(elements) * size);
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t of = bits(i);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size, &of, size);
  }
}

std::vector<double> Operand::numbers() const {
  std::vector<double> out;
  scalar::with_type(dtype, [&](auto type) {
    for (std::int64_t i = 0; i < numel(shape); ++i) {
      const Shape index = index_of(shape, i);
      std::int64_t at = offset;
      for (int d = 0; d < shape.rank(); ++d) at += index[d] * strides[d];
      std::memcpy(&type, bytes.data() + static_cast<std::size_t>(at) * sizeof type, sizeof type);
      out.push_back(static_cast<double>(scalar::load(type)));
    }
  });
  return out;
}

std::uint64_t bits_of(DType dtype, double value) {
  std::uint64_t bits = 0;
  scalar::with_type(dtype, [&](auto type) {
    type = scalar::store<decltype(type)>(value);
    std::memcpy(&bits, &type, sizeof type);
  });
  return bits;
}

std::function<std::uint64_t(std::int64_t)> some_bits(DType dtype, std::uint64_t seed) {
  return [=](std::int64_t i) -> std::uint64_t {
    const Rng rng(seed, static_cast<std::uint64_t>(dtype));
    const std::uint64_t at = 3 * static_cast<std::uint64_t>(i), draw = rng.at(at);
    const std::uint64_t wild = std::uint64_t{rng.at(at + 1)} << 32 | rng.at(at + 2);
    if (dtype == DType::boolean) return draw % 2;
    if (!is_float(dtype)) {
      if (draw % 4 == 0) return wild;
      constexpr std::array<std::int64_t, 6> extremes = {0, -1, 1, INT64_MIN, INT64_MAX, INT32_MIN};
      if (draw % 4 == 1) {
        const std::int64_t x = extremes[draw / 4 % 6];
        return dtype == DType::i32 && x == INT64_MIN ? 0x80000000u : static_cast<std::uint64_t>(x);
      }
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(draw / 4 % 21) - 10);
    }
    if (seed != 0 && draw % 8 == 0) return wild;  // any bits at all, NaNs and denormals among them
    if (seed != 0 && draw % 8 == 1) {
      constexpr double special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5};
      return bits_of(dtype, special[draw / 8 % 8]);
    }
    return bits_of(dtype, static_cast<double>(Rng::to_unit(rng.at(at + 1))) * 6 - 3);
  };
}

Twins run_on_both(const std::vector<Operand>& operands, const TableCall& call) {
  use_emulated_device();
  Twins twins;
  twins.cpu = run_on(backend(Device{}), operands, call);
  twins.device = run_on(backend(kEmulated), operands, call);
  twins.fault = gpu::emulation::take_fault();
  const Operand& result = twins.device.back();
  note_result(result.dtype, result.bytes.data(), result.bytes.size());
  return twins;
}

std::string difference(const Twins& twins, double ulps) {
  if (!twins.fault.empty()) return twins.fault;
  const Operand &a = twins.cpu.back(), &b = twins.device.back();
  if (ulps == 0) {
    const auto [here, there] = std::mismatch(a.bytes.begin(), a.bytes.end(), b.bytes.begin());
    if (here == a.bytes.end()) return "";
    return str("byte ", here - a.bytes.begin(), " is ", int{*there}, " and not ", int{*here});
  }
  const std::vector<double> x = a.numbers(), y = b.numbers();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!(std::fabs(x[i] - y[i]) <= ulps * step_of(a.dtype, x[i])))
      return str("element ", i, " is ", y[i], " and not ", x[i]);
  }
  return "";
}

}  // namespace veldt::test
