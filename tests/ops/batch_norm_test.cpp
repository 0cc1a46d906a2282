// Batch norms of many sizes, in one piece and in many, against the same written with ops in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "veldt/core/threads.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

constexpr double kEps = 1e-5;

struct Case {
  Tensor x, weight, bias, g;

  Case(const Shape& shape, double mean, DType dtype) {
    Rng rng(3);
    x = to(to(randn(shape, rng), DType::f64) + mean, dtype).set_requires_grad();
    weight = rand({shape[1]}, rng, 0.5, 2, dtype).set_requires_grad();
    bias = rand({shape[1]}, rng, -1, 1, dtype).set_requires_grad();
    g = to(to(randn(shape, rng), DType::f64), dtype);
  }
  // The result, the moments, and the gradients by x, weight and bias.
  std::vector<Tensor> results() const {
    const BatchNormed r = batch_norm(x, weight, bias, kEps);
    const Grads by = grad(r.y, {x, weight, bias}, false, g);
    return {r.y.detach(), r.mean, r.variance, by[0], by[1], by[2]};
  }
  std::vector<Tensor> expected() const {
    const auto wide = [](const Tensor& t) { return to(t.detach(), DType::f64).set_requires_grad(); };
    const Tensor a = wide(x), w = wide(weight), b = wide(bias), by = to(g, DType::f64);
    Shape column = Shape::filled(a.rank(), 1);
    column[1] = a.size(1);
    Dims others = {0};
    for (int d = 2; d < a.rank(); ++d) others.push_back(d);
    const Tensor center = mean(a, others, true), off = a - center, apart = mean(square(off), others, true);
    const Tensor y = off * rsqrt(apart + kEps) * reshape(w, column) + reshape(b, column);
    const Grads found = grad(y, {a, w, b}, false, by);
    return {y.detach(),
            reshape(center, {a.size(1)}).detach(),
            reshape(apart, {a.size(1)}).detach(),
            found[0],
            found[1],
            found[2]};
  }
};

const Shape kShapes[] = {{2, 1},       {600, 5},         {1, 1, 2},     {50, 3, 7},  {64, 40, 3, 3},
                         {9, 3, 2, 2}, {2, 3, 200, 200}, {3, 40000, 2}, {5000, 300}, {1, 70, 3, 5, 7}};

double furthest(const Tensor& a, const Tensor& b) {
  return max(abs(to(a, DType::f64) - b)).item() / std::max(1.0, max(abs(b)).item());
}

TEST(BatchNormOp, IsItsFormulaAndSoAreItsGradients) {
  for (const Shape& shape : kShapes)
    for (const DType dtype : {DType::f32, DType::f64})
      for (const double mean : {0.0, 300.0}) {
        const Case c(shape, mean, dtype);
        const std::vector<Tensor> got = c.results(), wanted = c.expected();
        const double epsilon = dtype == DType::f32 ? 1.2e-7 : 2.3e-16,
                     allowed = epsilon * (mean == 0 ? 100 : 2000);
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_LE(furthest(got[i], wanted[i]), allowed)
              << "result " << i << " of " << shape << ' ' << dtype << " around " << mean;
      }
}

TEST(BatchNormOp, DoesNotDependOnThreads) {
  for (const Shape& shape : kShapes) {
    const Case c(shape, 1, DType::f32);
    const std::vector<Tensor> two = c.results();
    const int before = num_threads();
    set_num_threads(1);
    const std::vector<Tensor> one = c.results();
    set_num_threads(before);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(max(abs(one[i] - two[i])).item(), 0) << shape;
  }
}

TEST(BatchNormOp, LetsNansThroughInTheirChannel) {
  const float numbers[] = {1, 1, 2, 2, 3, 3, std::numeric_limits<float>::quiet_NaN(), 4};
  const BatchNormed r = batch_norm(Tensor::from<float>({4, 2}, numbers), {}, {}, kEps);
  EXPECT_TRUE(std::isnan(select(r.mean, 0, 0).item()) && std::isnan(select(r.variance, 0, 0).item()));
  EXPECT_EQ(select(r.mean, 0, 1).item(), 2.5);
  EXPECT_EQ(select(r.variance, 0, 1).item(), 1.25);
}

}  // namespace
}  // namespace veldt
