// Functions of each element, or of elements that are broadcast together.
#include <cmath>
#include <limits>

#include "veldt/onnx/narrow.h"
#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/activation.h"

namespace veldt::onnx {

namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

// The type stays.
template <Unary fn> Values same_type(const Call& c) { return {fitted(fn(c.tensor(0)), c.type(0))}; }
// A function of real numbers; integers are computed as f32 and converted back.
template <Unary fn> Values real_function(const Call& c) { return {fitted(fn(c.tensor(0)), c.type(0))}; }
template <Unary fn> Values to_boolean(const Call& c) { return {fn(c.tensor(0))}; }

// The two sides, the second with ones around it where a version before 7 says at which axis it lies.
std::pair<Tensor, Tensor> sides(const Call& c) {
  const Tensor& a = c.tensor(0);
  Tensor b = c.tensor(1);
  if (c.opset() < 7 && c.integer("broadcast", 0) != 0 && b.rank() > 0 && c.has("axis")) {
    const int first = c.axis(c.integer("axis"), a.rank());
    Shape shape;
    for (int d = 0; d < first; ++d) shape.push_back(1);
    for (const std::int64_t size : b.shape()) shape.push_back(size);
    while (shape.rank() < a.rank()) shape.push_back(1);
    b = reshape(b, shape);
  }
  return {a, b};
}

template <Binary fn> Values arithmetic(const Call& c) {
  const auto [a, b] = sides(c);
  return {fitted(fn(a, b), c.type(0))};
}

template <Binary fn> Values comparison(const Call& c) {
  const auto [a, b] = sides(c);
  return {fn(a, b)};
}

// Of integers towards zero, as C's.
Tensor quotient_of(const Tensor& a, const Tensor& b) {
  if (is_float(a.dtype())) return div(a, b);
  return floor_divide(sub(a, fmod(a, b)), b);
}

Tensor power_of(const Tensor& a, const Tensor& b) {
  if (is_float(a.dtype())) return pow(a, to(b, a.dtype()));
  if (!is_float(b.dtype())) return pow(a, to(b, a.dtype()));
  return pow(to(a, DType::f64), to(b, DType::f64));
}

Values mod(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  return {fitted(c.integer("fmod", 0) != 0 ? fmod(a, b) : remainder(a, b), c.type(0))};
}

template <Binary fn> Values of_all(const Call& c) {
  Tensor out = c.tensor(0);
  for (std::size_t i = 1; i < c.size(); ++i) out = fn(out, c.tensor(i));
  return {fitted(out, c.type(0))};
}

Values mean_of_all(const Call& c) {
  Tensor out = c.tensor(0);
  for (std::size_t i = 1; i < c.size(); ++i) out = add(out, c.tensor(i));
  return {div(out, static_cast<double>(c.size()))};
}

// Texts element by element, broadcast.
template <class Fn>
void each_pair(const Call& c, const Texts& a, const Texts& b, const Fn& fn, Shape& shape) {
  shape = broadcast(a.shape, b.shape, c.node().op.c_str());
  const auto places = [&](const Shape& from) {
    return host<std::int64_t>(expand(reshape(arange(numel(from)), from), shape));
  };
  const std::vector<std::int64_t> left = places(a.shape), right = places(b.shape);
  for (std::size_t i = 0; i < left.size(); ++i)
    fn(a.values[static_cast<std::size_t>(left[i])], b.values[static_cast<std::size_t>(right[i])]);
}

Values equal_of(const Call& c) {
  if (c.value(0).kind() != Value::Kind::texts) return comparison<equal>(c);
  Shape shape;
  std::vector<std::uint8_t> same;
  each_pair(
      c, c.value(0).texts(), c.value(1).texts(),
      [&](const std::string& x, const std::string& y) { same.push_back(x == y ? 1 : 0); }, shape);
  return {to(Tensor::from<std::uint8_t>(shape, same), DType::boolean)};
}

Values string_concat(const Call& c) {
  Texts out;
  each_pair(
      c, c.value(0).texts(), c.value(1).texts(),
      [&](const std::string& x, const std::string& y) { out.values.push_back(x + y); }, out.shape);
  return {Value(std::move(out))};
}

// Whole numbers bit by bit, in the host's memory.
template <class Fn> Values bitwise(const Call& c, const Fn& fn) {
  const Shape shape = broadcast(c.tensor(0).shape(), c.tensor(1).shape(), c.node().op.c_str());
  std::vector<std::int64_t> a = host<std::int64_t>(expand(c.tensor(0), shape));
  const std::vector<std::int64_t> b = host<std::int64_t>(expand(c.tensor(1), shape));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = fn(a[i], b[i]);
  return {fitted(Tensor::from<std::int64_t>(shape, a, c.device()), c.type(0))};
}

// To the right a number with a sign keeps it. Too far, or a number of steps below 0, shifts all bits out.
Values bit_shift(const Call& c) {
  const bool left = c.text("direction") == "LEFT";
  const ElementType type = c.type(0);
  const bool with_sign = type == ElementType::int8 || type == ElementType::int16 ||
                         type == ElementType::int32 || type == ElementType::int64;
  const int width = bits_of(type);
  return bitwise(c, [=](std::int64_t x, std::int64_t by) {
    // Beyond the width all bits are gone; to the right those with a sign keep it.
    if (by < 0 || by >= width) return !left && with_sign && x < 0 ? std::int64_t{-1} : std::int64_t{0};
    if (!left && with_sign) return x >> by;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    return std::bit_cast<std::int64_t>(left ? bits << by : bits >> by);
  });
}
Values bitwise_and(const Call& c) {
  return bitwise(c, [](std::int64_t x, std::int64_t y) { return x & y; });
}
Values bitwise_or(const Call& c) {
  return bitwise(c, [](std::int64_t x, std::int64_t y) { return x | y; });
}
Values bitwise_xor(const Call& c) {
  return bitwise(c, [](std::int64_t x, std::int64_t y) { return x ^ y; });
}
// -x - 1
Values bitwise_not(const Call& c) { return {fitted(sub(neg(to(c.tensor(0), DType::i64)), 1), c.type(0))}; }

Values select_where(const Call& c) {
  if (c.value(1).kind() != Value::Kind::texts)
    return {fitted(where(c.tensor(0), c.tensor(1), c.tensor(2)), c.type(1))};
  const Texts &a = c.value(1).texts(), &b = c.value(2).texts();
  const Shape shape = broadcast(broadcast(a.shape, b.shape, "Where"), c.tensor(0).shape(), "Where");
  const auto places = [&](const Shape& from) { return expand(reshape(arange(numel(from)), from), shape); };
  const std::int64_t first = numel(a.shape);
  const std::vector<std::int64_t> at =
      host<std::int64_t>(where(to(c.tensor(0), Device{}), places(a.shape), add(places(b.shape), first)));
  Texts out{shape, {}};
  for (const std::int64_t i : at)
    out.values.push_back(i < first ? a.values[static_cast<std::size_t>(i)]
                                   : b.values[static_cast<std::size_t>(i - first)]);
  return {Value(std::move(out))};
}

// The bounds are inputs since version 11, attributes before.
Values clip(const Call& c) {
  const Tensor& x = c.tensor(0);
  const bool lower = c.has(1) || (c.opset() < 11 && c.has("min")),
             upper = c.has(2) || (c.opset() < 11 && c.has("max"));
  if (!is_float(x.dtype())) {
    Tensor y = x;
    if (lower) y = maximum(y, to(c.tensor(1), x.dtype()));
    if (upper) y = minimum(y, to(c.tensor(2), x.dtype()));
    return {fitted(y, c.type(0))};
  }
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const double low = !lower ? -kEndless : c.has(1) ? c.number(1) : c.real("min", -kEndless);
  const double high = !upper ? kEndless : c.has(2) ? c.number(2) : c.real("max", kEndless);
  return {low > high ? full_like(x, high) : clamp(x, low, high)};
}

Values is_inf(const Call& c) {
  const Tensor& x = c.tensor(0);
  Tensor out = isinf(x);
  if (c.integer("detect_negative", 1) == 0) out = logical_and(out, greater(x, 0));
  if (c.integer("detect_positive", 1) == 0) out = logical_and(out, less(x, 0));
  return {out};
}

Values prelu(const Call& c) {
  const Tensor& x = c.tensor(0);
  Tensor slope = c.tensor(1);
  if (c.opset() < 7 && slope.rank() == 1 && x.rank() > 1) {
    Shape shape = Shape::filled(x.rank(), 1);
    shape[1] = slope.size(0);
    slope = reshape(slope, shape);
  }
  return {fitted(where(less(x, 0), mul(x, slope), x), c.type(0))};
}

Values shrink(const Call& c) {
  const Tensor& x = c.tensor(0);
  const double bias = c.real("bias", 0), bound = c.real("lambd", 0.5);
  const Tensor inside = zeros_like(x);
  return {fitted(where(less(x, -bound), add(x, bias), where(greater(x, bound), sub(x, bias), inside)),
                 c.type(0))};
}

Values thresholded_relu(const Call& c) {
  const Tensor& x = c.tensor(0);
  return {where(greater(x, c.real("alpha", 1)), x, zeros_like(x))};
}

Values hard_sigmoid(const Call& c) {
  return {clamp(affine(c.tensor(0), c.real("alpha", 0.2), c.real("beta", 0.5)), 0, 1)};
}

Value cast_to(const Call& c, ElementType type) {
  const std::string mode = c.text("round_mode", "up");
  return cast(c.value(0), type, c.integer("saturate", 1) != 0,
              mode == "down"      ? Rounding::down
              : mode == "nearest" ? Rounding::nearest
                                  : Rounding::up);
}
Values cast_op(const Call& c) { return {cast_to(c, element_of(c, c.integer("to")))}; }
Values cast_like(const Call& c) { return {cast_to(c, c.value(1).type())}; }

Tensor sine_of(const Tensor& x) { return sin(x); }

}  // namespace

void add_elementwise(OperatorTable& t) {
  t.add("Abs", same_type<abs>, 1);
  t.add("Neg", same_type<neg>, 1);
  t.add("Sign", same_type<sign>);
  t.add("Floor", same_type<floor>);
  t.add("Ceil", same_type<ceil>);
  t.add("Round", same_type<round>);
  t.add("Relu", same_type<relu>, 1);
  t.add("Reciprocal", real_function<reciprocal>, 1);
  t.add("Exp", real_function<exp>, 1);
  t.add("Log", real_function<log>, 1);
  t.add("Sqrt", real_function<sqrt>, 1);
  t.add("Sin", real_function<sine_of>, 1);
  t.add("Cos", real_function<cos>, 1);
  t.add("Tan", real_function<tan>, 1);
  t.add("Asin", real_function<asin>, 1);
  t.add("Acos", real_function<acos>, 1);
  t.add("Atan", real_function<atan>, 1);
  t.add("Sinh", real_function<sinh>, 1);
  t.add("Cosh", real_function<cosh>, 1);
  t.add("Tanh", real_function<tanh>, 1);
  t.add("Asinh", real_function<asinh>, 1);
  t.add("Acosh", real_function<acosh>, 1);
  t.add("Atanh", real_function<atanh>, 1);
  t.add("Erf", real_function<erf>, 1);
  t.add("Sigmoid", real_function<sigmoid>, 1);
  t.add("Softplus", real_function<softplus>, 1);
  t.add("Softsign", real_function<softsign>, 1);
  t.add("Mish", real_function<mish>, 1);
  t.add("HardSwish", real_function<hardswish>, 1);
  t.add(
      "LeakyRelu", [](const Call& c) -> Values { return {leaky_relu(c.tensor(0), c.real("alpha", 0.01))}; },
      1);
  t.add(
      "Elu", [](const Call& c) -> Values { return {elu(c.tensor(0), c.real("alpha", 1))}; }, 1);
  t.add(
      "Celu", [](const Call& c) -> Values { return {celu(c.tensor(0), c.real("alpha", 1))}; }, 1);
  t.add(
      "Selu",
      [](const Call& c) -> Values {
        return {mul(elu(c.tensor(0), c.real("alpha", 1.67326319217681884765625)),
                    c.real("gamma", 1.05070102214813232421875))};
      },
      1);
  t.add(
      "Gelu",
      [](const Call& c) -> Values {
        return {c.text("approximate", "none") == "tanh" ? gelu_tanh(c.tensor(0)) : gelu(c.tensor(0))};
      },
      1);
  t.add(
      "Swish",
      [](const Call& c) -> Values {
        return {mul(c.tensor(0), sigmoid(mul(c.tensor(0), c.real("alpha", 1))))};
      },
      1);
  t.add("HardSigmoid", hard_sigmoid, 1);
  t.add("ThresholdedRelu", thresholded_relu, 1);
  t.add("Shrink", shrink, 1);
  t.add("Clip", clip, 1);
  t.add("PRelu", prelu, 3);
  t.add("Not", to_boolean<logical_not>);
  t.add("IsNaN", to_boolean<isnan>);
  t.add("IsInf", is_inf);
  t.add("Add", arithmetic<add>, 3);
  t.add("Sub", arithmetic<sub>, 3);
  t.add("Mul", arithmetic<mul>, 3);
  t.add("Div", arithmetic<quotient_of>, 3);
  t.add("Pow", arithmetic<power_of>, 1);
  t.add("Mod", mod);
  t.add("Max", of_all<maximum>, ~0U);
  t.add("Min", of_all<minimum>, ~0U);
  t.add("Sum", of_all<add>, ~0U);
  t.add("Mean", mean_of_all, ~0U);
  t.add("Equal", equal_of);
  t.add("Greater", comparison<greater>);
  t.add("GreaterOrEqual", comparison<greater_equal>);
  t.add("Less", comparison<less>);
  t.add("LessOrEqual", comparison<less_equal>);
  t.add("And", comparison<logical_and>);
  t.add("Or", comparison<logical_or>);
  t.add("Xor", comparison<logical_xor>);
  t.add("BitShift", bit_shift);
  t.add("BitwiseAnd", bitwise_and);
  t.add("BitwiseOr", bitwise_or);
  t.add("BitwiseXor", bitwise_xor);
  t.add("BitwiseNot", bitwise_not);
  t.add("Where", select_where, 6);
  t.add("Cast", cast_op, 1);
  t.add("CastLike", cast_like, 1);
  t.add("StringConcat", string_concat);
}

}  // namespace veldt::onnx
