// The nodes that a walk back through the graph visits, in order, and which of them grad() needs.
// Tests: tests/tensor/graph_test.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "veldt/core/small_blocks.h"
#include "veldt/tensor/impl.h"

namespace veldt {

template <class T> using SmallVector = std::vector<T, SmallAllocator<T>>;

// The nodes that a walk may visit, newest first.
class WalkOrder {
 public:
  explicit WalkOrder(Node* root) {
    // A heap orders them by descending sequence, so that duplicates of a node are adjacent.
    SmallVector<Node*> heap{root};
    const auto older = [](const Node* a, const Node* b) { return a->sequence < b->sequence; };
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), older);
      Node* const node = heap.back();
      heap.pop_back();
      if (!nodes_.empty() && nodes_.back() == node) continue;
      nodes_.push_back(node);
      for (const Input& in : node->inputs)
        if (in.tensor.requires_grad() && in.tensor.impl()->node) {
          heap.push_back(in.tensor.impl()->node.get());
          std::push_heap(heap.begin(), heap.end(), older);
        }
    }
  }

  std::size_t size() const { return nodes_.size(); }
  Node& operator[](std::size_t i) const { return *nodes_[i]; }
  // The position of a node, or size() if it is not among them.
  std::size_t find(const Node* node) const {
    const auto newer = [](const Node* a, std::uint64_t sequence) { return a->sequence > sequence; };
    const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), node->sequence, newer);
    return at != nodes_.end() && *at == node ? static_cast<std::size_t>(at - nodes_.begin()) : size();
  }

 private:
  SmallVector<Node*> nodes_;
};

// The tensors that grad() needs; null during backward(), which needs every leaf.
struct WantedGrads {
  explicit WantedGrads(const WalkOrder& o) : order(o), leads(o.size(), 0), made(o.size(), 0) {}
  bool leaf(const TensorImpl* impl) const {
    return std::find(leaves.begin(), leaves.end(), impl) != leaves.end();
  }
  bool node(const Node* node) const {
    const std::size_t i = order.find(node);
    return i < order.size() && leads[i];
  }

  const WalkOrder& order;
  SmallVector<const TensorImpl*> leaves;
  SmallVector<char> leads;  // for each node: it leads to a wanted tensor, or made one
  SmallVector<char> made;   // it made one
  bool ends_there = false;  // the walk does not go beyond those
};

}  // namespace veldt
