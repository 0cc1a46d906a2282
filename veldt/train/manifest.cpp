// Writes and checks the list of a checkpoint's files, and says which of them is damaged.
#include "veldt/train/manifest.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "veldt/io/digest.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/train/checkpoint.h"

namespace veldt::train {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "veldt-checkpoint";
constexpr const char* kFix = "resume from an older checkpoint, or restore this one from a backup";

IoError corrupt(const std::string& file, const std::string& why) {
  return {IoError::Kind::corrupt, file + " is damaged", why, kFix};
}

// The digest of a manifest without its own digest. This method must never change, so that a newer manifest
// can be distinguished from a damaged one.
std::string self_digest(json manifest) {
  manifest.erase("xxh3");
  const std::string text = io::dump_json(manifest);
  return io::digest_of(text.data(), text.size());
}

struct Manifest {
  std::int64_t step = 0;
  int version = 0;
  std::map<std::string, io::FileDigest> files;
};

// Throws corrupt unless the value is a T.
template <class T> T whole(const std::string& path, const json& value) {
  if (const auto number = io::whole_number<T>(value)) return *number;
  throw corrupt(path, str(io::dump_json(value).substr(0, 80), " is in place of a whole number"));
}

// Fills `manifest`; throws json::exception for a missing or mistyped entry.
void extract(const std::string& path, const json& text, Manifest& manifest) {
  manifest.step = whole<std::int64_t>(path, text.at("step"));
  if (manifest.step < 0) throw corrupt(path, str("its step is ", manifest.step));
  for (const auto& [name, digest] : text.at("files").items())
    manifest.files[name] = {whole<std::uint64_t>(path, digest.at("bytes")),
                            digest.at("xxh3").get<std::string>()};
}

Manifest read_manifest(const std::string& directory) {
  const std::string path = str(directory, "/", kManifestFile);
  json text;
  try {
    text = io::parse_json<json>(io::read_file(path, io::kMaxJsonBytes));
  } catch (const IoError& error) {
    throw corrupt(path, error.why());
  }
  // As a string: nlohmann's comparison with a character pointer allocates memory but must not throw.
  if (!text.is_object() || text.value("format", json()) != std::string(kFormat) ||
      text.value("xxh3", json()) != self_digest(text))
    throw corrupt(path, "it has changed since it was written");
  Manifest manifest;
  try {
    manifest.version = whole<int>(path, text.at("version"));
    if (manifest.version > kCheckpointVersion)
      throw NewerVersion(
          IoError::Kind::corrupt, str(directory, " is a checkpoint of version ", manifest.version),
          str("this Veldt reads versions up to ", kCheckpointVersion), "use the Veldt that wrote it");
    extract(path, text, manifest);
  } catch (const json::exception& error) {
    throw corrupt(path, error.what());
  }
  return manifest;
}

// The reason why a safetensors file has a wrong digest: the tensor whose bytes have changed, if that can be
// determined.
std::string find_damage(const std::string& path) {
  try {
    io::read_safetensors(path);
  } catch (const IoError& error) {
    return error.summary();
  } catch (const Error&) {
  }
  return "its XXH3 is not the one in the manifest";
}

void verify_file(const std::string& path, const io::FileDigest& expected) {
  io::FileDigest found;
  try {
    found = io::digest_file(path);
  } catch (const IoError& error) {
    throw corrupt(path, error.why());
  }
  if (found.bytes != expected.bytes)
    throw corrupt(path, str("it has ", found.bytes, " bytes and had ", expected.bytes));
  if (found.xxh3 != expected.xxh3)
    throw corrupt(
        path, path.ends_with(".safetensors") ? find_damage(path) : "its XXH3 is not the one in the manifest");
}

}  // namespace

void write_manifest(const std::string& directory, std::int64_t step) {
  json manifest = {{"format", kFormat}, {"version", kCheckpointVersion}, {"step", step}};
  json files = json::object();  // created as an object: [] on a null value crashes if memory runs out
  for (const char* file : kCheckpointFiles) {
    const io::FileDigest digest = io::digest_file(str(directory, "/", file));
    files[file] = json{{"bytes", digest.bytes}, {"xxh3", digest.xxh3}};
  }
  manifest["files"] = std::move(files);
  manifest["xxh3"] = self_digest(manifest);
  io::write_file(str(directory, "/", kManifestFile), io::dump_json(manifest, 2) + "\n");
}

CheckpointInfo verify_checkpoint(const std::string& path) {
  if (!io::is_directory(path))
    throw IoError(IoError::Kind::missing, "there is no checkpoint at " + path, "it is not a directory",
                  "give the path of a directory named ckpt-<step>");
  const Manifest manifest = read_manifest(path);
  CheckpointInfo info{.path = path, .step = manifest.step, .version = manifest.version};
  for (const char* file : kCheckpointFiles) {
    const auto expected = manifest.files.find(file);
    if (expected == manifest.files.end()) throw corrupt(path, str("its manifest does not list ", file));
    verify_file(str(path, "/", file), expected->second);
    info.files[file] = expected->second.bytes;
  }
  return info;
}

CheckpointData read_checkpoint(const std::string& path) {
  const CheckpointInfo info = verify_checkpoint(path);
  CheckpointData data;
  data.step = info.step;
  io::SafeTensors model = io::read_safetensors(path + "/model.safetensors");
  data.model = std::move(model.tensors);
  data.model_metadata = std::move(model.metadata);
  data.optim = io::read_safetensors(path + "/optim.safetensors").tensors;
  data.state_json = io::read_file(path + "/state.json");
  return data;
}

}  // namespace veldt::train
