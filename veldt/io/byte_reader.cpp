// Reads numbers and bytes of a file in order, skips gaps, and never reads beyond the end.
#include "veldt/io/byte_reader.h"

#include <algorithm>

#include "veldt/io/image_codec.h"

namespace veldt::io {

void ByteReader::fail(const std::string& why) const { throw damaged_picture(file_.path(), format_, why); }

void ByteReader::fill() {
  buffer_.resize(std::size_t{1} << 16);
  buffer_.resize(file_.read(buffer_.data(), buffer_.size()));
  buffer_end_ += buffer_.size();
  next_ = 0;
  if (buffer_.empty()) fail("the file ends too early");
}

std::uint32_t ByteReader::little_endian(int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= std::uint32_t{byte()} << (8 * i);
  return value;
}

void ByteReader::read(unsigned char* to, std::uint64_t bytes) {
  while (bytes > 0) {
    if (next_ == buffer_.size()) fill();
    const std::uint64_t part = std::min<std::uint64_t>(bytes, buffer_.size() - next_);
    to = std::copy_n(buffer_.data() + next_, part, to);
    next_ += part;
    bytes -= part;
  }
}

void ByteReader::seek(std::uint64_t position) {
  if (position > size()) fail("the file ends too early");
  const std::uint64_t begin = buffer_end_ - buffer_.size();
  if (position >= begin && position <= buffer_end_) {
    next_ = position - begin;
    return;
  }
  file_.seek(position);
  buffer_.clear();
  next_ = 0;
  buffer_end_ = position;
}

void ByteReader::skip(std::uint64_t bytes) {
  if (bytes > size() - position()) fail("the file ends too early");
  seek(position() + bytes);
}

}  // namespace veldt::io
