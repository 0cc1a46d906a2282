// The tensors of a network that a file holds, and what reading it found: read_torch and load_state return it.
// Tests: tests/io/torch_file_test.cpp, tests/io/state_test.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

#include "veldt/io/file_dtype.h"
#include "veldt/tensor/named.h"

namespace veldt::io {

// Something in a file that is no tensor of the state: another one's, an optimizer, a number of epochs.
struct LeftOut {
  std::string name;  // where it is: "optimizer", "epoch"
  std::string what;  // "412 tensors", "3", "argparse.Namespace"
};

struct LoadedState {
  NamedTensors tensors = {};  // as the file names them; a dict in a dict has both names, joined by a dot
  std::string format = {};    // "PyTorch's zip format", "safetensors" ..
  std::string taken = {};     // the key that holds the state, "state_dict"; "" if it is all of the file
  std::vector<ConvertedTensor> converted = {};
  std::vector<LeftOut> left_out = {};
  std::map<std::string, std::string> metadata = {};  // of safetensors

  // Null if there is none of this name.
  const Tensor* find(const std::string& name) const;
};

struct LoadOptions {
  // Of PyTorch's files: the key that holds the state, "model_ema", or with dots one in another. Without it
  // the conventional ones are looked for: LoadedState::taken says which was found.
  std::string take = {};
  // Classes whose objects a pickle may have beside the tensors, though Veldt does not know them:
  // "omegaconf.dictconfig.DictConfig". Nothing is made or called of these either; they are passed over.
  std::vector<std::string> pass_over = {};
};

}  // namespace veldt::io
