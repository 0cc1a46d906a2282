// A sequence of modules.
// Tests: tests/nn/sequential_test.cpp
#pragma once

#include <concepts>
#include <type_traits>
#include <typeinfo>

#include "veldt/nn/module.h"

namespace veldt::nn {

// Feeds each layer's output to the next; names are "0.weight", "2.bias". Without layers it returns its input.
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

  // Appends a layer, for building in a loop.
  template <class Layer>
  requires std::derived_from<std::decay_t<Layer>, Module> Sequential& add(Layer&& layer) {
    return add(std::make_shared<std::decay_t<Layer>>(std::forward<Layer>(layer)));
  }
  // Throws Error for a null pointer.
  template <class Layer>
  requires std::derived_from<Layer, Module> Sequential& add(std::shared_ptr<Layer> layer) {
    append(std::move(layer), &copy_of<Layer>);
    return *this;
  }

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override;
  // Throws Error for a layer that was added through a pointer to a base, or whose type cannot be copied.
  void unshare() override;
  std::string title() const override { return "Sequential"; }

  std::size_t size() const { return layers_.size(); }
  // Throws Error beyond the last one.
  Module& operator[](std::size_t i) const;

 private:
  using Copy = std::shared_ptr<Module> (*)(const Module&);
  struct Layer {
    std::shared_ptr<Module> module;
    Copy copy;  // returns null if the type that it was added as cannot be copied
  };

  template <class L> static std::shared_ptr<Module> copy_of(const Module& module) {
    if constexpr (std::is_copy_constructible_v<L>)
      if (typeid(module) == typeid(L)) return std::make_shared<L>(static_cast<const L&>(module));
    return nullptr;
  }
  void append(std::shared_ptr<Module> layer, Copy copy);

  std::vector<Layer> layers_;
};

}  // namespace veldt::nn
