// The program of all fuzz targets, over libFuzzer:
//   veldt_fuzz                        lists the targets
//   veldt_fuzz TARGET --seeds DIR     writes what to begin with into DIR, and what to try into DIR.dict
//   veldt_fuzz TARGET FLAGS AND FILES of libFuzzer
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "tests/fuzz/target.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/tensor/backends.h"

// Known leaks in other libraries, each by the function's name, so that nothing else is suppressed.
// vorbis_info_init: libsndfile to 1.2.2 at least does not give back what it set up for an Ogg that it
// refuses. x265_malloc: an encoder of x265 3.5, which makes pictures to begin with, keeps what it counted.
// heif_image_create, libdav1d: libheif 1.15 gives nothing back of an AV1 picture within a HEIC that does not
// fit it.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:vorbis_info_init\nleak:x265_malloc\nleak:heif_image_create\nleak:libdav1d.so\n";
}  // NOLINT: its name

namespace veldt::fuzz {
namespace {

constexpr const char* kVariable = "VELDT_FUZZ_TARGET";  // for the processes that libFuzzer starts itself

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> joined;
    for (const auto& family :
         {picture_targets(), sound_targets(), array_targets(), text_targets(), live_targets(),
          model_targets(), command_targets(), torch_targets(), packed_targets()})
      joined.insert(joined.end(), family.begin(), family.end());
#if VELDT_HAVE_ONNX
    for (const Target& target : onnx_targets()) joined.push_back(target);
#endif
    return joined;
  }();
  return all;
}

const Target* find_target(std::string_view name) {
  for (const Target& target : targets())
    if (target.name == name) return &target;
  return nullptr;
}

const Target* chosen = nullptr;

const test::TempDir& folder() {
  static const test::TempDir dir;
  return dir;
}

// A dictionary of libFuzzer's.
std::string quoted(const std::string& word) {
  std::string text = "\"";
  for (const char c : word) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += escaped;
  }
  return text + "\"\n";
}

void write_seeds(const Target& target, const std::string& directory) {
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const std::string& seed : target.seeds())
    test::put_bytes(directory + "/seed_" + std::to_string(number++), seed);
  std::string words;
  if (target.words != nullptr)
    for (const std::string& word : target.words()) words += quoted(word);
  test::put_bytes(directory + ".dict", words);
}

}  // namespace

const std::string& file_of(const std::string& bytes) {
  static const std::string path = scratch("input");
  test::put_bytes(path, bytes);
  return path;
}

std::string scratch(const std::string& name) { return folder() / name; }

std::string bytes_of_file(const std::string& path) { return test::bytes_of(path); }

std::vector<std::string> files_in(const std::string& name, const std::string& ending) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(VELDT_SOURCE "/" + name))
    if (entry.path().string().ends_with(ending)) files.push_back(bytes_of_file(entry.path().string()));
  return files;
}

std::vector<std::string> split(const std::string& bytes, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.find(at, begin), bytes.size());
    parts.push_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "veldt_fuzz: it does not hold that %s\n", property);
  std::abort();
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && a.bytes() == b.bytes();
}

}  // namespace veldt::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using namespace veldt::fuzz;
  veldt::set_num_threads(1);
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);  // the settings of whoever runs it are not the targets'
  const char* name = std::getenv(kVariable);
  if (name == nullptr && *argc > 1) name = (*argv)[1];
  if (name != nullptr) chosen = find_target(name);
  if (chosen == nullptr) {
    for (const Target& target : targets()) std::printf("%s\n", target.name);
    std::exit(name == nullptr ? 0 : 2);
  }
  if (*argc > 1 && std::string_view((*argv)[1]) == name) {
    for (int i = 1; i < *argc; ++i) (*argv)[i] = (*argv)[i + 1];
    --*argc;
  }
  ::setenv(kVariable, chosen->name, 1);
  if (*argc == 3 && std::string_view((*argv)[1]) == "--seeds") {
    write_seeds(*chosen, (*argv)[2]);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  try {
    veldt::fuzz::chosen->read({reinterpret_cast<const char*>(data), bytes});
  } catch (const veldt::Error&) {
  }
  // What the pool would keep for the next one could be used after its end unseen.
  veldt::pool(veldt::Device{}).trim();
  return 0;
}
