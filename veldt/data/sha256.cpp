// Calls libcrypto's SHA-256, piece by piece and over whole files.
#include "veldt/data/sha256.h"

#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/shared_library.h"

#if VELDT_HAVE_CRYPTO
#include <openssl/evp.h>
#endif

namespace veldt::data {

#if VELDT_HAVE_CRYPTO
namespace {

struct Crypto {
  decltype(&::EVP_MD_CTX_new) create = nullptr;
  decltype(&::EVP_MD_CTX_free) free = nullptr;
  decltype(&::EVP_sha256) sha256 = nullptr;
  decltype(&::EVP_DigestInit_ex) init = nullptr;
  decltype(&::EVP_DigestUpdate) update = nullptr;
  decltype(&::EVP_DigestFinal_ex) final = nullptr;

  Crypto() {
    const io::SharedLibrary file("libcrypto.so.3", "check what is downloaded", "libssl3");
    file.find(create, "EVP_MD_CTX_new");
    file.find(free, "EVP_MD_CTX_free");
    file.find(sha256, "EVP_sha256");
    file.find(init, "EVP_DigestInit_ex");
    file.find(update, "EVP_DigestUpdate");
    file.find(final, "EVP_DigestFinal_ex");
  }
};

const Crypto& crypto() {
  static const Crypto found;
  return found;
}

EVP_MD_CTX* in(const std::shared_ptr<void>& context) { return static_cast<EVP_MD_CTX*>(context.get()); }

// These calls fail only without memory, or if the machine's policy forbids SHA-256.
void check(int done) {
  if (done != 1)
    throw Error("cannot compute a SHA-256", "libcrypto refused it", "look at the machine's OpenSSL settings");
}

}  // namespace

Sha256::Sha256() : context_(crypto().create(), [](void* c) { crypto().free(static_cast<EVP_MD_CTX*>(c)); }) {
  check(context_ != nullptr && crypto().init(in(context_), crypto().sha256(), nullptr) == 1);
}

void Sha256::update(const void* data, std::size_t bytes) {
  check(crypto().update(in(context_), data, bytes));
}

std::string Sha256::text() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(crypto().final(in(context_), digest, &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

#else

Sha256::Sha256() {
  throw Error("this Veldt cannot check downloads", "it was built without libcrypto",
              "install libssl-dev, and build it again");
}
void Sha256::update(const void*, std::size_t) {}
std::string Sha256::text() { return {}; }

#endif

std::string sha256_of_file(const std::string& path,
                           const std::function<void(std::uint64_t bytes, std::uint64_t of)>& on_progress) {
  io::InputFile file(path);
  Sha256 hash;
  std::vector<char> part(std::size_t{1} << 16);
  std::uint64_t bytes = 0;
  while (const std::size_t got = file.read(part.data(), part.size())) {
    hash.update(part.data(), got);
    if (on_progress) on_progress(bytes += got, file.size());
  }
  return hash.text();
}

}  // namespace veldt::data
