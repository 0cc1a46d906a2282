// Files that may be compressed by gzip (RFC 1952), recognised by their first bytes.
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
  // The maximum number of unpacked bytes: its size, or 1032 times that if it is compressed (the limit of
  // deflate).
  std::uint64_t most_bytes() const;
  // Reads up to `bytes`, fewer only at the end; returns how many. Throws IoError malformed if the compressed
  // bytes are damaged or cut off; checksums are verified.
  std::size_t read(void* to, std::size_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veldt::io
