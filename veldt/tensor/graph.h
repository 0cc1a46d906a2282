// The gradient graph: the record of ops that backward() follows, and how to switch recording off.
// Tests: tests/tensor/graph_test.cpp
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "veldt/core/small_blocks.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// A list of tensors whose memory is taken from the thread's small blocks. It converts from and to a plain
// vector, such as Module::parameters(), so that functions that take one of them take both.
struct TensorList : std::vector<Tensor, SmallAllocator<Tensor>> {
  using vector::vector;
  TensorList() = default;
  TensorList(const std::vector<Tensor>& list) : vector(list.begin(), list.end()) {}  // NOLINT
  operator std::vector<Tensor>() const { return {begin(), end()}; }                  // NOLINT
};
// One gradient for each input, in their order; an undefined Tensor where none is needed.
using Grads = TensorList;

// Given d loss / d output, returns d loss / d inputs. Written with ops, so it can be differentiated again.
// Holds any such callable and keeps it alive like std::function, but never on the heap.
class BackwardFn {
 public:
  BackwardFn() = default;
  template <class Fn>
  requires std::is_invocable_r_v<Grads, const Fn&, const Tensor&> &&
      (!std::same_as<Fn, BackwardFn>)BackwardFn(Fn fn)  // NOLINT: a lambda is one
      : box_(std::allocate_shared<Box<Fn>>(SmallAllocator<Box<Fn>>(), std::move(fn))) {}

  Grads operator()(const Tensor& gradient) const { return box_->call(gradient); }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual Grads call(const Tensor& gradient) const = 0;
  };
  template <class Fn> struct Box final : Callable {
    explicit Box(Fn f) : fn(std::move(f)) {}
    Grads call(const Tensor& gradient) const override { return fn(gradient); }
    Fn fn;
  };
  std::shared_ptr<const Callable> box_;
};

// Makes `out` the result of an op over `inputs`, unless gradients are off or no input requires one. This is
// all that a custom op needs:
//   Tensor twice(const Tensor& x) {
//     const Tensor y = x.detach() * 2;  // or a kernel's work
//     return record("twice", y, {x}, [](const Tensor& g) -> Grads { return {g * 2}; });
//   }
// `saves_values`: backward reads the inputs' values, so the graph keeps them, and changing them in place
// before it is an Error. For inputs that cannot have a gradient (an index, a condition) this is always
// assumed. An undefined input is an option that was not given.
Tensor record(const char* name, Tensor out, TensorList inputs, BackwardFn backward, bool saves_values = true);

// A tensor that stands for t in the graph, with its shape, and not its memory: for a backward function that
// needs no values of it. t itself if it is a leaf.
Tensor without_values(const Tensor& t);

// The result of an op, for its backward function: another tensor over the same memory, because the op's node
// cannot hold what holds the node. values() throws Error if they were changed in place after the op ran.
class SavedResult {
 public:
  explicit SavedResult(const Tensor& y);
  const Tensor& values() const;
  // For a function that may do without them.
  const Tensor& unchecked() const { return values_; }

 private:
  Tensor values_;
  std::int64_t version_;
};

// True if the running backward() needs a gradient for `input`, so that an op can skip the others.
bool needs_grad(const Tensor& input);

// The op whose gradient this thread is currently computing, or null.
const char* backward_of();

// d output / d inputs, without touching any leaf's grad(). `output` must hold one element, unless `seed` (of
// its shape) is given. An input that `output` does not depend on gets zeros, and all do if `output` is
// constant, as the slope of a piecewise linear function is. Throws Error if that could be an oversight:
// `output` was computed within a NoGrad, or from a gradient without create_graph.
Grads grad(const Tensor& output, const TensorList& inputs, bool create_graph = false,
           const Tensor& seed = {});

// While one exists, backward() on this thread calls `ready` with each leaf whose gradient is complete:
// nothing more of that call will be added to it. Of several each is called, the innermost first. A leaf with
// hooks comes last. For work that can begin before the walk is over, such as sending gradients to other
// processes.
class GradientListener {
 public:
  explicit GradientListener(std::function<void(const Tensor& leaf)> ready);
  ~GradientListener();
  GradientListener(const GradientListener&) = delete;
  GradientListener& operator=(const GradientListener&) = delete;

 private:
  std::function<void(const Tensor&)> ready_;
  const std::function<void(const Tensor&)>* before_;
};

// While one exists, ops of this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};
bool grad_enabled();

// Within a NoGrad: while one exists, ops of this thread record again.
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool before_;
};

// A leaf made by a module. If some of the parameters that a loss depends on were listed in a fields() and
// this one was not, backward() throws: it would never be trained.
void mark_parameter(Tensor& leaf);
void mark_listed(const Tensor& leaf);
bool is_parameter(const Tensor& leaf);  // marked as either

// While one exists, each op that this thread records may be given another backward function: gradients of
// other rules than calculus's, such as guided backpropagation. Of several only the innermost, the one made
// last, is asked. `out` and `inputs` have their values.
class RecordListener {
 public:
  RecordListener();
  virtual ~RecordListener();
  RecordListener(const RecordListener&) = delete;
  RecordListener& operator=(const RecordListener&) = delete;
  // The function to record: `backward` itself, or one that may call it.
  virtual BackwardFn on_record(const char* name, const Tensor& out, const TensorList& inputs,
                               BackwardFn backward) = 0;

 private:
  RecordListener* before_;
};

// Records that `name` ends the graph between x and out, or that it had already ended before x. For ops
// without a gradient.
void mark_cut(const Tensor& out, const Tensor& x, const char* name);
// Where the graph of `output` ends before reaching parameters: "detach, read by mul".
std::vector<std::string> cuts_of(const Tensor& output);

// Sets the name of t's memory in the ledger and in OutOfMemory: "parameters". A string that is never freed.
void label_memory(const Tensor& t, const char* label);

// For code that writes into a tensor's memory without the graph's knowledge: a backward() that would read the
// old values throws Error.
void mark_changed(const Tensor& t);

}  // namespace veldt
