// Files that may be compressed by gzip (RFC 1952), which their first bytes tell.
// Tests: tests/io/idx_test.cpp, tests/fuzz/arrays.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace veldt::io {

class GzipFile {
 public:
  // Throws IoError missing, as InputFile does.
  explicit GzipFile(const std::string& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  const std::string& path() const;
  // How many bytes it can hold at most: its size, or, compressed, 1032 times as many (deflate packs no
  // tighter).
  std::uint64_t most_bytes() const;
  // Reads up to `bytes`, fewer only at the end; returns how many. Throws IoError malformed where the
  // compressed bytes are damaged or cut off; checksums are verified.
  std::size_t read(void* to, std::size_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veldt::io
