// The steps of an LSTM as one op: one kernel for the forward pass, and one for the gradient.
#include "veldt/ops/recurrent.h"

#include <utility>
#include <vector>

#include "veldt/core/error.h"
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

// The data that the forward pass stores for the gradient.
struct Pass {
  Tensor out;    // [time, n, 2 hidden]: h and c
  Tensor gates;  // [time, n, 4 hidden], their functions applied
};

Pass run(const Tensor& inputs, const Tensor& weight, const Tensor& h, const Tensor& c, bool backward) {
  const std::int64_t time = inputs.size(0), n = inputs.size(1), hidden = weight.size(1);
  const Pass r{empty({time, n, 2 * hidden}, inputs), empty({time, n, 4 * hidden}, inputs)};
  kernels(inputs).lstm(backward, inputs.view(), weight.view(), h.view(), c.view(), r.gates.view(),
                       r.out.view());
  return r;
}

// h of the step before each: [time, n, hidden].
Tensor states_before(const Tensor& out, const Tensor& h, std::int64_t hidden, bool backward) {
  const std::int64_t time = out.size(0);
  const Tensor all = narrow(out, 2, 0, hidden), first = unsqueeze(h, 0);
  return backward ? cat({narrow(all, 0, 1, time - 1), first}, 0)
                  : cat({first, narrow(all, 0, 0, time - 1)}, 0);
}

// The gradients by inputs, weight, h and c.
Grads gradients(const Pass& r, const Tensor& weight, const Tensor& h, const Tensor& c, bool backward,
                const Tensor& g) {
  const std::int64_t time = g.size(0), n = g.size(1), hidden = weight.size(1);
  const Tensor by_gates = empty({time, n, 4 * hidden}, g), by_h = empty({n, hidden}, g),
               by_c = empty({n, hidden}, g);
  kernels(g).lstm_slope(backward, weight.view(), c.view(), r.gates.view(), r.out.view(), g.view(),
                        by_gates.view(), by_h.view(), by_c.view());
  Tensor by_weight;
  if (needs_grad(weight))
    by_weight = weight_gradient(reshape(by_gates, {time * n, 4 * hidden}),
                                reshape(states_before(r.out, h, hidden, backward), {time * n, hidden}));
  return {by_gates, by_weight, by_h, by_c};
}

// The same written with ops, to be differentiated again.
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
    const Tensor by = cat({dc * s.g * s.i * (1 - s.i), dc * s.c_before * s.f * (1 - s.f),
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
