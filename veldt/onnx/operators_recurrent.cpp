// Recurrent layers: RNN, GRU (Cho et al. 2014), LSTM (Hochreiter & Schmidhuber 1997).
#include "veldt/ops/recurrent.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/matmul.h"

namespace veldt::onnx {

namespace {

// An activation with its two factors.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

// What a name takes: how many factors, and their defaults. Names are read without regard to case.
struct ActivationKind {
  const char* name;
  int factors;
  double alpha, beta;
};
constexpr ActivationKind kActivations[] = {
    {"affine", 2, 1, 0}, {"relu", 0, 0, 0},       {"leakyrelu", 1, 0.01, 0}, {"thresholdedrelu", 1, 1, 0},
    {"tanh", 0, 0, 0},   {"scaledtanh", 2, 1, 1}, {"sigmoid", 0, 0, 0},      {"hardsigmoid", 2, 0.2, 0.5},
    {"elu", 1, 1, 0},    {"softsign", 0, 0, 0},   {"softplus", 0, 0, 0},
};

Tensor activated(const Activation& a, const Tensor& x) {
  if (a.name == "tanh") return tanh(x);
  if (a.name == "sigmoid") return sigmoid(x);
  if (a.name == "relu") return relu(x);
  if (a.name == "affine") return affine(x, a.alpha, a.beta);
  if (a.name == "leakyrelu") return leaky_relu(x, a.alpha);
  if (a.name == "thresholdedrelu") return where(greater(x, a.alpha), x, zeros_like(x));
  if (a.name == "scaledtanh") return mul(tanh(mul(x, a.beta)), a.alpha);
  if (a.name == "hardsigmoid") return clamp(affine(x, a.alpha, a.beta), 0.0, 1.0);
  if (a.name == "elu") return elu(x, a.alpha);
  return a.name == "softsign" ? softsign(x) : softplus(x);
}

// A layer's inputs and attributes, with time first.
struct Layer {
  Tensor x, w, r, b, h, c, peepholes;  // w, r, b, h, c, peepholes: a direction first
  Tensor lengths;                      // [n, 1], or undefined: all sequences are whole
  std::int64_t hidden = 0, time = 0, batch = 0, directions = 1;
  bool reverse = false, batch_first = false;
  std::optional<double> clip;
  std::vector<Activation> activations;  // of all directions
};

std::vector<Activation> activations_of(const Call& c, std::size_t directions,
                                       const std::vector<std::string>& otherwise) {
  std::vector<std::string> names = c.texts("activations");
  if (names.empty())
    for (std::size_t i = 0; i < directions; ++i)
      names.insert(names.end(), otherwise.begin(), otherwise.end());
  if (names.size() != directions * otherwise.size())
    c.fail(str("it has ", names.size(), " activations for ", directions * otherwise.size()));
  const std::vector<double> alphas = c.reals("activation_alpha"), betas = c.reals("activation_beta");
  std::size_t alpha_at = 0, beta_at = 0;
  std::vector<Activation> out;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char ch) { return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch; });
    const auto* const kind = std::find_if(std::begin(kActivations), std::end(kActivations),
                                          [&](const ActivationKind& k) { return name == k.name; });
    if (kind == std::end(kActivations)) c.fail("its activation \"" + name + "\" is none of ONNX's");
    Activation a{name, kind->alpha, kind->beta};
    // The lists hold factors only for those that take some.
    if (kind->factors >= 1 && alpha_at < alphas.size()) a.alpha = alphas[alpha_at++];
    if (kind->factors == 2 && beta_at < betas.size()) a.beta = betas[beta_at++];
    out.push_back(std::move(a));
  }
  return out;
}

Layer layer_of(const Call& c, std::int64_t gates, const std::vector<std::string>& activations) {
  Layer l;
  l.x = c.tensor(0);
  l.w = c.tensor(1);
  l.r = c.tensor(2);
  if (l.x.rank() != 3 || l.w.rank() != 3 || l.r.rank() != 3)
    c.fail(str("its input is ", l.x.shape(), ", its weights ", l.w.shape(), " and ", l.r.shape()));
  const std::string direction = c.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    c.fail("its direction is \"" + direction + "\", which ONNX does not have");
  l.directions = direction == "bidirectional" ? 2 : 1;
  l.reverse = direction == "reverse";
  l.batch_first = c.integer("layout", 0) != 0;
  if (l.batch_first) l.x = transpose(l.x, 0, 1);
  l.time = l.x.size(0);
  l.batch = l.x.size(1);
  l.hidden = l.r.size(2);
  if (c.has("hidden_size") && c.integer("hidden_size") != l.hidden)
    c.fail(str("its hidden_size is ", c.integer("hidden_size"), ", its weight's ", l.hidden));
  const auto expect = [&](const Tensor& t, const Shape& shape, const char* what) {
    if (!(t.shape() == shape)) c.fail(str("its ", what, " is ", t.shape(), ", not ", shape));
  };
  expect(l.w, {l.directions, gates * l.hidden, l.x.size(2)}, "weight");
  expect(l.r, {l.directions, gates * l.hidden, l.hidden}, "recurrent weight");
  if (c.has(3)) {
    l.b = c.tensor(3);
    expect(l.b, {l.directions, 2 * gates * l.hidden}, "bias");
  }
  const auto state = [&](std::size_t i) {
    if (!c.has(i)) return zeros({l.directions, l.batch, l.hidden}, l.x.dtype(), c.device());
    const Tensor s = l.batch_first ? transpose(c.tensor(i), 0, 1) : c.tensor(i);
    expect(s, {l.directions, l.batch, l.hidden}, "initial state");
    return s;
  };
  l.h = state(5);
  if (gates == 4) l.c = state(6);
  if (gates == 4 && c.has(7)) {
    l.peepholes = c.tensor(7);
    expect(l.peepholes, {l.directions, 3 * l.hidden}, "peephole");
  }
  if (c.has(4)) {
    const std::vector<std::int64_t> lengths = c.integers(4);
    if (static_cast<std::int64_t>(lengths.size()) != l.batch)
      c.fail("it has not one length for each sequence");
    const auto whole = [&](std::int64_t n) { return n >= l.time; };
    if (!std::all_of(lengths.begin(), lengths.end(), whole))
      l.lengths = unsqueeze(list_of(lengths, c.device()), 1);
  }
  if (c.has("clip") && c.real("clip", 0) > 0) l.clip = c.real("clip", 0);
  l.activations = activations_of(c, static_cast<std::size_t>(l.directions), activations);
  return l;
}

// One direction of a layer.
struct Direction {
  const Layer& layer;
  int index;
  bool backward;
  Tensor w, r;            // [gates hidden, inputs], [gates hidden, hidden]
  Tensor w_bias, r_bias;  // [gates hidden], or undefined
  const Activation* activations;

  Direction(const Layer& l, int at)
      : layer(l),
        index(at),
        backward(l.reverse || at == 1),
        w(select(l.w, 0, at)),
        r(select(l.r, 0, at)),
        activations(l.activations.data() +
                    static_cast<std::size_t>(at) *
                        (l.activations.size() / static_cast<std::size_t>(l.directions))) {
    if (!l.b.defined()) return;
    const Tensor b = select(l.b, 0, at);
    w_bias = narrow(b, 0, 0, w.size(0));
    r_bias = narrow(b, 0, w.size(0), w.size(0));
  }
  Tensor clipped(const Tensor& x) const { return layer.clip ? clamp(x, -*layer.clip, *layer.clip) : x; }
  Tensor activate(int which, const Tensor& x) const { return activated(activations[which], clipped(x)); }
  Tensor gate(const Tensor& x, int which) const { return narrow(x, 1, which * layer.hidden, layer.hidden); }
};

// What comes out of one direction: [time, n, hidden], and the last states.
struct Result {
  Tensor y, h, c;
};

// Walks through time; step(t, h, c) gives the next h, and changes c. Sequences that are over keep their
// state.
template <class Step> Result walk(const Direction& d, const Step& step) {
  const Layer& l = d.layer;
  Result out;
  out.h = select(l.h, 0, d.index);
  if (l.c.defined()) out.c = select(l.c, 0, d.index);
  std::vector<Tensor> y(static_cast<std::size_t>(l.time));
  for (std::int64_t i = 0; i < l.time; ++i) {
    const std::int64_t t = d.backward ? l.time - 1 - i : i;
    Tensor c = out.c;
    Tensor h = step(t, out.h, c);
    Tensor seen = h;
    if (l.lengths.defined()) {
      const Tensor going = greater(l.lengths, t);
      seen = where(going, h, zeros_like(h));
      h = where(going, h, out.h);
      if (c.defined()) c = where(going, c, out.c);
    }
    out.h = h;
    out.c = c;
    y[static_cast<std::size_t>(t)] = seen;
  }
  out.y = y.empty() ? zeros({0, l.batch, l.hidden}, l.x.dtype(), l.x.device()) : stack(y, 0);
  return out;
}

// Joins the directions, in the layout that is asked for.
Values joined_directions(const Layer& l, const std::vector<Result>& results) {
  std::vector<Tensor> y, h, c;
  for (const Result& r : results) {
    y.push_back(r.y);
    h.push_back(r.h);
    if (r.c.defined()) c.push_back(r.c);
  }
  Tensor ys = stack(y, 1), hs = stack(h, 0), cs = c.empty() ? Tensor() : stack(c, 0);
  if (l.batch_first) {
    ys = permute(ys, {2, 0, 1, 3});
    hs = transpose(hs, 0, 1);
    if (cs.defined()) cs = transpose(cs, 0, 1);
  }
  Values out{contiguous(ys), contiguous(hs)};
  if (cs.defined()) out.emplace_back(contiguous(cs));
  return out;
}

Values rnn(const Call& c) {
  const Layer l = layer_of(c, 1, {"Tanh"});
  std::vector<Result> results;
  for (int at = 0; at < l.directions; ++at) {
    const Direction d(l, at);
    Tensor inputs = linear(l.x, d.w, d.w_bias);
    if (d.r_bias.defined()) inputs = add(inputs, d.r_bias);
    results.push_back(walk(d, [&](std::int64_t t, const Tensor& h, Tensor&) {
      return d.activate(0, add(select(inputs, 0, t), linear(h, d.r)));
    }));
  }
  return joined_directions(l, results);
}

// Gates z, r, h.
Values gru(const Call& c) {
  const Layer l = layer_of(c, 3, {"Sigmoid", "Tanh"});
  const bool reset_after = c.integer("linear_before_reset", 0) != 0;
  std::vector<Result> results;
  for (int at = 0; at < l.directions; ++at) {
    const Direction d(l, at);
    const std::int64_t two = 2 * l.hidden;
    const Tensor inputs = linear(l.x, d.w, d.w_bias);
    const Tensor r_gates = narrow(d.r, 0, 0, two), r_new = narrow(d.r, 0, two, l.hidden);
    Tensor b_gates, b_new;
    if (d.r_bias.defined()) {
      b_gates = narrow(d.r_bias, 0, 0, two);
      b_new = narrow(d.r_bias, 0, two, l.hidden);
    }
    results.push_back(walk(d, [&](std::int64_t t, const Tensor& h, Tensor&) {
      const Tensor x = select(inputs, 0, t);
      const Tensor gates = d.activate(0, add(narrow(x, 1, 0, two), linear(h, r_gates, b_gates)));
      const Tensor z = d.gate(gates, 0), reset = d.gate(gates, 1);
      const Tensor past =
          reset_after ? mul(reset, linear(h, r_new, b_new)) : linear(mul(reset, h), r_new, b_new);
      const Tensor fresh = d.activate(1, add(d.gate(x, 2), past));
      return add(mul(sub(1, z), fresh), mul(z, h));
    }));
  }
  return joined_directions(l, results);
}

// Rows of gates i, o, f, c as Veldt's own op has them: i, f, c, o.
Tensor own_order(const Tensor& x, std::int64_t hidden) {
  return cat({narrow(x, 0, 0, hidden), narrow(x, 0, 2 * hidden, 2 * hidden), narrow(x, 0, hidden, hidden)},
             0);
}

// Whether Veldt's own op does what is asked for.
bool is_plain(const Call& c, const Layer& l) {
  for (std::size_t i = 0; i < l.activations.size(); ++i)
    if (l.activations[i].name != (i % 3 == 0 ? "sigmoid" : "tanh")) return false;
  return !l.clip && !l.lengths.defined() && !l.peepholes.defined() && c.integer("input_forget", 0) == 0 &&
         l.time > 0;
}

Values lstm(const Call& c) {
  const Layer l = layer_of(c, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = c.integer("input_forget", 0) != 0, plain = is_plain(c, l);
  std::vector<Result> results;
  for (int at = 0; at < l.directions; ++at) {
    const Direction d(l, at);
    const std::int64_t n = l.hidden;
    const Tensor bias = d.w_bias.defined() ? add(d.w_bias, d.r_bias) : Tensor();
    if (plain) {
      const Tensor inputs = linear(l.x, own_order(d.w, n), bias.defined() ? own_order(bias, n) : Tensor());
      const Tensor states =
          lstm_steps(inputs, own_order(d.r, n), select(l.h, 0, at), select(l.c, 0, at), d.backward);
      const Tensor end = select(states, 0, d.backward ? 0 : l.time - 1);
      results.push_back({narrow(states, 2, 0, n), narrow(end, 1, 0, n), narrow(end, 1, n, n)});
      continue;
    }
    const Tensor inputs = linear(l.x, d.w, bias);
    Tensor p_i, p_o, p_f;
    if (l.peepholes.defined()) {
      const Tensor p = select(l.peepholes, 0, at);
      p_i = narrow(p, 0, 0, n);
      p_o = narrow(p, 0, n, n);
      p_f = narrow(p, 0, 2 * n, n);
    }
    const auto with = [](const Tensor& x, const Tensor& peephole, const Tensor& cell) {
      return peephole.defined() ? add(x, mul(peephole, cell)) : x;
    };
    results.push_back(walk(d, [&](std::int64_t t, const Tensor& h, Tensor& cell) {
      const Tensor x = add(select(inputs, 0, t), linear(h, d.r));
      const Tensor in = d.activate(0, with(d.gate(x, 0), p_i, cell));
      const Tensor forget = coupled ? sub(1, in) : d.activate(0, with(d.gate(x, 2), p_f, cell));
      cell = add(mul(forget, cell), mul(in, d.activate(1, d.gate(x, 3))));
      const Tensor out = d.activate(0, with(d.gate(x, 1), p_o, cell));
      return mul(out, activated(d.activations[2], cell));
    }));
  }
  return joined_directions(l, results);
}

}  // namespace

void add_recurrent(OperatorTable& t) {
  t.add("RNN", rnn, 14);
  t.add("GRU", gru, 14);
  t.add("LSTM", lstm, 14 + 128);
}

}  // namespace veldt::onnx
