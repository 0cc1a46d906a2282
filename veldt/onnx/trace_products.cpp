// Matrix products and convolutions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "veldt/core/convolution.h"
#include "veldt/core/quantized.h"
#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

View matrix_of(const View& v) {
  View m = v;
  m.shape = {v.shape[1], v.shape[2]};
  m.strides = {v.strides[1], v.strides[2]};
  return m;
}

View turned(View m) {
  std::swap(m.shape[0], m.shape[1]);
  std::swap(m.strides[0], m.strides[1]);
  return m;
}

bool is_turned(const View& m) { return m.strides[0] == 1 && m.strides[1] != 1 && m.shape[1] > 1; }

// One matrix by one: a Gemm, or where the rows have several dimensions in front a MatMul.
void product_of_matrices(const View& a, const View& b, const View* bias, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const std::optional<WholeValue> rows = t.held().whole(a, a.shape[1]);
  const bool flat = !rows || rows->shape.size() == 2;
  const int added = bias ? t.held().read_repeated(matrix_of(*bias)) : -1;
  if (!flat) {
    int y = n.matmul(rows->value, t.held().read(b));
    if (bias) y = n.binary("Add", y, added);
    return t.held().write_packed(out, y);
  }
  const bool turn_b = is_turned(b), turn_a = is_turned(a);
  const int x = t.held().read(turn_a ? turned(a) : a), w = t.held().read(turn_b ? turned(b) : b);
  const Sizes shape = {a.shape[0], b.shape[1]};
  int y = 0;
  if (!bias && !turn_a && !turn_b) {
    y = n.matmul(x, w);
  } else {
    TracedAttributes attributes;
    if (turn_a) attributes.push_back({"transA", std::int64_t{1}});
    if (turn_b) attributes.push_back({"transB", std::int64_t{1}});
    std::vector<int> inputs = {x, w};
    if (bias) inputs.push_back(added);
    y = n.node("Gemm", inputs, out.dtype, shape, attributes);
  }
  t.held().write(out, y);
}

void matmul_entry(const View& a, const View& b, const View* bias, const View& out) {
  if (a.shape[0] == 1) {
    return product_of_matrices(matrix_of(a), matrix_of(b), bias, matrix_of(out));
  }
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  // A matrix that is repeated for the whole batch is one of rank 2.
  const auto factor = [&](const View& v) {
    return v.strides[0] == 0 ? t.held().read(matrix_of(v)) : t.held().read(v);
  };
  int y = n.matmul(factor(a), factor(b));
  if (bias) y = n.binary("Add", y, t.held().read_repeated(*bias));
  t.held().write(out, n.reshape(y, {out.shape.begin(), out.shape.end()}));
}

Sizes first_of(const std::array<std::int64_t, ConvLayout::kMaxDims>& list, int dims) {
  return {list.begin(), list.begin() + dims};
}

// Of a convolution's node; `rest`: elements of x behind those that any output reads.
TracedAttributes conv_attributes(const ConvLayout& layout, const ConvViews& v, Sizes& rest) {
  const Sizes strides = first_of(layout.stride, layout.dims),
              dilations = first_of(layout.dilation, layout.dims);
  Sizes kernel, pads = first_of(layout.padding, layout.dims);
  for (int d = 0; d < layout.dims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    kernel.push_back(v.w.shape[2 + d]);
    // The last element of x that an output reads, beyond its end: padding behind, or else elements that none
    // reads.
    const std::int64_t beyond = (v.y.shape[2 + d] - 1) * strides[at] - pads[at] +
                                layout.reach(d, v.w.shape[2 + d]) - v.x.shape[2 + d];
    pads.push_back(std::max<std::int64_t>(beyond, 0));
    rest.push_back(std::max<std::int64_t>(-beyond, 0));
  }
  return {{"kernel_shape", kernel},
          {"strides", strides},
          {"pads", pads},
          {"dilations", dilations},
          {"group", layout.groups}};
}

void convolve_entry(const ConvLayout& layout, ConvPart part, const View& a, const View& b, const View* bias,
                    const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  if (part == ConvPart::weight_gradient) return t.refuse_call();
  const ConvViews v(part, a, b, out);
  Sizes rest;
  const TracedAttributes attributes = conv_attributes(layout, v, rest);
  const Sizes strides = first_of(layout.stride, layout.dims);
  const Sizes shape(out.shape.begin(), out.shape.end());
  if (part == ConvPart::output) {
    std::vector<int> inputs = {t.held().read(v.x), t.held().read(v.w)};
    if (bias) inputs.push_back(t.held().read(*bias));
    return t.held().write(out, n.node("Conv", inputs, out.dtype, shape, attributes));
  }
  // ONNX wants less of it than a stride. Outputs that no input reaches are 0 in any case.
  const bool reaches = std::equal(rest.begin(), rest.end(), strides.begin(), std::less<>());
  Sizes made = shape;
  TracedAttributes transposed = attributes;
  if (reaches) transposed.push_back({"output_padding", rest});
  for (std::size_t d = 0; !reaches && d < rest.size(); ++d) made[2 + d] -= rest[d];
  int y = n.node("ConvTranspose", {t.held().read(v.y), t.held().read(v.w)}, out.dtype, made, transposed);
  if (!reaches) {
    Sizes around(shape.size() + 2, 0);
    around.insert(around.end(), rest.begin(), rest.end());
    y = n.node("Pad", {y, n.sizes(around), n.scalar(out.dtype, 0)}, out.dtype, shape);
  }
  t.held().write(out, y);
}

// --- integers, as QuantizeLinear and DequantizeLinear around products of floats (QDQ): what reads the graph
// puts them together.

Sizes sizes_in(const View& v) { return {v.shape.begin(), v.shape.end()}; }

// The numbers that integers along the first dimension stand for.
int dequantised_weight(const View& w, const View& scale) {
  Tracer& t = tracing();
  return t.nodes().node("DequantizeLinear", {t.held().read(w), t.held().read(scale)}, DType::f32, sizes_in(w),
                        {{"axis", std::int64_t{0}}});
}

// x as bytes and back, with a scale and a zero point; `as_bytes`: only the first half.
int through_bytes(int x, const View& affine, bool as_bytes) {
  TraceNodes& n = tracing().nodes();
  const auto* const numbers = affine.as<const float>();
  const int scale = n.scalar(DType::f32, numbers[0]), zero = n.scalar(DType::u8, numbers[1]);
  const int q = n.node("QuantizeLinear", {x, scale, zero}, DType::u8, n.shape(x));
  return as_bytes ? q : n.node("DequantizeLinear", {q, scale, zero}, DType::f32, n.shape(x));
}

// Where each call finds the range of each row, or of each example of a convolution: scales and zero points as
// f32 [rows], and x as bytes with them. DynamicQuantizeLinear has one range for all rows, so what one gives
// would depend on the others.
struct FoundBytes {
  int scale, zero, bytes;
};

FoundBytes bytes_found(int x) {
  TraceNodes& n = tracing().nodes();
  const Sizes shape = n.shape(x), rows = {shape[0]};
  Sizes others;
  for (std::size_t d = 1; d < shape.size(); ++d) others.push_back(static_cast<std::int64_t>(d));
  const int low = n.by("Min", n.reshape(n.reduce("ReduceMin", x, others), rows), 0),
            high = n.by("Max", n.reshape(n.reduce("ReduceMax", x, others), rows), 0),
            // Of a row of zeros any will do but 0.
      scale = n.by("Max", n.by("Div", n.binary("Sub", high, low), 255), std::numeric_limits<float>::min()),
            zero = n.unary("Round", n.binary("Div", n.unary("Neg", low), scale));
  const int q = n.node("QuantizeLinear", {x, scale, n.cast(zero, DType::u8)}, DType::u8, shape,
                       {{"axis", std::int64_t{0}}});
  return {scale, zero, q};
}

// Exact sums of bytes: those of the zero points of x are taken away after the product, because a
// MatMulInteger of onnxruntime has one for all rows. The weight is u8, with the zero point 128: where a
// processor has no VNNI, onnxruntime adds pairs of products of u8 and i8 in 16 bits, which do not hold them
// (microsoft/onnxruntime, issue 7524).
int dynamic_product(int x, const View& w, const View& scale, const View* bias, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const std::int64_t rows = out.shape[0], columns = w.shape[0], depth = w.shape[1];
  const Sizes shape = sizes_in(out), of_rows = {rows, 1};
  const FoundBytes found = bytes_found(x);
  std::vector<double> sums(static_cast<std::size_t>(columns));
  std::string bytes(static_cast<std::size_t>(depth * columns), '\0');
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t k = 0; k < depth; ++k) {
      const int weight = w.as<const std::int8_t>()[j * depth + k];
      sums[static_cast<std::size_t>(j)] += weight;
      bytes[static_cast<std::size_t>(k * columns + j)] = static_cast<char>(weight + 128);
    }
  const int product = n.node("MatMulInteger",
                             {found.bytes, n.constant(DType::u8, {depth, columns}, bytes),
                              n.scalar(DType::u8, 0), n.scalar(DType::u8, 128)},
                             DType::i32, shape);
  const int of_zeros = n.binary("Mul", n.reshape(n.cast(found.zero, DType::i32), of_rows),
                                n.numbers(DType::i32, {columns}, sums));
  const int scales = n.binary("Mul", n.reshape(found.scale, of_rows), t.held().read(scale));
  const int y = n.binary("Mul", n.cast(n.binary("Sub", product, of_zeros), DType::f32), scales);
  return bias ? n.binary("Add", y, t.held().read(*bias)) : y;
}

int product_by(int x, int w, const View* bias, const View& out) {
  Tracer& t = tracing();
  std::vector<int> inputs = {x, w};
  if (bias) inputs.push_back(t.held().read(*bias));
  return t.nodes().node("Gemm", inputs, DType::f32, sizes_in(out), {{"transB", std::int64_t{1}}});
}

void convolve_quantized_entry(const QuantizedConv& layer, const View& x, const View& w, const View& scale,
                              const View* bias, const View* input, const View* output, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  int from = t.held().read(x);
  if (x.dtype == DType::f32 && input) from = through_bytes(from, *input, false);
  if (x.dtype == DType::u8) {
    const auto* const numbers = input->as<const float>();
    from =
        n.node("DequantizeLinear", {from, n.scalar(DType::f32, numbers[0]), n.scalar(DType::u8, numbers[1])},
               DType::f32, n.shape(from));
  }
  int y = 0;
  if (layer.layout.dims == 0) {
    y = input ? product_by(from, dequantised_weight(w, scale), bias, out)
              : dynamic_product(from, w, scale, bias, out);
  } else {
    if (!input) {
      const FoundBytes found = bytes_found(from);
      from = n.node("DequantizeLinear", {found.bytes, found.scale, n.cast(found.zero, DType::u8)}, DType::f32,
                    n.shape(from), {{"axis", std::int64_t{0}}});
    }
    Sizes rest;
    const TracedAttributes attributes =
        conv_attributes(layer.layout, ConvViews(ConvPart::output, x, w, out), rest);
    std::vector<int> inputs = {from, dequantised_weight(w, scale)};
    if (bias) inputs.push_back(t.held().read(*bias));
    y = n.node("Conv", inputs, DType::f32, sizes_in(out), attributes);
  }
  if (std::isfinite(layer.low) || std::isfinite(layer.high))
    y = n.node("Clip", {y, n.scalar(DType::f32, layer.low), n.scalar(DType::f32, layer.high)}, DType::f32,
               sizes_in(out));
  if (output) y = through_bytes(y, *output, true);
  t.held().write(out, y);
}

// Weights of 4 bits as bytes, each group a row with a scale.
void multiply_narrow_entry(const View& x, const View& w, const View& scale, const View* bias,
                           const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  if (w.dtype == DType::i8)
    return t.held().write(out, product_by(t.held().read(x), dequantised_weight(w, scale), bias, out));
  constexpr std::int64_t kGroup = 32;
  const std::int64_t groups = numel(scale.shape);
  const auto* const bytes = w.as<const std::uint8_t>();
  std::string numbers(static_cast<std::size_t>(groups * kGroup), '\0');
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t i = 0; i < kGroup; ++i) {
      const int byte = bytes[g * kGroup / 2 + i % (kGroup / 2)];
      numbers[static_cast<std::size_t>(g * kGroup + i)] =
          static_cast<char>((i < kGroup / 2 ? byte % 16 : byte / 16) - 8);
    }
  const int q = n.constant(DType::i8, {groups, kGroup}, numbers);
  const int scales = n.reshape(t.held().read(scale), {groups});
  const int rows =
      n.node("DequantizeLinear", {q, scales}, DType::f32, {groups, kGroup}, {{"axis", std::int64_t{0}}});
  t.held().write(out, product_by(t.held().read(x), n.reshape(rows, {out.shape[1], x.shape[1]}), bias, out));
}

// ONNX's LSTM has no bytes within, so each step is nodes of its own.
void lstm_quantized_entry(const QuantizedConv&, bool reverse, const View& inputs, const View& w,
                          const View& scale, const View* bias, const View& input, const View& h,
                          const View& c, const View& out, const View& cell) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const std::int64_t time = inputs.shape[0], batch = inputs.shape[1], hidden = w.shape[1];
  const int weight = dequantised_weight(w, scale), sums = t.held().read(inputs);
  int state = t.held().read(h), before = t.held().read(c);
  View product = h;
  product.shape[1] = 4 * hidden;
  std::vector<int> states(static_cast<std::size_t>(time));
  for (std::int64_t i = 0; i < time; ++i) {
    const std::int64_t step = reverse ? time - 1 - i : i;
    const int x =
        n.reshape(n.slice(sums, {step, 0, 0}, {1, batch, 4 * hidden}, {1, 1, 1}), {batch, 4 * hidden});
    const int all = n.binary("Add", x, product_by(through_bytes(state, input, false), weight, bias, product));
    const auto gate = [&](std::int64_t k, const char* function) {
      return n.unary(function, n.slice(all, {0, k * hidden}, {batch, hidden}, {1, 1}));
    };
    before = n.binary("Add", n.binary("Mul", gate(1, "Sigmoid"), before),
                      n.binary("Mul", gate(0, "Sigmoid"), gate(2, "Tanh")));
    state = n.binary("Mul", gate(3, "Sigmoid"), n.unary("Tanh", before));
    states[static_cast<std::size_t>(step)] = n.reshape(state, {1, batch, hidden});
  }
  t.held().write(out, n.concat(states, 0));
  t.held().write(cell, before);
}

}  // namespace

void trace_products(Backend& table) {
  table.matmul = matmul_entry;
  table.convolve = convolve_entry;
  table.convolve_quantized = convolve_quantized_entry;
  table.multiply_narrow = multiply_narrow_entry;
  table.lstm_quantized = lstm_quantized_entry;
}

}  // namespace veldt::onnx
