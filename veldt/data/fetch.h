// Files of data sets from the network, kept in a folder under their names once their hashes are right.
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
  std::string folder;  // made if it is not there; the command's is veldt in XDG's cache
  std::uint64_t max_bytes = std::uint64_t{1} << 32;
  // Called with how many bytes have come, and of how many: 0 if the server does not say. What it throws
  // ends the download.
  std::function<void(std::uint64_t bytes, std::uint64_t of)> on_progress = {};
  // The same for a file that is there already, while its hash is computed.
  std::function<void(std::uint64_t bytes, std::uint64_t of)> on_check = {};
};

// The path of the file. It is downloaded by libcurl unless the folder has it with that hash, and is there
// whole or not at all; what a killed process left of it is removed. Libcurl reads proxies from the
// environment. Gives up after half a minute below 1000 bytes a second. Throws ConfigError for an invalid
// address, hash or name; IoError missing if it cannot be had, saying how to get it by hand; malformed for
// another hash, which it names, and for more than max_bytes; unwritable, before it begins if the server
// says how much will come and the disk has no room; Error on a machine without libcurl or libcrypto.
std::string fetch(const FetchOptions& options);

}  // namespace veldt::data
