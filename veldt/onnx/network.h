// A network from an ONNX file, as a module: its weights are parameters, it can be run, taught further
// and saved. Opsets 7 to 25. docs/onnx.md lists the operators.
// Tests: tests/onnx/network_test.cpp, tests/onnx/node_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "veldt/nn/module.h"
#include "veldt/onnx/model.h"

namespace veldt::onnx {

class Program;
struct Constant;
using NodeListener = std::function<void(const Node& node, const Values& results)>;

//   onnx::Network net = onnx::load("mobilenet.onnx");
//   const Tensor logits = net(picture);           // one input, one output
//   const Values out = net.run({{"ids", ids}, {"mask", mask}});
//
// Parameters are the graph's initializers of float types, of one dimension and more, that operators use as
// weights, under their own names. All others (statistics of norms, bounds, constants) are buffers; what
// nothing reads is dropped. A norm keeps its statistics, and a Dropout does nothing, in training too: the
// graph says what is computed, and train() does not change it. After to(device) floats are computed there;
// sizes, axes and places (integers of 32 and 64 bits that the graph has, and what is computed from them) stay
// in the host's memory.
class Network : public nn::Module {
 public:
  // Throws UsageError listing all operators that Veldt does not have, with the names of their nodes; IoError
  // malformed for a graph that does not hold together.
  explicit Network(Model model);

  // Of a graph with one input and one output, both tensors.
  Tensor forward(const Tensor& x) const override;
  // The inputs in the order of inputs(); trailing ones may be left out if the graph has values for them.
  TensorList forward_list(const TensorList& inputs) const override;
  // Values of any kind: one for each of inputs() -> one for each of outputs(). Throws Error for a type, or a
  // size, that the graph does not take. Several threads may run a network at a time. DeviceError for an input
  // on another device than the weights, but for the host's memory: from there each operator takes it where
  // its other inputs are.
  Values run(Values inputs) const;
  // The same, telling of the results of each node, in the order in which they are computed.
  Values run(Values inputs, const NodeListener& listener) const;
  // The same by name. Throws UsageError for a name that is not an input or is there twice, and for inputs
  // that are missing.
  Values run(const std::map<std::string, Value>& inputs) const;
  Values run(std::initializer_list<std::pair<const std::string, Value>> inputs) const;  // run({}) too

  const std::vector<ValueInfo>& inputs() const;
  const std::vector<ValueInfo>& outputs() const;
  // Constants that run() takes by name too, in place of the file's (of files since version 4 of the format,
  // that list them among the inputs).
  const std::vector<ValueInfo>& overridable() const;
  std::int64_t opset() const;
  const Model& model() const { return *model_; }  // without the numbers of its initializers

  // A copy that only runs, and faster: constants are computed, norms and factors of channels go into the
  // weights of the convolutions before them, what is added to them and the bounds of a Relu or a Clip into
  // their pass. Where an input is not finite it runs by the plain operators, so that a NaN stays one; a Plan
  // does not look. Its weights are as they are now, and no parameters.
  // Several threads may call it at once.
  Network frozen() const;

  void fields(nn::Fields& f) override;
  void unshare() override;
  std::string title() const override { return title_; }

 private:
  Network() = default;
  void check(const Values& inputs) const;
  Values run_listed(Values inputs, const NodeListener& listener) const;  // and those of overridable()
  ElementType float_type() const;                                        // of its weights

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<std::vector<Constant>> constants_;
  std::shared_ptr<std::atomic<std::uint64_t>> runs_;  // each draws from a stream of its own
  std::string title_;
};

// Network(read_model(path)).
Network load(const std::string& path);

}  // namespace veldt::onnx
