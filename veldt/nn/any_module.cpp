// Containers' modules: their names and their copies.
#include "veldt/nn/any_module.h"

#include "veldt/core/error.h"

namespace veldt::nn {

void AnyModule::check() const {
  if (!module_)
    throw Error("cannot add a null layer", "the pointer holds no module", "make the module first");
}

void AnyModule::unshare(std::string_view name) {
  std::shared_ptr<Module> copy = copy_(*module_);
  if (!copy)
    throw Error(str("cannot clone layer ", name, ", a ", module_->title()),
                "it was added as a type other than its own, or cannot be copied",
                "add it by value, or as a shared_ptr to its own type");
  module_ = std::move(copy);
}

void NamedLayers::add(std::string name, AnyModule module) {
  if ((name.empty() && !layers_.empty()) || name.find('.') != std::string::npos)
    throw Error(str("no layer can have the name \"", name, '"'),
                "names are joined by dots into those of parameters", "give one or more other characters");
  for (const NamedLayer& layer : layers_)
    if (layer.name == name)
      throw Error(str("there is a layer ", name, " already, a ", layer.module->title()),
                  "its parameters would have the same names", "give another name");
  layers_.push_back({std::move(name), std::move(module)});
}

const AnyModule& NamedLayers::at(std::string_view name) const {
  std::string known;
  for (const NamedLayer& layer : layers_) {
    if (layer.name == name) return layer.module;
    known += (known.empty() ? "" : ", ") + layer.name;
  }
  throw Error(str("there is no layer ", name), str("there are ", known.empty() ? "none" : known),
              "give one of these");
}

const AnyModule& NamedLayers::at(std::size_t i) const {
  if (i >= layers_.size())
    throw Error(str("there is no layer ", i), str("there are ", layers_.size()), "count from 0");
  return layers_[i].module;
}

void NamedLayers::list(Fields& f) {
  for (NamedLayer& layer : layers_) layer.module.list(f, layer.name);
}

void NamedLayers::unshare() {
  for (NamedLayer& layer : layers_) layer.module.unshare(layer.name);
}

}  // namespace veldt::nn
