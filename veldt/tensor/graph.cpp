// Recording, and the walk back. Nodes are visited in falling order of their sequence number, which is a
// topological order because an op is numbered after its inputs.
#include "veldt/tensor/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "veldt/core/error.h"
#include "veldt/tensor/impl.h"

namespace veldt {
namespace {

thread_local bool t_grad_enabled = true;
std::atomic<std::uint64_t> g_sequence{0};

// What grad() is after; null during backward(), which wants every leaf.
struct Wanted {
  std::unordered_set<const TensorImpl*> leaves;
  std::unordered_set<const Node*> nodes;  // nodes that lead to a wanted tensor, or made one
};
thread_local const Wanted* t_wanted = nullptr;

class GradModeGuard {
 public:
  explicit GradModeGuard(bool on) : before_(t_grad_enabled) { t_grad_enabled = on; }
  ~GradModeGuard() { t_grad_enabled = before_; }

 private:
  bool before_;
};

class WantedGuard {
 public:
  explicit WantedGuard(const Wanted* wanted) : before_(t_wanted) { t_wanted = wanted; }
  ~WantedGuard() { t_wanted = before_; }

 private:
  const Wanted* before_;
};

// a + b as a tensor of its own, differentiable where gradients are recorded.
Tensor sum_of(const Tensor& a, const Tensor& b) {
  Tensor out = empty(a.shape(), a);
  kernels(out).copy(a.view(), out.view(), nullptr);
  kernels(out).accumulate(b.view(), out.view(), nullptr);
  return record(
      "accumulate", out, {a, b},
      [](const Tensor& g) -> Grads {
        return {g, g};
      },
      false);
}

// g in memory of its own: g itself may be shared with other gradients, or one number repeated.
Tensor copy_of(const Tensor& g) {
  Tensor out = empty(g.shape(), g);
  kernels(out).copy(g.view(), out.view(), nullptr);
  return record(
      "copy", out, {g}, [](const Tensor& gg) -> Grads { return {gg}; }, false);
}

// A gradient that is still growing.
struct Pending {
  Tensor sum;
  bool owned = false;  // sum's memory is ours alone: add in place

  void add(const Tensor& g, bool create_graph) {
    if (!sum.defined()) {
      sum = g;
    } else if (owned && !create_graph) {
      kernels(sum).accumulate(g.view(), sum.view(), nullptr);
    } else {
      sum = sum_of(sum, g);
      owned = true;
    }
  }
};

void add_to_leaf(TensorImpl& leaf, const Tensor& g, bool create_graph) {
  const bool first = !leaf.grad.defined() || leaf.grad_stale;
  // In place, unless the gradient there has a graph, which needs its values.
  if (leaf.grad.defined() && !create_graph && !leaf.grad.impl()->node) {
    if (first)
      kernels(g).copy(g.view(), leaf.grad.view(), nullptr);
    else
      kernels(g).accumulate(g.view(), leaf.grad.view(), nullptr);
    leaf.grad.impl()->storage->bump_version();
  } else {
    leaf.grad = first ? copy_of(g) : sum_of(leaf.grad, g);
  }
  leaf.grad_stale = false;
}

// What an op's backward function gave for its input i, which needs it. `upstream` is what it was given.
void check_gradient(const Node& node, std::size_t i, const Tensor& g, const Tensor& upstream,
                    bool create_graph) {
  const Tensor& input = node.inputs[i];
  if (!g.defined())
    throw Error(str(node.name, " gave no gradient for its input ", i), "that input needs one",
                "mend the op's backward function: zeros_like() where the gradient is zero");
  if (g.shape() != input.shape() || g.dtype() != input.dtype())
    throw Error(str("the gradient of ", node.name, " for its input ", i, " is ", g.dtype(), ' ', g.shape()),
                str("the input is ", input.dtype(), ' ', input.shape()), "mend the op's backward function");
  if (create_graph && upstream.requires_grad() && !g.requires_grad())
    throw Error(str("the gradient of ", node.name, " cannot be differentiated again"),
                "its backward function leaves the graph, so the second derivative would silently be zero",
                "write the backward function with ops, without NoGrad and detach()");
}

void check_count(const Node& node, std::size_t count) {
  if (count != node.inputs.size())
    throw Error(str(node.name, " gave ", count, " gradients"), str("it has ", node.inputs.size(), " inputs"),
                "mend the op's backward function: one for each input, undefined where none is needed");
}

void check_saved(const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Saved& saved = node.saved[i];
    if (!saved.storage) continue;
    const Storage* now = node.inputs[i].impl()->storage.get();
    if (now != saved.storage || now->version() != saved.version)
      throw Error(str("backward cannot use input ", i, " of ", node.name, " any more"),
                  "its values were changed in place after the op ran",
                  "call backward() before the optimizer's step, or run the forward pass again");
  }
}

// Forgotten parameters: some leaves of this graph are listed in a module's fields() and this one is not.
class ParameterAudit {
 public:
  void see(const TensorImpl& leaf) {
    listed_ = listed_ || leaf.role == LeafRole::listed;
    if (leaf.role == LeafRole::parameter) forgotten_ = &leaf;
  }
  void check() const {
    if (listed_ && forgotten_)
      throw Error(str("a parameter of shape ", forgotten_->shape, " is in no fields()"),
                  "the loss depends on it, but the optimizer was never given it",
                  "name it in its module's fields(), or build the optimizer from every module in use");
  }

 private:
  bool listed_ = false;
  const TensorImpl* forgotten_ = nullptr;
};

std::vector<std::shared_ptr<Node>> reachable(const std::shared_ptr<Node>& root) {
  std::vector<std::shared_ptr<Node>> found{root};
  std::unordered_set<const Node*> seen{root.get()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::shared_ptr<Node> node = found[i];
    for (const Tensor& in : node->inputs)
      if (in.requires_grad() && in.impl()->node && seen.insert(in.impl()->node.get()).second)
        found.push_back(in.impl()->node);
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a->sequence > b->sequence; });
  return found;
}

Tensor ones_like(const Tensor& t) {
  Tensor seed = empty(t.shape(), t);
  kernels(seed).fill(seed.view(), 1.0, nullptr);
  return seed;
}

using NodeGrads = std::unordered_map<const Node*, Pending>;

// Runs the nodes' backward functions. `leaf` is called with each leaf's gradient; the gradient of each node
// in `keep` is left in the map.
template <class LeafFn>
void walk(const std::vector<std::shared_ptr<Node>>& order, NodeGrads& pending, bool create_graph, LeafFn leaf,
          const std::unordered_set<const Node*>& keep) {
  GradModeGuard mode(create_graph);
  for (const std::shared_ptr<Node>& node : order) {
    auto at = pending.find(node.get());
    if (at == pending.end() || !at->second.sum.defined()) continue;
    const Tensor g = at->second.sum;
    if (!keep.contains(node.get())) pending.erase(at);
    if (t_wanted && !t_wanted->nodes.contains(node.get())) continue;
    check_saved(*node);
    const Grads grads = node->backward(g);
    check_count(*node, grads.size());
    for (std::size_t i = 0; i < grads.size(); ++i) {
      const Tensor& input = node->inputs[i];
      if (!needs_grad(input)) continue;
      check_gradient(*node, i, grads[i], g, create_graph);
      if (input.impl()->node)
        pending[input.impl()->node.get()].add(grads[i], create_graph);
      else
        leaf(input, grads[i]);
    }
  }
}

void check_root(const Tensor& output, const char* caller, bool seeded) {
  if (!output.requires_grad())
    throw Error(str(caller, " was called on a tensor that does not depend on any parameter"),
                "none of its inputs requires a gradient, or NoGrad was in force",
                "set_requires_grad() on the leaves before the forward pass");
  if (!seeded && output.numel() != 1)
    throw ShapeError(str(caller, " needs one element, the tensor is ", output.shape()),
                     str("it has ", output.numel()), "reduce it first, with sum() or mean()");
}

}  // namespace

// A long chain of nodes would otherwise be freed by recursion as deep as the chain, through the nodes' inputs
// and through what their backward functions hold.
Node::~Node() {
  struct Rest {
    std::vector<Tensor> tensors;
    std::vector<BackwardFn> functions;
  };
  thread_local Rest* rest = nullptr;
  if (rest) {
    for (Tensor& in : inputs) rest->tensors.push_back(std::move(in));
    rest->functions.push_back(std::move(backward));
    return;
  }
  Rest mine{std::move(inputs), {}};
  mine.functions.push_back(std::move(backward));
  rest = &mine;
  while (!mine.tensors.empty() || !mine.functions.empty()) {
    if (!mine.functions.empty()) {
      const BackwardFn function = std::move(mine.functions.back());
      mine.functions.pop_back();
    } else {
      const Tensor tensor = std::move(mine.tensors.back());
      mine.tensors.pop_back();
    }
  }
  rest = nullptr;
}

bool grad_enabled() { return t_grad_enabled; }
NoGrad::NoGrad() : before_(t_grad_enabled) { t_grad_enabled = false; }
NoGrad::~NoGrad() { t_grad_enabled = before_; }

bool needs_grad(const Tensor& input) {
  if (!input.requires_grad()) return false;
  if (!t_wanted) return true;
  const TensorImpl* impl = input.impl();
  return impl->node ? t_wanted->nodes.contains(impl->node.get()) : t_wanted->leaves.contains(impl);
}

void mark_parameter(Tensor& leaf) { leaf.impl()->role = LeafRole::parameter; }
bool is_parameter(const Tensor& leaf) { return leaf.impl()->role != LeafRole::plain; }
void mark_changed(const Tensor& t) { t.impl()->storage->bump_version(); }
void mark_listed(const Tensor& leaf) {
  if (leaf.impl()->role == LeafRole::parameter) leaf.impl()->role = LeafRole::listed;
}

Tensor record(const char* name, Tensor out, std::vector<Tensor> inputs, BackwardFn backward,
              bool saves_values) {
  if (!t_grad_enabled) return out;
  bool any = false;
  for (const Tensor& in : inputs) any = any || in.requires_grad();
  if (!any) return out;
  auto node = std::make_shared<Node>();
  node->name = name;
  for (const Tensor& in : inputs) {
    const bool reads = in.defined() && (saves_values || !is_float(in.dtype()));
    const Storage* storage = reads ? in.impl()->storage.get() : nullptr;
    node->saved.push_back({storage, storage ? storage->version() : 0});
  }
  node->inputs = std::move(inputs);
  node->backward = std::move(backward);
  node->out_shape = out.shape();
  node->sequence = ++g_sequence;
  TensorImpl& impl = *out.impl();
  impl.node = std::move(node);
  impl.requires_grad = true;
  return out;
}

void Tensor::backward(bool create_graph) const {
  check_root(*this, "backward()", false);
  WantedGuard all(nullptr);
  ParameterAudit audit;
  if (!impl_->node) return add_to_leaf(*impl_, ones_like(*this), create_graph);
  const auto order = reachable(impl_->node);
  for (const auto& node : order)
    for (const Tensor& in : node->inputs)
      if (in.requires_grad() && !in.impl()->node) audit.see(*in.impl());
  audit.check();
  NodeGrads pending;
  pending[impl_->node.get()].add(ones_like(*this), create_graph);
  walk(order, pending, create_graph,
       [&](const Tensor& leaf, const Tensor& g) { add_to_leaf(*leaf.impl(), g, create_graph); }, {});
}

Grads grad(const Tensor& output, const std::vector<Tensor>& inputs, bool create_graph, const Tensor& seed) {
  check_root(output, "grad()", seed.defined());
  if (seed.defined() && (seed.shape() != output.shape() || seed.dtype() != output.dtype()))
    throw ShapeError(str("grad() was seeded with ", seed.dtype(), ' ', seed.shape()),
                     str("the output is ", output.dtype(), ' ', output.shape()),
                     "give one number for each element");
  Wanted wanted;
  std::unordered_set<const Node*> targets;
  for (const Tensor& in : inputs) {
    if (!in.requires_grad())
      throw Error("grad() was asked for an input that does not require a gradient", "it is not in the graph",
                  "set_requires_grad() on it before the forward pass");
    if (in.impl()->node)
      targets.insert(in.impl()->node.get());
    else
      wanted.leaves.insert(in.impl());
  }
  const Tensor start = seed.defined() ? seed : ones_like(output);
  NodeGrads pending;
  std::unordered_map<const TensorImpl*, Pending> leaves;
  if (output.impl()->node) {
    const auto order = reachable(output.impl()->node);
    for (auto node = order.rbegin(); node != order.rend(); ++node) {  // inputs before outputs
      bool leads = targets.contains(node->get());
      for (const Tensor& in : (*node)->inputs)
        leads =
            leads || (in.requires_grad() && (in.impl()->node ? wanted.nodes.contains(in.impl()->node.get())
                                                             : wanted.leaves.contains(in.impl())));
      if (leads) wanted.nodes.insert(node->get());
    }
    WantedGuard guard(&wanted);
    pending[output.impl()->node.get()].add(start, create_graph);
    walk(
        order, pending, create_graph,
        [&](const Tensor& leaf, const Tensor& g) { leaves[leaf.impl()].add(g, create_graph); }, targets);
  } else {
    leaves[output.impl()].add(start, create_graph);
  }
  Grads result;
  for (const Tensor& in : inputs) {
    const Tensor found = in.impl()->node ? pending[in.impl()->node.get()].sum : leaves[in.impl()].sum;
    result.push_back(found.defined() ? found : empty(in.shape(), in));
    if (!found.defined()) kernels(in).fill(result.back().view(), 0.0, nullptr);
  }
  return result;
}

}  // namespace veldt
