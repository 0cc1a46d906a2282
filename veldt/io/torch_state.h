// Which part of a checkpoint of PyTorch's is the network's state, and the tensors in it by name. Only
// for torch_read.cpp.
// Tests: tests/io/torch_file_test.cpp, tests/fuzz/torch.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/io/loaded_state.h"
#include "veldt/io/torch_tensor.h"

namespace veldt::io {

struct NamedValue {
  std::string name;
  PickleRef value;
};

struct TorchState {
  std::vector<NamedValue> tensors;  // values of TorchPickle::is_tensor()
  std::string taken;
  std::vector<LeftOut> left_out;
};

// `take`: LoadOptions::take. Throws IoError malformed if there are no tensors; for names that are too long or
// met twice, for dicts that nest too deep or in circles; ConfigError for a `take` that is not there.
TorchState find_state(const TorchPickle& torch, const std::string& file, const std::string& take);

}  // namespace veldt::io
