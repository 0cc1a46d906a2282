// Every op against PyTorch: values and first gradients of tests/golden/ops.json, in f64 and f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include "nlohmann/json.hpp"
#include "tests/support/values.h"
#include "veldt/core/error.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/distance.h"
#include "veldt/ops/einsum.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/index.h"
#include "veldt/ops/interpolate.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/sort.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Run = std::function<Tensor(In)>;
using Table = std::map<std::string, Run>;

Run one(Tensor (*op)(const Tensor&)) {
  return [op](In in) { return op(in[0]); };
}
Run two(Tensor (*op)(const Tensor&, const Tensor&)) {
  return [op](In in) { return op(in[0], in[1]); };
}

void add_functions(Table& t) {
  t["abs"] = one(abs), t["neg"] = one(neg), t["sign"] = one(sign), t["square"] = one(square);
  t["exp"] = one(exp), t["exp2"] = one(exp2), t["expm1"] = one(expm1), t["sqrt"] = one(sqrt);
  t["log"] = one(log), t["log2"] = one(log2), t["log10"] = one(log10), t["log1p"] = one(log1p);
  t["sin"] = one(sin), t["cos"] = one(cos), t["tan"] = one(tan), t["tanh"] = one(tanh);
  t["sinh"] = one(sinh), t["cosh"] = one(cosh), t["asin"] = one(asin), t["acos"] = one(acos);
  t["atan"] = one(atan), t["asinh"] = one(asinh), t["acosh"] = one(acosh), t["atanh"] = one(atanh);
  t["erf"] = one(erf), t["erfc"] = one(erfc), t["rsqrt"] = one(rsqrt), t["reciprocal"] = one(reciprocal);
  t["floor"] = one(floor), t["ceil"] = one(ceil), t["round"] = t["round halves"] = one(round);
  t["trunc"] = one(trunc), t["frac"] = one(frac), t["isnan"] = one(isnan), t["isinf"] = one(isinf);
  t["isfinite"] = one(isfinite), t["logical_not"] = one(logical_not);
  t["clamp"] = [](In in) { return clamp(in[0], -0.5, 1); };
  t["pow 3"] = [](In in) { return pow(in[0], 3); };
  t["add 1.5"] = [](In in) { return in[0] + 1.5; };
  t["1.5 minus"] = [](In in) { return 1.5 - in[0]; };
  t["div 3"] = [](In in) { return in[0] / 3; };
  t["3 over"] = [](In in) { return 3 / in[0]; };
}

void add_activations(Table& t) {
  t["sigmoid"] = one(sigmoid), t["softplus"] = one(softplus), t["relu"] = one(relu), t["selu"] = one(selu);
  t["gelu"] = one(gelu), t["gelu_tanh"] = one(gelu_tanh), t["silu"] = one(silu), t["mish"] = one(mish);
  t["softsign"] = one(softsign), t["hardswish"] = one(hardswish), t["hardsigmoid"] = one(hardsigmoid);
  t["relu6"] = one(relu6), t["logsigmoid"] = one(logsigmoid);
  t["hardtanh"] = [](In in) { return hardtanh(in[0]); };
  t["leaky_relu 0.2"] = [](In in) { return leaky_relu(in[0], 0.2); };
  t["elu 0.7"] = [](In in) { return elu(in[0], 0.7); };
  t["celu 1.5"] = [](In in) { return celu(in[0], 1.5); };
}

void add_binary(Table& t) {
  t["add"] = two(add), t["sub"] = two(sub), t["mul"] = two(mul), t["div"] = two(div), t["pow"] = two(pow);
  t["maximum"] = two(maximum), t["minimum"] = two(minimum), t["atan2"] = two(atan2), t["hypot"] = two(hypot);
  t["fmod"] = two(fmod), t["remainder"] = two(remainder);
  t["floor_divide"] = [](In in) { return floor_divide(in[0].detach(), in[1].detach()); };
  t["equal"] = two(equal), t["not_equal"] = two(not_equal), t["less"] = two(less),
  t["greater"] = two(greater);
  t["less_equal"] = two(less_equal), t["greater_equal"] = two(greater_equal);
  t["logical_and"] = two(logical_and), t["logical_or"] = two(logical_or), t["logical_xor"] = two(logical_xor);
  t["lerp"] = [](In in) { return lerp(in[0], in[1], in[2]); };
  t["where"] = [](In in) { return where(in[0], in[1], in[2]); };
  t["masked_fill"] = [](In in) { return masked_fill(in[0], in[1], -3.5); };
}

void add_reductions(Table& t) {
  t["sum"] = [](In in) { return sum(in[0], {0, 2}); };
  t["mean"] = [](In in) { return mean(in[0], {1}, true); };
  t["max"] = [](In in) { return max(in[0], {1, 2}); };
  t["min"] = [](In in) { return min(in[0], {0}); };
  t["variance"] = [](In in) { return variance(in[0], {-1}); };
  t["stddev"] = [](In in) { return stddev(in[0], {0, 1}); };
  t["prod"] = [](In in) { return prod(in[0], {1}); };
  t["norm"] = [](In in) { return norm(in[0], 2, {1}); };
  t["norm 3"] = [](In in) { return norm(in[0], 3); };
  t["logsumexp"] = [](In in) { return logsumexp(in[0], {0, 1}); };
  t["argmax"] = [](In in) { return argmax(in[0], 1); };
  t["argmin"] = [](In in) { return argmin(in[0], 1); };
  t["any"] = [](In in) { return any(in[0], {1}); };
  t["all"] = [](In in) { return all(in[0], {1}); };
  t["softmax"] = [](In in) { return softmax(in[0], 1); };
  t["log_softmax"] = [](In in) { return log_softmax(in[0], 1); };
  t["cumsum"] = [](In in) { return cumsum(in[0], 1); };
  t["cumprod"] = [](In in) { return cumprod(in[0], 1); };
  t["sort"] = [](In in) { return sort(in[0], 1).values; };
  t["argsort"] = [](In in) { return argsort(in[0], 1); };
  t["argsort descending"] = [](In in) { return sort(in[0], 1, true).indices; };
  t["topk"] = [](In in) { return topk(in[0], 2, 1).values; };
}

void add_shapes(Table& t) {
  t["flip"] = [](In in) { return flip(in[0], {0, 2}); };
  t["roll"] = [](In in) { return roll(in[0], 3, 1); };
  t["repeat"] = [](In in) { return repeat(in[0], {2, 1, 1, 2}); };
  t["repeat_interleave"] = [](In in) { return repeat_interleave(in[0], 2, 1); };
  t["movedim"] = [](In in) { return movedim(in[0], 0, 2); };
  t["tril"] = [](In in) { return tril(in[0], -1); };
  t["triu"] = [](In in) { return triu(in[0], 1); };
  t["diagonal"] = [](In in) { return diagonal(in[0], 1, 1, 2); };
  t["diag"] = [](In in) { return diag(in[0], -1); };
  t["pad"] = [](In in) { return pad(in[0], {1, 2, 0, 1}, 0.5); };
  t["chunk"] = [](In in) {
    std::vector<Tensor> parts = chunk(in[0], 3, 2);
    std::reverse(parts.begin(), parts.end());
    return cat(parts, 2);
  };
  t["meshgrid"] = [](In in) { return meshgrid({in[0], in[1]})[1]; };
  t["cat"] = [](In in) { return cat({in[0], in[1]}, 1); };
  t["nonzero"] = one(nonzero);
  t["masked_select"] = two(masked_select);
  t["gather"] = [](In in) { return gather(in[0], 0, in[1]); };
  t["index_select"] = [](In in) { return index_select(in[0], 1, in[1]); };
  t["scatter"] = [](In in) { return scatter(in[0], 0, in[1], in[2]); };
  t["scatter_add"] = [](In in) { return scatter_add(in[0], 0, in[1], in[2]); };
  t["index_add"] = [](In in) { return index_add(in[0], 1, in[1], in[2]); };
  t["one_hot"] = [](In in) { return one_hot(in[0], 4); };
  t["matmul"] = two(matmul), t["dot"] = two(dot), t["outer"] = two(outer);
}

void add_sizes(Table& t) {
  using enum Interpolation;
  const auto add = [&](const char* name, const InterpolateOptions& o) {
    t[str("interpolate ", name)] = [o](In in) { return interpolate(in[0], o); };
  };
  add("nearest", {.scale_factor = {3}});
  add("nearest sizes", {.size = {{7, 2}}});
  add("nearest exact", {.size = {{6, 3}}, .mode = nearest_exact});
  add("linear", {.scale_factor = {2.5}, .mode = linear});
  add("bilinear", {.scale_factor = {2.0, 0.7}, .mode = linear});
  add("bilinear corners", {.size = {{5, 7}}, .mode = linear, .align_corners = true});
  add("trilinear", {.size = {{3, 4, 3}}, .mode = linear});
  add("bicubic", {.scale_factor = {1.5}, .mode = cubic});
  add("bicubic smaller", {.size = {{3, 2}}, .mode = cubic});
  add("bicubic corners", {.size = {{7, 5}}, .mode = cubic, .align_corners = true});
  t["pixel_shuffle"] = [](In in) { return pixel_shuffle(in[0], 2); };
  t["pixel_unshuffle"] = [](In in) { return pixel_unshuffle(in[0], 2); };
  t["pad reflect"] = [](In in) { return pad(in[0], {1, 2, 2, 0}, PadMode::reflect); };
  t["pad replicate"] = [](In in) { return pad(in[0], {1, 2, 2, 0}, PadMode::replicate); };
  t["pad circular"] = [](In in) { return pad(in[0], {1, 2, 2, 0}, PadMode::circular); };
  t["cosine_similarity"] = [](In in) { return cosine_similarity(in[0], in[1]); };
  t["pairwise_distance"] = [](In in) { return pairwise_distance(in[0], in[1]); };
  t["pairwise_distance 1"] = [](In in) { return pairwise_distance(in[0], in[1], 1); };
  t["normalize"] = [](In in) { return normalize(in[0]); };
}

Run run_of(const std::string& name) {
  static const Table table = [] {
    Table t;
    add_functions(t);
    add_activations(t);
    add_binary(t);
    add_reductions(t);
    add_shapes(t);
    add_sizes(t);
    return t;
  }();
  if (name.starts_with("einsum ")) return [equation = name.substr(7)](In in) { return einsum(equation, in); };
  return table.at(name);
}

Values values_of(const nlohmann::json& entry) {
  Values out{Shape(entry.at("shape").get<std::vector<std::int64_t>>()), {}};
  for (const auto& v : entry.at("values"))
    out.v.push_back(v.is_null() ? std::numeric_limits<double>::quiet_NaN() : v.get<double>());
  return out;
}

Tensor tensor_of(const nlohmann::json& entry, DType floats) {
  const std::string dtype = entry.at("dtype");
  return write(values_of(entry), dtype == "i64" ? DType::i64 : dtype == "bool" ? DType::boolean : floats);
}

void expect_near(const Tensor& actual, const nlohmann::json& entry, DType dtype, const std::string& what) {
  const Values expected = values_of(entry);
  ASSERT_EQ(actual.shape(), expected.shape) << what;
  ASSERT_EQ(actual.dtype(), tensor_of(entry, dtype).dtype()) << what;
  const Values got = read(actual);
  const double tolerance = dtype == DType::f64 ? 1e-13 : 5e-6;
  for (std::size_t i = 0; i < got.v.size(); ++i) {
    if (std::isnan(expected.v[i])) {
      EXPECT_TRUE(std::isnan(got.v[i])) << what << ", element " << i;
    } else {
      EXPECT_NEAR(got.v[i], expected.v[i], tolerance * (1 + std::fabs(expected.v[i])))
          << what << ", element " << i << ", " << dtype;
    }
  }
}

TEST(GoldenOps, HaveTheValuesAndGradientsOfPyTorch) {
  std::ifstream in(VELDT_SOURCE "/tests/golden/ops.json");
  const nlohmann::json cases = nlohmann::json::parse(in);
  EXPECT_GT(cases.size(), 120u);
  for (const auto& c : cases)
    for (DType dtype : {DType::f64, DType::f32}) {
      const std::string name = c.at("name");
      std::vector<Tensor> inputs, leaves;
      for (const auto& entry : c.at("inputs")) {
        inputs.push_back(tensor_of(entry, dtype));
        if (is_float(inputs.back().dtype())) leaves.push_back(inputs.back().set_requires_grad());
      }
      const Tensor result = run_of(name)(inputs);
      expect_near(result, c.at("result"), dtype, name);
      if (!c.contains("gradients") || testing::Test::HasFailure()) continue;
      const Values weights = build(result.shape(), [&](const Shape& at) {
        return 0.5 + 0.1 * static_cast<double>(position_of(result.shape(), at) % 7);
      });
      const Grads grads = grad(result, leaves, false, write(weights, result.dtype()));
      for (std::size_t k = 0; k < grads.size(); ++k)
        expect_near(grads[k], c.at("gradients")[k], dtype, str("gradient ", k, " of ", name));
    }
}

}  // namespace
}  // namespace veldt::test
