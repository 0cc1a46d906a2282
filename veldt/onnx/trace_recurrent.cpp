// RNN and GRU as nodes.
#include <string>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/nn/recurrent.h"
#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

// Veldt's gates are r, z, n, ONNX's z, r, h.
const std::vector<std::int64_t> kGruOrder = {1, 0, 2};

class RecurrentNodes {
 public:
  RecurrentNodes(Tracer& tracer, const nn::Recurrent& layer)
      : t_(tracer), n_(tracer.nodes()), layer_(layer), is_gru_(layer.cell() == nn::CellKind::gru) {}

  void add(const TensorList& inputs, const TensorList& outputs) {
    int x = t_.held().read(inputs[0].view());
    if (layer_.is_batch_first()) x = n_.transpose(x, {1, 0, 2});
    const int h = inputs.size() > 1 && inputs[1].defined() ? t_.held().read(inputs[1].view()) : -1;
    std::vector<int> last;
    for (int i = 0; parameter(str("weight_ih_l", i)).defined(); ++i) {
      std::vector<int> directions;
      for (const char* end : {"", "_reverse"})
        if (*end == '\0' || layer_.is_bidirectional())
          directions.push_back(direction(x, h, str("_l", i, end), *end != '\0', last));
      x = directions.size() == 1 ? directions[0] : n_.concat(directions, 2);
    }
    if (layer_.is_batch_first()) x = n_.transpose(x, {1, 0, 2});
    t_.held().write(outputs[0].view(), x);
    if (outputs.size() > 1)
      t_.held().write(outputs[1].view(), last.size() == 1 ? last[0] : n_.concat(last, 0));
  }

 private:
  Tensor parameter(const std::string& name) const {
    for (const auto& [found, tensor] : layer_.state_dict())
      if (found == name) return tensor;
    return {};
  }

  // [1, gates * hidden, ..] in ONNX's order.
  int weight(const Tensor& of) {
    const int value = t_.held().read(of.view());
    if (is_gru_) return gate_weight(n_, value, layer_.hidden(), kGruOrder, ".zrh");
    return n_.reshape(value, {1, n_.shape(value)[0], n_.shape(value)[1]});
  }

  int biases(const std::string& end) {
    std::vector<int> both;
    for (const char* name : {"bias_ih", "bias_hh"}) {
      const Tensor bias = parameter(name + end);
      if (!bias.defined()) return -1;
      const int list = n_.reshape(t_.held().read(bias.view()), {bias.size(0), 1});
      const int ordered = is_gru_ ? gate_weight(n_, list, layer_.hidden(), kGruOrder, ".zrh") : list;
      both.push_back(n_.reshape(ordered, {1, bias.size(0)}));
    }
    const TracedGraph& graph = n_.graph();
    if (!is_gru_) return n_.concat(both, 1);
    return n_.constant(n_.dtype(both[0]), {1, 2 * n_.shape(both[0])[1]},
                       graph[both[0]].bytes + graph[both[1]].bytes);
  }

  // One direction of a layer: x [time, n, in] to [time, n, hidden].
  int direction(int x, int h, const std::string& end, bool reverse, std::vector<int>& last) {
    const std::int64_t hidden = layer_.hidden(), time = n_.shape(x)[0], batch = n_.shape(x)[1];
    const auto index = static_cast<std::int64_t>(last.size());
    const int before = h < 0 ? -1 : n_.slice(h, {index, 0, 0}, {1, batch, hidden}, {1, 1, 1});
    TracedAttributes attributes = {{"hidden_size", hidden},
                                   {"direction", std::string(reverse ? "reverse" : "forward")}};
    if (is_gru_)
      attributes.push_back({"linear_before_reset", std::int64_t{1}});
    else
      attributes.push_back(
          {"activations", std::vector<std::string>{layer_.cell() == nn::CellKind::relu ? "Relu" : "Tanh"}});
    const int w = weight(parameter("weight_ih" + end)), r = weight(parameter("weight_hh" + end));
    const int y = n_.node(is_gru_ ? "GRU" : "RNN", {x, w, r, biases(end), -1, before}, n_.dtype(x),
                          {time, 1, batch, hidden}, attributes);
    last.push_back(n_.graph().add_output(y, n_.dtype(x), {1, batch, hidden}));
    return n_.reshape(y, {time, batch, hidden});
  }

  Tracer& t_;
  TraceNodes& n_;
  const nn::Recurrent& layer_;
  bool is_gru_;
};

}  // namespace

// Not with lengths, of one sequence alone, or of halves; and not with hooks, whose work is to be traced too.
bool is_one_node(const nn::Module& module, const TensorList& inputs) {
  const auto* const layer = dynamic_cast<const nn::Recurrent*>(&module);
  return layer && layer->cell() != nn::CellKind::lstm && !module.has_hooks() && inputs[0].rank() == 3 &&
         (inputs[0].dtype() == DType::f32 || inputs[0].dtype() == DType::f64) &&
         !(inputs.size() > 3 && inputs[3].defined());
}

void trace_module(Tracer& tracer, const nn::Module& module, const TensorList& inputs,
                  const TensorList& outputs) {
  RecurrentNodes(tracer, dynamic_cast<const nn::Recurrent&>(module)).add(inputs, outputs);
}

int gate_weight(TraceNodes& nodes, int weight, std::int64_t hidden, const std::vector<std::int64_t>& order,
                const std::string& suffix) {
  const TracedValue of = nodes.graph()[weight];
  const std::int64_t columns = of.shape[1];
  const Sizes shape = {1, of.shape[0], columns};
  // A bias is seen through the dimension that was added to it.
  const TracedNode* const seen = nodes.graph().node_of(weight, "Unsqueeze");
  const TracedValue source = seen ? nodes.graph()[seen->inputs[0]] : of;
  if (source.memory != nullptr || source.kind == TracedValue::Kind::constant) {
    const char* const rows = source.memory ? static_cast<const char*>(source.memory) : source.bytes.data();
    const auto block = static_cast<std::size_t>(hidden * columns) * size_of(of.dtype);
    std::string bytes;
    for (const std::int64_t gate : order) bytes.append(rows + static_cast<std::size_t>(gate) * block, block);
    const int value = nodes.constant(of.dtype, shape, std::move(bytes));
    if (!source.name.empty()) nodes.graph()[value].name = source.name + suffix;
    return value;
  }
  std::vector<int> gates;
  for (const std::int64_t gate : order)
    gates.push_back(nodes.slice(weight, {gate * hidden, 0}, {hidden, columns}, {1, 1}));
  return nodes.reshape(nodes.concat(gates, 0), shape);
}

}  // namespace veldt::onnx
