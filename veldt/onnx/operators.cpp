// The table of operators.
#include "veldt/onnx/operators.h"

#include "veldt/core/error.h"

namespace veldt::onnx {

void OperatorTable::add(std::string_view name, Operator run, std::uint32_t trained, std::string_view domain) {
  entries_[{std::string(domain), std::string(name)}] = {run, trained};
}

const OperatorEntry* OperatorTable::find(std::string_view domain, std::string_view name) const {
  const auto found = entries_.find(std::pair<std::string, std::string>(domain, name));
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string> OperatorTable::names() const {
  std::vector<std::string> out;
  for (const auto& [key, entry] : entries_)
    out.push_back(key.first.empty() ? key.second : key.first + ':' + key.second);
  return out;
}

const OperatorTable& operators() {
  static const OperatorTable table = [] {
    OperatorTable t;
    add_elementwise(t);
    add_shape_operators(t);
    add_indexing(t);
    add_reductions(t);
    add_products(t);
    add_pooling(t);
    add_norms(t);
    add_control(t);
    add_losses(t);
    add_resizing(t);
    add_attention(t);
    add_quantised(t);
    add_recurrent(t);
    add_tables(t);
    add_bytes(t);
    add_fused(t);
    add_text(t);
    add_signals(t);
    add_random(t);
    add_training(t);
    add_sampling(t);
    add_detection(t);
    return t;
  }();
  return table;
}

}  // namespace veldt::onnx
