// Shares what is there twice, and drops what no output needs.
#include <map>
#include <string>

#include "veldt/core/error.h"
#include "veldt/onnx/export_unify.h"

namespace veldt::onnx {
namespace {

void append(std::string& key, std::int64_t number) { key += std::to_string(number) + ','; }

std::string key_of(const TracedNode& node, const std::vector<int>& same) {
  std::string key = node.op + '(';
  for (const int v : node.inputs) append(key, v < 0 ? v : same[static_cast<std::size_t>(v)]);
  for (const auto& [name, value] : node.attributes) {
    key += name + '=';
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, Sizes>)
            for (const std::int64_t s : v) append(key, s);
          else if constexpr (std::is_same_v<T, std::string>)
            key += v;
          else if constexpr (std::is_same_v<T, std::vector<std::string>>)
            for (const std::string& text : v) key += text + ',';
          else
            key += std::string(reinterpret_cast<const char*>(&v), sizeof v);
        },
        value);
    key += ';';
  }
  return key;
}

std::string key_of(const TracedValue& constant) {
  std::string key = str(constant.dtype, ':');
  for (const std::int64_t s : constant.shape) append(key, s);
  return key + ':' + constant.bytes;
}

}  // namespace

TracedGraph simplified(const TracedGraph& graph) {
  const std::size_t count = graph.values.size();
  std::vector<int> same(count);  // of each value the one that takes its place
  std::map<std::string, int> constants;
  for (std::size_t v = 0; v < count; ++v) {
    same[v] = static_cast<int>(v);
    if (const TracedValue& value = graph.values[v];
        value.kind == TracedValue::Kind::constant && value.name.empty())
      same[v] = constants.try_emplace(key_of(value), static_cast<int>(v)).first->second;
  }
  std::map<std::string, const TracedNode*> known;
  for (const TracedNode& node : graph.nodes) {
    const auto [found, is_new] = known.try_emplace(key_of(node, same), &node);
    if (is_new) continue;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      same[static_cast<std::size_t>(node.outputs[i])] = found->second->outputs[i];
  }
  std::vector<bool> needed(count);
  for (const int v : graph.outputs)
    needed[static_cast<std::size_t>(same[static_cast<std::size_t>(v)])] = true;
  std::vector<bool> kept(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    for (const int v : graph.nodes[i].outputs) kept[i] = kept[i] || needed[static_cast<std::size_t>(v)];
    if (!kept[i]) continue;
    for (const int v : graph.nodes[i].inputs)
      if (v >= 0) needed[static_cast<std::size_t>(same[static_cast<std::size_t>(v)])] = true;
  }
  TracedGraph out;
  out.places = graph.places;
  std::vector<int> now(count, -1);
  const auto value = [&](int v) {
    if (v < 0) return v;
    const auto at = static_cast<std::size_t>(same[static_cast<std::size_t>(v)]);
    if (now[at] < 0) now[at] = out.add(graph.values[at]);
    return now[at];
  };
  for (const int v : graph.inputs) out.inputs.push_back(value(v));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!kept[i]) continue;
    TracedNode node = graph.nodes[i];
    for (int& v : node.inputs) v = value(v);
    for (int& v : node.outputs) {
      v = value(v);
      out[v].node = static_cast<int>(out.nodes.size());
    }
    out.nodes.push_back(std::move(node));
  }
  for (const int v : graph.outputs) out.outputs.push_back(value(v));
  return out;
}

}  // namespace veldt::onnx
