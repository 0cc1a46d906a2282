// The formulas of recurrent steps, and layers of one step.
#include "veldt/nn/recurrent_cell.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {

std::int64_t gates_of(CellKind cell) { return cell == CellKind::lstm ? 4 : cell == CellKind::gru ? 3 : 1; }

RecurrentState cell_step(CellKind cell, const Tensor& input, const Tensor& product,
                         const RecurrentState& before) {
  const std::int64_t hidden = before.h.size(-1);
  const auto gate = [&](const Tensor& of, std::int64_t i, std::int64_t count = 1) {
    return narrow(of, -1, i * hidden, count * hidden);
  };
  switch (cell) {
    case CellKind::tanh: return {tanh(input + product), {}};
    case CellKind::relu: return {relu(input + product), {}};
    case CellKind::lstm: {
      const Tensor gates = input + product;
      const Tensor c = sigmoid(gate(gates, 1)) * before.c + sigmoid(gate(gates, 0)) * tanh(gate(gates, 2));
      return {sigmoid(gate(gates, 3)) * tanh(c), c};
    }
    case CellKind::gru: {
      const Tensor rz = sigmoid(gate(input, 0, 2) + gate(product, 0, 2));
      const Tensor n = tanh(multiply_add(gate(rz, 0), gate(product, 2), gate(input, 2)));
      return {lerp(n, before.h, gate(rz, 1)), {}};
    }
  }
  return {};
}

RecurrentCell::RecurrentCell(CellKind cell, std::int64_t in, std::int64_t hidden, const CellOptions& o,
                             Rng& rng)
    : cell_(cell), in_(in), hidden_(hidden) {
  if (in < 1 || hidden < 1)
    throw ConfigError(str("cannot build ", title()), "it has one input and one output or more",
                      "give positive sizes");
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const auto drawn = [&](const Shape& shape) {
    Tensor leaf = parameter(empty(shape, o.dtype, o.device));
    init::uniform(leaf, -bound, bound, rng);
    return leaf;
  };
  const std::int64_t rows = gates_of(cell) * hidden;
  weight_ih_ = drawn({rows, in});
  weight_hh_ = drawn({rows, hidden});
  if (!o.bias) return;
  bias_ih_ = drawn({rows});
  bias_hh_ = drawn({rows});
}

void RecurrentCell::fields(Fields& f) {
  f("weight_ih", weight_ih_)("weight_hh", weight_hh_)("bias_ih", bias_ih_)("bias_hh", bias_hh_);
}

std::string RecurrentCell::title() const {
  const char* name = cell_ == CellKind::lstm ? "LSTMCell" : cell_ == CellKind::gru ? "GRUCell" : "RNNCell";
  return str(name, '(', in_, ", ", hidden_, cell_ == CellKind::relu ? ", relu)" : ")");
}

RecurrentState RecurrentCell::step(const Tensor& x, const RecurrentState& before) const {
  const TensorList out = call({x, before.h, before.c}, [&](const TensorList& in) {
    const RecurrentState after = stepped(in[0], {in[1], in[2]});
    return TensorList{after.h, after.c};
  });
  return {out[0], out[1]};
}

TensorList RecurrentCell::forward_list(const TensorList& inputs) const {
  if (inputs.size() == 1) return {stepped(inputs[0], {}).h};
  const bool lstm = cell_ == CellKind::lstm;
  if (inputs.size() != (lstm ? 3 : 2))
    throw Error(str(title(), " cannot take ", inputs.size(), " inputs"),
                str("it takes x and, if it is to begin with one, the state h", lstm ? " and c" : ""),
                "give them in this order");
  const RecurrentState after = stepped(inputs[0], {inputs[1], lstm ? inputs[2] : Tensor()});
  return lstm ? TensorList{after.h, after.c} : TensorList{after.h};
}

RecurrentState RecurrentCell::stepped(const Tensor& given_x, const RecurrentState& before) const {
  const bool halves = is_half(weight_ih_.dtype());
  const Tensor x = halves ? given_x : widened(given_x);  // of another layer under an Autocast
  if ((x.rank() != 1 && x.rank() != 2) || x.size(-1) != in_ || x.dtype() != weight_ih_.dtype())
    throw ShapeError(str(title(), " cannot take ", x.dtype(), ' ', x.shape()),
                     str("a step is ", weight_ih_.dtype(), " [n, ", in_, "], or [", in_, ']'),
                     "reshape or convert the input, or build the cell for it");
  if (before.c.defined() && cell_ != CellKind::lstm)
    throw ConfigError(title() + " cannot begin with a state c", "only an LSTMCell has one", "give h alone");
  Shape shape = x.shape();
  shape[shape.rank() - 1] = hidden_;
  const auto state = [&](const char* name, const Tensor& given_state) {
    if (!given_state.defined()) return zeros(shape, x.dtype(), x.device());
    const Tensor given = halves ? given_state : widened(given_state);
    if (given.shape() != shape || given.dtype() != x.dtype())
      throw ShapeError(
          str(title(), " cannot begin with a state ", name, " of ", given.dtype(), ' ', given.shape()),
          str("x is ", x.dtype(), ' ', x.shape(), ", so it needs ", shape), "give one of that shape");
    return given;
  };
  const RecurrentState now{state("h", before.h), cell_ == CellKind::lstm ? state("c", before.c) : Tensor()};
  return cell_step(cell_, linear(x, weight_ih_, bias_ih_), linear(now.h, weight_hh_, bias_hh_), now);
}

RNNCell::RNNCell(std::int64_t in, std::int64_t hidden, Nonlinearity nonlinearity, CellOptions o, Rng& rng)
    : RecurrentCell(nonlinearity == Nonlinearity::tanh ? CellKind::tanh : CellKind::relu, in, hidden, o,
                    rng) {}

LSTMCell::LSTMCell(std::int64_t in, std::int64_t hidden, CellOptions o, Rng& rng)
    : RecurrentCell(CellKind::lstm, in, hidden, o, rng) {}

GRUCell::GRUCell(std::int64_t in, std::int64_t hidden, CellOptions o, Rng& rng)
    : RecurrentCell(CellKind::gru, in, hidden, o, rng) {}

}  // namespace veldt::nn
