// Hooks around calls of modules, and walks over their tree.
#include "veldt/nn/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/init.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::nn {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModuleHook, LooksAtAndChangesWhatGoesInAndComesOut) {
  Sequential net{Tanh(), Tanh()};
  Tensor seen;
  HookHandle look =
      net[0].register_forward_hook([&](const Module&, const TensorList& inputs, TensorList& outputs) {
        seen = inputs[0];
        outputs[0] = outputs[0] * 0.0;
      });
  net[0].register_forward_pre_hook([](const Module&, TensorList& inputs) { inputs[0] = inputs[0] + 1.0; });
  const Tensor x = Tensor::of({2}, {1, 2});
  EXPECT_THAT(net(x).values<float>(), ElementsAre(0, 0));
  EXPECT_THAT(seen.values<float>(), ElementsAre(2, 3));
  look.remove();
  EXPECT_GT(net(x).values<float>()[0], 0.5f);
}

TEST(ModuleHook, SeesAndChangesTheGradientOfAnOutput) {
  Rng rng(1);
  Sequential net{Linear(2, 3, rng), Tanh(), Linear(3, 1, rng)};
  Tensor seen;
  HookHandle handle = net[1].register_backward_hook([&](std::size_t i, const Tensor& g) {
    EXPECT_EQ(i, 0u);
    seen = g;
    return g * 0.0;
  });
  const Tensor x = randn({4, 2}, rng);
  sum(net(x)).backward();
  EXPECT_EQ(seen.shape(), (Shape{4, 3}));
  EXPECT_GT(max(abs(seen)).item(), 0);
  EXPECT_EQ(max(abs(net.parameters()[0].grad())).item(), 0);
  handle.remove();
  sum(net(x)).backward();
  EXPECT_GT(max(abs(net.parameters()[0].grad())).item(), 0);
}

TEST(ModuleHook, HearsTheGradientOfItsOwnOutputAlone) {
  Rng rng(1);
  Identity same;
  std::vector<float> heard;
  HookHandle handle = same.register_backward_hook([&](std::size_t, const Tensor& g) {
    heard = g.values<float>();
    return g * 0.0;
  });
  Tensor x = Tensor::of({1}, {3}).set_requires_grad();
  const Tensor y = x * 2.0;
  sum(same(y) * 5.0 + y * 7.0).backward();
  EXPECT_THAT(heard, ElementsAre(5));
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(14));
  Tensor z;
  {
    Identity gone;
    gone.register_backward_hook([&](std::size_t, const Tensor& g) { return g * 4.0; });
    z = gone(x);
  }
  x.set_grad({});
  sum(z).backward();
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(4));
  handle.remove();
}

TEST(ModuleHook, HearsCallsOfSeveralInputsAndOutputs) {
  Rng rng(2);
  const LSTM lstm(2, 3, rng);
  const TransformerDecoder decoder(1, 4, 2, {.layer = {.dropout = 0}}, rng);
  std::vector<std::size_t> counts;
  const auto count = [&](const Module&, const TensorList& in, TensorList& out) {
    counts.push_back(in.size());
    counts.push_back(out.size());
  };
  const_cast<LSTM&>(lstm).register_forward_hook(count);
  const RecurrentResult r = lstm.run(randn({5, 1, 2}, rng));
  EXPECT_THAT(counts, ElementsAre(4, 3));
  const TensorList out = lstm({randn({5, 1, 2}, rng), r.state.h, r.state.c});
  ASSERT_EQ(out.size(), 3u);
  counts.clear();
  for (const NamedModule& inner : decoder.named_modules())
    if (inner.name == "layers.0.multihead_attn") inner.module->register_forward_hook(count);
  const Tensor x = randn({3, 1, 4}, rng), memory = randn({2, 1, 4}, rng);
  EXPECT_EQ(decoder({x, memory})[0].values<float>(), decoder.decode(x, memory).values<float>());
  EXPECT_THAT(counts, ElementsAre(3, 1, 3, 1));
  EXPECT_THAT(error_of<Error>([&] { decoder(TensorList{x}); }), HasSubstr("cannot take 1 inputs"));
  EXPECT_THAT(error_of<Error>([&] { decoder(x); }), HasSubstr("module({x, y})"));
  EXPECT_THAT(error_of<Error>([&] { Tanh()({x, x}); }), HasSubstr("Tanh cannot take 2 inputs"));
}

TEST(ModuleHook, LeavesErrorsOfSeveralInputsTheirPlace) {
  const TransformerDecoder decoder(2, 4, 2);
  EXPECT_THAT(error_of<ShapeError>([&] {
                decoder.decode(ones({3, 1, 4}), ones({3, 1, 6}));
              }),
              HasSubstr("in layers.0.multihead_attn (MultiheadAttention(4, 2))"));
}

TEST(ModuleHook, StaysWithACopyAndMustKeepTheNumberOfTensors) {
  Tanh first;
  int calls = 0;
  HookHandle handle =
      first.register_forward_hook([&](const Module&, const TensorList&, TensorList&) { ++calls; });
  Tanh copy = first;
  copy.register_forward_hook([&](const Module&, const TensorList&, TensorList& out) { out.clear(); });
  first(ones({1}));
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(error_of<Error>([&] { copy(ones({1})); }), HasSubstr("a hook left 0 outputs"));
  EXPECT_EQ(calls, 2);
  handle.remove();
  first(ones({1}));
  EXPECT_EQ(calls, 2);
}

TEST(CallListener, HearsOuterModulesBeginFirstAndEndLast) {
  struct Heard : CallListener {
    void on_begin(const Module& module, const TensorList& inputs) override {
      told.push_back(str("begin ", module.title(), ' ', inputs.at(0).values<float>()[0]));
    }
    void on_call(const Module& module, const TensorList&, const TensorList&) override {
      told.push_back("end " + module.title());
    }
    std::vector<std::string> told;
  };
  Sequential net{ReLU(), Tanh()};
  EXPECT_FALSE(net.has_hooks());
  net.register_forward_pre_hook([](const Module&, TensorList& inputs) { inputs[0] = inputs[0] + 1.0; });
  EXPECT_TRUE(net.has_hooks());
  Heard heard;
  net(ones({1, 1}));
  EXPECT_THAT(heard.told, ElementsAre("begin Sequential 2", "begin ReLU 2", "end ReLU", "begin Tanh 2",
                                      "end Tanh", "end Sequential"));
}

TEST(ModuleTree, NamesItsModulesAndAppliesAFunctionToEach) {
  Sequential net{Linear(2, 3), Sequential{Tanh(), Linear(3, 1)}};
  const auto names = [](const std::vector<NamedModule>& list) {
    std::vector<std::string> out;
    for (const NamedModule& m : list) out.push_back(m.name + " " + m.module->title());
    return out;
  };
  EXPECT_THAT(names(net.named_modules()),
              ElementsAre(" Sequential", "0 Linear(2, 3)", "1 Sequential", "1.0 Tanh", "1.1 Linear(3, 1)"));
  EXPECT_THAT(names(net.children()), ElementsAre("0 Linear(2, 3)", "1 Sequential"));
  std::vector<std::string> order;
  net.apply([&](Module& m) {
    order.push_back(m.title());
    if (auto* linear = dynamic_cast<Linear*>(&m)) init::constant(linear->weight(), 1);
  });
  EXPECT_THAT(order, ElementsAre("Linear(2, 3)", "Tanh", "Linear(3, 1)", "Sequential", "Sequential"));
  EXPECT_EQ(min(net.parameters()[0]).item(), 1);
}

TEST(ModuleSummary, ShowsModulesOfSeveralInputs) {
  Rng rng(3);
  const Sequential net{LSTM(4, 6, {.batch_first = true}, rng),
                       TransformerEncoderLayer(6, 2, {.batch_first = true}, rng)};
  const std::string text = net.summary({2, 5, 4});
  EXPECT_THAT(text, testing::ContainsRegex("self_attn: MultiheadAttention\\(6, 2\\) +\\[2, 5, 6\\]"));
}

}  // namespace
}  // namespace veldt::nn
