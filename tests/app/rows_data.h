// A data set that a small network learns in a second: pictures in the files of MNIST.
#pragma once

#include <filesystem>
#include <random>
#include <string>

#include "tests/support/temp_dir.h"

namespace veldt::test {

inline void append_number(std::string& bytes, unsigned n) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((n >> shift) & 0xff);
}

// Ten kinds of pictures 10x10 in the files of MNIST: row k of kind k is bright, the rest is noise.
inline void put_rows(const std::string& folder, const std::string& part, unsigned count) {
  std::mt19937 random(count);
  std::string pictures("\0\0\10\3", 4), labels("\0\0\10\1", 4);
  for (const unsigned n : {count, 10U, 10U}) append_number(pictures, n);
  append_number(labels, count);
  for (unsigned i = 0; i < count; ++i) {
    labels += static_cast<char>(i % 10);
    for (unsigned p = 0; p < 100; ++p)
      pictures += static_cast<char>(random() % 100 + (p / 10 == i % 10 ? 100 : 0));
  }
  std::filesystem::create_directories(folder);
  put_bytes(folder + "/" + part + "-images-idx3-ubyte", pictures);
  put_bytes(folder + "/" + part + "-labels-idx1-ubyte", labels);
}

}  // namespace veldt::test
