// Chooses the reader of a network's tensors by the first bytes of the file.
#include "veldt/io/state.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/magic.h"
#include "veldt/io/npy.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/torch_file.h"
#include "veldt/io/zip.h"

namespace veldt::io {
namespace {

// A zip archive whose members are all arrays.
bool is_npz(const std::string& path) {
  const ZipReader archive(path);
  const auto& entries = archive.entries();
  return !entries.empty() && std::all_of(entries.begin(), entries.end(),
                                         [](const ZipEntry& entry) { return entry.name.ends_with(".npy"); });
}

LoadedState of_safetensors(const std::string& path) {
  SafeTensors read = read_safetensors(path);
  return {.tensors = std::move(read.tensors), .format = "safetensors", .metadata = std::move(read.metadata)};
}

std::string head_of(const std::string& path) {
  InputFile file(path);
  std::string head(std::min<std::uint64_t>(file.size(), kMagicBytes), '\0');
  file.read_exactly(head.data(), head.size());
  return head;
}

}  // namespace

LoadedState load_state(const std::string& path, const LoadOptions& options) {
  const std::string head = head_of(path);
  if (head.starts_with("PK")) {
    if (is_npz(path)) return {.tensors = read_npz(path), .format = "NumPy, npz"};
    return read_torch(path, options);
  }
  // Eight bytes of length, then a JSON object.
  if (head.size() > 8 && head[8] == '{') return of_safetensors(path);
  return read_torch(path, options);
}

}  // namespace veldt::io
