// The walk back through the graph: backward() and grad(). Nodes are visited in descending order of their
// sequence number, which is a topological order because an op is numbered after its inputs.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/impl.h"
#include "veldt/tensor/intercept.h"
#include "veldt/tensor/walk_order.h"

namespace veldt {
namespace {

thread_local const WantedGrads* t_wanted = nullptr;

class GradModeGuard {
 public:
  explicit GradModeGuard(bool on) : before_(t_grad_enabled) { t_grad_enabled = on; }
  ~GradModeGuard() { t_grad_enabled = before_; }

 private:
  bool before_;
};

class WantedGuard {
 public:
  explicit WantedGuard(const WantedGrads* wanted) : before_(t_wanted) { t_wanted = wanted; }
  ~WantedGuard() { t_wanted = before_; }

 private:
  const WantedGrads* before_;
};

thread_local constinit const char* t_backward_of = nullptr;

thread_local constinit const std::function<void(const Tensor&)>* t_ready = nullptr;

// How many gradients of each leaf a walk may still add; counted only where somebody listens.
class LeafCounts {
 public:
  void count(const Tensor& leaf) {
    if (t_ready) at(leaf).second += 1;
  }
  // One has been added.
  void added(const Tensor& leaf) {
    if (t_ready && --at(leaf).second == 0) (*t_ready)(leaf);
  }
  // No more comes for those that some op had no gradient for.
  void finish() {
    for (auto& [leaf, left] : counts_)
      if (std::exchange(left, 0) > 0) (*t_ready)(leaf);
  }

 private:
  std::pair<Tensor, std::int64_t>& at(const Tensor& leaf) {
    const auto [place, is_new] = places_.emplace(leaf.impl(), counts_.size());
    if (is_new) counts_.emplace_back(leaf, 0);
    return counts_[place->second];
  }
  std::map<const TensorImpl*, std::size_t> places_;
  std::vector<std::pair<Tensor, std::int64_t>> counts_;  // in the order of the walk
};

class BackwardOfGuard {
 public:
  explicit BackwardOfGuard(const char* now) : before_(now) {}
  ~BackwardOfGuard() { t_backward_of = before_; }

 private:
  const char* before_;
};

// a + b as a new tensor, differentiable if gradients are recorded.
Tensor sum_of(const Tensor& a, const Tensor& b) {
  Tensor out = empty(a.shape(), a);
  kernels(out).copy(a.view(), out.view());
  kernels(out).accumulate(b.view(), out.view());
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
  kernels(out).copy(g.view(), out.view());
  return record(
      "copy", out, {g}, [](const Tensor& gg) -> Grads { return {gg}; }, false);
}

// A gradient that is still being summed.
struct Pending {
  Tensor sum;
  bool owned = false;  // only we use sum's memory: add in place

  void add(const Tensor& g, bool create_graph) {
    if (!sum.defined()) {
      sum = g;
    } else if (owned && !create_graph) {
      kernels(sum).accumulate(g.view(), sum.view());
    } else {
      sum = sum_of(sum, g);
      owned = true;
    }
  }
};

void add_to_leaf(const Tensor& handle, const Tensor& g, bool create_graph) {
  TensorImpl& leaf = *handle.impl();
  bool first = !leaf.grad.defined() || leaf.grad_stale;
  if (t_interceptor) first = t_interceptor->on_leaf_gradient(handle, first);
  // In place, unless the gradient there has a graph, which needs its values.
  if (leaf.grad.defined() && !create_graph && !leaf.grad.impl()->node) {
    if (first)
      kernels(g).copy(g.view(), leaf.grad.view());
    else
      kernels(g).accumulate(g.view(), leaf.grad.view());
    leaf.grad.impl()->storage->bump_version();
  } else {
    leaf.grad = first ? copy_of(g) : sum_of(leaf.grad, g);
  }
  leaf.grad_stale = false;
  if (!create_graph) leaf.grad.impl()->cut = kNoGraph;
}

// Whether partial_grads() stops at what made this tensor: its hooks are left to the walk around it.
bool left_to_outer_walk(std::size_t at) { return t_wanted && t_wanted->ends_there && t_wanted->made[at]; }

// What the hooks of a tensor leave of its gradient.
Tensor hooked(const std::shared_ptr<GradientHooks>& hooks, Tensor g, bool create_graph) {
  GradModeGuard mode(create_graph);
  hooks->list.for_each([&](const GradientHook& hook) {
    const std::int64_t version = g.impl()->storage->version();
    Tensor changed = hook(g);
    if (g.impl()->storage->version() != version)
      throw Error("a hook changed its gradient in place", "other parts of the graph may have the same one",
                  "return a new tensor, such as g * 10.0");
    if (!changed.defined()) return;
    if (changed.shape() != g.shape() || changed.dtype() != g.dtype() || changed.device() != g.device())
      throw ShapeError(str("a hook gave ", changed.dtype(), ' ', changed.shape(), " on ", changed.device(),
                           " in place of a gradient"),
                       str("the gradient is ", g.dtype(), ' ', g.shape(), " on ", g.device()),
                       "return one like it, or an undefined Tensor to leave it as it is");
    g = std::move(changed);
  });
  return g;
}

// Adds the gradient to the grad of a tensor that an op made and that keeps it, see Tensor::retain_grad().
void retain(const GradientHooks& hooks, const Tensor& g, bool create_graph) {
  const std::shared_ptr<TensorImpl> kept = hooks.retains.lock();
  if (!kept) return;
  kept->grad = kept->grad.defined() && !kept->grad_stale ? sum_of(kept->grad, g) : copy_of(g);
  kept->grad_stale = false;
  if (!create_graph) kept->grad.impl()->cut = kNoGraph;
}

// The gradients of leaves with hooks, which want the sum of all of their gradients at once.
class HookedLeaves {
 public:
  // False for a leaf without hooks.
  bool add(const Tensor& leaf, const Tensor& g, bool create_graph) {
    if (!leaf.impl()->hooks || (t_wanted && t_wanted->ends_there)) return false;
    auto at = std::find_if(sums_.begin(), sums_.end(),
                           [&](const auto& e) { return e.first.impl() == leaf.impl(); });
    if (at == sums_.end()) at = sums_.insert(sums_.end(), {leaf, Pending()});
    at->second.add(g, create_graph);
    return true;
  }
  template <class LeafFn> void finish(bool create_graph, const LeafFn& leaf) {
    for (auto& [handle, sum] : sums_)
      leaf(handle, hooked(handle.impl()->hooks, std::move(sum.sum), create_graph));
  }

 private:
  SmallVector<std::pair<Tensor, Pending>> sums_;
};

// The gradient that an op's backward function returned for its input i, which needs it. `upstream` was its
// argument.
void check_gradient(const Node& node, std::size_t i, const Tensor& g, const Tensor& upstream,
                    bool create_graph) {
  const Tensor& input = node.inputs[i].tensor;
  if (!g.defined())
    throw Error(str(node.name, " gave no gradient for its input ", i), "that input needs one",
                "correct the op's backward function: zeros_like() where the gradient is zero");
  if (g.shape() != input.shape() || g.dtype() != input.dtype())
    throw Error(str("the gradient of ", node.name, " for its input ", i, " is ", g.dtype(), ' ', g.shape()),
                str("the input is ", input.dtype(), ' ', input.shape()),
                "correct the op's backward function");
  if (create_graph && upstream.requires_grad() && !g.requires_grad())
    throw Error(str("the gradient of ", node.name, " cannot be differentiated again"),
                "its backward function leaves the graph, so the second derivative would silently be zero",
                "write the backward function with ops, without NoGrad and detach()");
}

void check_count(const Node& node, std::size_t count) {
  if (count != node.inputs.size())
    throw Error(str(node.name, " gave ", count, " gradients"), str("it has ", node.inputs.size(), " inputs"),
                "correct the op's backward function: one for each input, undefined where none is needed");
}

void check_saved(const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Input& saved = node.inputs[i];
    if (!saved.storage) continue;
    const Storage* now = saved.tensor.impl()->storage.get();
    if (now != saved.storage || now->version() != saved.version)
      throw Error(str("backward cannot use input ", i, " of ", node.name, " any more"),
                  "its values were changed in place after the op ran",
                  "call backward() before the optimizer's step, or run the forward pass again");
  }
}

// Missing parameters: some leaves of this graph are listed in a module's fields() and this one is not.
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

Tensor ones_like(const Tensor& t) {
  Tensor seed = empty(t.shape(), t);
  kernels(seed).fill(seed.view(), 1.0);
  return seed;
}

// Runs the nodes' backward functions, newest first. `pending` holds a gradient for each node of the order,
// the root's at first; `leaf` is called with each leaf's. Gradients of nodes that grad() needs stay there.
template <class LeafFn>
void walk(const WalkOrder& order, SmallVector<Pending>& pending, bool create_graph, LeafFn leaf) {
  GradModeGuard mode(create_graph);
  const Autocast off({});  // the forward pass chose the dtypes
  BackwardOfGuard name(t_backward_of);
  HookedLeaves hooked_leaves;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (!pending[at].sum.defined()) continue;
    const Node& node = order[at];
    if (node.hooks && !left_to_outer_walk(at)) {
      pending[at].sum = hooked(node.hooks, std::move(pending[at].sum), create_graph);
      if (!t_wanted) retain(*node.hooks, pending[at].sum, create_graph);
    }
    const Tensor g = pending[at].sum;
    if (!t_wanted || !t_wanted->made[at]) pending[at].sum = Tensor();
    if (t_wanted && (!t_wanted->leads[at] || left_to_outer_walk(at))) continue;
    check_saved(node);
    t_backward_of = node.name;
    const Grads grads = node.backward(g);
    check_count(node, grads.size());
    for (std::size_t i = 0; i < grads.size(); ++i) {
      const Tensor& input = node.inputs[i].tensor;
      if (!needs_grad(input)) continue;
      check_gradient(node, i, grads[i], g, create_graph);
      if (input.impl()->node)
        pending[order.find(input.impl()->node.get())].add(grads[i], create_graph);
      else if (!hooked_leaves.add(input, grads[i], create_graph))
        leaf(input, grads[i]);
    }
  }
  hooked_leaves.finish(create_graph, leaf);
}

[[noreturn]] void refuse_root(const char* caller, const char* why, const char* fix) {
  throw Error(str(caller, " was called on a tensor that does not depend on any parameter"), why, fix);
}

void check_one_element(const Tensor& output, const char* caller, bool seeded) {
  if (!seeded && output.numel() != 1)
    throw ShapeError(str(caller, " needs one element, the tensor is ", output.shape()),
                     str("it has ", output.numel()), "reduce it first, with sum() or mean()");
}

}  // namespace

const char* backward_of() { return t_backward_of; }

GradientListener::GradientListener(std::function<void(const Tensor&)> ready) : before_(t_ready) {
  ready_ = [ready = std::move(ready), before = before_](const Tensor& leaf) {
    ready(leaf);
    if (before) (*before)(leaf);
  };
  t_ready = &ready_;
}
GradientListener::~GradientListener() { t_ready = before_; }

bool needs_grad(const Tensor& input) {
  if (!input.requires_grad()) return false;
  if (!t_wanted) return true;
  const TensorImpl* impl = input.impl();
  return impl->node ? t_wanted->node(impl->node.get()) : t_wanted->leaf(impl);
}

void Tensor::backward(bool create_graph) const {
  if (!requires_grad())
    refuse_root("backward()", "none of its inputs requires a gradient, or NoGrad was in force",
                "set_requires_grad() on the leaves before the forward pass");
  check_one_element(*this, "backward()", false);
  WantedGuard all(nullptr);
  const std::shared_ptr<Node> root = impl_->node;  // a backward function may drop this tensor
  if (!root) {
    const Tensor one = ones_like(*this);
    return add_to_leaf(*this, impl_->hooks ? hooked(impl_->hooks, one, create_graph) : one, create_graph);
  }
  const WalkOrder order(root.get());
  ParameterAudit audit;
  LeafCounts counts;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const Input& in : order[i].inputs)
      if (in.tensor.requires_grad() && !in.tensor.impl()->node) {
        audit.see(*in.tensor.impl());
        counts.count(in.tensor);
      }
  audit.check();
  SmallVector<Pending> pending(order.size());
  pending[0].add(ones_like(*this), create_graph);
  walk(order, pending, create_graph, [&](const Tensor& leaf, const Tensor& g) {
    add_to_leaf(leaf, g, create_graph);
    counts.added(leaf);
  });
  counts.finish();
}

HookHandle Tensor::register_hook(GradientHook hook) const {
  if (!requires_grad())
    throw Error("a tensor without a gradient cannot have a hook", "it does not require one",
                "set_requires_grad() on it, or on what it is computed from");
  std::shared_ptr<GradientHooks>& hooks = impl_->node ? impl_->node->hooks : impl_->hooks;
  if (!hooks) hooks = std::make_shared<GradientHooks>();
  return hooks->list.add(std::move(hook));
}

void Tensor::retain_grad() const {
  if (requires_grad() && !impl_->node) return;  // a leaf keeps its gradient as it is
  if (!requires_grad())
    throw Error("a tensor without a gradient cannot keep one", "it does not require one",
                "set_requires_grad() on it, or on what it is computed from");
  if (!impl_->node->hooks) impl_->node->hooks = std::make_shared<GradientHooks>();
  impl_->node->hooks->retains = impl_;
}

namespace {

// Marks the nodes on the way from the output to the wanted tensors: inputs before outputs.
void mark_leading(const WalkOrder& order, WantedGrads& wanted) {
  for (std::size_t i = order.size(); i-- > 0;) {
    bool leads = wanted.made[i] != 0;
    for (const Input& in : order[i].inputs)
      leads = leads || (in.tensor.requires_grad() &&
                        (in.tensor.impl()->node ? wanted.node(in.tensor.impl()->node.get())
                                                : wanted.leaf(in.tensor.impl())));
    wanted.leads[i] = leads;
  }
}

void check_grad_call(const Tensor& output, const TensorList& inputs, const Tensor& seed) {
  if (!output.requires_grad() && output.impl()->cut == kNoGrad)
    refuse_root("grad()", "it was computed while NoGrad was in force", "compute it without NoGrad");
  if (!output.requires_grad() && output.impl()->cut == kNoGraph)
    refuse_root("grad()", "it was computed from a gradient that has no graph of its own",
                "compute that gradient with create_graph = true");
  check_one_element(output, "grad()", seed.defined());
  if (seed.defined() && seed.device() != output.device())
    throw DeviceError(str("grad() was seeded on ", seed.device(), " for an output on ", output.device()),
                      "both must be on one device", "move the seed with to()");
  if (seed.defined() && (seed.shape() != output.shape() || seed.dtype() != output.dtype()))
    throw ShapeError(str("grad() was seeded with ", seed.dtype(), ' ', seed.shape()),
                     str("the output is ", output.dtype(), ' ', output.shape()),
                     "give one number for each element");
  for (const Tensor& in : inputs)
    if (!in.requires_grad())
      throw Error("grad() was asked for an input that does not require a gradient", "it is not in the graph",
                  "set_requires_grad() on it before the forward pass");
}

Grads grads_of(const Tensor& output, const TensorList& inputs, bool create_graph, const Tensor& seed,
               bool ends_there) {
  check_grad_call(output, inputs, seed);
  const Tensor start = seed.defined() ? seed : ones_like(output);
  const std::shared_ptr<Node> root = output.impl()->node;
  SmallVector<Pending> leaves(inputs.size());
  const auto to_leaf = [&](const Tensor& leaf, const Tensor& g) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].impl() == leaf.impl()) return leaves[i].add(g, create_graph);
  };
  if (root) {
    const WalkOrder order(root.get());
    WantedGrads wanted(order);
    wanted.ends_there = ends_there;
    for (const Tensor& in : inputs) {
      if (!in.impl()->node)
        wanted.leaves.push_back(in.impl());
      else if (const std::size_t at = order.find(in.impl()->node.get()); at < order.size())
        wanted.made[at] = 1;
    }
    mark_leading(order, wanted);
    WantedGuard guard(&wanted);
    SmallVector<Pending> pending(order.size());
    pending[0].add(start, create_graph);
    walk(order, pending, create_graph, to_leaf);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].impl()->node)
        if (const std::size_t at = order.find(inputs[i].impl()->node.get()); at < order.size())
          leaves[i] = pending[at];
  } else {
    const bool hears = output.impl()->hooks && !ends_there;
    to_leaf(output, hears ? hooked(output.impl()->hooks, start, create_graph) : start);
  }
  Grads result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor found = leaves[i].sum;
    for (std::size_t j = 0; j < i && !found.defined(); ++j)  // an input that is listed twice
      if (inputs[j].impl() == inputs[i].impl()) found = leaves[j].sum;
    if (!found.defined()) {
      GradModeGuard mode(create_graph);
      found = zero_gradient(inputs[i], start);
    }
    if (!create_graph && found.impl() != start.impl()) found.impl()->cut = kNoGraph;
    result.push_back(found);
  }
  return result;
}

}  // namespace

Grads grad(const Tensor& output, const TensorList& inputs, bool create_graph, const Tensor& seed) {
  return grads_of(output, inputs, create_graph, seed, false);
}

Grads partial_grads(const Tensor& output, const TensorList& inputs, bool create_graph, const Tensor& seed) {
  return grads_of(output, inputs, create_graph, seed, true);
}

Tensor zero_gradient(const Tensor& t, const Tensor& g) {
  Tensor out = empty(t.shape(), t);
  kernels(out).fill(out.view(), 0);
  return record(
      "zeros", out, {g}, [g](const Tensor& gg) -> Grads { return {zero_gradient(g, gg)}; }, false);
}

}  // namespace veldt
