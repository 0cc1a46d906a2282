// The gradient graph: what an op writes down so that backward() can find its way, and how to switch that off.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt {

// One gradient for each input, in their order; an undefined Tensor where none is needed.
using Grads = std::vector<Tensor>;
// Given d loss / d output, returns d loss / d inputs. Written with ops, so it can be differentiated again.
using BackwardFn = std::function<Grads(const Tensor& gradient)>;

// Makes `out` the result of an op over `inputs`, unless gradients are off or no input requires one. This is
// all that an op of one's own needs:
//   Tensor twice(const Tensor& x) {
//     const Tensor y = x.detach() * 2;  // or a kernel's work
//     return record("twice", y, {x}, [](const Tensor& g) -> Grads { return {g * 2}; });
//   }
// `saves_values`: backward reads the inputs' values, so changing them in place before it is an Error. Of
// inputs that cannot have a gradient (an index, a condition) that is always assumed. An undefined input
// stands for an option not given.
Tensor record(const char* name, Tensor out, std::vector<Tensor> inputs, BackwardFn backward,
              bool saves_values = true);

// True if the running backward() wants a gradient for `input`: lets an op skip the work for the others.
bool needs_grad(const Tensor& input);

// d output / d inputs, without touching any leaf's grad(). `output` must hold one element, unless `seed` (of
// its shape) is given. An input that `output` does not depend on gets zeros.
Grads grad(const Tensor& output, const std::vector<Tensor>& inputs, bool create_graph = false,
           const Tensor& seed = {});

// While one lives, ops of this thread record nothing.
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

// A leaf made by a module. If some of the parameters that a loss depends on were listed in a fields() and
// this one was not, backward() throws: it would never be trained.
void mark_parameter(Tensor& leaf);
void mark_listed(const Tensor& leaf);
bool is_parameter(const Tensor& leaf);  // marked as either

// For code that writes into a tensor's memory behind the graph's back: a backward() that was to read the old
// values throws Error.
void mark_changed(const Tensor& t);

}  // namespace veldt
