// Calls xxHash, piece by piece and over whole files.
#include "veldt/io/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/file.h"

namespace veldt::io {
namespace {

std::string hexadecimal(const XXH128_hash_t& hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

std::string digest_of(const void* data, std::size_t bytes) { return hexadecimal(XXH3_128bits(data, bytes)); }

struct Digest::State {
  XXH3_state_t* xxh3 = XXH3_createState();
  ~State() { XXH3_freeState(xxh3); }
};

Digest::Digest() : state_(std::make_unique<State>()) {
  if (!state_->xxh3) throw OutOfMemory("cannot hash", "no memory for the state of XXH3", "free some memory");
  XXH3_128bits_reset(state_->xxh3);
}
Digest::~Digest() = default;
void Digest::update(const void* data, std::size_t bytes) { XXH3_128bits_update(state_->xxh3, data, bytes); }
std::string Digest::text() const { return hexadecimal(XXH3_128bits_digest(state_->xxh3)); }

FileDigest digest_file(const std::string& path) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  InputFile file(path);
  std::vector<char> chunk(kChunk);
  Digest digest;
  std::uint64_t bytes = 0;
  while (const std::size_t got = file.read(chunk.data(), chunk.size())) {
    digest.update(chunk.data(), got);
    bytes += got;
  }
  return {.bytes = bytes, .xxh3 = digest.text()};
}

}  // namespace veldt::io
