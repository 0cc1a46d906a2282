// Runs RNN, LSTM and GRU over sequences of one length or several, in one direction or both.
#include "veldt/nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/recurrent.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {
namespace {

// Splits x into pieces of at most `most` along its first dimension, in order. By repeated halving: the
// gradient of a slice is as large as its source, so n slices of x would take n times x, and halving takes log
// n times x.
void append_pieces(const Tensor& x, std::int64_t most, std::vector<Tensor>& out) {
  const std::int64_t n = x.size(0), half = n / 2;
  if (n <= most) {
    out.push_back(x);
  } else {
    append_pieces(narrow(x, 0, 0, half), most, out);
    append_pieces(narrow(x, 0, half, n - half), most, out);
  }
}

// Lengths are data, so a Plan checks them at each replay.
void check_lengths(const std::string& layer, const Tensor& lengths, std::int64_t time) {
  host_work("check of lengths", {lengths.view()},
            [layer, device = lengths.device(), time](std::span<const View> views) {
              std::int64_t low = 0, high = 0;
              backend(device).index_range(views[0], &low, &high);
              if (high >= low && (low < 0 || high > time))
                throw ShapeError(str(layer, " was given a length of ", low < 0 ? low : high),
                                 str("the input has ", time, " steps"),
                                 str("keep lengths within 0 to ", time));
            });
}

}  // namespace

Recurrent::Recurrent(CellKind cell, std::int64_t in, std::int64_t hidden, const Options& o, Rng& rng)
    : cell_(cell), directions_(o.bidirectional ? 2 : 1), batch_first_(o.batch_first), p_(o.dropout) {
  if (in < 1 || hidden < 1 || o.num_layers < 1)
    throw ConfigError(str("cannot build ", name(), '(', in, ", ", hidden, ") of ", o.num_layers, " layers"),
                      "it has one input, one output and one layer or more", "give positive sizes");
  const std::int64_t gates = gates_of(cell);
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const auto drawn = [&](const Shape& shape) {
    Tensor leaf = parameter(empty(shape, o.dtype, o.device));
    init::uniform(leaf, -bound, bound, rng);
    return leaf;
  };
  for (std::int64_t i = 0; i < o.num_layers * directions_; ++i) {
    Weights w;
    w.weight_ih = drawn({gates * hidden, i < directions_ ? in : hidden * directions_});
    w.weight_hh = drawn({gates * hidden, hidden});
    if (o.bias) w.bias_ih = drawn({gates * hidden});
    if (o.bias) w.bias_hh = drawn({gates * hidden});
    weights_.push_back(std::move(w));
  }
  if (p_ != 0 && o.num_layers > 1) dropout_.emplace(p_, rng);
}

std::string Recurrent::name() const {
  return cell_ == CellKind::lstm ? "LSTM" : cell_ == CellKind::gru ? "GRU" : "RNN";
}

// "_l0_reverse" of the layer and direction i.
std::string Recurrent::ending(std::size_t i) const {
  const auto directions = static_cast<std::size_t>(directions_);
  return str("_l", i / directions, i % directions == 1 ? "_reverse" : "");
}

void Recurrent::fields(Fields& f) {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const std::string end = ending(i);
    Weights& w = weights_[i];
    w.weight_ih.fields(f, "weight_ih" + end);
    w.weight_hh.fields(f, "weight_hh" + end);
    f("bias_ih" + end, w.bias_ih)("bias_hh" + end, w.bias_hh);
  }
  f("dropout", dropout_);
}

std::vector<Quantizable::Named> Recurrent::weights() {
  std::vector<Named> all;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const auto first = i < static_cast<std::size_t>(directions_);
    all.push_back({"weight_ih" + ending(i), &weights_[i].weight_ih, Use::product, first});
    all.push_back({"weight_hh" + ending(i), &weights_[i].weight_hh,
                   cell_ == CellKind::relu ? Use::product : Use::recurrence, false});
  }
  return all;
}

std::string Recurrent::title() const {
  const auto layers = static_cast<std::int64_t>(weights_.size()) / directions_;
  return str(name(), '(', in(), ", ", hidden(), layers > 1 ? str(", ", layers, " layers") : "",
             cell_ == CellKind::relu ? ", relu" : "", directions_ == 2 ? ", bidirectional" : "",
             batch_first_ ? ", batch first" : "", p_ != 0 ? str(", dropout ", p_) : "",
             weights_[0].bias_ih.defined() ? ")" : ", no bias)");
}

double Recurrent::flops(const Shape& input, const Shape&) const {
  double of_a_step = 0;
  for (const Weights& w : weights_)
    of_a_step += 2 * static_cast<double>(numel(w.weight_ih.shape()) + numel(w.weight_hh.shape()));
  return of_a_step * static_cast<double>(numel(input)) / static_cast<double>(in());
}

void Recurrent::check(const Tensor& x, const Tensor& lengths) const {
  const std::string what = str(name(), " cannot take ", x.shape());
  if ((x.rank() != 2 && x.rank() != 3) || x.size(-1) != in())
    throw ShapeError(what,
                     str("an input is ", batch_first_ ? "[n, time, " : "[time, n, ", in(), "], or [time, ",
                         in(), "] of one sequence"),
                     "reshape the input, or build the layer for its last size");
  const std::int64_t time = x.size(x.rank() == 3 && batch_first_ ? 1 : 0),
                     n = x.rank() == 2 ? 1 : x.size(batch_first_ ? 0 : 1);
  if (time < 1) throw ShapeError(what, "it has no steps", "give a sequence one step or more");
  if (x.dtype() != weights_[0].weight_ih.dtype())
    throw ShapeError(str(name(), " cannot take ", x.dtype()),
                     str("its parameters are ", weights_[0].weight_ih.dtype()),
                     "convert the input or the layer with to()");
  if (!lengths.defined()) return;
  if (lengths.dtype() != DType::i64 || lengths.shape() != Shape{n} || lengths.device() != x.device())
    throw ShapeError(str(name(), " cannot take lengths of ", lengths.dtype(), ' ', lengths.shape(), " on ",
                         lengths.device(), " for ", x.shape()),
                     str("there are ", n, " sequences on ", x.device()), str("give one of i64 [", n, ']'));
  check_lengths(name(), lengths, time);
}

// [layers * directions, n, hidden]: `given`, or zeros.
Tensor Recurrent::initial_state(const char* what, const Tensor& state, std::int64_t n) const {
  const Weight& like = weights_[0].weight_ih;
  const Shape shape = {static_cast<std::int64_t>(weights_.size()), n, hidden()};
  if (!state.defined()) return zeros(shape, like.dtype(), like.device());
  const Tensor given = is_half(like.dtype()) ? state : widened(state);
  if (given.shape() != shape || given.dtype() != like.dtype())
    throw ShapeError(
        str(name(), " cannot begin with a state ", what, " of ", given.dtype(), ' ', given.shape()),
        str("it needs ", like.dtype(), ' ', shape), "give one of layers * directions, n, hidden");
  return given;
}

// One layer in one direction: x [time, n, in] -> [time, n, hidden]; valid [time, n, 1] or undefined. Leaves
// the last state in `state`: a sequence keeps its state where it is not valid, so the backward direction
// effectively starts at the sequence's end.
Tensor Recurrent::pass(const Tensor& x, const Tensor& valid, const Weights& w, bool backward,
                       RecurrentState& state) const {
  // A state that becomes bytes does so at each step.
  const auto& format = w.weight_hh.format();
  const bool by_bytes = format && format->input != QuantizedInput::floats;
  if (cell_ == CellKind::lstm && !valid.defined() && !by_bytes) {
    const Tensor bias = w.bias_ih.defined() ? w.bias_ih + w.bias_hh : Tensor();
    const Tensor all =
        lstm_steps(w.weight_ih.linear(x, bias), w.weight_hh.seen(), state.h, state.c, backward);
    const Tensor last = select(all, 0, backward ? 0 : -1);
    state = {narrow(last, -1, 0, hidden()), narrow(last, -1, hidden(), hidden())};
    return narrow(all, -1, 0, hidden());
  }
  Tensor sums;
  if (cell_ == CellKind::lstm && !valid.defined() && by_bytes &&
      w.weight_hh.steps_integers(x, state.h, state.c)) {
    sums = w.weight_ih.linear(x, w.bias_ih);
    if (w.weight_hh.steps_integers(sums, state.h, state.c)) {  // not if the first weight is learned
      const auto [all, cell] = w.weight_hh.lstm_steps(sums, w.bias_hh, state.h, state.c, backward);
      state = {select(all, 0, backward ? 0 : -1), cell};
      return all;
    }
  }
  // What the first weight makes of all steps may be there already. If not, the
  // narrower one of x and the steps' contributions to the gates is split, into pieces that still make a
  // large product. Halves are not split, because the parts of a weight's gradient would be summed in half
  // precision.
  constexpr std::int64_t kRows = 256;
  const std::int64_t rows = std::max<std::int64_t>(1, x.size(1));
  const bool widens = w.weight_ih.size(0) > w.weight_ih.size(1) && !is_half(x.dtype());
  std::vector<Tensor> pieces, inputs;
  if (sums.defined())
    append_pieces(sums, 1, inputs);
  else
    append_pieces(x, widens ? std::max<std::int64_t>(1, kRows / rows) : x.size(0), pieces);
  for (const Tensor& piece : pieces) append_pieces(w.weight_ih.linear(piece, w.bias_ih), 1, inputs);
  const std::size_t time = inputs.size();
  // The weights, which each step uses, also sum their gradient in f32.
  const bool halves = is_half(w.weight_hh.dtype());
  const auto wide = [halves](const Tensor& t) {
    return halves && t.defined() ? veldt::to(t, DType::f32) : t;
  };
  const Tensor weight = by_bytes ? Tensor() : wide(w.weight_hh.seen()), bias = wide(w.bias_hh);
  std::vector<Tensor> outputs(time);
  for (std::size_t i = 0; i < time; ++i) {
    const std::size_t t = backward ? time - 1 - i : i;
    const Tensor product =
        veldt::to(by_bytes ? w.weight_hh.linear(state.h, w.bias_hh) : linear(wide(state.h), weight, bias),
                  inputs[t].dtype());
    RecurrentState next = cell_step(cell_, squeeze(inputs[t], 0), product, state);
    outputs[t] = next.h;
    if (valid.defined()) {
      const Tensor now = select(valid, 0, static_cast<std::int64_t>(t));
      next.h = where(now, next.h, state.h);
      if (next.c.defined()) next.c = where(now, next.c, state.c);
    }
    state = std::move(next);
  }
  Tensor output = stack(outputs, 0);
  if (valid.defined()) output = masked_fill(output, logical_not(valid), 0);
  if (cell_ != CellKind::lstm) return output;
  state = {lowered(state.h), lowered(state.c)};  // as lstm_steps() returns them under an Autocast
  return lowered(output);
}

RecurrentResult Recurrent::run(const Tensor& x, const RecurrentState& initial, const Tensor& lengths) const {
  const TensorList out = call({x, initial.h, initial.c, lengths}, [&](const TensorList& in) {
    const RecurrentResult r = computed(in[0], {in[1], in[2]}, in[3]);
    return TensorList{r.output, r.state.h, r.state.c};
  });
  return {out[0], {out[1], out[2]}};
}

TensorList Recurrent::forward_list(const TensorList& inputs) const {
  if (inputs.size() == 1) return {computed(inputs[0], {}, {}).output};
  const bool lstm = cell_ == CellKind::lstm;
  if (inputs.size() != (lstm ? 3 : 2))
    throw Error(str(title(), " cannot take ", inputs.size(), " inputs"),
                str("it takes x and, if it is to begin with one, the state h", lstm ? " and c" : ""),
                "give them in this order");
  const RecurrentResult r = computed(inputs[0], {inputs[1], lstm ? inputs[2] : Tensor()}, {});
  return lstm ? TensorList{r.output, r.state.h, r.state.c} : TensorList{r.output, r.state.h};
}

RecurrentResult Recurrent::computed(const Tensor& given, const RecurrentState& initial,
                                    const Tensor& lengths) const {
  const Tensor x = is_half(weights_.front().weight_ih.dtype()) ? given : widened(given);
  check(x, lengths);
  if (initial.c.defined() && cell_ != CellKind::lstm)
    throw ConfigError(name() + " cannot begin with a state c", "only an LSTM has one", "give h alone");
  if (x.rank() == 2) {
    const auto of_batch = [](const Tensor& s) { return s.defined() ? unsqueeze(s, 1) : s; };
    const auto of_one = [](const Tensor& s) { return s.defined() ? squeeze(s, 1) : s; };
    const int n = batch_first_ ? 0 : 1;
    const RecurrentResult r = computed(unsqueeze(x, n), {of_batch(initial.h), of_batch(initial.c)}, lengths);
    return {squeeze(r.output, n), {of_one(r.state.h), of_one(r.state.c)}};
  }
  Tensor sequence = batch_first_ ? transpose(x, 0, 1) : x;  // [time, n, ..]
  const std::int64_t time = sequence.size(0), n = sequence.size(1);
  Tensor valid;
  if (lengths.defined()) {
    const Tensor steps = unsqueeze(arange(time, DType::i64, x.device()), -1);
    valid = unsqueeze(less(steps, lengths), -1);
    sequence = masked_fill(sequence, logical_not(valid), 0);  // a NaN in the padding would reach the weights
  }
  const Tensor h = initial_state("h", initial.h, n);
  const Tensor c = cell_ == CellKind::lstm ? initial_state("c", initial.c, n) : Tensor();
  std::vector<Tensor> last_h, last_c;
  for (std::size_t i = 0; i < weights_.size();) {
    if (i > 0 && dropout_) sequence = (*dropout_)(sequence);
    std::vector<Tensor> outputs;
    for (std::int64_t direction = 0; direction < directions_; ++direction, ++i) {
      const auto at = static_cast<std::int64_t>(i);
      RecurrentState state{select(h, 0, at), c.defined() ? select(c, 0, at) : c};
      outputs.push_back(pass(sequence, valid, weights_[i], direction == 1, state));
      last_h.push_back(state.h);
      if (c.defined()) last_c.push_back(state.c);
    }
    sequence = outputs.size() == 1 ? outputs[0] : cat(outputs, -1);
  }
  return {batch_first_ ? transpose(sequence, 0, 1) : sequence,
          {stack(last_h, 0), c.defined() ? stack(last_c, 0) : Tensor()}};
}

RNN::RNN(std::int64_t in, std::int64_t hidden, RNNOptions o, Rng& rng)
    : Recurrent(o.nonlinearity == Nonlinearity::tanh ? CellKind::tanh : CellKind::relu, in, hidden,
                {o.num_layers, o.bias, o.batch_first, o.dropout, o.bidirectional, o.dtype, o.device}, rng) {}

LSTM::LSTM(std::int64_t in, std::int64_t hidden, RecurrentOptions o, Rng& rng)
    : Recurrent(CellKind::lstm, in, hidden,
                {o.num_layers, o.bias, o.batch_first, o.dropout, o.bidirectional, o.dtype, o.device}, rng) {}

GRU::GRU(std::int64_t in, std::int64_t hidden, RecurrentOptions o, Rng& rng)
    : Recurrent(CellKind::gru, in, hidden,
                {o.num_layers, o.bias, o.batch_first, o.dropout, o.bidirectional, o.dtype, o.device}, rng) {}

Tensor LastStep::forward(const Tensor& x) const {
  if (x.rank() < 2 || x.size(1) == 0)
    throw ShapeError(str("LastStep cannot take ", x.shape()),
                     "sequences are [n, time, ..] of one step or more",
                     "put it after a layer that gives sequences");
  return select(x, 1, -1);
}

}  // namespace veldt::nn
