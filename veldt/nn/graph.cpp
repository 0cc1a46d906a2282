// Calls the layers of a graph, and lets go of each value when nothing more reads it.
#include "veldt/nn/graph.h"

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"

namespace veldt::nn {

Graph::Graph(std::size_t inputs, std::string title) : title_(std::move(title)) {
  if (inputs == 0) throw Error("a graph has no inputs", "its layers read values", "give 1 or more");
  for (std::size_t i = 0; i < inputs; ++i) add_input();
}

Graph::Value Graph::add_input() {
  inputs_.push_back(last_use_.size());
  last_use_.push_back(0);
  return inputs_.back();
}

void Graph::check(Value value) const {
  if (value >= last_use_.size())
    throw Error(str("there is no value ", value, " in the graph"), str("there are ", last_use_.size()),
                "give an input, or the result of a layer before");
}

Graph::Value Graph::add(std::string name, AnyModule layer, std::vector<Value> from) {
  if (from.empty())
    throw Error(str("layer ", name, " of the graph reads nothing"), "it is called with values", "name them");
  for (const Value value : from) check(value);
  layers_.add(std::move(name), std::move(layer));
  for (const Value value : from) last_use_[value] = steps_.size();
  output_ = last_use_.size();
  last_use_.push_back(0);
  steps_.push_back({std::move(from), output_});
  return output_;
}

void Graph::set_output(Value value) {
  check(value);
  output_ = value;
}

Tensor Graph::forward(const Tensor& x) const { return forward_list({x})[0]; }

TensorList Graph::forward_list(const TensorList& inputs) const {
  if (inputs.size() != inputs_.size())
    throw Error(str(title_, " cannot take ", inputs.size(), " inputs"), str("it has ", inputs_.size()),
                "give one for each");
  TensorList values;
  values.resize(last_use_.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[inputs_[i]] = inputs[i];
  std::size_t at = 0;
  for (const NamedLayer& layer : layers_) {
    const Step& step = steps_[at];
    if (step.from.size() == 1) {
      values[step.to] = (*layer.module)(values[step.from[0]]);
    } else {
      TensorList read;
      for (const Value value : step.from) read.push_back(values[value]);
      values[step.to] = (*layer.module)(read).at(0);
    }
    for (const Value value : step.from)
      if (last_use_[value] == at && value != output_) values[value] = Tensor();
    ++at;
  }
  TensorList out;
  out.push_back(values[output_]);
  return out;
}

TensorList Sum::forward_list(const TensorList& inputs) const {
  Tensor all = inputs.at(0);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape() != all.shape())
      throw ShapeError(str("cannot add ", all.shape(), " and ", inputs[i].shape()),
                       "the values of a sum have one shape",
                       "change one of them first, as a Conv2d of kernel 1 does");
    all = all + inputs[i];
  }
  TensorList out;
  out.push_back(all);
  return out;
}

TensorList Product::forward_list(const TensorList& inputs) const {
  Tensor all = inputs.at(0);
  for (std::size_t i = 1; i < inputs.size(); ++i) all = all * inputs[i];
  TensorList out;
  out.push_back(all);
  return out;
}

TensorList Cat::forward_list(const TensorList& inputs) const {
  TensorList out;
  out.push_back(cat(std::vector<Tensor>(inputs.begin(), inputs.end()), dim_));
  return out;
}

std::string Cat::title() const { return str("Cat(", dim_, ')'); }

}  // namespace veldt::nn
