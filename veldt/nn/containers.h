// Modules that put others together: sums and concatenations of branches, several outputs, functions.
// Tests: tests/nn/containers_test.cpp
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "veldt/nn/any_module.h"

namespace veldt::nn {

// x. A place for hooks, or a branch of its own.
class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return x; }
  TensorList forward_list(const TensorList& inputs) const override { return inputs; }
};

// A C++ function without parameters as a module:
//   nn::Lambda([](const Tensor& x) { return mean(x, {2, 3}); }, "GlobalMean")
class Lambda : public Module {
 public:
  using One = std::function<Tensor(const Tensor&)>;
  using List = std::function<TensorList(const TensorList&)>;

  // Of one tensor, or of a list of them.
  template <class Fn>
  requires std::is_invocable_r_v<Tensor, const Fn&, const Tensor&>
  explicit Lambda(Fn fn, std::string title = "Lambda") : one_(std::move(fn)), title_(std::move(title)) {}
  template <class Fn>
  requires std::is_invocable_r_v<TensorList, const Fn&, const TensorList&> &&
      (!std::is_invocable_r_v<Tensor, const Fn&, const Tensor&>)explicit Lambda(Fn fn,
                                                                                std::string title = "Lambda")
      : list_(std::move(fn)), title_(std::move(title)) {}

  Tensor forward(const Tensor& x) const override;
  TensorList forward_list(const TensorList& inputs) const override;
  std::string title() const override { return title_; }

 private:
  One one_;
  List list_;
  std::string title_;
};

// body(x) + shortcut(x), the shortcut x itself unless given (He et al. 2016). "body.", "shortcut."
//   nn::Residual(nn::Sequential{nn::Conv2d(8, 8, 3, {.padding = 1}), nn::ReLU()})
class Residual : public Module {
 public:
  explicit Residual(AnyModule body) : Residual(std::move(body), Identity()) {}
  Residual(AnyModule body, AnyModule shortcut) : body_(std::move(body)), shortcut_(std::move(shortcut)) {}

  // Throws ShapeError unless both have the same shape.
  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override;
  void unshare() override;
  std::string title() const override { return "Residual"; }

 private:
  AnyModule body_, shortcut_;
};

// Several modules side by side. Named by their places, or as they are given.
class Branches : public Module {
 public:
  void fields(Fields& f) override { branches_.list(f); }
  void unshare() override { branches_.unshare(); }
  std::size_t size() const { return branches_.size(); }
  // Throw Error for one that does not exist.
  Module& operator[](std::size_t i) const { return *branches_.at(i); }
  Module& operator[](std::string_view name) const { return *branches_.at(name); }

 protected:
  explicit Branches(const std::vector<AnyModule>& branches);
  explicit Branches(const std::vector<NamedLayer>& branches);
  const NamedLayers& branches() const { return branches_; }

 private:
  NamedLayers branches_;
};

// What all branches make of x, one after the other along a dimension (Szegedy et al. 2015); the skip
// connections of a U-Net are Concat(1, {nn::Identity(), deeper}).
class Concat : public Branches {
 public:
  Concat(int dim, const std::vector<AnyModule>& branches) : Branches(branches), dim_(dim) {}
  Concat(int dim, const std::vector<NamedLayer>& branches) : Branches(branches), dim_(dim) {}
  Tensor forward(const Tensor& x) const override;
  std::string title() const override;

 private:
  int dim_;
};

// {x} -> an output of each branch; {x, y, ..}, as many as branches -> each branch's output for its own.
class Parallel : public Branches {
 public:
  explicit Parallel(const std::vector<AnyModule>& branches) : Branches(branches) {}
  explicit Parallel(const std::vector<NamedLayer>& branches) : Branches(branches) {}
  TensorList forward_list(const TensorList& inputs) const override;
  std::string title() const override { return "Parallel"; }
};

// Modules under names, for a module that chooses among them: torch.nn.ModuleDict.
class ModuleDict : public Branches {
 public:
  explicit ModuleDict(const std::vector<NamedLayer>& modules) : Branches(modules) {}
  std::string title() const override { return "ModuleDict"; }
};

}  // namespace veldt::nn
