// The tensors of a network from a file of any kind that holds some: the one call for weights from elsewhere.
// Tests: tests/io/state_test.cpp
#pragma once

#include <string>

#include "veldt/io/loaded_state.h"

namespace veldt::io {

// Reads by content, not by name: PyTorch's files (read_torch), safetensors (read_safetensors), NumPy's
// archives (read_npz), and an index of several such files, "model.safetensors.index.json", or the folder that
// has it. Throws what those do, and IoError malformed for another kind of file.
LoadedState load_state(const std::string& path, const LoadOptions& options = {});

}  // namespace veldt::io
