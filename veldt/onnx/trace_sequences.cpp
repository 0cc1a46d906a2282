// Attention and LSTMs.
#include <limits>
#include <string>
#include <vector>

#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

// [queries, keys]: whether a query may see a key that is not behind it.
int seen_before(TraceNodes& n, std::int64_t queries, std::int64_t keys) {
  std::string bytes;
  for (std::int64_t q = 0; q < queries; ++q)
    for (std::int64_t k = 0; k < keys; ++k) bytes.push_back(k <= q ? '\1' : '\0');
  return n.constant(DType::boolean, {queries, keys}, bytes);
}

void attend_entry(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
                  const View& sums, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const int queries = n.by("Mul", t.held().read(q), scale);
  View turned = k;
  std::swap(turned.shape[2], turned.shape[3]);
  std::swap(turned.strides[2], turned.strides[3]);
  int scores = n.matmul(queries, t.held().read(turned));
  const int never = n.scalar(out.dtype, -std::numeric_limits<double>::infinity());
  int seen = causal ? seen_before(n, q.shape[2], k.shape[2]) : -1;
  bool may_see_none = false;
  if (mask && mask->dtype == DType::boolean) {
    const int allowed = t.held().read_repeated(*mask);
    seen = seen < 0 ? allowed : n.compare("And", seen, allowed);
    may_see_none = true;
  } else if (mask) {
    scores = n.binary("Add", scores, t.held().read_repeated(*mask));
  }
  if (seen >= 0) scores = n.where(seen, scores, never);
  int weights = n.unary("Softmax", scores, {{"axis", std::int64_t{-1}}});
  // A query that sees none gives 0, not 0 / 0.
  if (may_see_none) weights = n.where(seen, weights, n.scalar(out.dtype, 0));
  t.held().write(out, n.matmul(weights, t.held().read(v)));
  t.held().write(sums, n.node("?", {}, sums.dtype, {sums.shape.begin(), sums.shape.end()},
                              {{"what", std::string("the divisors of an attention")}}));
}

// Veldt's gates are i, f, g, o, ONNX's i, o, f, c.
const std::vector<std::int64_t> kGateOrder = {0, 3, 1, 2};

// What the sums of the gates were computed from: x weight^T + bias.
struct GateInputs {
  int x = -1, weight = -1, bias = -1;
};

GateInputs gate_inputs(const TraceNodes& n, int sums) {
  const TracedGraph& g = n.graph();
  GateInputs found;
  const TracedNode* const sum = g.node_of(sums, "Add");
  const TracedNode* const product = g.node_of(sum ? sum->inputs[0] : sums, "MatMul");
  if (!product) return found;
  const TracedNode* const turned = g.node_of(product->inputs[1], "Transpose");
  if (!turned || g[turned->inputs[0]].kind != TracedValue::Kind::parameter) return found;
  if (sum && g[sum->inputs[1]].kind != TracedValue::Kind::constant) return found;
  if (g[product->inputs[0]].shape.size() != 3) return found;
  return {product->inputs[0], turned->inputs[0], sum ? sum->inputs[1] : -1};
}

void lstm_entry(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
                const View& gates, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const std::int64_t hidden = weight.shape[1], time = inputs.shape[0], batch = inputs.shape[1];
  const int recurrent = gate_weight(n, t.held().read(weight), hidden, kGateOrder, ".iofc");
  const int sums = t.held().read(inputs);
  GateInputs from = gate_inputs(n, sums);
  int w = -1;
  if (from.x >= 0) {
    w = gate_weight(n, from.weight, hidden, kGateOrder, ".iofc");
  } else {  // the sums themselves: their weight only changes the order of the gates
    from.x = sums;
    std::vector<double> order(static_cast<std::size_t>(16 * hidden * hidden));
    for (std::int64_t i = 0; i < 4 * hidden; ++i)
      order[static_cast<std::size_t>(
          i * 4 * hidden + kGateOrder[static_cast<std::size_t>(i / hidden)] * hidden + i % hidden)] = 1;
    w = n.numbers(inputs.dtype, {1, 4 * hidden, 4 * hidden}, order);
  }
  int bias = -1;
  if (from.bias >= 0) {
    const int one = gate_weight(n, n.reshape(from.bias, {4 * hidden, 1}), hidden, kGateOrder, "");
    std::string bytes = n.graph()[one].bytes;
    bytes.resize(2 * bytes.size());
    bias = n.constant(inputs.dtype, {1, 8 * hidden}, bytes);
  }
  const auto state = [&](const View& v) { return n.reshape(t.held().read(v), {1, batch, hidden}); };
  const int y = n.node(
      "LSTM", {from.x, w, recurrent, bias, -1, state(h), state(c)}, out.dtype, {time, 1, batch, hidden},
      {{"hidden_size", hidden}, {"direction", std::string(reverse ? "reverse" : "forward")}});
  n.graph().add_output(y, out.dtype, {1, batch, hidden});
  const int last_c = n.graph().add_output(y, out.dtype, {1, batch, hidden});
  const auto unknown = [&](const View& v) {
    t.held().write(v, n.node("?", {}, v.dtype, {v.shape.begin(), v.shape.end()},
                             {{"what", std::string("the inner states of an LSTM")}}));
  };
  unknown(gates);
  unknown(out);
  View all = out;
  all.shape[2] = hidden;
  t.held().write(all, n.reshape(y, {time, batch, hidden}));
  View last = part_of({out.data, out.dtype, {numel(out.shape)}, {1}},
                      (reverse ? 0 : time - 1) * batch * 2 * hidden + hidden, 1);
  last.shape = {batch, hidden};
  last.strides = {2 * hidden, 1};
  t.held().write(last, n.reshape(last_c, {batch, hidden}));
}

}  // namespace

void trace_sequences(Backend& table) {
  table.attend = attend_entry;
  table.lstm = lstm_entry;
}

}  // namespace veldt::onnx
