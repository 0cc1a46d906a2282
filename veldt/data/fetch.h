// Downloads files of data sets into a folder, and keeps them if their hashes are right.
// Tests: tests/data/fetch_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace veldt::data {

struct FetchOptions {
  std::string url;     // http:// or https://
  std::string sha256;  // of the file, 64 hexadecimal digits
  std::string name;    // its name in the folder
  std::string folder;  // created if it is missing; the command uses veldt in XDG's cache
  std::uint64_t max_bytes = std::uint64_t{1} << 32;
  // Called with the number of bytes received and the total, which is 0 if unknown. An exception ends the
  // download.
  std::function<void(std::uint64_t bytes, std::uint64_t of)> on_progress = {};
  // The same for a file that is there already, while its hash is computed.
  std::function<void(std::uint64_t bytes, std::uint64_t of)> on_check = {};
};

// The path of the file. It is downloaded by libcurl unless the folder has it with that hash. The file is
// complete or absent, and leftovers of killed processes are removed. Libcurl reads proxies from the
// environment. Gives up after half a minute below 1000 bytes a second. Throws ConfigError for an invalid
// address, hash or name; IoError missing if it cannot be downloaded, saying how to get it by hand; malformed
// for another hash, which it names, and for more than max_bytes; unwritable, before the download if the
// server reports a size that the disk has no space for; Error on a machine without libcurl or libcrypto.
std::string fetch(const FetchOptions& options);

}  // namespace veldt::data
