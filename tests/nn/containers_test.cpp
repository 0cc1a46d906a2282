// Branches, sums, concatenations, functions: what they compute, how their parameters are named, copies.
#include "veldt/nn/containers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"

namespace veldt::nn {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const Module& module) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : module.named_parameters()) out.push_back(name);
  return out;
}

TEST(Residual, AddsItsShortcut) {
  Rng rng(1);
  const Linear body(3, 3, rng);
  const Tensor x = randn({2, 3}, rng);
  EXPECT_EQ(Residual(body)(x).values<float>(), (body(x) + x).values<float>());
  const Linear wide(3, 5, rng), shortcut(3, 5, rng);
  const Residual both(wide, shortcut);
  EXPECT_EQ(both(x).values<float>(), (wide(x) + shortcut(x)).values<float>());
  EXPECT_THAT(names(both), ElementsAre("body.weight", "body.bias", "shortcut.weight", "shortcut.bias"));
  EXPECT_THAT(error_of<ShapeError>([&] { Residual{wide}(x); }), HasSubstr("cannot add [2, 5] and [2, 3]"));
  EXPECT_THAT(error_of<ShapeError>([&] { both(ones({2, 4})); }), HasSubstr("in body (Linear(3, 5))"));
}

TEST(Concat, PutsBranchesSideBySide) {
  Rng rng(1);
  const Conv2d conv(2, 3, 3, {.padding = 1}, rng);
  const Concat net(1, {Identity(), conv});
  const Tensor y = net(randn({1, 2, 4, 4}, rng));
  EXPECT_EQ(y.shape(), (Shape{1, 5, 4, 4}));
  EXPECT_THAT(names(net), ElementsAre("1.weight", "1.bias"));
  const Concat named(1, {{"skip", Identity()}, {"deep", conv}});
  EXPECT_THAT(names(named), ElementsAre("deep.weight", "deep.bias"));
  EXPECT_EQ(named["skip"].title(), "Identity");
}

TEST(Parallel, GivesAnOutputOfEachBranch) {
  const Parallel heads(
      {Lambda([](const Tensor& x) { return x * 2.0; }), Lambda([](const Tensor& x) { return -x; })});
  const Tensor x = ones({1}), y = full({1}, 3);
  const TensorList same = heads(TensorList{x}), own = heads({x, y});
  EXPECT_EQ(same[0].item(), 2);
  EXPECT_EQ(same[1].item(), -1);
  EXPECT_EQ(own[1].item(), -3);
  EXPECT_THAT(error_of<Error>([&] { heads({x, x, x}); }), HasSubstr("Parallel cannot take 3 inputs"));
  // After layers of one tensor, and before one of two.
  const Sequential net{Tanh(), heads,
                       Lambda([](const TensorList& in) { return TensorList{in[0] + in[1]}; }, "Add")};
  EXPECT_FLOAT_EQ(net(TensorList{x})[0].item(), std::tanh(1.0f));
  EXPECT_THAT(net.description(), HasSubstr("2: Add"));
  // A layer that could give its state too gives its output to the next.
  Rng rng(1);
  const Sequential reader{LSTM(1, 2, {.batch_first = true}, rng), LastStep(), heads};
  EXPECT_EQ(reader(TensorList{ones({3, 4, 1})})[0].shape(), (Shape{3, 2}));
}

TEST(Lambda, IsAFunctionWithATitle) {
  const Lambda mean_of([](const Tensor& x) { return mean(x, {1}); }, "Mean");
  EXPECT_EQ(mean_of.title(), "Mean");
  EXPECT_EQ(mean_of(ones({2, 3})).shape(), Shape{2});
  const Lambda pair([](const TensorList& in) { return TensorList{in[0], in[0]}; });
  EXPECT_THAT(error_of<Error>([&] { pair(ones({1})); }), HasSubstr("Lambda gave 2 tensors"));
  EXPECT_THAT(error_of<Error>([&] { mean_of({ones({1}), ones({1})}); }), HasSubstr("cannot take 2 inputs"));
}

TEST(NamedLayers, NameParametersOfASequential) {
  Rng rng(1);
  Sequential net{{"body", Linear(2, 4, rng)}, {"act", Tanh()}, {"head", Linear(4, 1, rng)}};
  EXPECT_THAT(names(net), ElementsAre("body.weight", "body.bias", "head.weight", "head.bias"));
  EXPECT_EQ(net["head"].title(), "Linear(4, 1)");
  net.add("last", Tanh()).add(Tanh());
  EXPECT_EQ(net.size(), 5u);
  EXPECT_EQ(net["4"].title(), "Tanh");
  EXPECT_THAT(error_of<Error>([&] { net.add("head", Tanh()); }), HasSubstr("there is a layer head already"));
  EXPECT_THAT(error_of<Error>([&] { net.add("a.b", Tanh()); }), HasSubstr("\"a.b\""));
  EXPECT_THAT(error_of<Error>([&] { net["haed"]; }), HasSubstr("body, act, head"));
}

TEST(ModuleDict, HoldsModulesByName) {
  Rng rng(1);
  const ModuleDict dict({{"cat", Linear(2, 1, rng)}, {"dog", Linear(2, 2, rng)}});
  EXPECT_EQ(dict["dog"](ones({1, 2})).shape(), (Shape{1, 2}));
  EXPECT_THAT(names(dict), ElementsAre("cat.weight", "cat.bias", "dog.weight", "dog.bias"));
  EXPECT_NE(error_of<Error>([&] { dict(ones({1, 2})); }), "");
}

TEST(Containers, HaveParametersOfTheirOwnOnceCloned) {
  Rng rng(1);
  const Sequential net{Residual(Linear(3, 3, rng)), Concat(1, {Identity(), Linear(3, 2, rng)})};
  const Sequential copy = clone(net);
  const Tensor x = randn({2, 3}, rng), before = net(x);
  EXPECT_EQ(copy(x).values<float>(), before.values<float>());
  for (const Tensor& p : copy.parameters()) Tensor(p).detach().assign(zeros(p.shape()));
  EXPECT_EQ(net(x).values<float>(), before.values<float>());
  EXPECT_THAT(error_of<Error>([&] { clone(Residual(std::shared_ptr<Module>(new Tanh()))); }),
              HasSubstr("cannot clone layer body, a Tanh"));
}

}  // namespace
}  // namespace veldt::nn
