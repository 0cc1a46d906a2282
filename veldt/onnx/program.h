// A graph made ready to run: names resolved to slots, functions replaced by their nodes, each value
// freed after its last use.
// Tests: tests/onnx/network_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "veldt/onnx/model.h"
#include "veldt/onnx/operators.h"

namespace veldt::onnx {

// The constants of a network. The numbers of those that are trained change between calls, so programs refer
// to them by place.
struct Constant {
  std::string name;
  Tensor tensor;  // undefined for texts
  ElementType type = ElementType::undefined;
  Value other;               // what is no tensor
  bool initializer = false;  // of a graph, not the result of a Constant
  bool read = false;         // by a node, or as an output
  std::uint32_t uses = 0;    // of it as an input that is trained
  std::uint32_t other_uses = 0;
  // After Module::to(dtype) its numbers are of another type than the file's.
  Value value() const {
    if (!tensor.defined()) return other;
    return tensor.dtype() == held_as(type) ? Value(tensor, type) : Value(tensor);
  }
};

// What a run needs besides its inputs.
struct Context {
  const std::vector<Constant>& constants;
  Rng& rng;
  const void* owner;                                                // for the place of errors
  const std::function<void(const Node&, const Values&)>* listener;  // null for none
  bool keeps_nan = false;  // an input is not finite: nothing runs that could hide it
};

// What cannot run, gathered while a model is prepared: all of it is told at once.
struct Unsupported {
  std::string op, node;
};

class FrozenConvolution;

class Program {
 public:
  struct Builder;  // both: program_build.cpp
  struct Shared;
  struct Optimizer;  // optimize.cpp

  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  const std::vector<ValueInfo>& outputs() const { return outputs_; }
  const std::vector<ValueInfo>& overridable() const { return overridable_; }
  // One value for each input, and perhaps for what is overridable; `outer` are the slots of the program that
  // this one is a body of.
  Values run(const Context& context, Values inputs, const Values& outer) const;
  bool differentiates() const { return !watched_.empty(); }  // it has a Gradient
  std::size_t size() const { return steps_.size(); }
  const Node& node(std::size_t i) const { return steps_[i].node; }

 private:
  struct Step {
    Node node;  // attributes of its caller put in
    std::int64_t opset = 1;
    const OperatorEntry* entry = nullptr;  // null for a function
    std::shared_ptr<const Program> function;
    std::shared_ptr<FrozenConvolution> frozen;  // what computes it instead, in a program that only runs
    std::vector<std::pair<std::string, std::shared_ptr<const Program>>> bodies;
    std::vector<int> inputs, outputs;  // slots; -1 for what was left out
    std::vector<int> done;             // slots that nothing reads after it
  };
  // Sets what each step is the last to read.
  void find_last_uses();
  Values run_step(const Step& step, const Context& context, Values& slots) const;
  void run_to_slots(const Step& step, const Context& context, Values& slots) const;
  // Runs the head for a few examples at a time, if that is worth it; whether it did.
  bool run_head(const Context& context, Values& slots) const;

  std::vector<ValueInfo> inputs_, outputs_, overridable_;
  std::size_t slot_count_ = 0;
  std::vector<std::pair<int, std::size_t>> constants_;  // slot, place among the constants
  std::vector<std::pair<int, int>> captured_;           // slot, slot of the outer program
  std::vector<int> input_slots_, output_slots_;         // those of overridable_ follow those of inputs_
  std::vector<int> watched_;  // slots that a Gradient reads: what depends on them is recorded
  std::vector<Step> steps_;

  // In a program that only runs: its first steps that compute each example of a batch by itself. They read
  // one slot besides constants, and what follows reads one slot of theirs.
  struct Head {
    std::size_t steps = 0;
    int input = -1, output = -1;
    int weight = -1;  // of the convolution that reads the input
  };
  Head head_;
  bool bounds_frozen_ = false;  // a FrozenConvolution has bounds, which may hide a NaN
};

struct Prepared {
  std::shared_ptr<const Program> program;
  std::vector<Constant> constants;
  std::vector<Unsupported> unsupported;
};
// Throws IoError malformed for names that nothing defines, values defined twice, functions that call
// themselves, more than 250,000 nodes after functions are replaced.
Prepared prepare(const Model& model);

}  // namespace veldt::onnx
