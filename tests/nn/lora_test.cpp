// LoRA: what is trained, that a merged network computes the same, and what is saved.
#include "veldt/nn/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/audit.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/mlp.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Sequential lora_network() {
  Rng rng(3);
  return Sequential{{"query", Linear(6, 8, rng)},
                    {"act", Tanh()},
                    {"value", Linear(8, 4, rng)},
                    {"head", Linear(4, 2, {.bias = false}, rng)}};
}

Tensor lora_input() {
  Rng rng(4);
  return randn({5, 6}, rng);
}

double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

// Moves what is trained along its gradient.
void lora_step(const Module& network) {
  const Tensor y = network(lora_input());
  mean((y - 1) * (y - 1)).backward();
  const NoGrad off;
  for (const NamedTensor& p : network.trained_parameters())
    p.tensor.detach().assign(p.tensor - 0.1 * p.tensor.grad());
}

TEST(Lora, AtFirstNothingChangesAndOnlyTheAdaptersAreTrained) {
  Sequential net = lora_network();
  const Tensor before = net(lora_input());
  EXPECT_THAT(add_lora(net, {"query", "value"}, {.rank = 2}), ElementsAre("query", "value"));
  EXPECT_EQ(distance(net(lora_input()), before), 0);
  std::vector<std::string> names;
  for (const NamedTensor& p : net.trained_parameters()) names.push_back(p.name);
  EXPECT_THAT(names, ElementsAre("query.lora_A", "query.lora_B", "value.lora_A", "value.lora_B"));
  const std::vector<float> weight = dynamic_cast<Linear&>(net["query"]).weight().values<float>();
  for (int step = 0; step < 3; ++step) lora_step(net);
  EXPECT_GT(distance(net(lora_input()), before), 1e-3);
  EXPECT_EQ(dynamic_cast<Linear&>(net["query"]).weight().values<float>(), weight);
}

TEST(Lora, ComputesTheProductOfThePaper) {
  Rng rng(5);
  Linear layer(6, 3, rng);
  add_lora(layer, {""}, {.rank = 2, .alpha = 6});
  for (const NamedTensor& p : layer.state_dict())
    if (p.name != "lora_alpha" && p.name.starts_with("lora")) init::normal(p.tensor, 0, 1, rng);
  const NamedTensors state = lora_state(layer);
  const Tensor a = state[0].tensor, b = state[1].tensor, x = lora_input();
  const Tensor expected = matmul(x, transpose(layer.weight() + 3 * matmul(b, a))) + layer.bias();
  EXPECT_LT(distance(layer(x), expected), 1e-5);
  EXPECT_EQ(layer.title(), "Linear(6, 3, LoRA of rank 2)");
}

TEST(Lora, AMergedNetworkComputesTheSameWithoutAdapters) {
  Sequential net = lora_network();
  add_lora(net, {"query", "value", "head"}, {.rank = 3});
  for (int step = 0; step < 3; ++step) lora_step(net);
  const Tensor taught = net(lora_input());
  merge_lora(net);
  EXPECT_LT(distance(net(lora_input()), taught), 1e-5);
  EXPECT_TRUE(lora_state(net).empty());
  EXPECT_TRUE(net.trained_parameters().empty());
  EXPECT_TRUE(lora_network().load_state_dict(net.state_dict()).complete());  // a plain network's names again
  merge_lora(net);                                                           // nothing to do
}

// The ranks and alphas are the file's.
TEST(Lora, TheAdaptersAloneBringAnotherCopyToTheSame) {
  Sequential taught = lora_network(), other = lora_network();
  add_lora(taught, {"query"}, {.rank = 2, .alpha = 5});
  add_lora(taught, {"head"}, {.rank = 1, .alpha = 3});
  for (int step = 0; step < 3; ++step) lora_step(taught);
  const NamedTensors adapters = lora_state(taught);
  EXPECT_EQ(adapters.size(), 6u);
  load_lora(other, adapters);
  EXPECT_EQ(distance(other(lora_input()), taught(lora_input())), 0);
  EXPECT_EQ(other.trained_parameters().size(), 4u);
  lora_step(other);
  EXPECT_GT(distance(other(lora_input()), taught(lora_input())), 0);
  load_lora(other, adapters);  // over those it has
  EXPECT_EQ(distance(other(lora_input()), taught(lora_input())), 0);
}

TEST(Lora, RefusesAdaptersThatDoNotFit) {
  Sequential taught = lora_network(), other = lora_network();
  add_lora(taught, {"query"}, {.rank = 2});
  const NamedTensors good = lora_state(taught);
  const auto refused = [&](std::size_t part, const std::string& name, const Tensor& tensor) {
    NamedTensors state = good;
    state[part] = {name, tensor};
    return error_of([&] { load_lora(other, state); });
  };
  Rng rng(1);
  EXPECT_THAT(refused(0, "query.weight", good[0].tensor), HasSubstr("query.weight is no part of an adapter"));
  EXPECT_THAT(refused(0, "key.lora_A", good[0].tensor), HasSubstr("is called 'key'"));
  EXPECT_THAT(refused(0, "value.lora_A", good[0].tensor), HasSubstr("it lacks one of"));
  EXPECT_THAT(refused(0, "query.lora_A", randn({2, 7}, rng)), HasSubstr("are [2, 7], [8, 2] and []"));
  EXPECT_THAT(refused(1, "query.lora_B", randn({8, 3}, rng)), HasSubstr("[8, 3]"));
  EXPECT_THAT(refused(2, "query.lora_alpha", randn({2}, rng)), HasSubstr("and [2]"));
  EXPECT_EQ(other.trained_parameters().size(), 5u);  // as it was
  add_lora(other, {"query"}, {.rank = 3});
  EXPECT_THAT(error_of([&] { load_lora(other, good); }), HasSubstr("the layer has one of rank 3"));
}

TEST(Lora, AFusedStackOfLayersUsesItsAdaptersToo) {
  Rng rng(6);
  MLP net({6, 16, 2}, {}, rng);
  const Tensor before = net(lora_input());
  add_lora(net, {"0", "layers.1"}, {.rank = 2});
  lora_step(net);
  lora_step(net);
  const Tensor taught = net(lora_input());
  EXPECT_GT(distance(taught, before), 1e-3);
  merge_lora(net);
  EXPECT_LT(distance(net(lora_input()), taught), 1e-5);
}

// Queries, keys and values are one matrix, which gets one adapter. Attention to itself adds the adapter's
// product to the projections, attention to others puts it into the weight: both give the same.
TEST(Lora, AttentionHasAnAdapterOfItsPackedProjection) {
  Rng rng(6);
  TransformerEncoderLayer layer(
      8, 2, {.dim_feedforward = 12, .dropout = 0, .batch_first = true, .dtype = DType::f64}, rng);
  const Tensor x = randn({3, 5, 8}, rng, 0, 1, DType::f64);
  const Tensor before = layer(x);
  EXPECT_THAT(add_lora(layer, {"self_attn", "out_proj"}, {.rank = 2, .alpha = 6}),
              ElementsAre("self_attn", "self_attn.out_proj"));
  EXPECT_EQ(distance(layer(x), before), 0);
  EXPECT_EQ(layer.trained_parameters().size(), 4u);
  for (const NamedTensor& p : layer.trained_parameters()) init::normal(p.tensor, 0, 0.3, rng);
  auto& attention = dynamic_cast<MultiheadAttention&>(*layer.named_modules()[1].module);
  EXPECT_EQ(attention.title(), "MultiheadAttention(8, 2, LoRA of rank 2)");

  const auto gradients = [&](const Tensor& key) {
    for (const NamedTensor& p : attention.trained_parameters()) Tensor(p.tensor).zero_grad();
    const Tensor y = attention.attend(x, key, key);
    sum(y * y).backward();
    std::vector<Tensor> all{y.detach()};
    for (const NamedTensor& p : attention.trained_parameters()) all.push_back(clone(p.tensor.grad()));
    return all;
  };
  const std::vector<Tensor> itself = gradients(x), others = gradients(clone(x));
  ASSERT_EQ(itself.size(), 5u);
  for (std::size_t i = 0; i < itself.size(); ++i) {
    EXPECT_LT(distance(itself[i], others[i]), 1e-10) << i;
    EXPECT_GT(max(abs(itself[i])).item(), 1e-3) << i;
  }

  const Tensor taught = layer(x);
  EXPECT_GT(distance(taught, before), 1e-3);
  TransformerEncoderLayer other = clone(layer);
  merge_lora(layer);
  EXPECT_LT(distance(layer(x), taught), 1e-5);
  EXPECT_TRUE(lora_state(layer).empty());
  EXPECT_EQ(lora_state(other).size(), 6u);
}

// Of B = 0 follows that A's gradient is 0 before the first step, which is no fault; after it that would be
// one.
TEST(Lora, AnAuditKnowsThatANewAdapterBeginsSo) {
  Sequential net = lora_network();
  add_lora(net, {"query", "head"}, {.rank = 2});
  const auto audit = [&] {
    const Tensor loss = mean(net(lora_input()));
    loss.backward();
    return audit_gradients(net, loss).text();
  };
  EXPECT_EQ(audit(), "all 4 parameters have gradients\n");
  init::normal(net.trained_parameters()[3].tensor, 0, 1, default_rng());  // the head's B
  for (const NamedTensor& p : net.trained_parameters()) Tensor(p.tensor).zero_grad();
  init::constant(net.trained_parameters()[2].tensor, 0);
  EXPECT_THAT(audit(), HasSubstr("head.lora_B [2, 2]: a gradient of zeros"));
}

TEST(Lora, TheHeadMayBeTrainedToo) {
  Sequential net = lora_network();
  add_lora(net, {"query"});
  net.requires_grad(true, "head");
  EXPECT_EQ(net.trained_parameters().size(), 3u);
  EXPECT_EQ(net.trained_parameters("head").size(), 1u);
}

TEST(Lora, ASecondCallKeepsTheFirstOnesAdaptersTrained) {
  Sequential net = lora_network();
  add_lora(net, {"query"});
  add_lora(net, {"value"});
  EXPECT_EQ(net.trained_parameters().size(), 4u);
}

// A plain copy shares the weights that it had; what one of them merges is not the other's.
TEST(Lora, MergingOneOfTwoCopiesLeavesTheOther) {
  Rng rng(3);
  Linear layer(6, 4, rng);
  layer.add_lora(2, 1);
  const Sequential net{{"layer", layer}};
  lora_step(net);
  Linear copy = layer;
  const Tensor before = layer(lora_input());
  copy.merge_lora();
  EXPECT_EQ(distance(layer(lora_input()), before), 0);
  EXPECT_LT(distance(copy(lora_input()), before), 1e-5);
}

TEST(Lora, RefusesWhatItCannotAdapt) {
  Sequential net = lora_network();
  EXPECT_THAT(error_of([&] { add_lora(net, {"key"}); }), HasSubstr("there are query, value, head"));
  EXPECT_THAT(error_of([&] { add_lora(net, {"query", "ue"}); }), HasSubstr("is called 'ue'"));
  EXPECT_THAT(error_of([&] { add_lora(net, {"query"}, {.rank = 0}); }), HasSubstr("rank of 0"));
  EXPECT_THAT(error_of([&] { add_lora(net, {}); }), HasSubstr("no name was given"));
  EXPECT_THAT(error_of([&] { load_lora(net, {}); }), HasSubstr("no adapters to load"));
  EXPECT_EQ(net.trained_parameters().size(), 5u);  // as it was
  add_lora(net, {"query"});
  EXPECT_THAT(error_of([&] {
                add_lora(net, {"head", "query"});
              }),
              HasSubstr("query cannot get another adapter"));
}

}  // namespace
}  // namespace veldt::nn
