// The fused attention against its weights, over more queries than a task takes; its gradients against those
// made of single ops.
#include "veldt/ops/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/error_of.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/profile.h"

namespace veldt {
namespace {

enum class MaskKind : std::uint8_t { none, booleans, numbers };

struct AttentionCase {
  std::int64_t queries, keys, size, width;
  bool causal;
  MaskKind mask = MaskKind::none;
};
constexpr AttentionCase kAttentions[] = {{61, 75, 19, 37, false},
                                         {61, 75, 19, 37, true},
                                         {75, 61, 32, 32, true},
                                         {500, 20, 5, 3, false},
                                         {530, 530, 8, 16, true},
                                         {3, 700, 40, 2, false},
                                         {61, 75, 19, 37, false, MaskKind::booleans},
                                         {75, 61, 8, 16, true, MaskKind::booleans},
                                         {61, 75, 19, 37, true, MaskKind::numbers},
                                         {500, 20, 5, 3, false, MaskKind::numbers}};

// For both heads of an example; the last query may look at nothing.
Tensor mask_of(const AttentionCase& c, DType dtype, Rng& rng) {
  if (c.mask == MaskKind::none) return {};
  const Tensor noise = to(randn({2, 1, c.queries, c.keys}, rng), dtype);
  const Tensor sees = less(unsqueeze(arange(c.queries, DType::i64), 1), c.queries - 1);
  if (c.mask == MaskKind::numbers) return masked_fill(noise, logical_not(sees), -INFINITY);
  return logical_and(greater(noise, 0.0), sees);
}

// The result, and the gradients by q, k and v.
Grads attention_of(const AttentionCase& c, DType dtype, bool create_graph) {
  Rng rng(1);
  const auto given = [&](std::int64_t time, std::int64_t size) {
    return to(randn({2, 3, time, size}, rng), dtype).set_requires_grad();
  };
  const Tensor q = given(c.queries, c.size), k = given(c.keys, c.size), v = given(c.keys, c.width);
  const Tensor seed = to(randn({2, 3, c.queries, c.width}, rng), dtype);
  const AttentionOptions options{.mask = mask_of(c, dtype, rng), .causal = c.causal};
  const Tensor y = scaled_dot_product_attention(q, k, v, options);
  Grads all = grad(y, {q, k, v}, create_graph, seed);
  all.push_back(create_graph ? matmul(attention_weights(q, k, options), v) : y);
  return all;
}

TEST(Attention, FusedIsThatOfSingleOps) {
  for (const AttentionCase& c : kAttentions)
    for (const DType dtype : {DType::f32, DType::f64}) {
      const auto fused = attention_of(c, dtype, false), expected = attention_of(c, DType::f64, true);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const Tensor off = to(fused[i].detach(), DType::f64) - expected[i].detach();
        EXPECT_LE(max(abs(off)).item(),
                  (dtype == DType::f32 ? 1e-5 : 1e-13) * max(abs(expected[i].detach())).item())
            << c.queries << " queries, " << c.keys << " keys, " << dtype << ", mask "
            << static_cast<int>(c.mask) << ", gradient " << i;
      }
    }
}

// Padding on the left, as numbers: the first query may look at its own key alone, and that is -inf.
TEST(Attention, OfAQueryThatSeesPaddingAloneIsZero) {
  Rng rng(1);
  const auto given = [&] { return randn({1, 1, 3, 2}, rng).set_requires_grad(); };
  const Tensor q = given(), k = given(), v = given();
  const AttentionOptions options{.mask = Tensor::of({1, 3}, {-INFINITY, 0, 0}), .causal = true};
  const Tensor out = scaled_dot_product_attention(q, k, v, options);
  EXPECT_EQ(out.values<float>()[0], 0);
  const Grads fused = grad(sum(out), {q, k, v}), composed = grad(sum(out), {q, k, v}, true);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(all(isfinite(fused[i])).item<bool>()) << i;
    EXPECT_EQ(fused[i].values<float>(), composed[i].detach().values<float>()) << i;
  }
}

TEST(Attention, OfAQueryThatSeesNothingMakesNoNaN) {
  const Tensor q = ones({2, 2}).set_requires_grad();
  const DetectAnomaly detect;
  const Tensor y = attention_weights(q, q, {.mask = zeros({2, 2}, DType::boolean)});
  EXPECT_THAT(y.values<float>(), testing::Each(0));
  EXPECT_THAT(grad(sum(y), {q})[0].values<float>(), testing::Each(0));
}

// As numbers: the first query may look at nothing.
TEST(Attention, OfAQueryWhoseScoresAreAllMinusInfinityIsZero) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
    for (const bool create_graph : {false, true})
      for (const bool mask_learns : {false, true}) {
        const auto given = [&] { return ones({2, 2}, dtype).set_requires_grad(); };
        const Tensor q = given(), k = given(),
                     v = Tensor::of({2, 2}, {1, 2, 3, 4}, dtype).set_requires_grad();
        Tensor mask = Tensor::of({2, 2}, {-INFINITY, -INFINITY, 0, -INFINITY}, dtype);
        if (mask_learns) mask.set_requires_grad();
        const auto numbers = [](const Tensor& t) { return to(t.detach(), DType::f32).values<float>(); };
        const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
        const Grads slopes = grad(sum(y), {q, k, v}, create_graph);
        EXPECT_THAT(numbers(y), testing::ElementsAre(0, 0, 1, 2)) << dtype;
        for (const std::size_t i : {0, 1}) EXPECT_THAT(numbers(slopes[i]), testing::Each(0)) << dtype << i;
        EXPECT_THAT(numbers(slopes[2]), testing::ElementsAre(1, 1, 0, 0)) << dtype;
        EXPECT_THAT(numbers(attention_weights(q, k, {.mask = mask})), testing::ElementsAre(0, 0, 1, 0));
        if (!mask_learns) continue;
        const Tensor again = scaled_dot_product_attention(q, k, v, {.mask = mask});
        EXPECT_THAT(numbers(grad(sum(again), {mask})[0]), testing::Each(0)) << dtype;
      }
}

// Some write padding as the lowest number, not as -inf: two queries that see it alone share evenly.
TEST(Attention, OfAQueryThatSeesTheLowestNumberAloneIsTheMean) {
  const Tensor zero = zeros({1, 1, 3, 2}), v = Tensor::of({1, 1, 3, 2}, {2, 4, 6, 8, 0, 0});
  const float lowest = std::numeric_limits<float>::lowest();
  const Tensor out = scaled_dot_product_attention(
      zero, zero, v, {.mask = Tensor::of({1, 3}, {lowest, lowest, 0}), .causal = true});
  EXPECT_THAT(out.values<float>(), testing::ElementsAre(2, 4, 4, 6, 0, 0));
}

// The gradient of a mask is no kernel's: the same call, made of single ops.
TEST(Attention, GivesAMaskItsGradient) {
  Rng rng(1);
  const auto given = [&](std::int64_t time) {
    return randn({1, 2, time, 8}, rng, 0, 1, DType::f64).set_requires_grad();
  };
  const Tensor q = given(9), k = given(7), v = given(7);
  Tensor mask = randn({9, 7}, rng, 0, 1, DType::f64);
  const Tensor fused = scaled_dot_product_attention(q, k, v, {.mask = mask});
  const Tensor by_q = grad(sum(square(fused)), {q})[0];
  mask.set_requires_grad();
  const Tensor composed = scaled_dot_product_attention(q, k, v, {.mask = mask});
  const Grads both = grad(sum(square(composed)), {q, mask});
  EXPECT_LE(max(abs(fused - composed)).item(), 1e-14);
  EXPECT_LE(max(abs(by_q - both[0])).item(), 1e-13);
  EXPECT_GT(max(abs(both[1])).item(), 0);
}

TEST(Attention, HasTheSameBitsOnAnyNumberOfThreads) {
  const test::ThreadsScope scope(1);
  const auto one = attention_of(kAttentions[4], DType::f32, false);
  set_num_threads(3);
  const auto three = attention_of(kAttentions[4], DType::f32, false);
  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(one[i].detach().values<float>(), three[i].detach().values<float>()) << i;
}

TEST(SelfAttention, TakesAMaskAsItsPartsDo) {
  Rng rng(1);
  Tensor x = to(randn({2, 5, 12}, rng), DType::f64).set_requires_grad();
  const Tensor seen = tril(ones({5, 5}, DType::boolean));
  const Tensor masked = self_attention(x, 2, {.mask = seen}), causal = self_attention(x, 2, {.causal = true});
  EXPECT_LE(max(abs(masked - causal)).item(), 1e-14);
  const Tensor off = grad(sum(square(masked)), {x})[0] - grad(sum(square(causal)), {x})[0];
  EXPECT_LE(max(abs(off)).item(), 1e-13);
}

TEST(SelfAttention, NamesTheShapeThatHeadsDoNotDivide) {
  EXPECT_NE(test::error_of([] {
              self_attention(ones({2, 5, 12}), 3);
            }).find("[2, 5, 12]"),
            std::string::npos);
  EXPECT_THROW(self_attention(ones({5, 12}), 2), ShapeError);
}

}  // namespace
}  // namespace veldt
