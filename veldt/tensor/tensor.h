// Tensor: a handle to numbers of one dtype on one device, with a shape and strides. Copying a Tensor copies
// the handle; views share memory. A const Tensor stays the handle that it is, but its numbers may change:
// other handles, views and optimizers write them, and so does x[i] = y of a const x. clone(x) has its own.
// The functions that compute with tensors are in ops/.
// Tests: tests/tensor/tensor_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "veldt/core/backend.h"
#include "veldt/core/device.h"
#include "veldt/core/dtype.h"
#include "veldt/core/hooks.h"
#include "veldt/core/shape.h"
#include "veldt/core/slice.h"
#include "veldt/core/view.h"

namespace veldt {

class Scalar;  // ops/scalar.h
class Storage;
struct TensorImpl;
struct Node;

class Tensor;
// See Tensor::register_hook().
using GradientHook = std::function<Tensor(const Tensor& gradient)>;

class Tensor {
 public:
  Tensor() = default;  // undefined: holds nothing
  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  // A variable becomes a handle to other numbers.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & = default;

  // Values in row-major order, copied. Throws ShapeError if their number does not fit the shape.
  static Tensor of(const Shape& shape, std::initializer_list<double> values, DType dtype = DType::f32);
  // T: float, double, std::int64_t, std::int32_t, std::uint8_t, std::int8_t or bool; the dtype follows from
  // it.
  template <class T> static Tensor from(const Shape& shape, std::span<const T> values, Device device = {});
  // The same for any dtype, also bf16 and f16, from bytes in the format of bytes().
  static Tensor from_bytes(const Shape& shape, DType dtype, std::span<const std::byte> bytes,
                           Device device = {});

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  const Strides& strides() const;  // in elements
  int rank() const { return shape().rank(); }
  // The size of a dimension; negative ones count from the end.
  std::int64_t size(int dim) const;
  std::int64_t numel() const;
  DType dtype() const;
  Device device() const;
  bool is_contiguous() const;

  // The only element, converted to a T of from(). Throws ShapeError unless there is exactly one. A double
  // only holds integers up to 2^53; item<std::int64_t>() is exact.
  template <class T = double> T item() const;
  // A row-major copy of the values in host memory; T must be the dtype's type.
  template <class T> std::vector<T> values() const;
  // The same as bytes, of any dtype.
  std::vector<std::byte> bytes() const;
  // The first element, in host memory. Throws DeviceError for another device or dtype. Access elements by
  // strides().
  template <class T> T* data() const;
  View view() const;

  // Views of a part, with gradients: x[i] is position i of the first dimension, which is dropped, and x(i, j)
  // one of the first two. A Slice takes several and keeps its dimension: x(Slice{1, 3}, -1). Positions below
  // 0 count from the end. Throws ShapeError for one beyond the size, for more than the rank, and for steps
  // below 1, which no view takes: slice() and flip() copy. (Ops like others, in ops/subscript.cpp.)
  Tensor operator[](const Position& position) const;
  template <class... At> Tensor operator()(const At&... at) const { return this->at({Position(at)...}); }
  Tensor at(std::initializer_list<Position> positions) const;
  // x[i] = source and x(i, j) = 5 write into x's memory: assign() of the source, expanded to the part's
  // shape.
  void operator=(const Tensor& source) &&;
  void operator=(const Scalar& value) &&;

  // Copies `source` (same shape, any dtype, any device) into this tensor's memory. For leaves and data, never
  // for a tensor that a gradient flows through: throws Error there.
  void assign(const Tensor& source);

  // Whether another handle, a view, or a graph refers to this memory.
  bool is_shared() const;
  // Whether a new value may take this one's place in the handle alone: nobody else has the tensor, or a part
  // of its memory, but for what the graph keeps.
  bool is_replaceable() const;

  // Gradients. backward() sets those of leaves that require one.
  bool requires_grad() const;
  bool is_leaf() const;                       // not the recorded result of an op
  Tensor& set_requires_grad(bool on = true);  // leaves only, float dtypes only
  // The gradient accumulated so far; undefined before the first backward().
  Tensor grad() const;
  void set_grad(const Tensor& gradient);  // copies it; undefined clears it
  // For a tensor that an op made, whose gradient backward() would drop: has backward() add it to grad() too.
  void retain_grad() const;
  // Calls `hook` with the gradient of this tensor once all of it has come together, in each later backward()
  // or grad() that reaches it. What the hook returns, unless undefined, takes the gradient's place (it must
  // not change the gradient itself): Error unless it has its shape and dtype. Throws Error unless
  // requires_grad(). A recorded step (Plan) runs the hook's C++ only when it is recorded.
  HookHandle register_hook(GradientHook hook) const;
  // Clears the gradient without freeing its memory: the next backward() overwrites it.
  void zero_grad();
  // Adds d(this)/d(leaf) to every leaf that requires it. This must hold one element and depend on a leaf:
  // Error otherwise, because nothing would be trained (grad() of graph.h gives zeros to the inputs it names).
  // create_graph: the gradients can be differentiated again. A leaf's gradient then holds the graph, and the
  // graph the leaf: zero_grad() releases both (grad() of graph.h creates no such cycle).
  void backward(bool create_graph = false) const;
  // The same values, detached from the graph. Shares memory.
  Tensor detach() const;
  // The same memory under another shape; `offset` in elements from this tensor's first. Not recorded: for
  // ops.
  Tensor alias(const Shape& shape, const Strides& strides, std::int64_t offset) const;

  TensorImpl* impl() const { return impl_.get(); }

 private:
  std::shared_ptr<TensorImpl> impl_;
};

// As text(x) of tensor/print.h: "tensor([1., 2.])".
std::ostream& operator<<(std::ostream& out, const Tensor& x);

// Uninitialised. Throws OutOfMemory, or ShapeError for an impossible shape.
Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = {});
// Uninitialised, of the dtype and device of `like`.
Tensor empty(const Shape& shape, const Tensor& like);

// The backend that computes for `t`.
const Backend& kernels(const Tensor& t);

// Moves a leaf's values into elements offset.. of a contiguous one-dimensional slab; all handles to the leaf
// then use the slab. Modules keep their parameters and gradients this way (optim/slab.h).
void move_into_slab(Tensor& leaf, const Tensor& slab, std::int64_t offset);
// Makes `memory`, contiguous and of the leaf's shape and dtype, the leaf's gradient: backward() adds to it in
// place.
void keep_grad_in(Tensor& leaf, const Tensor& memory);
// Gives a leaf new values of any shape, dtype or device; every handle to it sees them.
void replace_values(Tensor& leaf, const Tensor& values);

}  // namespace veldt
