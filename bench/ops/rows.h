// One row for each call of a public op that is timed: its inputs by size, the dtypes it is tried in, and how
// it is called. bench/peers/ops_torch.py has the same calls by the same names.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "veldt/veldt.h"

namespace veldt::bench {

using Tensors = std::vector<Tensor>;

inline std::int64_t side(std::int64_t n) { return std::llround(std::sqrt(static_cast<double>(n))); }

enum class Fill : std::uint8_t {
  numbers,    // uniform from low to high; whole ones 0 to 99
  positions,  // i64, below the side of a square of n elements
  booleans
};

// What an input holds, and its shape in a call over about n elements.
struct Input {
  Shape (*shape)(std::int64_t n);
  double low = -2, high = 2;
  Fill fill = Fill::numbers;
  bool dense = false;  // a weight or an index: row-major whatever the layout of the others
};

// What is timed, and with a gradient, by which tensors.
struct Call {
  std::function<Tensor()> run;
  Tensors wanted = {};
};

struct Row {
  std::string name;  // the op, and after a blank what is special about this call
  std::vector<DType> dtypes;
  std::vector<Input> inputs;
  std::function<Call(const Tensors& inputs)> make;
  bool gradient = false;  // whether forward and backward are timed too
  bool layouts = true;    // whether other layouts than row-major are tried
  bool view = false;      // nothing is computed or copied
};

const std::vector<DType> kFloats = {DType::f32, DType::f64, DType::bf16, DType::f16};
const std::vector<DType> kWide = {DType::f32, DType::f64};
const std::vector<DType> kNumbers = {DType::f32, DType::f64, DType::bf16, DType::f16,
                                     DType::i64, DType::i32, DType::u8,   DType::i8};

inline Shape square(std::int64_t n) { return {side(n), side(n)}; }
inline Shape line(std::int64_t n) { return {n}; }
inline Shape row_of_square(std::int64_t n) { return {side(n)}; }
inline Shape column_of_square(std::int64_t n) { return {side(n), 1}; }

// A function of the inputs, whose gradient goes to those of floats.
template <class Fn> std::function<Call(const Tensors&)> calls(Fn fn) {
  return [fn](const Tensors& x) {
    Call call{[fn, x] { return fn(x); }};
    for (const Tensor& input : x)
      if (is_float(input.dtype())) call.wanted.push_back(input);
    return call;
  };
}

// A module of the first input, whose gradient goes to its parameters too.
template <class Make> std::function<Call(const Tensors&)> calls_module(Make make) {
  return [make](const Tensors& x) {
    const auto module = make(x[0]);
    Call call{[module, x] { return (*module)(x[0]); }, module->parameters()};
    if (is_float(x[0].dtype())) call.wanted.push_back(x[0]);
    return call;
  };
}

std::vector<Row> elementwise_rows();
std::vector<Row> line_rows();
std::vector<Row> shape_rows();
std::vector<Row> product_rows();
std::vector<Row> layer_rows();

}  // namespace veldt::bench
