// A sequence of modules.
// Tests: tests/nn/sequential_test.cpp
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "veldt/nn/any_module.h"

namespace veldt::nn {

// Feeds each layer's output to the next; without layers it returns its input. Parameters are named by the
// layers' places, "0.weight", "2.bias", or by the names that they are given:
//   nn::Sequential net{{"body", nn::Linear(2, 8)}, {"act", nn::Tanh()}, {"head", nn::Linear(8, 1)}};
// Layers that draw from default_rng() do so when they are constructed as arguments: in parentheses the
// compiler chooses the order of `Sequential model(Linear(2, 8), Linear(8, 1))`; braces, or add(), draw from
// the first layer to the last.
class Sequential : public Module {
 public:
  Sequential() = default;
  // Keeps copies of the layers, which share parameters with those given.
  template <class First, class... Rest>
  requires std::derived_from<std::decay_t<First>, Module> &&
      (sizeof...(Rest) > 0 ||
       !std::same_as<std::decay_t<First>, Sequential>)explicit Sequential(First&& first, Rest&&... rest) {
    add(std::forward<First>(first));
    (add(std::forward<Rest>(rest)), ...);
  }
  Sequential(std::initializer_list<NamedLayer> layers) {
    for (const NamedLayer& layer : layers) add(layer.name, layer.module);
  }

  // Appends a layer, for building in a loop.
  Sequential& add(AnyModule layer) { return add(std::to_string(size()), std::move(layer)); }
  // Throws Error for a name that is taken, empty, or has a dot.
  Sequential& add(std::string name, AnyModule layer) {
    layers_.add(std::move(name), std::move(layer));
    return *this;
  }

  Tensor forward(const Tensor& x) const override;
  // For layers of several inputs or outputs, in call of net(TensorList{x}) or net({x, y}).
  TensorList forward_list(const TensorList& inputs) const override;
  void fields(Fields& f) override { layers_.list(f); }
  // Throws Error for a layer that was added through a pointer to a base, or whose type cannot be copied.
  void unshare() override { layers_.unshare(); }
  std::string title() const override { return "Sequential"; }

  std::size_t size() const { return layers_.size(); }
  // Throw Error for one that does not exist.
  Module& operator[](std::size_t i) const { return *layers_.at(i); }
  Module& operator[](std::string_view name) const { return *layers_.at(name); }

 private:
  NamedLayers layers_;
};

}  // namespace veldt::nn
