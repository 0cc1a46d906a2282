// The manifest of a checkpoint: the sizes and XXH3 of its files, and its own XXH3. Only for checkpoint.cpp.
// Tests: tests/train/checkpoint_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/core/error.h"

namespace veldt::train {

inline constexpr int kCheckpointVersion = 1;
inline constexpr const char* kManifestFile = "MANIFEST.json";
inline constexpr const char* kCheckpointFiles[] = {"model.safetensors", "optim.safetensors", "state.json"};

// A complete checkpoint that a later Veldt wrote.
class NewerVersion : public IoError {
  using IoError::IoError;
};

// Writes the manifest of the files in `directory`.
void write_manifest(const std::string& directory, std::int64_t step);

}  // namespace veldt::train
