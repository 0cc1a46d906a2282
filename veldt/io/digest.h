// XXH3 with 128 bits (Collet, xxhash.com): detects damaged files. It does not detect forgery.
// Tests: tests/io/file_test.cpp, tests/train/checkpoint_test.cpp, tests/io/safetensors_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace veldt::io {

// 32 hexadecimal digits.
std::string digest_of(const void* data, std::size_t bytes);

// The same for bytes in several parts.
class Digest {
 public:
  Digest();  // throws OutOfMemory
  ~Digest();
  void update(const void* data, std::size_t bytes);
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct FileDigest {
  std::uint64_t bytes = 0;
  std::string xxh3;
};
// Reads the file through. Throws IoError missing.
FileDigest digest_file(const std::string& path);

}  // namespace veldt::io
