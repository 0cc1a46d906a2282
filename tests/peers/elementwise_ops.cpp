// Ops of one, two or three tensors, element by element.
#include "tests/peers/call.h"

namespace veldt::peers {
namespace {

using One = Tensor(const Tensor&);
using Two = Tensor(const Tensor&, const Tensor&);
using TensorNumber = Tensor(const Tensor&, Scalar);
using NumberTensor = Tensor(Scalar, const Tensor&);

void add_unary(Ops& ops) {
  const std::pair<const char*, One*> functions[] = {{"neg", neg},
                                                    {"abs", abs},
                                                    {"sign", sign},
                                                    {"square", square},
                                                    {"relu", relu},
                                                    {"floor", floor},
                                                    {"ceil", ceil},
                                                    {"round", round},
                                                    {"trunc", trunc},
                                                    {"frac", frac},
                                                    {"reciprocal", reciprocal},
                                                    {"sqrt", sqrt},
                                                    {"rsqrt", rsqrt},
                                                    {"exp", exp},
                                                    {"exp2", exp2},
                                                    {"expm1", expm1},
                                                    {"log", log},
                                                    {"log2", log2},
                                                    {"log10", log10},
                                                    {"log1p", log1p},
                                                    {"sin", sin},
                                                    {"cos", cos},
                                                    {"tan", tan},
                                                    {"asin", asin},
                                                    {"acos", acos},
                                                    {"atan", atan},
                                                    {"sinh", sinh},
                                                    {"cosh", cosh},
                                                    {"tanh", tanh},
                                                    {"asinh", asinh},
                                                    {"acosh", acosh},
                                                    {"atanh", atanh},
                                                    {"erf", erf},
                                                    {"erfc", erfc},
                                                    {"sigmoid", sigmoid},
                                                    {"softplus", softplus},
                                                    {"selu", selu},
                                                    {"gelu", gelu},
                                                    {"gelu_tanh", gelu_tanh},
                                                    {"silu", silu},
                                                    {"mish", mish},
                                                    {"softsign", softsign},
                                                    {"hardsigmoid", hardsigmoid},
                                                    {"hardswish", hardswish},
                                                    {"relu6", relu6},
                                                    {"logsigmoid", logsigmoid},
                                                    {"isnan", isnan},
                                                    {"isinf", isinf},
                                                    {"isfinite", isfinite},
                                                    {"logical_not", logical_not},
                                                    {"zeros_like", zeros_like},
                                                    {"ones_like", ones_like}};
  for (const auto& [name, function] : functions) ops[name] = op(function);
  ops["clamp"] = op(clamp);
  ops["affine"] = op(affine);
  ops["leaky_relu"] = op(leaky_relu);
  ops["elu"] = op(elu);
  ops["celu"] = op(celu);
  ops["hardtanh"] = op(hardtanh);
  ops["sine"] = op(sine);
  ops["gauss"] = op(gauss);
  ops["finer"] = op(finer);
  ops["wire"] = op(wire);
  ops["full_like"] = op(full_like);
  ops["to"] = op<Tensor, const Tensor&, DType>(to);
}

// Two tensors, a tensor and a number, or a number and a tensor: the arguments tell which.
Op of_either(Two* tensors, TensorNumber* right, NumberTensor* left = nullptr) {
  return with_call([=](const Call& call) {
    if (!call.arguments.at(0).is_object()) return left(call.at<Scalar>(0), call.tensor(1));
    if (!call.arguments.at(1).is_object()) return right(call.tensor(0), call.at<Scalar>(1));
    return tensors(call.tensor(0), call.tensor(1));
  });
}

}  // namespace

void add_elementwise_ops(Ops& ops) {
  add_unary(ops);
  ops["add"] = of_either(add, add);
  ops["sub"] = of_either(sub, sub, sub);
  ops["mul"] = of_either(mul, mul);
  ops["div"] = of_either(div, div, div);
  ops["pow"] = of_either(pow, pow);
  ops["maximum"] = of_either(maximum, maximum);
  ops["minimum"] = of_either(minimum, minimum);
  ops["floor_divide"] = of_either(floor_divide, floor_divide);
  ops["remainder"] = of_either(remainder, remainder);
  ops["fmod"] = of_either(fmod, fmod);
  ops["equal"] = of_either(equal, equal);
  ops["not_equal"] = of_either(not_equal, not_equal);
  ops["less"] = of_either(less, less);
  ops["less_equal"] = of_either(less_equal, less_equal);
  ops["greater"] = of_either(greater, greater);
  ops["greater_equal"] = of_either(greater_equal, greater_equal);
  ops["atan2"] = op(atan2);
  ops["hypot"] = op(hypot);
  ops["lerp"] = op<Tensor, const Tensor&, const Tensor&, const Tensor&>(lerp);
  ops["logical_and"] = op(logical_and);
  ops["logical_or"] = op(logical_or);
  ops["logical_xor"] = op(logical_xor);
  ops["where"] = op(where);
}

}  // namespace veldt::peers
