// SHA-256 (FIPS 180-4) by OpenSSL's libcrypto, which is opened when it is first used.
// Tests: tests/data/fetch_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace veldt::data {

class Sha256 {
 public:
  Sha256();  // throws Error on a machine without libcrypto
  void update(const void* data, std::size_t bytes);
  // The hash of all bytes so far as 64 hexadecimal digits. Nothing can be added after it.
  std::string text();

 private:
  std::shared_ptr<void> context_;
};

// Throws IoError missing if there is no such file. `on_progress` gets the number of bytes read so far and the
// total; an exception ends the reading.
std::string sha256_of_file(
    const std::string& path,
    const std::function<void(std::uint64_t bytes, std::uint64_t of)>& on_progress = {});

}  // namespace veldt::data
