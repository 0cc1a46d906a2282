// Networks that are no chain: layers that read any values made before them, and what joins such values.
// Tests: tests/nn/graph_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "veldt/nn/any_module.h"

namespace veldt::nn {

// Layers in the order in which they are called, each with the values that it reads: the graph's inputs, and
// the results of layers before it. Parameters are named by the layers' names, as in a Sequential.
//   nn::Graph net;                                                       // value 0 is its input
//   const auto skip = net.add("in", nn::Conv2d(3, 8, 3, {.padding = 1}), {0});
//   const auto deep = net.add("deep", nn::Conv2d(8, 8, 3, {.padding = 1}), {skip});
//   net.add("join", nn::Cat(1), {skip, deep});                           // the last result is the output
class Graph : public Module {
 public:
  using Value = std::size_t;

  // Throws Error for a graph without an input.
  explicit Graph(std::size_t inputs = 1, std::string title = "Graph");

  // One more input, after the ones before. Layers may have been added.
  Value add_input();
  // Appends a layer that is called with these values, and gives its result, the first if it has several.
  // Throws Error for a value that is not there yet, for none, and for a name as Sequential::add().
  Value add(std::string name, AnyModule layer, std::vector<Value> from);
  // What a call gives; unless set, the result of the last layer, or value 0 if there are none.
  void set_output(Value value);

  Tensor forward(const Tensor& x) const override;
  // {input, ..} -> {output}
  TensorList forward_list(const TensorList& inputs) const override;
  void fields(Fields& f) override { layers_.list(f); }
  void unshare() override { layers_.unshare(); }
  std::string title() const override { return title_; }

  std::size_t size() const { return layers_.size(); }
  std::size_t inputs() const { return inputs_.size(); }
  // Throw Error for one that does not exist.
  Module& operator[](std::size_t i) const { return *layers_.at(i); }
  Module& operator[](std::string_view name) const { return *layers_.at(name); }
  // The values that layer i reads, the one that it makes, that of an input, and the graph's output.
  const std::vector<Value>& reads(std::size_t i) const { return steps_.at(i).from; }
  Value makes(std::size_t i) const { return steps_.at(i).to; }
  Value input(std::size_t i) const { return inputs_.at(i); }
  Value output() const { return output_; }

 private:
  struct Step {
    std::vector<Value> from;
    Value to;
  };
  void check(Value value) const;

  std::string title_;
  NamedLayers layers_;
  std::vector<Step> steps_;  // of each layer
  std::vector<Value> inputs_;
  std::vector<std::size_t> last_use_;  // of each value: the step after which nothing reads it
  Value output_ = 0;
};

// {a, b, ..} -> {a + b + ..}, all of one shape.
class Sum : public Module {
 public:
  // Throws ShapeError for different shapes.
  TensorList forward_list(const TensorList& inputs) const override;
  std::string title() const override { return "Sum"; }
};

// {a, b, ..} -> {a b ..}, of shapes that broadcast: a gate of each channel, [n, channels, 1, 1], say.
class Product : public Module {
 public:
  TensorList forward_list(const TensorList& inputs) const override;
  std::string title() const override { return "Product"; }
};

// {a, b, ..} -> {cat({a, b, ..}, dim)}
class Cat : public Module {
 public:
  explicit Cat(int dim) : dim_(dim) {}
  TensorList forward_list(const TensorList& inputs) const override;
  std::string title() const override;

 private:
  int dim_;
};

}  // namespace veldt::nn
