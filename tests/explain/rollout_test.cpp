// Attention that is heard, fused or not, and its product.
#include "veldt/explain/rollout.h"

#include <gtest/gtest.h>

#include "veldt/core/error.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"

namespace veldt::explain {
namespace {

TEST(ExplainRollout, HearsEachAttentionOnceWithItsMask) {
  Rng rng(1);
  const nn::TransformerEncoder net(
      3, 8, 2, {.layer = {.dim_feedforward = 8, .batch_first = true, .causal = true}}, rng);
  const Tensor x = randn({2, 5, 8}, rng);
  const std::vector<Tensor> maps = attention_maps(net, x);
  ASSERT_EQ(maps.size(), 3U);
  EXPECT_EQ(maps[0].shape(), (Shape{2, 2, 5, 5}));
  EXPECT_EQ(maps[1](0, 0, 0, 1).item(), 0);  // causal
  EXPECT_LT(max(abs(sum(maps[2], {3}) - 1.0)).item(), 1e-6);
  const Tensor rolled = attention_rollout(net, x);
  EXPECT_LT(max(abs(sum(rolled, {2}) - 1.0)).item(), 1e-6);
  EXPECT_EQ(rolled(1, 0, 0).item(), 1);
  EXPECT_TRUE(net.training());
  // Nobody listens any more; one that is not fused is heard once too.
  EXPECT_EQ(attention_maps(nn::Lambda([](const Tensor& t) {
                             return scaled_dot_product_attention(t, t, t, {.mask = zeros({5, 5})});
                           }),
                           x)
                .size(),
            1U);
  EXPECT_EQ(attention_maps(nn::Lambda([](const Tensor& t) { return attention_weights(t, t); }), x).size(),
            1U);
  // One whose listener failed once is heard again.
  struct Failing : AttentionListener {
    int calls = 0;
    void on_attention(const Tensor&, const Tensor&, const AttentionOptions&) override {
      if (++calls == 1) throw Error("no", "no", "no");
    }
  } failing;
  EXPECT_THROW(attention_weights(x, x), Error);
  attention_weights(x, x);
  EXPECT_EQ(failing.calls, 2);
}

TEST(ExplainRollout, RefusesWhatIsNotOfTheSameTokens) {
  Rng rng(2);
  const Tensor x = randn({1, 4, 6}, rng);
  EXPECT_THROW(attention_rollout(nn::Identity(), x), ConfigError);
  const Tensor other = randn({1, 3, 6}, rng);
  const nn::Lambda across([&](const Tensor& t) { return scaled_dot_product_attention(t, other, other); });
  EXPECT_THROW(attention_rollout(across, x), ConfigError);
}

}  // namespace
}  // namespace veldt::explain
