// SHA-256 (FIPS 180-4) by OpenSSL's libcrypto, which is opened when it is first used.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace veldt::data {

class Sha256 {
 public:
  Sha256();  // throws Error on a machine without libcrypto
  void update(const void* data, std::size_t bytes);
  // Of all so far: 64 hexadecimal digits. Nothing can be added behind it.
  std::string text();

 private:
  std::shared_ptr<void> context_;
};

// Throws IoError missing if there is no such file.
std::string sha256_of_file(const std::string& path);

}  // namespace veldt::data
