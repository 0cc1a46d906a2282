// One call of an operator: its node, its inputs, and what it asks of them. For the files of operators.
// Tests: tests/onnx/node_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/onnx/model.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {

// Runs the graph that an attribute of the node holds.
class Bodies {
 public:
  virtual ~Bodies() = default;
  virtual Values run(std::string_view attribute, Values inputs) = 0;
  // What the graph says of its results.
  virtual const std::vector<ValueInfo>& outputs(std::string_view attribute) = 0;
};

// All of its functions throw Error, naming the operator, for what does not fit.
class Call {
 public:
  Call(const Node& node, std::int64_t opset, std::span<const Value> inputs, Bodies& bodies, Rng& rng);

  const Node& node() const { return node_; }
  std::int64_t opset() const { return opset_; }  // the version of the node's domain
  std::size_t outputs() const { return node_.outputs.size(); }
  bool wants(std::size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  Rng& rng() const { return rng_; }
  Values run(std::string_view attribute, Values inputs) const {
    return bodies_.run(attribute, std::move(inputs));
  }

  const std::vector<ValueInfo>& outputs_of(std::string_view attribute) const {
    return bodies_.outputs(attribute);
  }

  // Inputs.
  std::size_t size() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].present(); }
  const Value& value(std::size_t i) const;  // on the device where it is
  // On device().
  const Tensor& tensor(std::size_t i) const;
  Tensor here(const Tensor& x) const { return to(x, device_); }
  // Where the call computes: the device of the first input that is not in the host's memory, else the host.
  // Sizes, axes and what is computed from them stay in the host's memory, also in networks that are
  // elsewhere.
  Device device() const { return device_; }
  ElementType type(std::size_t i) const { return value(i).type(); }
  // The input as f32 unless it is of a float dtype.
  Tensor real(std::size_t i) const;
  // All of its numbers, in the host's memory: sizes, axes.
  std::vector<std::int64_t> integers(std::size_t i) const;
  std::vector<double> reals(std::size_t i) const;
  // The only one.
  std::int64_t integer(std::size_t i) const;
  double number(std::size_t i) const;

  // Attributes.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::int64_t integer(std::string_view name) const;  // which must be there
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string otherwise = {}) const;
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> otherwise = {}) const;
  std::vector<double> reals(std::string_view name, std::vector<double> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  const Value& value(std::string_view name) const;

  // Integers that newer versions give as input `i` and older ones as the attribute `name`; nothing if neither
  // is there.
  std::optional<std::vector<std::int64_t>> given(std::size_t i, std::string_view name) const;
  // A dimension of something with this rank, which may count from the end.
  int axis(std::int64_t axis, int rank) const;

  [[noreturn]] void fail(const std::string& why) const;

 private:
  const Attribute* find(std::string_view name) const;
  const Attribute* find(std::string_view name, Attribute::Kind kind) const;

  const Node& node_;
  std::int64_t opset_;
  std::span<const Value> inputs_;
  Bodies& bodies_;
  Rng& rng_;
  Device device_;
  mutable std::vector<Tensor> moved_;  // copies on device() of inputs that are elsewhere
};

}  // namespace veldt::onnx
