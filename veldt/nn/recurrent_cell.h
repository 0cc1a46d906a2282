// One step of a recurrent layer: the formulas, and RNNCell, LSTMCell and GRUCell; parameters, defaults and
// initial values are those of torch.nn's cells.
// Tests: tests/nn/recurrent_cell_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/nn/init.h"
#include "veldt/nn/module.h"

namespace veldt::nn {

// The state after a step, [n, hidden], or after a sequence, with which the next one may begin: for each layer
// the forward and then the backward direction, [layers * directions, n, hidden]. Only an LSTM has c.
struct RecurrentState {
  Tensor h, c;
};

enum class Nonlinearity : std::uint8_t { tanh, relu };

enum class CellKind : std::uint8_t { tanh, relu, lstm, gru };
// How many times hidden the rows of a weight are.
std::int64_t gates_of(CellKind cell);
// The state after `before` [n, hidden]. input, product: the contributions of the step and of that state to
// the gates, [n, gates * hidden].
RecurrentState cell_step(CellKind cell, const Tensor& input, const Tensor& product,
                         const RecurrentState& before);

struct CellOptions {
  bool bias = true;
  DType dtype = DType::f32;
  Device device = {};
};

// The base of the cells: "weight_ih" [gates * hidden, in], "weight_hh" [gates * hidden, hidden], "bias_ih"
// and "bias_hh" [gates * hidden], all U(-1 / sqrt(hidden), 1 / sqrt(hidden)) at first.
class RecurrentCell : public Module {
 public:
  // x [n, in] or [in]; the state [n, hidden] or [hidden], 0 unless given. Throws ShapeError for what does not
  // fit.
  //   nn::RecurrentState state;
  //   for (const Tensor& x : steps) state = cell.step(x, state);
  RecurrentState step(const Tensor& x, const RecurrentState& before = {}) const;
  // h after a step from a state of 0.
  Tensor forward(const Tensor& x) const override { return stepped(x, {}).h; }
  // {x} -> {h}; {x, h} -> {h}, or of an LSTMCell {x, h, c} -> {h, c}
  TensorList forward_list(const TensorList& inputs) const override;
  void fields(Fields& f) override;
  std::string title() const override;

 protected:
  RecurrentCell(CellKind cell, std::int64_t in, std::int64_t hidden, const CellOptions& options, Rng& rng);

 private:
  RecurrentState stepped(const Tensor& given_x, const RecurrentState& before) const;

  CellKind cell_;
  std::int64_t in_, hidden_;
  Tensor weight_ih_, weight_hh_, bias_ih_, bias_hh_;
};

// The formulas are those of RNN, LSTM and GRU. Throw ConfigError for sizes below 1.
class RNNCell : public RecurrentCell {
 public:
  RNNCell(std::int64_t in, std::int64_t hidden, Nonlinearity nonlinearity = Nonlinearity::tanh,
          CellOptions options = {}, Rng& rng = default_rng());
};
class LSTMCell : public RecurrentCell {
 public:
  LSTMCell(std::int64_t in, std::int64_t hidden, CellOptions options = {}, Rng& rng = default_rng());
};
class GRUCell : public RecurrentCell {
 public:
  GRUCell(std::int64_t in, std::int64_t hidden, CellOptions options = {}, Rng& rng = default_rng());
};

}  // namespace veldt::nn
