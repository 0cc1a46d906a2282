// A picture's file byte by byte, through a buffer: for Veldt's own readers.
// Tests: tests/io/bmp_test.cpp, tests/io/gif_test.cpp, tests/io/pnm_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/io/file.h"
#include "veldt/io/image.h"

namespace veldt::io {

class ByteReader {
 public:
  ByteReader(InputFile& file, ImageFormat format) : file_(file), format_(format) {}

  std::uint64_t size() const { return file_.size(); }
  std::uint64_t position() const { return buffer_end_ - (buffer_.size() - next_); }
  bool at_end() const { return position() == size(); }
  // Each throws IoError malformed beyond the end of the file.
  unsigned byte() {
    if (next_ == buffer_.size()) fill();
    return buffer_[next_++];
  }
  std::uint32_t little_endian(int bytes);  // up to 4 of them
  void read(unsigned char* to, std::uint64_t bytes);
  void seek(std::uint64_t position);  // from the beginning
  void skip(std::uint64_t bytes);

  [[noreturn]] void fail(const std::string& why) const;

 private:
  void fill();

  InputFile& file_;
  ImageFormat format_;
  std::vector<unsigned char> buffer_;
  std::size_t next_ = 0;          // of the buffer
  std::uint64_t buffer_end_ = 0;  // in the file
};

}  // namespace veldt::io
