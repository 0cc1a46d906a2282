// Cells against their layers, which tests/golden/recurrent.json holds against torch.
#include "veldt/nn/recurrent_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/recurrent.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/autocast.h"

namespace veldt::nn {
namespace {

using test::error_of;
using testing::HasSubstr;

// The cell's state after each step of x [time, n, in] is the layer's.
template <class Layer, class Cell> void expect_same(const Layer& layer, Cell cell) {
  NamedTensors state;
  for (const auto& [name, tensor] : layer.state_dict()) {
    ASSERT_TRUE(name.ends_with("_l0"));
    state.push_back({name.substr(0, name.size() - 3), tensor});
  }
  cell.load_state_dict(state);
  Rng rng(3);
  const Tensor x = randn({5, 2, 3}, rng);
  const RecurrentResult all = layer.run(x);
  RecurrentState now;
  for (std::int64_t t = 0; t < 5; ++t) {
    now = cell.step(select(x, 0, t), now);
    EXPECT_LT(max(abs(now.h - select(all.output, 0, t))).item(), 1e-6) << cell.title();
  }
  EXPECT_EQ(now.c.defined(), all.state.c.defined());
  if (now.c.defined()) {
    EXPECT_LT(max(abs(now.c - select(all.state.c, 0, 0))).item(), 1e-6);
  }
  // Of one example, and as a list.
  const Tensor one = select(select(x, 0, 0), 0, 1);
  EXPECT_LT(max(abs(cell(one) - select(select(all.output, 0, 0), 0, 1))).item(), 1e-6);
  TensorList in{select(x, 0, 0), ones({2, 4})};
  if (now.c.defined()) in.push_back(zeros({2, 4}));
  const TensorList out = cell(in);
  EXPECT_EQ(out.size(), now.c.defined() ? 2u : 1u);
  EXPECT_EQ(out[0].values<float>(),
            cell.step(in[0], {in[1], now.c.defined() ? in[2] : Tensor()}).h.template values<float>());
}

TEST(RecurrentCell, TakesTheStepsOfItsLayer) {
  Rng rng(2);
  expect_same(RNN(3, 4, rng), RNNCell(3, 4));
  expect_same(RNN(3, 4, {.nonlinearity = Nonlinearity::relu}, rng), RNNCell(3, 4, Nonlinearity::relu));
  expect_same(LSTM(3, 4, rng), LSTMCell(3, 4));
  expect_same(GRU(3, 4, rng), GRUCell(3, 4));
  expect_same(GRU(3, 4, {.bias = false}, rng), GRUCell(3, 4, {.bias = false}));
}

TEST(RecurrentCell, FollowsAnotherLayerInHalves) {
  Rng rng(3);
  const Linear before(2, 3, rng);
  const GRUCell cell(3, 4, {}, rng);
  const Autocast halves(DType::bf16);
  const Tensor x = before(ones({2, 2}));
  ASSERT_EQ(x.dtype(), DType::bf16);
  EXPECT_EQ(cell.step(x, cell.step(x, {})).h.shape(), (Shape{2, 4}));
}

TEST(RecurrentCell, NamesWhatDoesNotFit) {
  const GRUCell cell(3, 4);
  EXPECT_THAT(error_of<ShapeError>([&] {
                cell(ones({2, 4}));
              }),
              HasSubstr("GRUCell(3, 4) cannot take f32 [2, 4]"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                cell.step(ones({2, 3}), {ones({1, 4}), {}});
              }),
              HasSubstr("a state h of f32 [1, 4]"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                cell.step(ones({2, 3}), {ones({2, 4}), ones({2, 4})});
              }),
              HasSubstr("only an LSTMCell"));
  EXPECT_THAT(error_of<Error>([&] {
                cell({ones({2, 3}), ones({2, 4}), ones({2, 4})});
              }),
              HasSubstr("cannot take 3 inputs"));
  EXPECT_THAT(error_of<ConfigError>([] { LSTMCell(0, 4); }), HasSubstr("LSTMCell(0, 4)"));
}

}  // namespace
}  // namespace veldt::nn
