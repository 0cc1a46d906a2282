// Rows of veldt/ops/quantize.h. Scales are powers of two, so that the quotients are exact in every dtype.
#include <algorithm>
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/quantize.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using X = std::span<const double>;

constexpr double kScale = 0.0625;

double level(double x, double zero, double low, double high) {
  if (std::isnan(x)) return 0;
  return std::clamp(std::nearbyint(x / kScale) + zero, low, high);
}
Tensor scale_for(const Tensor& x) {
  return full({}, kScale, x.dtype() == DType::f64 ? DType::f64 : DType::f32, x.device());
}
Tensor zero_of(const Tensor& x, double zero) { return full({}, zero, DType::i32, x.device()); }

OpRow quantize_row(const char* name, double zero, QuantizeOptions o, DType result) {
  OpRow row = elementwise(
      name, {{}},
      {{str(o.low, " to ", o.high),
        [=](In in) { return quantize(in[0], scale_for(in[0]), zero_of(in[0], zero), o); },
        [=](X x) { return level(x[0], zero, static_cast<double>(o.low), static_cast<double>(o.high)); }}},
      0, 0);
  row.result = result;
  return row;
}

// Its gradient is no derivative: tests/ops/quantize_test.cpp has it.
OpRow fake_quantize_row() {
  return elementwise(
      "fake_quantize", {{}},
      {{"-7 to 7", [](In in) { return fake_quantize(in[0], scale_for(in[0]), {}, {.low = -7, .high = 7}); },
        [](X x) { return std::isnan(x[0]) ? x[0] : kScale * level(x[0], 0, -7, 7); }}},
      0, 0);
}

// A list of scales, along an axis.
OpRow dequantize_row() {
  OpRow row{.name = "dequantize",
            .inputs = {{.low = -128, .high = 128, .dtype = DType::i64}},
            .cases = {},
            .order = 0,
            .ulps = 0,
            .result = DType::f32};
  row.cases.push_back({"axis 1",
                       {{3, 4}},
                       [](In in) {
                         const Device device = in[0].device();
                         const Tensor scale = to(Tensor::of({4}, {0.5, 1, 2, 0.25}), device),
                                      zero = to(Tensor::of({4}, {0, 1, -2, 3}, DType::i32), device);
                         return dequantize(in[0], scale, zero, 1);
                       },
                       [](const std::vector<Values>& in) {
                         constexpr double kScales[] = {0.5, 1, 2, 0.25}, kZeros[] = {0, 1, -2, 3};
                         return Expected{build(in[0].shape, [&](const Shape& at) {
                           return (in[0].at(at) - kZeros[at[1]]) * kScales[at[1]];
                         })};
                       }});
  return row;
}

double nibble(const Values& q, const Shape& at, std::int64_t half) {
  Shape from = at;
  const int last = at.rank() - 1;
  from[last] = at[last] / 16 * 32 + at[last] % 16 + 16 * half;
  return q.at(from);
}

OpRow pack_row() {
  OpRow row{.name = "pack_nibbles",
            .inputs = {{.low = -8, .high = 8, .dtype = DType::i64}},
            .cases = {},
            .order = 0,
            .ulps = 0,
            .result = DType::u8};
  for (const Shape& x : {Shape{32}, Shape{3, 64}, Shape{0, 32}})
    row.cases.push_back({str(x),
                         {x},
                         [](In in) { return pack_nibbles(in[0]); },
                         [](const std::vector<Values>& in) {
                           Shape shape = in[0].shape;
                           shape[shape.rank() - 1] /= 2;
                           return Expected{build(shape, [&](const Shape& at) {
                             return nibble(in[0], at, 0) + 8 + 16 * (nibble(in[0], at, 1) + 8);
                           })};
                         }});
  return row;
}

OpRow unpack_row() {
  OpRow row{.name = "unpack_nibbles",
            .inputs = {{.low = 0, .high = 256, .dtype = DType::i64}},
            .cases = {},
            .order = 0,
            .ulps = 0,
            .result = DType::i8};
  for (const Shape& x : {Shape{16}, Shape{3, 32}})
    row.cases.push_back({str(x),
                         {x},
                         [](In in) { return unpack_nibbles(to(in[0], DType::u8)); },
                         [](const std::vector<Values>& in) {
                           Shape shape = in[0].shape;
                           shape[shape.rank() - 1] *= 2;
                           return Expected{build(shape, [&](const Shape& at) {
                             Shape from = at;
                             const std::int64_t i = at[at.rank() - 1];
                             from[at.rank() - 1] = i / 32 * 16 + i % 16;
                             const auto byte = static_cast<int>(in[0].at(from));
                             return static_cast<double>((i % 32 < 16 ? byte % 16 : byte / 16) - 8);
                           })};
                         }});
  return row;
}

}  // namespace

std::vector<OpRow> quantize_rows() {
  OpRow bytes = quantize_row("quantize", 3, {.low = 0, .high = 255}, DType::u8);
  return {bytes, fake_quantize_row(), dequantize_row(), pack_row(), unpack_row()};
}

}  // namespace veldt::test
