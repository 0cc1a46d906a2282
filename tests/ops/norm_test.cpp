// The fused gradients of norms against those made of single ops, over many lines and long ones.
#include "veldt/ops/norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/threads_scope.h"
#include "veldt/core/threads.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/distance.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using NormOp = Tensor (*)(const Tensor& x, const Tensor& weight, const Tensor& bias);

struct NormCase {
  const char* name;
  NormOp op;
};
constexpr NormCase kNorms[] = {
    {"layer",
     [](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, {x.size(-1)}, w, b); }},
    {"group", [](const Tensor& x, const Tensor& w, const Tensor& b) { return group_norm(x, 1, w, b); }},
    {"channels",
     [](const Tensor& x, const Tensor& w, const Tensor& b) {
       return reshape(group_norm(reshape(x, {1, x.size(0), x.size(1)}), x.size(0)), x.shape()) * w + b;
     }},
    {"rms",
     [](const Tensor& x, const Tensor& w, const Tensor& b) { return rms_norm(x, {x.size(-1)}, w) + 0 * b; }}};

Grads norm_gradients(NormOp op, const Shape& shape, DType dtype, bool create_graph) {
  Rng rng(1);
  Tensor x = to(randn(shape, rng) * 3 + 1, dtype), weight = to(rand({shape[1]}, rng, 0.5, 2), dtype),
         bias = to(randn({shape[1]}, rng), dtype);
  for (Tensor* t : {&x, &weight, &bias}) t->set_requires_grad();
  const Tensor seed = to(randn(shape, rng), dtype);
  return grad(op(x, weight, bias), {x, weight, bias}, create_graph, seed);
}

TEST(NormGradients, FusedAreThoseOfSingleOps) {
  for (const auto& [name, op] : kNorms)
    for (const Shape& shape : {Shape{300, 130}, Shape{1000, 3}, Shape{5, 3001}})
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Grads fused = norm_gradients(op, shape, dtype, false),
                    expected = norm_gradients(op, shape, DType::f64, true);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const Tensor off = to(fused[i], DType::f64) - expected[i].detach();
          EXPECT_LE(max(abs(off)).item(),
                    (dtype == DType::f32 ? 2e-5 : 1e-12) * max(abs(expected[i].detach())).item())
              << name << ' ' << shape << ' ' << dtype << ", input " << i;
        }
      }
}

TEST(NormGradients, HaveTheSameBitsOnAnyNumberOfThreads) {
  const test::ThreadsScope scope;
  for (const auto& [name, op] : kNorms) {
    set_num_threads(1);
    const Grads one = norm_gradients(op, {500, 130}, DType::f32, false);
    set_num_threads(3);
    const Grads three = norm_gradients(op, {500, 130}, DType::f32, false);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_EQ(one[i].values<float>(), three[i].values<float>()) << name << ", input " << i;
  }
}

// x [n, channels, run], the gradients by x, weight and bias, and after them the result.
Grads group_norm_of(DType dtype, std::int64_t run, bool composed) {
  constexpr std::int64_t kExamples = 40, kChannels = 12, kGroups = 4;
  Rng rng(1);
  const Shape shape{kExamples, kChannels, run};
  Tensor x = to(randn(shape, rng) * 3 + 1, dtype), weight = to(rand({kChannels}, rng, 0.5, 2), dtype),
         bias = to(randn({kChannels}, rng), dtype);
  const Tensor seed = to(randn(shape, rng), dtype);
  if (composed)
    for (Tensor* t : {&x, &weight, &bias}) *t = to(*t, DType::f64);
  for (Tensor* t : {&x, &weight, &bias}) t->set_requires_grad();
  const auto by_hand = [&] {
    const Tensor apart = reshape(x, {kExamples, kGroups, kChannels / kGroups * run});
    const Tensor y = layer_norm(apart, {apart.size(2)});
    return reshape(y, shape) * unsqueeze(weight, 1) + unsqueeze(bias, 1);
  };
  const Tensor y = composed ? by_hand() : group_norm(x, kGroups, weight, bias);
  Grads all = grad(y, {x, weight, bias}, false, to(seed, y.dtype()));
  all.push_back(y.detach());
  return all;
}

TEST(GroupNorm, IsThatOfEachGroupAndAWeightOfEachChannel) {
  for (const std::int64_t run : {1, 2, 35, 1030})
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      const Grads fused = group_norm_of(dtype, run, false), expected = group_norm_of(dtype, run, true);
      const double tolerance = dtype == DType::f64    ? 1e-12
                               : dtype == DType::f32  ? 2e-5
                               : dtype == DType::bf16 ? 0x1p-8
                                                      : 0x1p-11;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(fused[i].dtype(), dtype);
        EXPECT_LE(max(abs(to(fused[i], DType::f64) - expected[i])).item(),
                  tolerance * max(abs(expected[i])).item())
            << dtype << ", " << run << " numbers a channel, " << i;
      }
    }
}

TEST(Normalize, OfHalvesKnowsSmallEpsAndLongVectors) {
  const auto numbers = [](const Tensor& x) { return to(x, DType::f32).values<float>(); };
  EXPECT_EQ(numbers(normalize(zeros({2, 3}, DType::f16))), std::vector<float>(6, 0));
  EXPECT_EQ(numbers(normalize(full({1, 4}, 60000, DType::f16))), std::vector<float>(4, 0.5F));
}

TEST(Normalize, OfLongAndShortHalvesHasAGradient) {
  const Tensor by = Tensor::of({1, 4}, {1, 2, 3, 4}, DType::bf16);
  for (const int exponent : {-100, 53, 76, 120})
    for (const bool create_graph : {false, true}) {
      const double number = std::ldexp(1.0, exponent);
      const Tensor x = full({1, 4}, number, DType::bf16).set_requires_grad();
      const Tensor dx = grad(normalize(x, 2, -1, 1e-37), {x}, create_graph, by)[0].detach();
      EXPECT_THAT((to(dx, DType::f32) * (2 * number)).values<float>(),
                  testing::ElementsAre(-1.5, -0.5, 0.5, 1.5))
          << "2^" << exponent;
    }
}

TEST(Normalize, OfHalvesHasTheGradientsOfDoublesRounded) {
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const int dim : {0, 1})
      for (const double eps : {1e-12, 9.0})  // some lines are shorter than 9, others are not
        for (const bool create_graph : {false, true}) {
          const auto gradients = [&, d = dim](DType as) {
            Rng rng(5);
            const auto number = [&] { return to(to(randn({80, 80}, rng), dtype), as); };
            Tensor x = number().set_requires_grad();
            const Tensor y = normalize(x, 2, d, eps), first = grad(y, {x}, create_graph, number())[0];
            if (!create_graph) return TensorList{y, first};
            return TensorList{y, first, grad(first, {x}, false, number())[0]};
          };
          const TensorList halves = gradients(dtype), expected = gradients(DType::f64);
          for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_LE(max(abs(to(halves[i].detach(), DType::f64) - expected[i].detach())).item(),
                      (dtype == DType::bf16 ? 0x1p-8 : 0x1p-11) * max(abs(expected[i].detach())).item())
                << dtype << ", dim " << dim << ", eps " << eps << ", " << i;
        }
}

}  // namespace
}  // namespace veldt
