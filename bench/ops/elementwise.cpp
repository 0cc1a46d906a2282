// Elementwise ops: of one tensor, of two, and of a tensor and a number.
#include "rows.h"

namespace veldt::bench {

namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

Row unary(const char* name, Unary fn, double low = -2, double high = 2,
          const std::vector<DType>& dtypes = kFloats) {
  return {name, dtypes, {{square, low, high}}, calls([fn](const Tensors& x) { return fn(x[0]); }), true};
}

Row flat(const char* name, Unary fn, const std::vector<DType>& dtypes = kFloats) {
  Row row = unary(name, fn, -2, 2, dtypes);
  row.gradient = false;
  return row;
}

Row binary(const char* name, Binary fn, double low = 0.1, const std::vector<DType>& dtypes = kNumbers,
           bool gradient = true) {
  return {name,
          dtypes,
          {{square, -2, 2}, {square, low, 2}},
          calls([fn](const Tensors& x) { return fn(x[0], x[1]); }),
          gradient};
}

Row with_number(const char* name, Unary fn, double low = -2, const std::vector<DType>& dtypes = kFloats,
                bool gradient = true) {
  Row row = unary(name, fn, low, 2, dtypes);
  row.gradient = gradient;
  return row;
}

void add_unary(std::vector<Row>& rows) {
  for (const Row& row : {unary("neg", neg, -2, 2, kNumbers),
                         unary("operator- unary", neg, -2, 2, kNumbers),
                         unary("abs", abs, -2, 2, kNumbers),
                         flat("sign", sign, kNumbers),
                         unary("square", veldt::square, -2, 2, kNumbers),
                         unary("relu", relu, -2, 2, kNumbers),
                         flat("floor", floor),
                         flat("ceil", ceil),
                         flat("round", round),
                         flat("trunc", trunc),
                         unary("frac", frac),
                         unary("reciprocal", reciprocal, 0.1),
                         unary("sqrt", sqrt, 0.1),
                         unary("rsqrt", rsqrt, 0.1),
                         unary("exp", exp),
                         unary("exp2", exp2),
                         unary("expm1", expm1),
                         unary("log", log, 0.1),
                         unary("log2", log2, 0.1),
                         unary("log10", log10, 0.1),
                         unary("log1p", log1p, -0.9),
                         unary("sin", sin),
                         unary("cos", cos),
                         unary("tan", tan, -1.5, 1.5),
                         unary("asin", asin, -0.9, 0.9),
                         unary("acos", acos, -0.9, 0.9),
                         unary("atan", atan),
                         unary("sinh", sinh),
                         unary("cosh", cosh),
                         unary("tanh", tanh),
                         unary("asinh", asinh),
                         unary("acosh", acosh, 1.1),
                         unary("atanh", atanh, -0.9, 0.9),
                         unary("erf", erf),
                         unary("erfc", erfc),
                         unary("sigmoid", sigmoid),
                         unary("softplus", softplus),
                         unary("celu", [](const Tensor& x) { return celu(x); }),
                         unary("elu", [](const Tensor& x) { return elu(x); }),
                         unary("gelu", gelu),
                         unary("gelu_tanh", gelu_tanh),
                         unary("hardsigmoid", hardsigmoid),
                         unary("hardswish", hardswish),
                         unary("hardtanh", [](const Tensor& x) { return hardtanh(x); }),
                         unary("leaky_relu", [](const Tensor& x) { return leaky_relu(x); }),
                         unary("logsigmoid", logsigmoid),
                         unary("mish", mish),
                         unary("relu6", relu6),
                         unary("selu", selu),
                         unary("silu", silu),
                         unary("softsign", softsign),
                         flat("isnan", isnan),
                         flat("isinf", isinf),
                         flat("isfinite", isfinite),
                         flat("logical_not", logical_not, kNumbers)})
    rows.push_back(row);
}

void add_numbers(std::vector<Row>& rows) {
  for (const Row& row :
       {with_number(
            "clamp", [](const Tensor& x) { return clamp(x, 0, 1); }, -2, kNumbers),
        with_number("affine", [](const Tensor& x) { return affine(x, 2, 1); }),
        with_number(
            "quantize", [](const Tensor& x) { return quantize(x, full({}, 0.01)); }, -2, kWide, false),
        with_number("fake_quantize", [](const Tensor& x) { return fake_quantize(x, full({}, 0.01)); }),
        with_number("sine", [](const Tensor& x) { return sine(x, 30); }),
        with_number("gauss", [](const Tensor& x) { return gauss(x, 2); }),
        with_number("finer", [](const Tensor& x) { return finer(x, 5); }),
        with_number("wire", [](const Tensor& x) { return wire(x, 10, 2); }),
        with_number(
            "add number", [](const Tensor& x) { return add(x, 2); }, -2, kNumbers),
        with_number(
            "mul number", [](const Tensor& x) { return mul(x, 2); }, -2, kNumbers),
        with_number(
            "div number", [](const Tensor& x) { return div(x, 3); }, -2, kNumbers),
        with_number(
            "div by number", [](const Tensor& x) { return div(1, x); }, 0.1),
        with_number(
            "pow 2", [](const Tensor& x) { return pow(x, 2); }, -2, kNumbers),
        with_number("pow 3", [](const Tensor& x) { return pow(x, 3); }),
        with_number(
            "pow 0.5", [](const Tensor& x) { return pow(x, 0.5); }, 0.1),
        with_number(
            "pow -1", [](const Tensor& x) { return pow(x, -1.0); }, 0.1),
        with_number(
            "pow 1.7", [](const Tensor& x) { return pow(x, 1.7); }, 0.1),
        with_number("maximum number", [](const Tensor& x) { return maximum(x, 0.5); }),
        with_number(
            "floor_divide number", [](const Tensor& x) { return floor_divide(x, 3); }, -2, kNumbers, false),
        with_number(
            "remainder number", [](const Tensor& x) { return remainder(x, 3); }, -2, kNumbers),
        with_number(
            "greater number", [](const Tensor& x) { return greater(x, 1); }, -2, kNumbers, false)})
    rows.push_back(row);
}

void add_binary(std::vector<Row>& rows) {
  using T = const Tensor&;
  for (const Row& row :
       {binary("add", [](T a, T b) { return add(a, b); }), binary("sub", [](T a, T b) { return sub(a, b); }),
        binary("mul", [](T a, T b) { return mul(a, b); }), binary("div", [](T a, T b) { return div(a, b); }),
        binary("operator+", [](T a, T b) { return a + b; }),
        binary("operator-", [](T a, T b) { return a - b; }),
        binary("operator*", [](T a, T b) { return a * b; }),
        binary("operator/", [](T a, T b) { return a / b; }),
        binary("maximum", [](T a, T b) { return maximum(a, b); }),
        binary("minimum", [](T a, T b) { return minimum(a, b); }),
        binary(
            "floor_divide", [](T a, T b) { return floor_divide(a, b); }, 0.1, kNumbers, false),
        binary("remainder", [](T a, T b) { return remainder(a, b); }),
        binary("fmod", [](T a, T b) { return fmod(a, b); }), binary("atan2", atan2, 0.1, kFloats),
        binary("hypot", hypot, 0.1, kFloats)})
    rows.push_back(row);
  Row powers = binary("pow", [](T a, T b) { return pow(a, b); });
  powers.inputs[0].low = 0.1;
  rows.push_back(powers);
  const std::pair<const char*, Binary> tests[] = {
      {"equal", [](T a, T b) { return equal(a, b); }},
      {"not_equal", [](T a, T b) { return not_equal(a, b); }},
      {"less", [](T a, T b) { return less(a, b); }},
      {"less_equal", [](T a, T b) { return less_equal(a, b); }},
      {"greater", [](T a, T b) { return greater(a, b); }},
      {"greater_equal", [](T a, T b) { return greater_equal(a, b); }},
      {"logical_and", logical_and},
      {"logical_or", logical_or},
      {"logical_xor", logical_xor}};
  for (const auto& [name, fn] : tests) rows.push_back(binary(name, fn, -2, kNumbers, false));
}

void add_broadcast(std::vector<Row>& rows) {
  const auto with = [&](const char* name, Shape (*shape)(std::int64_t), Binary fn) {
    rows.push_back({name,
                    kNumbers,
                    {{square}, {shape, 0.1, 2, Fill::numbers, true}},
                    calls([fn](const Tensors& x) { return fn(x[0], x[1]); }),
                    true});
  };
  with("add row", row_of_square, [](const Tensor& a, const Tensor& b) { return add(a, b); });
  with("mul row", row_of_square, [](const Tensor& a, const Tensor& b) { return mul(a, b); });
  with("mul column", column_of_square, [](const Tensor& a, const Tensor& b) { return mul(a, b); });
  rows.push_back({"lerp",
                  kFloats,
                  {{square}, {square}, {square, 0, 1}},
                  calls([](const Tensors& x) { return lerp(x[0], x[1], x[2]); }),
                  true});
  rows.push_back({"lerp number",
                  kFloats,
                  {{square}, {square}},
                  calls([](const Tensors& x) { return lerp(x[0], x[1], 0.3); }),
                  true});
  rows.push_back({"where",
                  kNumbers,
                  {{square, 0, 1, Fill::booleans}, {square}, {square}},
                  calls([](const Tensors& x) { return where(x[0], x[1], x[2]); }),
                  true});
}

void add_packed(std::vector<Row>& rows) {
  const auto of_groups = [](std::int64_t n) { return Shape{std::max<std::int64_t>(n / 256, 1), 256}; };
  Row scaled{"dequantize", {DType::u8, DType::i8, DType::i32}, {{square}}, calls([](const Tensors& x) {
               return dequantize(x[0], full({}, 0.01));
             })};
  rows.push_back(scaled);
  Row packed{"pack_nibbles", {DType::i8}, {{of_groups}}, [](const Tensors& x) {
               const Tensor small = remainder(x[0], 8);
               return Call{[small] { return pack_nibbles(small); }};
             }};
  packed.layouts = false;
  rows.push_back(packed);
  packed.name = "unpack_nibbles";
  packed.dtypes = {DType::u8};
  packed.make = calls([](const Tensors& x) { return unpack_nibbles(x[0]); });
  rows.push_back(packed);
}

}  // namespace

std::vector<Row> elementwise_rows() {
  std::vector<Row> rows;
  add_unary(rows);
  add_numbers(rows);
  add_binary(rows);
  add_broadcast(rows);
  add_packed(rows);
  return rows;
}

}  // namespace veldt::bench
