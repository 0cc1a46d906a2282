// A module of any type, held by containers.
// Tests: tests/nn/sequential_test.cpp, tests/nn/containers_test.cpp
#pragma once

#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "veldt/nn/module.h"

namespace veldt::nn {

// Made of a module by copy, which shares its parameters, or of a pointer to one. Copies share the module.
class AnyModule {
 public:
  template <class M>
  requires std::derived_from<std::decay_t<M>, Module> AnyModule(M&& module)  // NOLINT: any module is one
      : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
  // Throws Error for a null pointer.
  template <class M>
  requires std::derived_from<M, Module> AnyModule(std::shared_ptr<M> module)  // NOLINT: any module is one
      : module_(std::move(module)), copy_(&copy_of<M>) {
    check();
  }

  Module& operator*() const { return *module_; }
  Module* operator->() const { return module_.get(); }
  // As a member of that name.
  void list(Fields& f, std::string_view name) { f(name, module_); }
  // For Module::unshare(): holds a copy of its own. Throws Error, naming it, for a module that was given
  // through a pointer to a base, or whose type cannot be copied.
  void unshare(std::string_view name);

 private:
  template <class M> static std::shared_ptr<Module> copy_of(const Module& module) {
    if constexpr (std::is_copy_constructible_v<M>)
      if (typeid(module) == typeid(M)) return std::make_shared<M>(static_cast<const M&>(module));
    return nullptr;
  }
  void check() const;

  std::shared_ptr<Module> module_;
  std::shared_ptr<Module> (*copy_)(const Module&);  // null if the type cannot be copied
};

// A module and its name in a container.
struct NamedLayer {
  std::string name;
  AnyModule module;
};

// Modules of a container, each under a name of its own.
class NamedLayers {
 public:
  // Throws Error for a name that is taken or has a dot, and for an empty one unless it is the first: that
  // module's members are named as if they were the container's.
  void add(std::string name, AnyModule module);
  std::size_t size() const { return layers_.size(); }
  auto begin() const { return layers_.begin(); }
  auto end() const { return layers_.end(); }
  // Throws Error for one that does not exist, listing the names.
  const AnyModule& at(std::string_view name) const;
  const AnyModule& at(std::size_t i) const;
  void list(Fields& f);
  void unshare();

 private:
  std::vector<NamedLayer> layers_;
};

}  // namespace veldt::nn
