// Modules: objects with parameters. A module lists its members once, in fields(); names, saving, moving,
// freezing, train/eval and printing all follow from that list.
// Tests: tests/nn/module_test.cpp, tests/nn/recompute_test.cpp
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veldt/nn/hooks.h"
#include "veldt/tensor/named.h"

namespace veldt {
class Error;
}

namespace veldt::nn {

// The visitor that fields() calls for each member: f("body", body_)("head", head_). Nested names are joined
// by dots, and elements of a vector are numbered, as in torch.nn; an empty name adds nothing to those below
// it. Undefined tensors, empty optionals and null pointers are skipped.
class Fields {
 public:
  virtual ~Fields() = default;

  // A parameter if it was made by nn::parameter() or requires a gradient, else a buffer.
  Fields& operator()(std::string_view name, Tensor& tensor);
  Fields& operator()(std::string_view name, Module& module);
  // A tensor that is moved and converted with the module, and is otherwise no part of it: neither trained nor
  // in the state (torch's buffers that are not persistent).
  virtual void unsaved(Tensor& /*tensor*/) {}

  template <class T> Fields& operator()(std::string_view name, std::vector<T>& list) {
    const std::size_t outer = enter(name);
    for (std::size_t i = 0; i < list.size(); ++i) (*this)(std::to_string(i), list[i]);
    path_.resize(outer);
    return *this;
  }
  template <class T> Fields& operator()(std::string_view name, std::optional<T>& member) {
    return member ? (*this)(name, *member) : *this;
  }
  template <class T> Fields& operator()(std::string_view name, std::unique_ptr<T>& member) {
    return member ? (*this)(name, *member) : *this;
  }
  template <class T> Fields& operator()(std::string_view name, std::shared_ptr<T>& member) {
    return member ? (*this)(name, *member) : *this;
  }

 protected:
  // `path` starts at the module where the walk began.
  virtual void on_tensor(const std::string& path, Tensor& tensor) = 0;
  virtual void on_module(const std::string& path, int depth, Module& module);

 private:
  std::size_t enter(std::string_view name);  // returns the length to which path_ is restored

  std::string path_;
  int depth_ = 0;
};

// A module of a tree, and its path from the tree's root: "layers.0.self_attn".
struct NamedModule {
  std::string name;
  Module* module;
};

// The report of load_state_dict(); all three are empty if everything fitted.
struct LoadReport {
  std::vector<std::string> missing;     // in the module, not in the file
  std::vector<std::string> unexpected;  // in the file, not in the module
  std::vector<std::string> mismatched;  // "head.weight: [10, 64] in the module, [10, 32] in the state"
  bool complete() const { return missing.empty() && unexpected.empty() && mismatched.empty(); }
};

// The base of all layers and models. Tensors are handles, so a copy of a module shares its parameters.
class Module {
 public:
  virtual ~Module() = default;

  // The output for x. Throws Error unless the module overrides it.
  virtual Tensor forward(const Tensor& x) const;
  // The outputs for several inputs: what a module of other arguments or results than forward()'s overrides.
  // Throws Error for a number of inputs that it does not take. By default it takes one, for forward(); with
  // one input it gives what forward() does, if the module has one.
  virtual TensorList forward_list(const TensorList& inputs) const;
  // Calls forward() or forward_list(), and the hooks. An Error that passes through gets the place added:
  // "..., in body.2 (Linear(64, 10))".
  //   const Tensor y = encoder(x);
  //   const TensorList out = lstm({x, h, c});
  Tensor operator()(const Tensor& x) const;
  TensorList operator()(const TensorList& inputs) const;

  // Hooks around every call of this module, not of its children. They stay, with copies of the module too,
  // until remove() of the handle.
  HookHandle register_forward_pre_hook(ForwardPreHook hook);
  HookHandle register_forward_hook(ForwardHook hook);
  HookHandle register_backward_hook(BackwardHook hook);
  // Whether it was ever given one.
  bool has_hooks() const { return hooks_ != nullptr; }

  // Lists the members that are tensors or modules.
  virtual void fields(Fields& f);
  // The module's kind and options in one line: "Linear(2, 8)".
  virtual std::string title() const;

  // This module, under the name "", and all modules in it, each once, outer ones first.
  std::vector<NamedModule> named_modules() const;
  // The modules that fields() lists itself.
  std::vector<NamedModule> children() const;
  // Calls `fn` with every module of the tree, inner ones first, to initialise them for example:
  //   net.apply([&](Module& m) { if (auto* linear = dynamic_cast<Linear*>(&m)) ..; });
  Module& apply(const std::function<void(Module&)>& fn);

  // The parameters, each once under its first name. Marks them as listed: a later backward() throws Error if
  // a loss also depends on a parameter that is in no list.
  NamedTensors named_parameters() const;
  std::vector<Tensor> parameters() const;
  // Those of named_parameters() below `prefix` that are not frozen: what an optimizer is given after
  // freeze().
  NamedTensors trained_parameters(std::string_view prefix = {}) const;
  // The tensors of fields() that are not trained.
  NamedTensors named_buffers() const;
  // The number of trained and frozen numbers.
  std::int64_t parameter_count() const;

  // Parameters and buffers, sharing memory with the module: torch's state_dict().
  NamedTensors state_dict() const;
  // Copies values in by name, converting dtypes; either all or none. Throws Error that lists all mismatches.
  // Not strict: copies those that fit and reports the rest. A random stream (see Dropout) and a batch
  // norm's num_batches_tracked, which not all of torch's files have, may be missing.
  LoadReport load_state_dict(const NamedTensors& state, bool strict = true);

  // Converts all floating point members, or moves all members; clears gradients. Call it before building an
  // optimizer.
  Module& to(DType dtype);
  Module& to(Device device);
  // Whether backward() computes gradients for the parameters: all of them, or those whose name is `prefix` or
  // begins with it and a dot ("body", "body.0.weight"). Throws ConfigError, listing the names, if there are
  // none.
  Module& requires_grad(bool on, std::string_view prefix = {});
  // As requires_grad(false, prefix); besides, the batch norms there work in training as in evaluation, by
  // their running statistics, which stay as they are: what is frozen is the same whatever else is learned.
  // Dropout goes on there in training, as it does in torch: it has nothing to lose, and what is learned
  // behind it gains. requires_grad(true, prefix) lifts both.
  Module& freeze(std::string_view prefix = {});
  bool frozen() const { return frozen_; }

  // Switches between training and evaluation, for modules that depend on it.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool training() const { return training_; }

  // The tree of modules, one a line, and the number of parameters.
  std::string description() const;
  // The same as a table, with the work of each module for an input of this shape (zeros, in evaluation): the
  // shape of its output, its own parameters and bytes, and the floating point operations of its products.
  std::string summary(const Shape& input) const;
  std::string summary(const Tensor& input) const;  // for inputs whose dtype is not the parameters'
  // The multiplications and additions of one call, for summary(); 0 if there are few, or if the children
  // count them.
  virtual double flops(const Shape& input, const Shape& output) const;

  // For clone(): replaces inner modules that a copy shares through pointers with copies of its own. Override
  // it in a module with a shared_ptr member: `inner_ = std::make_shared<Inner>(*inner_)`.
  virtual void unshare() {}
  // Gives this module, a copy of `original`, its own tensors and inner modules, as clone() does.
  void separate_from(const Module& original);

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;

  // For functions of a module's own, with arguments such as masks that forward_list() does not take: has
  // hooks, listeners and errors know of the call as operator() does.
  //   return call({x, memory}, [&](const TensorList& in) { return TensorList{decoded(in[0], in[1], mask)};
  //   })[0];
  template <class Body> TensorList call(TensorList inputs, const Body& body) const {
    return call(std::move(inputs), {&body, [](const void* b, const TensorList& in) -> TensorList {
                                      return (*static_cast<const Body*>(b))(in);
                                    }});
  }

 private:
  struct BodyRef {
    const void* body;
    TensorList (*run)(const void* body, const TensorList& inputs);
  };
  TensorList call(TensorList inputs, BodyRef body) const;
  ModuleHooks& own_hooks();
  void visit(Fields& visitor) const;
  void locate(Error& error) const;

  bool training_ = true;
  bool frozen_ = false;
  std::shared_ptr<const ModuleHooks> hooks_;  // null for none
};

// A copy with its own parameters, buffers and inner modules; a plain copy shares them. Tied tensors stay
// tied. Throws Error naming a member that the copy would share, see Module::unshare().
template <class M>
requires std::derived_from<M, Module> M clone(const M& module) {
  M copy = module;
  copy.separate_from(module);
  return copy;
}

// Makes a leaf that a module trains: it requires a gradient, and backward() throws if no fields() lists it.
// `initial` may be any tensor of a float dtype; its memory is shared.
Tensor parameter(const Tensor& initial);

}  // namespace veldt::nn
