// The gradient of a weight, for rows as far apart as the op table has none.
#include "veldt/ops/matmul.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace veldt
