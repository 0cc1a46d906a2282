// The target of a Tensor handle, and a node of the gradient graph. Only for files of tensor/.
// Tests: tests/tensor/tensor_test.cpp, tests/tensor/graph_test.cpp
#pragma once

#include <atomic>
#include <memory>

#include "veldt/core/pool.h"
#include "veldt/tensor/graph.h"

namespace veldt {

// Of a tensor: its hooks, and the tensor whose grad is to be kept although an op made it.
struct GradientHooks {
  HookList<GradientHook> list;
  std::weak_ptr<TensorImpl> retains;
};

enum class LeafRole : std::uint8_t { plain, parameter, listed };

struct TensorImpl {
  std::shared_ptr<Storage> storage;
  std::int64_t offset = 0;  // elements from the start of the storage
  Shape shape;
  Strides strides;
  DType dtype = DType::f32;
  Device device;

  bool requires_grad = false;
  bool grad_stale = false;  // grad holds old numbers that the next backward overwrites
  LeafRole role = LeafRole::plain;
  std::shared_ptr<Node> node;            // the op that made it; null for a leaf
  Tensor grad;                           // leaves only
  std::shared_ptr<GradientHooks> hooks;  // leaves only, null for none; other tensors' are their node's
  const char* cut = nullptr;             // the op that ended the graph before this tensor; null if none
};

// An input of an op, and the state of its memory when the op was recorded; no storage if backward does not
// read the values.
struct Input {
  Tensor tensor;
  const Storage* storage = nullptr;
  std::int64_t version = 0;
};

struct Node {
  const char* name;
  std::vector<Input, SmallAllocator<Input>> inputs;
  BackwardFn backward;
  std::uint64_t sequence;                          // grows along every edge: the order of a topological sort
  std::shared_ptr<GradientHooks> hooks = nullptr;  // of the tensor that it made
  Node* next_dying = nullptr;
};

// Reasons that end a graph on purpose, not because an op has no gradient. Compared by their addresses.
inline constexpr char kNoGrad[] = "NoGrad";
inline constexpr char kNoGraph[] = "a gradient without create_graph";

// Whether ops of this thread are recorded.
inline thread_local constinit bool t_grad_enabled = true;

// The sequence number of the newest node.
std::uint64_t newest_sequence();

// grad() that treats all inputs as independent: the walk ends at them.
Grads partial_grads(const Tensor& output, const TensorList& inputs, bool create_graph, const Tensor& seed);

// The zero gradient of a t that does not affect the output of g. It depends on g like any gradient, so that
// it can be differentiated again.
Tensor zero_gradient(const Tensor& t, const Tensor& g);

// The tensors that need a gradient in the first call of a checkpoint() (tensor/recompute.h), each once. Those
// within a nested NoGrad are excluded.
struct Captures {
  TensorList tensors;
  int depth;
};
inline thread_local constinit Captures* t_captures = nullptr;
inline thread_local constinit int t_no_grad_depth = 0;

}  // namespace veldt
