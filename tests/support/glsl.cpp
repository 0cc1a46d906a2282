// Writes each formula as a shader, by running its struct over a number that records expressions as text.
#include "tests/support/glsl.h"

#include "tests/support/glsl_highway.h"
// What follows is compiled for text.
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt {

namespace N_GLSL {

// Exact where the quotient has less than 29 digits: what is left over is a multiple of b's last digit.
inline Lanes<float> fmod(Lanes<float> a, Lanes<float> b) {
  const Wide x = lower_half(a), y = lower_half(b), rest = x - trunc(x / y) * y;
  return copysign(joined(rest, rest), a);
}

namespace {

// As cpu/unary.cpp has it.
template <class Op> constexpr bool kWide = requires { requires Op::wide; };

template <class Op> Lanes<float> forward(const Op& op, Lanes<float> x) {
  if constexpr (kWide<Op>)
    return joined(op.forward(lower_half(x)), op.forward(upper_half(x)));
  else
    return op.forward(x);
}
template <class Op> Lanes<float> slope(const Op& op, Lanes<float> x, Lanes<float> y) {
  if constexpr (kWide<Op>)
    return joined(op.slope(lower_half(x), lower_half(y)), op.slope(upper_half(x), upper_half(y)));
  else
    return op.slope(x, y);
}

// What comparisons are made of.
struct Truth {
  hn::Text<bool> is;
};
struct Compared {
  hn::Text<float> v;
  explicit Compared(hn::Text<float> text) : v(std::move(text)) {}
  explicit Compared(int x) : v(hn::Set(hn::Simd<float>(), x)) {}
};
Truth compared(const Compared& a, const char* op, const Compared& b) {
  return {hn::line<bool>(a.v.s, op, b.v.s)};
}
Truth operator==(const Compared& a, const Compared& b) { return compared(a, " == ", b); }
Truth operator!=(const Compared& a, const Compared& b) { return compared(a, " != ", b); }
Truth operator<(const Compared& a, const Compared& b) { return compared(a, " < ", b); }
Truth operator<=(const Compared& a, const Compared& b) { return compared(a, " <= ", b); }
Truth operator>(const Compared& a, const Compared& b) { return compared(a, " > ", b); }
Truth operator>=(const Compared& a, const Compared& b) { return compared(a, " >= ", b); }
Truth operator&(const Truth& a, const Truth& b) { return {hn::And(a.is, b.is)}; }
Truth operator|(const Truth& a, const Truth& b) { return {hn::Or(a.is, b.is)}; }
Truth operator!=(const Truth& a, const Truth& b) { return {hn::Xor(a.is, b.is)}; }

}  // namespace
}  // namespace N_GLSL

namespace test {
namespace {

using namespace N_GLSL;
using Number = Lanes<float>;

// float name(float x0, ..) with the lines that `make` writes, and what it gives.
template <class Make> std::string function(const std::string& name, int arity, Make make) {
  hn::Body body;
  hn::t_body = &body;
  const std::string result = make();
  hn::t_body = nullptr;
  std::string head = "float " + name + "(";
  for (int i = 0; i < arity; ++i) head += (i ? ", float x" : "float x") + std::to_string(i);
  return head + ") {\n" + body.lines + "  return " + result + ";\n}\n";
}

Number argument(int i) { return hn::Text<float>{"x" + std::to_string(i)}; }

// Constants that say something of each formula.
struct Constants {
  double a, b;
};
Constants constants_of(const std::string& name) {
  if (name == "sine" || name == "finer") return {5, 0};
  if (name == "wire") return {5, 0.5};
  if (name == "clamp") return {-1.5, 2.5};
  if (name == "pow") return {2.5, 0};
  return {0.7, 1.3};
}

template <class Op> GlslFormula unary_formula(int op, bool is_slope) {
  const Constants c = constants_of(Op::name);
  const auto of = formula<Op>(c.a, c.b);
  const std::string name = (is_slope ? "slope_" : "unary_") + std::string(Op::name);
  const auto text = [&] {
    return (is_slope ? slope(of, argument(0), argument(1)) : forward(of, argument(0))).v.s;
  };
  return {name, op, function(name, is_slope ? 2 : 1, text), c.a, c.b};
}
template <class... Op> void write_unary(TypeList<Op...>, bool slopes, std::vector<GlslFormula>& out) {
  (out.push_back(unary_formula<Op>(static_cast<int>(out.size()), slopes)), ...);
}

template <class... Op> void write_binary(TypeList<Op...>, std::vector<GlslFormula>& out) {
  (out.push_back({std::string("binary_") + Op::name, static_cast<int>(out.size()),
                  function(std::string("binary_") + Op::name, 2,
                           [] { return Op::forward(argument(0), argument(1)).v.s; }),
                  0, 0}),
   ...);
}
template <class... Op> void write_ternary(TypeList<Op...>, std::vector<GlslFormula>& out) {
  (out.push_back({std::string("ternary_") + Op::name, static_cast<int>(out.size()),
                  function(std::string("ternary_") + Op::name, 3,
                           [] { return Op::forward(argument(0), argument(1), argument(2)).v.s; }),
                  0, 0}),
   ...);
}
template <class... Op> void write_compare(TypeList<Op...>, std::vector<GlslFormula>& out) {
  const auto number = [](const Truth& truth) { return truth.is.s + " ? 1.0 : 0.0"; };
  (out.push_back(
       {std::string("compare_") + Op::name, static_cast<int>(out.size()),
        function(std::string("compare_") + Op::name, 2,
                 [&] { return number(Op::holds(Compared(argument(0).v), Compared(argument(1).v))); }),
        0, 0}),
   ...);
}

}  // namespace

int arity(GlslFamily family) {
  return family == GlslFamily::unary ? 1 : family == GlslFamily::ternary ? 3 : 2;
}

std::vector<GlslFormula> glsl_formulas(GlslFamily family) {
  std::vector<GlslFormula> out;
  switch (family) {
    case GlslFamily::unary: write_unary(UnaryOps(), false, out); break;
    case GlslFamily::slope: write_unary(UnaryOps(), true, out); break;
    case GlslFamily::binary: write_binary(BinaryOps(), out); break;
    case GlslFamily::ternary: write_ternary(TernaryOps(), out); break;
    case GlslFamily::compare: write_compare(CompareOps(), out); break;
  }
  return out;
}

std::string glsl_shader(GlslFamily family) {
  const std::vector<GlslFormula> formulas = glsl_formulas(family);
  const int inputs = arity(family);
  std::string text =
      "#version 450\n#extension GL_ARB_gpu_shader_int64 : require\nlayout(local_size_x = 64) in;\n"
      "layout(push_constant) uniform Push { uint formula, n; };\n";
  std::string arguments;
  for (int i = 0; i < inputs; ++i) {
    const std::string k = std::to_string(i);
    text += "layout(set = 0, binding = " + k + ") readonly buffer In" + k + " { float in" + k + "[]; };\n";
    arguments +=
        (i ? ", in" : "in") + k + (i == 1 && family == GlslFamily::slope ? "[formula * n + i]" : "[i]");
  }
  text +=
      "layout(set = 0, binding = " + std::to_string(inputs) + ") writeonly buffer Out { float result[]; };\n";
  for (const GlslFormula& f : formulas) text += f.text;
  text += "void main() {\n  uint i = gl_GlobalInvocationID.x;\n  if (i >= n) return;\n  switch (formula) {\n";
  for (const GlslFormula& f : formulas)
    text += "    case " + std::to_string(f.op) + "u: result[i] = " + f.name + "(" + arguments + "); break;\n";
  return text + "  }\n}\n";
}

}  // namespace test
}  // namespace veldt
