// Numbers as integers, or as floats of 8 bits, with a scale and a zero point.
#include <algorithm>
#include <cmath>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/matmul.h"

namespace veldt::onnx {

namespace {

// The smallest and the largest number of an integer type that networks are quantised to.
std::pair<double, double> levels_of(const Call& c, ElementType type) {
  switch (type) {
    case ElementType::uint8: return {0, 255};
    case ElementType::int8: return {-128, 127};
    case ElementType::uint16: return {0, 65535};
    case ElementType::int16: return {-32768, 32767};
    case ElementType::uint4: return {0, 15};
    case ElementType::int4: return {-8, 7};
    case ElementType::uint2: return {0, 3};
    case ElementType::int2: return {-2, 1};
    case ElementType::int32: return {-2147483648.0, 2147483647.0};
    default: break;
  }
  c.fail(str("it does not quantise to ", name_of(type)));
}

// A scale or zero point, shaped to broadcast against x: one number, one for each position of an axis, or one
// for each block of positions of an axis.
Tensor beside(const Call& c, const Tensor& scale, const Tensor& x) {
  if (scale.numel() == 1 && scale.rank() <= 1) return reshape(scale, {});
  const std::int64_t block = c.integer("block_size", 0);
  const int axis = c.axis(c.integer("axis", 1), x.rank());
  if (block == 0) {
    if (scale.rank() != 1 || scale.size(0) != x.size(axis))
      c.fail(str("its scale or zero point is ", scale.shape(), ", its input ", x.shape(), " with the axis ",
                 axis));
    Shape shape = Shape::filled(x.rank(), 1);
    shape[axis] = x.size(axis);
    return reshape(scale, shape);
  }
  bool fits = block > 0 && scale.rank() == x.rank();
  for (int d = 0; fits && d < x.rank(); ++d)
    fits = scale.size(d) == (d == axis ? (x.size(d) - 1) / block + 1 : x.size(d));
  if (!fits)
    c.fail(str("its scale or zero point is ", scale.shape(), ", its input ", x.shape(), " in blocks of ",
               block, " along the axis ", axis));
  const Tensor place = floor_divide(ramp(c, x.size(axis)), block);
  return index_select(scale, axis, place);
}

// round(x / scale) + zero point, kept within the type.
Value quantised(const Call& c, const Tensor& x, const Tensor& scale, const Tensor& zero, ElementType type) {
  const auto [low, high] = levels_of(c, type);
  Tensor q = round(div(x, scale));
  if (is_half(q.dtype())) q = to(q, DType::f32);
  if (zero.defined()) q = add(q, to(zero, q.dtype()));
  q = where(isnan(q), zeros_like(q), q);
  return {to(clamp(q, low, high), held_as(type)), type};
}

// An attribute that may be left out, or 0.
ElementType type_if_asked(const Call& c, const char* name) {
  const std::int64_t number = c.integer(name, 0);
  return number == 0 ? ElementType::undefined : element_of(c, number);
}

Values quantize_linear(const Call& c) {
  const Tensor x = c.real(0);
  Tensor scale = beside(c, c.tensor(1), x);
  const Tensor zero = c.has(2) ? beside(c, c.tensor(2), x) : Tensor();
  const ElementType asked = type_if_asked(c, "output_dtype");
  const ElementType type = c.has(2)                          ? c.type(2)
                           : asked != ElementType::undefined ? asked
                                                             : ElementType::uint8;
  const ElementType precision = type_if_asked(c, "precision");
  // Two halves have a quotient of half precision; other types meet in the wider one.
  const DType dtype = precision != ElementType::undefined ? held_as(precision)
                      : x.dtype() == scale.dtype()        ? x.dtype()
                                                          : DType::f32;
  const Tensor wide = to(x, dtype);
  scale = to(scale, dtype);
  if (is_integer(type)) return {quantised(c, wide, scale, zero, type)};
  Tensor y = div(wide, scale);
  if (zero.defined()) y = add(y, to(zero, y.dtype()));
  return {cast(Value(y), type, c.integer("saturate", 1) != 0)};
}

// (x - zero point) scale; the gradient reaches the scale.
Values dequantize_linear(const Call& c) {
  const Tensor &x = c.tensor(0), &scale = c.tensor(1);
  const DType wide = scale.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Tensor y;
  if (c.has(2) && !is_float(x.dtype()))
    y = to(sub(to(x, DType::i64), to(beside(c, c.tensor(2), x), DType::i64)), wide);
  else
    y = to(x, wide);
  y = mul(y, to(beside(c, scale, x), wide));
  const ElementType asked = type_if_asked(c, "output_dtype");
  return {cast(Value(y), asked != ElementType::undefined ? asked : c.type(1), true)};
}

// To u8, by the range of x and 0.
Values dynamic_quantize(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.numel() == 0) c.fail("its input has no elements");
  const Tensor low = minimum(min(x), 0), high = maximum(max(x), 0);
  Tensor scale = div(sub(high, low), 255);
  scale = where(equal(scale, 0), ones_like(scale), scale);
  const Tensor zero = clamp(round(div(neg(low), scale)), 0.0, 255.0);
  return {quantised(c, x, scale, zero, ElementType::uint8), scale, to(zero, DType::u8)};
}

// Integers as floats of which sums of `terms` products are exact.
Tensor exactly(const Tensor& x, const Tensor& zero, std::int64_t terms) {
  const DType dtype = terms <= 258 ? DType::f32 : DType::f64;
  const Tensor wide = to(x, dtype);
  return zero.defined() ? sub(wide, to(zero, dtype)) : wide;
}

// The zero point of a matrix: one, or one for each row (of a) or column (of b).
Tensor zero_of_factor(const Call& c, std::size_t i, const Tensor& x, bool rows) {
  if (!c.has(i)) return {};
  const Tensor& zero = c.tensor(i);
  if (zero.numel() == 1) return reshape(zero, {});
  if (zero.rank() == 1 && x.rank() >= 2) {
    if (zero.size(0) != x.size(rows ? -2 : -1))
      c.fail(str("a zero point is ", zero.shape(), " for a factor ", x.shape()));
    return rows ? unsqueeze(zero, 1) : zero;
  }
  return zero;
}

Tensor integer_product(const Call& c, std::size_t a_at, std::size_t b_at, std::size_t a_zero,
                       std::size_t b_zero) {
  const Tensor &a = c.tensor(a_at), &b = c.tensor(b_at);
  if (a.rank() == 0 || b.rank() == 0) c.fail("a factor is no matrix");
  const std::int64_t terms = a.size(-1);
  return matmul(exactly(a, zero_of_factor(c, a_zero, a, true), terms),
                exactly(b, zero_of_factor(c, b_zero, b, false), terms));
}

Values matmul_integer(const Call& c) {
  return {fitted(to(integer_product(c, 0, 1, 2, 3), DType::i64), ElementType::int32)};
}

// a, its scale and zero point, b, its scale and zero point, the result's.
Values qlinear_matmul(const Call& c) {
  const Tensor product = integer_product(c, 0, 3, 2, 5);
  const auto factor = [&](std::size_t i, std::size_t of, bool rows) {
    const Tensor scale = zero_of_factor(c, i, c.tensor(of), rows);
    return to(scale, DType::f64);
  };
  const Tensor y = mul(to(product, DType::f64), mul(factor(1, 0, true), factor(4, 3, false)));
  return {quantised(c, y, to(c.tensor(6), DType::f64), c.tensor(7), c.type(7))};
}

// A list as the channels of a weight or of a result; one number stays one.
Tensor for_channel(const Call& c, const Tensor& list, int rank, int channel, std::int64_t channels) {
  if (list.numel() == 1) return reshape(list, {});
  if (list.rank() != 1 || list.size(0) != channels)
    c.fail(str("a scale or zero point is ", list.shape(), " for ", channels, " channels"));
  Shape shape = Shape::filled(rank, 1);
  shape[channel] = channels;
  return reshape(list, shape);
}

Tensor integer_convolution(const Call& c, const Tensor& x, const Tensor& x_zero, const Tensor& w,
                           const Tensor& w_zero) {
  if (w.rank() < 3 || w.rank() != x.rank())
    c.fail(str("its input is ", x.shape(), ", its weight ", w.shape()));
  const std::int64_t terms = w.size(0) > 0 ? w.numel() / w.size(0) : 0;
  const Tensor zero = w_zero.defined() ? for_channel(c, w_zero, w.rank(), 0, w.size(0)) : Tensor();
  return convolution(c, exactly(x, x_zero, terms), exactly(w, zero, terms), Tensor(), 0);
}

Values conv_integer(const Call& c) {
  const Tensor x_zero = c.has(2) ? c.tensor(2) : Tensor(), w_zero = c.has(3) ? c.tensor(3) : Tensor();
  const Tensor y = integer_convolution(c, c.tensor(0), x_zero, c.tensor(1), w_zero);
  return {fitted(to(y, DType::i64), ElementType::int32)};
}

// x, its scale and zero point, the weight, its scale and zero point, the result's, a bias.
Values qlinear_conv(const Call& c) {
  const Tensor& w = c.tensor(3);
  const Tensor sums = to(integer_convolution(c, c.tensor(0), c.tensor(2), w, c.tensor(5)), DType::f64);
  const auto channels = [&](std::size_t i) {
    return to(for_channel(c, c.tensor(i), sums.rank(), 1, sums.size(1)), DType::f64);
  };
  const Tensor y = mul(c.has(8) ? add(sums, channels(8)) : sums, mul(channels(1), channels(4)));
  return {quantised(c, y, to(c.tensor(6), DType::f64), c.tensor(7), c.type(7))};
}

// --- com.microsoft: the same for other operators
// -------------------------------------------------------------

// The numbers that the inputs i (values), i + 1 (scale), i + 2 (zero point) stand for.
Tensor dequantised(const Call& c, std::size_t i) {
  const Tensor& x = c.tensor(i);
  Tensor y = to(x, DType::f32);
  if (c.has(i + 2)) y = sub(y, to(reshape(c.tensor(i + 2), {}), DType::f32));
  return mul(y, reshape(c.tensor(i + 1), {}));
}

template <Tensor (*fn)(const Tensor&, const Tensor&)> Values qlinear_pair(const Call& c) {
  return {quantised(c, fn(dequantised(c, 0), dequantised(c, 3)), c.tensor(6),
                    c.has(7) ? c.tensor(7) : Tensor(), c.type(0))};
}
template <Tensor (*fn)(const Call&, const Tensor&)> Values qlinear_each(const Call& c) {
  return {quantised(c, fn(c, dequantised(c, 0)), c.tensor(3), c.has(4) ? c.tensor(4) : Tensor(), c.type(0))};
}
Tensor quantised_sigmoid(const Call&, const Tensor& x) { return sigmoid(x); }
Tensor quantised_leaky(const Call& c, const Tensor& x) { return leaky_relu(x, c.real("alpha", 0.01)); }
Tensor quantised_average(const Call& c, const Tensor& x) {
  const bool last = c.integer("channels_last", 0) != 0;
  std::vector<int> dims;
  for (int d = last ? 1 : 2; d < x.rank() - (last ? 1 : 0); ++d) dims.push_back(d);
  if (dims.empty()) c.fail("its input has no spatial dimensions");
  return mean(x, dims, true);
}
// The result's scale and zero point, then three inputs for each part.
Values qlinear_concat(const Call& c) {
  std::vector<Tensor> parts;
  for (std::size_t i = 2; i + 2 < c.size(); i += 3) parts.push_back(dequantised(c, i));
  if (parts.empty()) c.fail("it has no inputs");
  return {quantised(c, cat(parts, c.axis(c.integer("axis"), parts[0].rank())), c.tensor(0), c.tensor(1),
                    c.type(1))};
}
// (a - zero) (b - zero) scales + bias.
Values matmul_integer_to_float(const Call& c) {
  const Tensor product = to(integer_product(c, 0, 1, 4, 5), c.tensor(2).dtype());
  const Tensor y = mul(product, mul(reshape(c.tensor(2), {}), zero_of_factor(c, 3, c.tensor(1), false)));
  return {c.has(6) ? add(y, c.tensor(6)) : y};
}
// The first factor is quantised on the way.
Values dynamic_quantize_matmul(const Call& c) {
  const Values a = dynamic_quantize(c);
  const Tensor& b = c.tensor(1);
  const std::int64_t terms = b.rank() >= 2 ? b.size(-2) : b.numel();
  const Tensor product =
      matmul(exactly(a[0].tensor(), a[2].tensor(), terms), exactly(b, zero_of_factor(c, 3, b, false), terms));
  const Tensor y = mul(to(product, DType::f32), mul(a[1].tensor(), zero_of_factor(c, 2, b, false)));
  return {c.has(4) ? add(y, c.tensor(4)) : y};
}

}  // namespace

void add_quantised(OperatorTable& t) {
  t.add("QuantizeLinear", quantize_linear);
  t.add("DequantizeLinear", dequantize_linear);
  t.add("DynamicQuantizeLinear", dynamic_quantize);
  t.add("MatMulInteger", matmul_integer);
  t.add("QLinearMatMul", qlinear_matmul);
  t.add("ConvInteger", conv_integer);
  t.add("QLinearConv", qlinear_conv);
  constexpr std::string_view kMicrosoft = "com.microsoft";
  t.add("QuantizeLinear", quantize_linear, 0, kMicrosoft);
  t.add("DequantizeLinear", dequantize_linear, 0, kMicrosoft);
  t.add("QLinearAdd", qlinear_pair<add>, 0, kMicrosoft);
  t.add("QLinearMul", qlinear_pair<mul>, 0, kMicrosoft);
  t.add("QLinearSigmoid", qlinear_each<quantised_sigmoid>, 0, kMicrosoft);
  t.add("QLinearLeakyRelu", qlinear_each<quantised_leaky>, 0, kMicrosoft);
  t.add("QLinearGlobalAveragePool", qlinear_each<quantised_average>, 0, kMicrosoft);
  t.add("QLinearConcat", qlinear_concat, 0, kMicrosoft);
  t.add("MatMulIntegerToFloat", matmul_integer_to_float, 0, kMicrosoft);
  t.add("DynamicQuantizeMatMul", dynamic_quantize_matmul, 0, kMicrosoft);
}

}  // namespace veldt::onnx
