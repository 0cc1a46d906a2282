// Records ops, switches recording off, and marks leaves. walk_back.cpp walks the graph.
#include "veldt/tensor/graph.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/tensor/impl.h"

namespace veldt {
namespace {

std::atomic<std::uint64_t> g_sequence{0};

constinit thread_local RecordListener* t_listener = nullptr;

// Otherwise a long chain of nodes would be freed by recursion as deep as the chain, through the nodes' inputs
// and their backward functions' captures. Nodes that are released while one is being freed wait in an
// intrusive list, which takes no memory.
struct NodeDeleter {
  void operator()(Node* node) const noexcept {
    thread_local constinit Node* waiting = nullptr;
    thread_local constinit bool freeing = false;
    node->next_dying = waiting;
    waiting = node;
    if (freeing) return;
    freeing = true;
    while (Node* const dying = waiting) {
      waiting = dying->next_dying;
      dying->~Node();
      SmallBlocks::give(dying, sizeof(Node));
    }
    freeing = false;
  }
};

std::shared_ptr<Node> make_node() {
  Node* const node = new (SmallBlocks::take(sizeof(Node))) Node();
  return std::shared_ptr<Node>(node, NodeDeleter(), SmallAllocator<Node>());
}

}  // namespace

std::uint64_t newest_sequence() { return g_sequence; }

bool grad_enabled() { return t_grad_enabled; }
NoGrad::NoGrad() : before_(t_grad_enabled) {
  t_grad_enabled = false;
  ++t_no_grad_depth;
}
NoGrad::~NoGrad() {
  t_grad_enabled = before_;
  --t_no_grad_depth;
}
EnableGrad::EnableGrad() : before_(t_grad_enabled) { t_grad_enabled = true; }
EnableGrad::~EnableGrad() { t_grad_enabled = before_; }

RecordListener::RecordListener() : before_(t_listener) { t_listener = this; }
RecordListener::~RecordListener() { t_listener = before_; }

void mark_parameter(Tensor& leaf) { leaf.impl()->role = LeafRole::parameter; }
bool is_parameter(const Tensor& leaf) { return leaf.impl()->role != LeafRole::plain; }
void label_memory(const Tensor& t, const char* label) { t.impl()->storage->set_label(label); }
void mark_changed(const Tensor& t) { t.impl()->storage->bump_version(); }
void mark_listed(const Tensor& leaf) {
  if (leaf.impl()->role == LeafRole::parameter) leaf.impl()->role = LeafRole::listed;
}

namespace {

void capture(const TensorList& inputs, TensorList& into) {
  for (const Tensor& in : inputs)
    if (in.requires_grad() &&
        std::none_of(into.begin(), into.end(), [&](const Tensor& seen) { return seen.impl() == in.impl(); }))
      into.push_back(in);
}

}  // namespace

Tensor without_values(const Tensor& t) {
  if (!t.defined() || !t.impl()->node) return t;
  auto impl = std::allocate_shared<TensorImpl>(SmallAllocator<TensorImpl>(), *t.impl());
  impl->storage = nullptr;
  impl->grad = Tensor();
  return Tensor(std::move(impl));
}

SavedResult::SavedResult(const Tensor& y) : values_(y.detach()), version_(y.impl()->storage->version()) {}

const Tensor& SavedResult::values() const {
  if (values_.impl()->storage->version() != version_)
    throw Error(str("backward cannot use the result of ", backward_of(), " any more"),
                "its values were changed in place after the op ran",
                "change a copy of it, or call backward() before");
  return values_;
}

Tensor record(const char* name, Tensor out, TensorList inputs, BackwardFn backward, bool saves_values) {
  const auto shares = [&](const Tensor& in) {
    return in.defined() && in.impl()->storage == out.impl()->storage;
  };
  if (std::none_of(inputs.begin(), inputs.end(), shares)) out.impl()->storage->set_label(name);
  const auto needs = [](const Tensor& in) { return in.requires_grad(); };
  if (!t_grad_enabled || std::none_of(inputs.begin(), inputs.end(), needs)) {
    if (t_captures && t_captures->depth == t_no_grad_depth) capture(inputs, t_captures->tensors);
    for (const Tensor& in : inputs)
      if (in.defined()) mark_cut(out, in, kNoGrad);
    return out;
  }
  if (t_listener) backward = t_listener->on_record(name, out, inputs, std::move(backward));
  std::shared_ptr<Node> node = make_node();
  node->name = name;
  node->inputs.reserve(inputs.size());
  for (Tensor& in : inputs) {
    const bool reads = in.defined() && (saves_values || !is_float(in.dtype()));
    const Storage* storage = reads ? in.impl()->storage.get() : nullptr;
    const std::int64_t version = storage ? storage->version() : 0;
    // What a view shows is in use as long as the view is: is_replaceable() looks for it.
    const bool keeps = reads || shares(in);
    node->inputs.push_back({keeps ? std::move(in) : without_values(in), storage, version});
  }
  node->backward = std::move(backward);
  node->sequence = ++g_sequence;
  TensorImpl& impl = *out.impl();
  impl.node = std::move(node);
  impl.requires_grad = true;
  return out;
}

}  // namespace veldt
