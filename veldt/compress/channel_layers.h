// What a layer without layers inside does with the channels that it is given.
// Tests: tests/compress/channels_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/compress/layout.h"
#include "veldt/nn/module.h"

namespace veldt::compress {

using Layouts = std::vector<Layout>;

// A layer at its path, and the one call of it.
struct LayerCall {
  Groups& groups;
  const std::string& path;
  const nn::Module& module;
  const TensorList &inputs, &outputs;  // empty if it was not called once
};

inline std::string in_path(const std::string& path, const std::string& name) {
  return path.empty() ? name : name.empty() ? path : path + '.' + name;
}

// A value whose channels no layer that can be followed makes: they are fixed.
Layout unmade(Groups& groups, const Tensor& value, const std::string& why);
// What a layer that cannot be followed reads and makes: both are fixed.
Layout not_followed(const LayerCall& call, const Layouts& in);
// Notes the parts of the layer's tensors, and returns the layout of its output.
Layout through_layer(const LayerCall& call, const Layouts& in);

}  // namespace veldt::compress
