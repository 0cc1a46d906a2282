#include "veldt/io/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>
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

FileDigest digest_file(const std::string& path) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  InputFile file(path);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              &XXH3_freeState);
  if (!state) throw OutOfMemory("cannot hash " + path, "no memory for the state of XXH3", "free some memory");
  XXH3_128bits_reset(state.get());
  std::vector<char> chunk(kChunk);
  FileDigest digest;
  while (const std::size_t got = file.read(chunk.data(), chunk.size())) {
    XXH3_128bits_update(state.get(), chunk.data(), got);
    digest.bytes += got;
  }
  digest.xxh3 = hexadecimal(XXH3_128bits_digest(state.get()));
  return digest;
}

}  // namespace veldt::io
