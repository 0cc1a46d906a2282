// Chooses the reader of a network's tensors by the first bytes of the file, and joins those of several files.
#include "veldt/io/state.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "veldt/core/error.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/io/magic.h"
#include "veldt/io/npy.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/torch_file.h"
#include "veldt/io/zip.h"

namespace veldt::io {
namespace {

// An index of the 92,000 tensors of DeepSeek-V3 has 9 MB, and no known one more.
constexpr std::size_t kMaxIndexBytes = std::size_t{1} << 24;

// A zip archive whose members are all arrays.
bool is_npz(const std::string& path) {
  const ZipReader archive(path);
  const auto& entries = archive.entries();
  return !entries.empty() && std::all_of(entries.begin(), entries.end(),
                                         [](const ZipEntry& entry) { return entry.name.ends_with(".npy"); });
}

LoadedState of_npz(const std::string& path) {
  LoadedState state{.format = "NumPy, npz"};
  state.tensors = read_npz(path, &state.converted);
  return state;
}

LoadedState of_safetensors(const std::string& path) {
  SafeTensors read = read_safetensors(path);
  return {.tensors = std::move(read.tensors),
          .format = "safetensors",
          .converted = std::move(read.converted),
          .metadata = std::move(read.metadata)};
}

LoadedState of_one_file(const std::string& path, const std::string& head, const LoadOptions& options) {
  if (head.starts_with("PK") && is_npz(path)) return of_npz(path);
  // Eight bytes of length, then a JSON object.
  if (head.size() > 8 && head[8] == '{') return of_safetensors(path);
  const auto refused = [&](const std::string& why) {
    return IoError(IoError::Kind::malformed, "cannot read " + path, why,
                   "give tensors of a network: .safetensors, PyTorch's .pt, .pth and .bin, or NumPy's .npz");
  };
  if (head.empty()) throw refused(seems_to_be(head));
  // Pickles of protocol 0 and 1 begin with no word of their own, and what begins with another's is none.
  const bool is_marked = head.starts_with("PK") || head.starts_with('\x80');
  if (!is_marked && (!known_content(head).empty() || is_onnx(head)))
    throw refused(is_onnx(head) ? "it seems to be an ONNX graph" : seems_to_be(head));
  try {
    return read_torch(path, options);
  } catch (const IoError& error) {
    if (is_marked || error.kind() != IoError::Kind::malformed || seems_to_be(head) != "it seems to be text")
      throw;
    throw refused(seems_to_be(head));
  }
}

std::string head_of(const std::string& path) {
  InputFile file(path);
  std::string head(std::min<std::uint64_t>(file.size(), kMagicBytes), '\0');
  file.read_exactly(head.data(), head.size());
  return head;
}

// ---- an index of several files ----

IoError malformed_index(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, "cannot read the index " + path, why, "download it and its files again"};
}

// {"metadata": .., "weight_map": {tensor: file}}: the files, and the tensors that they should have.
std::pair<std::set<std::string>, std::set<std::string>> parse_index(const std::string& path) {
  const auto json = parse_json<nlohmann::json>(read_file(path, kMaxIndexBytes), 4, kMaxIndexBytes);
  if (!json.contains("weight_map") || !json["weight_map"].is_object() || json["weight_map"].empty())
    throw malformed_index(path, "it has no weight_map from tensors to files");
  std::set<std::string> files, tensors;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    // A plain name: an index must not send its reader to other folders.
    if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..")
      throw malformed_index(
          path, str("tensor ", tensor, " is in '", name, "', which is no name of a file beside it"));
    files.insert(name);
    tensors.insert(tensor);
  }
  return {files, tensors};
}

LoadedState of_index(const std::string& path, const LoadOptions& options) {
  const auto [files, wanted] = parse_index(path);
  LoadedState all;
  std::set<std::string> found;
  for (const std::string& file : files) {
    const std::string shard = parent_of(path) + "/" + file;
    LoadedState part = of_one_file(shard, head_of(shard), options);
    for (NamedTensor& named : part.tensors) {
      if (!found.insert(named.name).second)
        throw malformed_index(path, str("tensor ", named.name, " is in two of its files"));
      all.tensors.push_back(std::move(named));
    }
    std::move(part.converted.begin(), part.converted.end(), std::back_inserter(all.converted));
    std::move(part.left_out.begin(), part.left_out.end(), std::back_inserter(all.left_out));
    all.metadata.merge(part.metadata);
    all.taken = part.taken;
    all.format = part.format;
  }
  for (const std::string& name : wanted)
    if (!found.contains(name)) throw malformed_index(path, str("no file of it has the tensor ", name));
  all.format += str(", ", files.size(), files.size() == 1 ? " file" : " files");
  return all;
}

// The file of a folder that holds its network, as transformers and diffusers name it.
std::string state_in(const std::string& folder) {
  for (const char* name :
       {"model.safetensors.index.json", "model.safetensors", "pytorch_model.bin.index.json",
        "pytorch_model.bin", "diffusion_pytorch_model.safetensors.index.json",
        "diffusion_pytorch_model.safetensors"})
    if (exists(folder + "/" + name)) return folder + "/" + name;
  throw IoError(IoError::Kind::missing, "cannot read " + folder,
                "it is a directory without model.safetensors, its index, or pytorch_model.bin",
                "give the file in it that holds the weights");
}

}  // namespace

LoadedState load_state(const std::string& given, const LoadOptions& options) {
  const std::string path = is_directory(given) ? state_in(given) : given;
  const std::string head = head_of(path);
  if (head.starts_with('{')) return of_index(path, options);
  return of_one_file(path, head, options);
}

}  // namespace veldt::io
