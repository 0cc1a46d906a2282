// Finds a tensor of a file by name.
#include "veldt/io/loaded_state.h"

namespace veldt::io {

const Tensor* LoadedState::find(const std::string& name) const {
  for (const NamedTensor& named : tensors)
    if (named.name == name) return &named.tensor;
  return nullptr;
}

}  // namespace veldt::io
