// Recurrent layers over sequences; parameters, defaults and initial values are those of torch.nn.RNN, LSTM
// and GRU.
// Tests: tests/nn/recurrent_test.cpp, tests/cuda/layers_test.cpp
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veldt/nn/dropout.h"
#include "veldt/nn/init.h"
#include "veldt/nn/module.h"
#include "veldt/nn/recurrent_cell.h"
#include "veldt/nn/weight.h"

namespace veldt::nn {

struct RecurrentResult {
  Tensor output;  // of the last layer, [time, n, hidden * directions]
  RecurrentState state;
};

// The base of RNN, LSTM and GRU. Layer k has "weight_ih_lk" [gates * hidden, in], "weight_hh_lk" [gates *
// hidden, hidden], "bias_ih_lk" and "bias_hh_lk" [gates * hidden], and for the backward direction the same
// with "_reverse"; all start as U(-1 / sqrt(hidden), 1 / sqrt(hidden)). The products with the inputs of all
// steps are one matrix product for each layer and direction.
class Recurrent : public Module, public Quantizable {
 public:
  // x [time, n, in], or [n, time, in] with batch_first, or [time, in]; the output has the same layout, and in
  // the last form states lack n too. The default state is 0. `lengths` [n] (i64, 0 to time) are the numbers
  // of steps that count in each sequence: outputs after them are 0, the state is that of the last one, and
  // the backward direction begins there, as with torch's packed sequences. Throws ShapeError for shapes that
  // do not fit.
  RecurrentResult run(const Tensor& x, const RecurrentState& initial = {}, const Tensor& lengths = {}) const;
  // Only the output.
  Tensor forward(const Tensor& x) const override { return computed(x, {}, {}).output; }
  // {x} -> {output}; {x, h} -> {output, h}, or of an LSTM {x, h, c} -> {output, h, c}
  TensorList forward_list(const TensorList& inputs) const override;
  void fields(Fields& f) override;
  std::vector<Named> weights() override;
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;
  CellKind cell() const { return cell_; }
  std::int64_t hidden() const { return weights_.front().weight_hh.size(1); }
  bool is_bidirectional() const { return directions_ == 2; }
  bool is_batch_first() const { return batch_first_; }

 protected:
  struct Options {
    std::int64_t num_layers;
    bool bias, batch_first;
    double dropout;
    bool bidirectional;
    DType dtype;
    Device device;
  };
  Recurrent(CellKind cell, std::int64_t in, std::int64_t hidden, const Options& options, Rng& rng);

 private:
  struct Weights {
    Weight weight_ih, weight_hh;
    Tensor bias_ih, bias_hh;
  };
  // Of the weights, because a visitor may cut units out, or inputs (compress::cut()).
  std::int64_t in() const { return weights_.front().weight_ih.size(1); }
  RecurrentResult computed(const Tensor& x, const RecurrentState& initial, const Tensor& lengths) const;
  std::string name() const;
  std::string ending(std::size_t i) const;
  void check(const Tensor& x, const Tensor& lengths) const;
  Tensor initial_state(const char* what, const Tensor& given, std::int64_t n) const;
  Tensor pass(const Tensor& x, const Tensor& valid, const Weights& weights, bool backward,
              RecurrentState& state) const;

  CellKind cell_;
  std::int64_t directions_;
  bool batch_first_;
  double p_;
  std::vector<Weights> weights_;    // of each layer, forward and backward
  std::optional<Dropout> dropout_;  // only if there are layers for it to be between
};

struct RNNOptions {
  std::int64_t num_layers = 1;
  Nonlinearity nonlinearity = Nonlinearity::tanh;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // of each layer's output except the last one's, in training
  bool bidirectional = false;
  DType dtype = DType::f32;
  Device device = {};
};

// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu (Elman 1990).
class RNN : public Recurrent {
 public:
  // Throws ConfigError for sizes below 1 and a dropout outside [0, 1].
  RNN(std::int64_t in, std::int64_t hidden, RNNOptions options = {}, Rng& rng = default_rng());
  RNN(std::int64_t in, std::int64_t hidden, Rng& rng) : RNN(in, hidden, {}, rng) {}
};

struct RecurrentOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // as of RNNOptions
  bool bidirectional = false;
  DType dtype = DType::f32;
  Device device = {};
};

// With gates i, f, g, o, one below the other in the weights, each of W_ih x + b_ih + W_hh h + b_hh:
//   c' = sigmoid(f) c + sigmoid(i) tanh(g),  h' = sigmoid(o) tanh(c')
// Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000.
class LSTM : public Recurrent {
 public:
  LSTM(std::int64_t in, std::int64_t hidden, RecurrentOptions options = {}, Rng& rng = default_rng());
  LSTM(std::int64_t in, std::int64_t hidden, Rng& rng) : LSTM(in, hidden, {}, rng) {}
};

// With gates r, z, n in this order, a of W_ih x + b_ih and b of W_hh h + b_hh:
//   r = sigmoid(a_r + b_r),  z = sigmoid(a_z + b_z),  n = tanh(a_n + r b_n),  h' = (1 - z) n + z h
// Cho et al. 2014, with r applied after the product as in torch.
class GRU : public Recurrent {
 public:
  GRU(std::int64_t in, std::int64_t hidden, RecurrentOptions options = {}, Rng& rng = default_rng());
  GRU(std::int64_t in, std::int64_t hidden, Rng& rng) : GRU(in, hidden, {}, rng) {}
};

// The last step of a sequence: [n, time, ..] to [n, ..].
class LastStep : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  std::string title() const override { return "LastStep"; }
};

}  // namespace veldt::nn
