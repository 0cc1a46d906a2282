// Elementwise entries: each formula by the operator of its name, or by its parts.
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <string>

#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

using Made = std::function<int(TraceNodes&, int x, Scalars)>;

Made same(const char* op) {
  return [op](TraceNodes& n, int x, Scalars) { return n.unary(op, x); };
}
Made with(const char* op, const char* attribute) {
  return [op, attribute](TraceNodes& n, int x, Scalars s) { return n.unary(op, x, {{attribute, s.a}}); };
}

int affine_of(TraceNodes& n, int x, double scale, double shift) {
  int y = x;
  if (scale == -1 && shift == 0) return n.unary("Neg", x);
  if (scale != 1) y = n.by("Mul", y, scale);
  if (shift < 0) return n.by("Sub", y, -shift);
  return shift != 0 ? n.by("Add", y, shift) : y;
}

int square_of(TraceNodes& n, int x) { return n.binary("Mul", x, x); }
int sine_of(TraceNodes& n, int x, double omega) { return n.unary("Sin", n.by("Mul", x, omega)); }
int bell_of(TraceNodes& n, int x, double scale) {
  return n.unary("Exp", n.unary("Neg", square_of(n, n.by("Mul", x, scale))));
}

const std::map<std::string, Made>& formulas() {
  static const std::map<std::string, Made> table = {
      {"affine", [](TraceNodes& n, int x, Scalars s) { return affine_of(n, x, s.a, s.b); }},
      {"abs", same("Abs")},
      {"sign", same("Sign")},
      {"exp", same("Exp")},
      {"log", same("Log")},
      {"sqrt", same("Sqrt")},
      {"square", [](TraceNodes& n, int x, Scalars) { return square_of(n, x); }},
      {"pow",
       [](TraceNodes& n, int x, Scalars s) {
         return n.node("Pow", {x, n.scalar(n.dtype(x), s.a)}, n.dtype(x), n.shape(x));
       }},
      {"clamp",
       [](TraceNodes& n, int x, Scalars s) {
         const DType t = n.dtype(x);
         const int low = std::isinf(s.a) ? -1 : n.scalar(t, s.a),
                   high = std::isinf(s.b) ? -1 : n.scalar(t, s.b);
         return n.node("Clip", {x, low, high}, t, n.shape(x));
       }},
      {"sin", same("Sin")},
      {"cos", same("Cos")},
      {"tan", same("Tan")},
      {"tanh", same("Tanh")},
      {"asin", same("Asin")},
      {"acos", same("Acos")},
      {"atan", same("Atan")},
      {"sinh", same("Sinh")},
      {"cosh", same("Cosh")},
      {"asinh", same("Asinh")},
      {"acosh", same("Acosh")},
      {"atanh", same("Atanh")},
      {"erf", same("Erf")},
      {"floor", same("Floor")},
      {"ceil", same("Ceil")},
      {"round", same("Round")},
      {"trunc",
       [](TraceNodes& n, int x, Scalars) {
         return n.binary("Mul", n.unary("Sign", x), n.unary("Floor", n.unary("Abs", x)));
       }},
      {"frac",
       [](TraceNodes& n, int x, Scalars) {
         const int whole = n.binary("Mul", n.unary("Sign", x), n.unary("Floor", n.unary("Abs", x)));
         return n.binary("Sub", x, whole);
       }},
      {"div", [](TraceNodes& n, int x, Scalars s) { return n.by("Div", x, s.a); }},
      {"reciprocal",
       [](TraceNodes& n, int x, Scalars s) {
         return s.a == 1 ? n.unary("Reciprocal", x)
                         : n.node("Div", {n.scalar(n.dtype(x), s.a), x}, n.dtype(x), n.shape(x));
       }},
      {"rsqrt", [](TraceNodes& n, int x, Scalars) { return n.unary("Reciprocal", n.unary("Sqrt", x)); }},
      {"expm1", [](TraceNodes& n, int x, Scalars) { return n.by("Sub", n.unary("Exp", x), 1); }},
      {"log1p", [](TraceNodes& n, int x, Scalars) { return n.unary("Log", n.by("Add", x, 1)); }},
      {"erfc", [](TraceNodes& n, int x, Scalars) { return affine_of(n, n.unary("Erf", x), -1, 1); }},
      {"exp2",
       [](TraceNodes& n, int x, Scalars) { return n.unary("Exp", n.by("Mul", x, std::numbers::ln2)); }},
      {"log2",
       [](TraceNodes& n, int x, Scalars) { return n.by("Mul", n.unary("Log", x), std::numbers::log2e); }},
      {"log10",
       [](TraceNodes& n, int x, Scalars) { return n.by("Mul", n.unary("Log", x), std::numbers::log10e); }},
      {"huber",
       [](TraceNodes& n, int x, Scalars s) {
         const int a = n.unary("Abs", x), within = n.by("Min", a, s.a);
         return n.binary("Mul", n.by("Mul", within, s.b), n.binary("Sub", a, n.by("Mul", within, 0.5)));
       }},
      {"sigmoid", same("Sigmoid")},
      {"softplus", same("Softplus")},
      {"relu", same("Relu")},
      {"sine", [](TraceNodes& n, int x, Scalars s) { return sine_of(n, x, s.a); }},
      {"gauss", [](TraceNodes& n, int x, Scalars s) { return bell_of(n, x, s.a); }},
      {"finer",
       [](TraceNodes& n, int x, Scalars s) {
         return sine_of(n, n.binary("Mul", n.by("Add", n.unary("Abs", x), 1), x), s.a);
       }},
      {"wire",
       [](TraceNodes& n, int x, Scalars s) {
         return n.binary("Mul", n.unary("Cos", n.by("Mul", x, s.a)), bell_of(n, x, s.b));
       }},
      {"leaky_relu", with("LeakyRelu", "alpha")},
      {"elu", with("Elu", "alpha")},
      {"celu", with("Celu", "alpha")},
      {"selu",
       [](TraceNodes& n, int x, Scalars) {
         return n.unary(
             "Selu", x,
             {{"alpha", 1.6732632423543772848170429916717}, {"gamma", 1.0507009873554804934193349852946}});
       }},
      {"gelu",
       [](TraceNodes& n, int x, Scalars) {
         const int share = n.by("Add", n.unary("Erf", n.by("Mul", x, std::numbers::sqrt2 / 2)), 1);
         return n.binary("Mul", n.by("Mul", x, 0.5), share);
       }},
      {"gelu_tanh",
       [](TraceNodes& n, int x, Scalars) {
         const int bend = affine_of(n, square_of(n, x), 0.044715, 1);
         const int twice = n.binary("Mul", n.by("Mul", x, 1.5957691216057307117597842397375), bend);
         return n.binary("Mul", x, n.unary("Sigmoid", twice));
       }},
      {"silu", [](TraceNodes& n, int x, Scalars) { return n.binary("Mul", x, n.unary("Sigmoid", x)); }},
      {"mish", same("Mish")},
      {"softsign", same("Softsign")},
      {"hardsigmoid",
       [](TraceNodes& n, int x, Scalars) {
         return n.unary("HardSigmoid", x, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
       }},
      {"hardswish", same("HardSwish")},
      {"logsigmoid",
       [](TraceNodes& n, int x, Scalars) { return n.unary("Neg", n.unary("Softplus", n.unary("Neg", x))); }},
      {"hardshrink",
       [](TraceNodes& n, int x, Scalars s) {
         return n.unary("Shrink", x, {{"lambd", s.a}, {"bias", 0.0}});
       }},
  };
  return table;
}

void unary_entry(int op, Scalars s, const View& x, const View& y) {
  Tracer& t = tracing();
  const auto found = formulas().find(t.formula(Entry::unary, op));
  if (found == formulas().end()) return t.refuse_call();
  t.held().write(y, found->second(t.nodes(), t.held().read(x), s));
}

// The value in the shape of the view that it was computed for: broadcasting may have given it less.
void write_elementwise(const View& out, int value) {
  Tracer& t = tracing();
  const Sizes shape(out.shape.begin(), out.shape.end());
  if (t.nodes().shape(value) != shape) {
    if (count_of(t.nodes().shape(value)) == count_of(shape))
      value = t.nodes().reshape(value, shape);
    else
      value = t.nodes().expand(value, shape);
  }
  t.held().write(out, value);
}

int mixed(const View& v, DType as) { return tracing().nodes().cast(tracing().held().read_repeated(v), as); }

int floor_divided(TraceNodes& n, int a, int b) {
  if (is_float(n.dtype(a))) return n.unary("Floor", n.binary("Div", a, b));
  const int m = n.node("Mod", {a, b}, n.dtype(a), n.shape(n.binary("Add", a, b)));
  return n.binary("Div", n.binary("Sub", a, m), b);
}

int modulo(TraceNodes& n, int a, int b, bool sign_of_a) {
  const int sum = n.binary("Add", a, b);  // for its shape
  if (sign_of_a) return n.node("Mod", {a, b}, n.dtype(a), n.shape(sum), {{"fmod", std::int64_t{1}}});
  if (!is_float(n.dtype(a))) return n.node("Mod", {a, b}, n.dtype(a), n.shape(sum));
  return n.binary("Sub", a, n.binary("Mul", n.unary("Floor", n.binary("Div", a, b)), b));
}

int angle(TraceNodes& n, int y, int x) {
  const DType t = n.dtype(y);
  const int zero = n.scalar(t, 0), base = n.unary("Atan", n.binary("Div", y, x));
  const int turned =
      n.where(n.compare("Less", y, zero), n.scalar(t, -std::numbers::pi), n.scalar(t, std::numbers::pi));
  const int left = n.where(n.compare("Less", x, zero), turned, zero);
  const int upright = n.by("Mul", n.unary("Sign", y), std::numbers::pi / 2);
  return n.where(n.compare("Equal", x, zero), upright, n.binary("Add", base, left));
}

void binary_entry(int op, const View& a, const View& b, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const int x = mixed(a, a.dtype), y = mixed(b, a.dtype);
  const std::string name = t.formula(Entry::binary, op);
  static const std::map<std::string, const char*> kSame = {
      {"add", "Add"}, {"sub", "Sub"},     {"mul", "Mul"},    {"div", "Div"},
      {"pow", "Pow"}, {"maximum", "Max"}, {"minimum", "Min"}};
  int value = 0;
  if (const auto found = kSame.find(name); found != kSame.end()) {
    value = n.binary(found->second, x, y);
  } else if (name == "fmod" || name == "remainder") {
    value = modulo(n, x, y, name == "fmod");
  } else if (name == "floor_divide") {
    value = floor_divided(n, x, y);
  } else if (name == "hypot") {
    value = n.unary("Sqrt", n.binary("Add", square_of(n, x), square_of(n, y)));
  } else if (name == "logaddexp") {
    const int apart = n.unary("Neg", n.unary("Abs", n.binary("Sub", x, y)));
    value = n.binary("Add", n.binary("Max", x, y), n.unary("Log", n.by("Add", n.unary("Exp", apart), 1)));
  } else if (name == "atan2") {
    value = angle(n, x, y);
  } else {
    return t.refuse_call();
  }
  write_elementwise(out, n.cast(value, out.dtype));
}

void compare_entry(int op, const View& a, const View& b, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const std::string name = t.formula(Entry::compare, op);
  const bool logical = name.starts_with("logical_");
  int x = mixed(a, logical ? DType::boolean : a.dtype), y = mixed(b, logical ? DType::boolean : b.dtype);
  static const std::map<std::string, const char*> kNames = {
      {"equal", "Equal"},     {"not_equal", "Equal"},
      {"less", "Less"},       {"less_equal", "LessOrEqual"},
      {"greater", "Greater"}, {"greater_equal", "GreaterOrEqual"},
      {"logical_and", "And"}, {"logical_or", "Or"},
      {"logical_xor", "Xor"}};
  if (a.dtype == DType::boolean && !logical && !name.ends_with("equal")) {  // not ordered in ONNX
    x = n.cast(x, DType::i32);
    y = n.cast(y, DType::i32);
  }
  int value = n.compare(kNames.at(name), x, y);
  if (name == "not_equal") value = n.unary("Not", value);
  write_elementwise(out, value);
}

// multiply_add(x, rsqrt(variance + eps) [weight], [bias] - mean factor) with fixed numbers is a batch norm.
struct BatchNormParts {
  View mean, variance, weight, bias;
  double eps = 0;
};

const FixedOrigin* made_by(const View& view, const char* formula) {
  const FixedOrigin* origin = tracing().origin_of(view);
  return origin != nullptr && origin->formula == formula ? origin : nullptr;
}

bool find_batch_norm(const View& factor, const View& shift, BatchNormParts& found) {
  View scale = factor;
  if (const FixedOrigin* times = made_by(factor, "mul")) {
    scale = times->inputs[0];
    found.weight = times->inputs[1];
  }
  const FixedOrigin* const inverse = made_by(scale, "rsqrt");
  if (!inverse) return false;
  const FixedOrigin* const added = made_by(inverse->inputs[0], "affine");
  if (!added || added->scalars.a != 1) return false;
  found.variance = added->inputs[0];
  found.eps = added->scalars.b;
  View minus = shift;
  if (const FixedOrigin* sum = made_by(shift, "add")) {
    found.bias = sum->inputs[0];
    minus = sum->inputs[1];
  }
  const FixedOrigin* const negative = made_by(minus, "affine");
  if (!negative || negative->scalars.a != -1 || negative->scalars.b != 0) return false;
  const FixedOrigin* const product = made_by(negative->inputs[0], "mul");
  if (!product || product->inputs[1].data != factor.data) return false;
  found.mean = product->inputs[0];
  return true;
}

bool batch_norm_entry(const View& x, const View& factor, const View& shift, const View& out) {
  BatchNormParts parts;
  if (x.shape.rank() < 2 || !find_batch_norm(factor, shift, parts)) return false;
  const std::int64_t channels = x.shape[1];
  for (int d = 0; d < x.shape.rank(); ++d)
    if (d != 1 && (factor.strides[d] != 0 && x.shape[d] != 1)) return false;
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const auto list = [&](const View& v, double otherwise) {
    if (v.data == nullptr)
      return n.numbers(x.dtype, {channels},
                       std::vector<double>(static_cast<std::size_t>(channels), otherwise));
    // These views have the shape that they had: the channels' dimension is the one that has a stride.
    View c = v;
    std::int64_t stride = 1;
    for (int d = 0; d < v.shape.rank(); ++d)
      if (v.shape[d] == channels && v.strides[d] != 0) stride = v.strides[d];
    c.shape = {channels};
    c.strides = {stride};
    return t.held().read(c);
  };
  for (const View* v : {&parts.mean, &parts.variance, &parts.weight, &parts.bias})
    if (v->data != nullptr && numel(v->shape) != channels) return false;
  t.held().write(out, n.node("BatchNormalization",
                             {t.held().read(x), list(parts.weight, 1), list(parts.bias, 0),
                              list(parts.mean, 0), list(parts.variance, 1)},
                             out.dtype, {out.shape.begin(), out.shape.end()}, {{"epsilon", parts.eps}}));
  return true;
}

void ternary_entry(int op, const View& a, const View& b, const View& c, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const std::string name = t.formula(Entry::ternary, op);
  if (name == "multiply_add" && batch_norm_entry(a, b, c, out)) return;
  const int x = mixed(a, out.dtype), y = mixed(b, out.dtype), z = mixed(c, out.dtype);
  int value = 0;
  if (name == "multiply_add")
    value = n.binary("Add", n.binary("Mul", x, y), z);
  else if (name == "subtract_multiply")
    value = n.binary("Mul", n.binary("Sub", x, y), z);
  else if (name == "lerp")
    value = n.binary("Add", x, n.binary("Mul", z, n.binary("Sub", y, x)));
  else
    return t.refuse_call();
  write_elementwise(out, value);
}

void where_entry(const View& condition, const View& a, const View& b, const View& out) {
  const int chosen =
      tracing().nodes().where(mixed(condition, DType::boolean), mixed(a, out.dtype), mixed(b, out.dtype));
  write_elementwise(out, chosen);
}

void copy_entry(const View& from, const View& to) {
  Tracer& t = tracing();
  int value = t.held().read(from);
  // To whole numbers ONNX rounds toward zero, as Veldt does.
  value = t.nodes().cast(value, to.dtype);
  t.held().write(to, value);
}

void accumulate_entry(const View& from, const View& into) {
  Tracer& t = tracing();
  t.held().write(into, t.nodes().binary("Add", t.held().read(into), t.held().read(from)));
}

}  // namespace

void trace_elementwise(Backend& table) {
  table.unary = unary_entry;
  table.binary = binary_entry;
  table.ternary = ternary_entry;
  table.compare = compare_entry;
  table.where = where_entry;
  table.copy = copy_entry;
  table.accumulate = accumulate_entry;
}

}  // namespace veldt::onnx
