// Products that the op table has none of: the gradient of a weight whose rows lie far apart, and long sums of
// halves.
#include "veldt/ops/matmul.h"

#include <gtest/gtest.h>

#include "tests/support/threads_scope.h"
#include "veldt/core/threads.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

TEST(Linear, HasTheSameGradientWhereRowsLie4KibApart) {
  Rng rng(1);
  const Tensor x = randn({5, 3}, rng), w = randn({1025, 3}, rng), g = randn({5, 1025}, rng);
  const auto gradient = [&](std::int64_t out) {
    Tensor weight = contiguous(narrow(w, 0, 0, out)).detach().set_requires_grad();
    return grad(linear(x, weight), {weight}, false, contiguous(narrow(g, 1, 0, out)))[0];
  };
  const Tensor off = gradient(1024) - narrow(gradient(1025), 0, 0, 1024);
  EXPECT_LE(max(abs(off)).item(), 2e-6);
}

// A few rows or columns of halves are not converted beforehand, however the matrix lies.
TEST(Matmul, OfHalvesRoundsEachSumOnce) {
  struct Case {
    Shape a, b;
  };
  for (const auto& [a_shape, b_shape] :
       {Case{{300, 1030}, {1030}}, Case{{1030}, {1030, 300}}, Case{{2, 70}, {70, 33}}, Case{{33, 9}, {9, 4}},
        Case{{3, 2}, {2, 50}}, Case{{5, 20, 300}, {300, 1}}, Case{{2, 1, 130}, {130, 20}},
        Case{{1, 20'000}, {20'000, 3}}})
    for (const DType dtype : {DType::bf16, DType::f16})
      for (const int turned : {0, 1, 2, 3}) {
        const auto number = [&](const Shape& shape, std::uint64_t seed, bool transposed) {
          Rng rng(seed);
          const Tensor x = to(randn(shape, rng), dtype);
          return transposed && x.rank() > 1 ? transpose(contiguous(transpose(x))) : x;
        };
        const Tensor a = number(a_shape, 1, turned % 2 == 1), b = number(b_shape, 2, turned > 1);
        const Tensor got = matmul(a, b), wanted = matmul(to(a, DType::f64), to(b, DType::f64));
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_LE(max(abs(to(got, DType::f64) - wanted)).item(),
                  (dtype == DType::bf16 ? 0x1.02p-8 : 0x1.08p-11) * max(abs(wanted)).item())
            << a_shape << " by " << b_shape << ", " << dtype << ", turned " << turned;
      }
}

TEST(Linear, OfHalvesAddsItsBiasBeforeItRounds) {
  Rng rng(3);
  for (const std::int64_t rows : {1, 3, 200}) {
    const Tensor x = to(randn({rows, 70}, rng), DType::bf16),
                 w = to(randn({rows == 200 ? 2 : 90, 70}, rng), DType::bf16),
                 bias = to(randn({w.size(0)}, rng) * 100, DType::bf16);
    const auto wide = [](const Tensor& t) { return to(t, DType::f64); };
    const Tensor wanted = linear(wide(x), wide(w), wide(bias));
    EXPECT_LE(max(abs(wide(linear(x, w, bias)) - wanted)).item(), 0x1.02p-8 * max(abs(wanted)).item());
  }
}

TEST(Matmul, OfHalvesHasTheSameBitsOnAnyNumberOfThreads) {
  const test::ThreadsScope scope;
  Rng rng(4);
  const Tensor x = to(randn({1, 1100}, rng), DType::bf16), w = to(randn({1100, 900}, rng), DType::bf16);
  for (const auto& of :
       {+[](const Tensor&a, const Tensor&b) { return matmul(a, b); },
        +[](const Tensor&a, const Tensor&b) { return matmul(transpose(b), transpose(a)); }}) {
    set_num_threads(1);
    const Tensor one = of(x, w);
    set_num_threads(3);
    EXPECT_EQ(to(one, DType::f32).values<float>(), to(of(x, w), DType::f32).values<float>());
  }
}

}  // namespace
}  // namespace veldt
