// Graphs of layers: what reads what, names, copies, what is let go, errors.
#include "veldt/nn/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/linear.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Graph, LayersReadWhateverCameBefore) {
  Rng rng(1);
  const Linear in(3, 4, rng), deep(4, 4, rng), out(8, 2, rng);
  Graph net;
  const auto skip = net.add("in", in, {0});
  const auto low = net.add("deep", deep, {skip});
  net.add("out", out, {net.add("join", Cat(1), {skip, low})});
  const Tensor x = randn({5, 3}, rng), a = in(x);
  EXPECT_EQ(net(x).values<float>(), out(cat({a, deep(a)}, 1)).values<float>());
  std::vector<std::string> names;
  for (const auto& [name, tensor] : net.named_parameters()) names.push_back(name);
  EXPECT_THAT(names,
              ElementsAre("in.weight", "in.bias", "deep.weight", "deep.bias", "out.weight", "out.bias"));
  sum(net(x)).backward();
  EXPECT_TRUE(in.parameters()[0].grad().defined());
  // Without layers, and with an output in the middle.
  EXPECT_EQ(Graph()(x).values<float>(), x.values<float>());
  net.set_output(skip);
  EXPECT_EQ(net(x).values<float>(), a.values<float>());
}

TEST(Graph, HasSeveralInputs) {
  Rng rng(1);
  const TransformerDecoderLayer layer(4, 2, {.dim_feedforward = 8, .dropout = 0, .batch_first = true}, rng);
  Graph net(1, "decoder");
  const auto early = net.add("act", Tanh(), {0});
  const auto memory = net.add_input();
  net.add("layer", layer, {early, memory});
  EXPECT_EQ(net.inputs(), 2U);
  EXPECT_EQ(net.title(), "decoder");
  const Tensor x = randn({1, 3, 4}, rng), m = randn({1, 5, 4}, rng);
  EXPECT_EQ(net({x, m})[0].values<float>(), layer({tanh(x), m})[0].values<float>());
  EXPECT_THAT(error_of<Error>([&] { net(x); }), HasSubstr("cannot take 1 inputs"));
}

TEST(Graph, JoinsValues) {
  const Tensor a = Tensor::of({1, 2}, {1, 2}), b = Tensor::of({1, 2}, {10, 20});
  EXPECT_THAT(Sum()({a, b, a})[0].values<float>(), ElementsAre(12, 24));
  EXPECT_THAT(Product()({a, b})[0].values<float>(), ElementsAre(10, 40));
  EXPECT_THAT(Product()({a, Tensor::of({1, 1}, {3})})[0].values<float>(), ElementsAre(3, 6));
  EXPECT_THAT(Cat(0)({a, b})[0].values<float>(), ElementsAre(1, 2, 10, 20));
  EXPECT_THAT(error_of<ShapeError>([&] { Sum()({a, ones({1, 3})}); }), HasSubstr("[1, 2] and [1, 3]"));
}

TEST(Graph, CopiesAreItsOwn) {
  Rng rng(1);
  Graph inner;
  inner.add("a", Linear(2, 2, rng), {0});
  Graph net;
  net.add("sum", Sum(), {0, net.add("inner", inner, {0})});
  const Graph copy = clone(net);
  const NoGrad off;
  for (Tensor p : net.parameters()) p.assign(zeros(p.shape()));
  const Tensor x = ones({1, 2});
  EXPECT_THAT(net(x).values<float>(), ElementsAre(1, 1));
  EXPECT_NE(copy(x).values<float>(), net(x).values<float>());
}

TEST(Graph, WhatIsNotThereIsRefused) {
  Graph net;
  EXPECT_THAT(error_of<Error>([&] { net.add("a", Tanh(), {1}); }), HasSubstr("no value 1"));
  EXPECT_THAT(error_of<Error>([&] { net.add("a", Tanh(), {}); }), HasSubstr("reads nothing"));
  EXPECT_THAT(error_of<Error>([&] { net.set_output(3); }), HasSubstr("no value 3"));
  EXPECT_THROW(Graph(0), Error);
  net.add("a", Tanh(), {0});
  EXPECT_THAT(error_of<Error>([&] { net.add("a", Tanh(), {0}); }), HasSubstr("there is a layer a"));
  EXPECT_EQ(net.size(), 1U);
}

}  // namespace
}  // namespace veldt::nn
