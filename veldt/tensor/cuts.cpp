// Finds where the graph ends on its way to parameters, to explain why one of them has no gradient.
#include <algorithm>
#include <unordered_set>

#include "veldt/core/error.h"
#include "veldt/tensor/impl.h"

namespace veldt {

void mark_cut(const Tensor& out, const Tensor& x, const char* name) {
  const TensorImpl& from = *x.impl();
  if (from.requires_grad)
    out.impl()->cut = name;
  else if (from.cut)
    out.impl()->cut = from.cut;
}

std::vector<std::string> cuts_of(const Tensor& output) {
  std::vector<std::string> cuts;
  if (output.impl()->cut) cuts.push_back(output.impl()->cut);
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Tensor& t) {
    const Node* node = t.impl()->node.get();
    if (node && seen.insert(node).second) nodes.push_back(node);
  };
  visit(output);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const Input& in : nodes[i]->inputs) {
      if (!in.tensor.defined()) continue;
      visit(in.tensor);
      if (in.tensor.requires_grad() || !in.tensor.impl()->cut) continue;
      std::string cut = str(in.tensor.impl()->cut, ", read by ", nodes[i]->name);
      if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end()) cuts.push_back(std::move(cut));
    }
  return cuts;
}

}  // namespace veldt
