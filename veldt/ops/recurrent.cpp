#include "veldt/ops/recurrent.h"

#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/unary-inl.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

constexpr int kSigmoid = IndexOf<scalar::Sigmoid, scalar::UnaryOps>::value;
constexpr int kTanh = IndexOf<scalar::Tanh, scalar::UnaryOps>::value;
constexpr int kTimes = IndexOf<scalar::Mul, scalar::BinaryOps>::value;

// Calls of kernels on parts of [time, n, width] and of [n, width]; `hidden` columns unless said.
struct Parts {
  const Backend& k;
  std::int64_t hidden;

  // Columns `gate` hidden .. of step t.
  View at(const Tensor& x, std::int64_t t, std::int64_t gate, std::int64_t count = 1) const {
    View v = x.view();
    v.data = static_cast<char*>(v.data) +
             (t * v.strides[0] + gate * hidden) * static_cast<std::int64_t>(size_of(v.dtype));
    v.shape = {x.size(1), count * hidden};
    v.strides = {x.strides()[1], 1};
    return v;
  }
  void apply(int op, const View& x, const View& y) const { k.unary(op, {}, x, y, nullptr); }
  void times(const View& a, const View& b, const View& out) const { k.binary(kTimes, a, b, out, nullptr); }
  void add(const View& from, const View& into) const { k.accumulate(from, into, nullptr); }
  // out = g * slope, where the formula gave y.
  void slope(int op, const View& y, const View& g, const View& out) const {
    k.unary_slope(op, {}, y, y, g, out, nullptr);
  }
  // out [n, ..] = a b, or a b^T, plus `added`.
  void product(const View& a, View b, bool transposed, const View* added, const View& out) const {
    const auto one = [](View v) {
      v.shape = {1, v.shape[0], v.shape[1]};
      v.strides = {0, v.strides[0], v.strides[1]};
      return v;
    };
    if (transposed) std::swap(b.shape[0], b.shape[1]), std::swap(b.strides[0], b.strides[1]);
    const View bias = added != nullptr ? one(*added) : View{};
    k.matmul(one(a), one(b), added != nullptr ? &bias : nullptr, one(out), nullptr);
  }
};

// What the forward pass leaves for the gradient.
struct Pass {
  Tensor out;    // [time, n, 2 hidden]: h and c
  Tensor gates;  // [time, n, 4 hidden], the formulas applied
};

Pass run(const Tensor& inputs, const Tensor& weight, const Tensor& h, const Tensor& c, bool backward) {
  const std::int64_t time = inputs.size(0), n = inputs.size(1), hidden = weight.size(1);
  const Parts p{kernels(inputs), hidden};
  const Pass r{empty({time, n, 2 * hidden}, inputs), empty({time, n, 4 * hidden}, inputs)};
  const Tensor kept = empty({n, hidden}, inputs);
  for (std::int64_t i = 0; i < time; ++i) {
    const std::int64_t t = backward ? time - 1 - i : i, before = backward ? t + 1 : t - 1;
    const View h_before = i == 0 ? h.view() : p.at(r.out, before, 0);
    const View c_before = i == 0 ? c.view() : p.at(r.out, before, 1);
    const View added = p.at(inputs, t, 0, 4), all = p.at(r.gates, t, 0, 4);
    const View h_now = p.at(r.out, t, 0), c_now = p.at(r.out, t, 1);
    p.product(h_before, weight.view(), true, &added, all);
    p.apply(kSigmoid, p.at(r.gates, t, 0, 2), p.at(r.gates, t, 0, 2));
    p.apply(kTanh, p.at(r.gates, t, 2), p.at(r.gates, t, 2));
    p.apply(kSigmoid, p.at(r.gates, t, 3), p.at(r.gates, t, 3));
    p.times(p.at(r.gates, t, 0), p.at(r.gates, t, 2), c_now);
    p.times(p.at(r.gates, t, 1), c_before, kept.view());
    p.add(kept.view(), c_now);
    p.apply(kTanh, c_now, kept.view());
    p.times(p.at(r.gates, t, 3), kept.view(), h_now);
  }
  return r;
}

// h of the step before each: [time, n, hidden].
Tensor states_before(const Tensor& out, const Tensor& h, std::int64_t hidden, bool backward) {
  const std::int64_t time = out.size(0);
  const Tensor all = narrow(out, 2, 0, hidden), first = unsqueeze(h, 0);
  return backward ? concat({narrow(all, 0, 1, time - 1), first}, 0)
                  : concat({first, narrow(all, 0, 0, time - 1)}, 0);
}

// The gradients by inputs, weight, h and c.
Grads gradients(const Pass& r, const Tensor& weight, const Tensor& h, const Tensor& c, bool backward,
                const Tensor& g) {
  const std::int64_t time = g.size(0), n = g.size(1), hidden = weight.size(1);
  const Parts p{kernels(g), hidden};
  const Tensor by_gates = empty({time, n, 4 * hidden}, g);
  const Tensor by_h = zeros({n, hidden}, g.dtype(), g.device()),
               by_c = zeros({n, hidden}, g.dtype(), g.device());
  const Tensor tanh_c = empty({n, hidden}, g), kept = empty({n, hidden}, g);
  const View dh = by_h.view(), dc = by_c.view(), at_c = tanh_c.view(), x = kept.view();
  for (std::int64_t i = time - 1; i >= 0; --i) {
    const std::int64_t t = backward ? time - 1 - i : i, before = backward ? t + 1 : t - 1;
    const View c_before = i == 0 ? c.view() : p.at(r.out, before, 1);
    const auto gate = [&](std::int64_t k) { return p.at(r.gates, t, k); };
    const auto by = [&](std::int64_t k) { return p.at(by_gates, t, k); };
    p.add(p.at(g, t, 0), dh);
    p.add(p.at(g, t, 1), dc);
    p.apply(kTanh, p.at(r.out, t, 1), at_c);
    p.times(dh, at_c, x);
    p.slope(kSigmoid, gate(3), x, by(3));
    p.times(dh, gate(3), x);
    p.slope(kTanh, at_c, x, x);
    p.add(x, dc);
    p.times(dc, gate(2), x);
    p.slope(kSigmoid, gate(0), x, by(0));
    p.times(dc, c_before, x);
    p.slope(kSigmoid, gate(1), x, by(1));
    p.times(dc, gate(0), x);
    p.slope(kTanh, gate(2), x, by(2));
    p.times(dc, gate(1), dc);
    p.product(p.at(by_gates, t, 0, 4), weight.view(), false, nullptr, dh);
  }
  Tensor by_weight;
  if (needs_grad(weight))
    by_weight = matmul(transpose(reshape(by_gates, {time * n, 4 * hidden})),
                       reshape(states_before(r.out, h, hidden, backward), {time * n, hidden}));
  return {by_gates, by_weight, by_h, by_c};
}

// The same written with ops, for gradients that are differentiated again.
Grads gradients_by_ops(const Tensor& inputs, const Tensor& weight, const Tensor& h, const Tensor& c,
                       bool backward, const Tensor& g) {
  const std::int64_t time = g.size(0), hidden = weight.size(1);
  const auto part = [hidden](const Tensor& x, std::int64_t k) { return narrow(x, -1, k * hidden, hidden); };
  const auto step = [&](std::int64_t i) { return backward ? time - 1 - i : i; };
  struct Step {
    Tensor i, f, g, o, c_before, tanh_c;
  };
  std::vector<Step> steps;
  std::vector<Tensor> states{h};
  Tensor cell = c;
  for (std::int64_t i = 0; i < time; ++i) {
    const Tensor gates = select(inputs, 0, step(i)) + matmul(states.back(), transpose(weight));
    Step s{sigmoid(part(gates, 0)),
           sigmoid(part(gates, 1)),
           tanh(part(gates, 2)),
           sigmoid(part(gates, 3)),
           cell,
           {}};
    cell = s.f * cell + s.i * s.g;
    s.tanh_c = tanh(cell);
    states.push_back(s.o * s.tanh_c);
    steps.push_back(std::move(s));
  }
  std::vector<Tensor> by_gates(static_cast<std::size_t>(time));
  Tensor dh = zeros_like(h), dc = zeros_like(c), by_weight = zeros_like(weight);
  for (std::int64_t i = time - 1; i >= 0; --i) {
    const Step& s = steps[static_cast<std::size_t>(i)];
    const Tensor now = select(g, 0, step(i));
    dh = dh + part(now, 0);
    dc = dc + part(now, 1) + dh * s.o * (1 - square(s.tanh_c));
    const Tensor by = concat({dc * s.g * s.i * (1 - s.i), dc * s.c_before * s.f * (1 - s.f),
                              dc * s.i * (1 - square(s.g)), dh * s.tanh_c * s.o * (1 - s.o)},
                             -1);
    by_gates[static_cast<std::size_t>(step(i))] = by;
    by_weight = by_weight + matmul(transpose(by), states[static_cast<std::size_t>(i)]);
    dc = dc * s.f;
    dh = matmul(by, weight);
  }
  return {stack(by_gates, 0), by_weight, dh, dc};
}

void check(const Tensor& inputs, const Tensor& weight, const Tensor& h, const Tensor& c) {
  const std::string what = str("lstm_steps cannot take inputs ", inputs.shape(), " with a weight of ",
                               weight.shape(), " and states ", h.shape(), " and ", c.shape());
  if (inputs.rank() != 3 || inputs.size(0) < 1 || weight.rank() != 2 ||
      weight.size(0) != 4 * weight.size(1) || inputs.size(2) != weight.size(0))
    throw ShapeError(what, "they are [time, n, 4 hidden] and [4 hidden, hidden], with one step or more",
                     "check the size of the layer");
  if (h.shape() != Shape{inputs.size(1), weight.size(1)} || c.shape() != h.shape())
    throw ShapeError(what, "states are [n, hidden]", "give one row for each sequence");
  for (const Tensor* t : {&weight, &h, &c}) {
    check_same_device("lstm_steps", inputs, *t);
    if (t->dtype() != inputs.dtype())
      throw ShapeError(str("lstm_steps cannot combine ", inputs.dtype(), " with ", t->dtype()),
                       "all of them need one dtype", "convert one side with to()");
  }
}

}  // namespace

Tensor lstm_steps(const Tensor& inputs, const Tensor& weight, const Tensor& h, const Tensor& c,
                  bool backward) {
  if (casts(inputs, weight, h, c))
    return lstm_steps(lowered(inputs), lowered(weight), lowered(h), lowered(c), backward);
  check(inputs, weight, h, c);
  if (inputs.dtype() != DType::f32 && inputs.dtype() != DType::f64) {
    const Autocast off({});
    const Tensor y = lstm_steps(to(inputs, DType::f32), to(weight, DType::f32), to(h, DType::f32),
                                to(c, DType::f32), backward);
    return is_float(inputs.dtype()) ? to(y, inputs.dtype()) : y;
  }
  const Tensor x = contiguous(inputs), w = contiguous(weight), h0 = contiguous(h), c0 = contiguous(c);
  const Pass pass = run(x, w, h0, c0, backward);
  return record("lstm_steps", pass.out, {x, w, h0, c0},
                [=, out = pass.out.detach(), gates = pass.gates](const Tensor& g) -> Grads {
                  if (grad_enabled()) return gradients_by_ops(x, w, h0, c0, backward, g);
                  return gradients({out, gates}, w, h0, c0, backward, contiguous(g));
                });
}

}  // namespace veldt
