// Reads a file through zlib if it is compressed, and directly if not.
#include "veldt/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "veldt/core/error.h"
#include "veldt/io/file.h"

namespace veldt::io {

struct GzipFile::State {
  explicit State(const std::string& path) : file(path) {}
  ~State() {
    if (compressed) inflateEnd(&stream);
  }

  [[noreturn]] void damaged(const std::string& why) const {
    throw IoError(IoError::Kind::malformed, "cannot read " + file.path(), why,
                  "copy or download the file again");
  }

  // Refills the buffer of packed bytes, unless the file has ended.
  void refill() {
    if (stream.avail_in > 0) return;
    stream.next_in = packed;
    stream.avail_in = static_cast<uInt>(file.read(packed, sizeof packed));
  }

  std::size_t unpack(void* to, std::size_t bytes) {
    stream.next_out = static_cast<Bytef*>(to);
    std::size_t left = bytes;
    while (left > 0) {
      refill();
      if (member_over) {
        if (stream.avail_in == 0) break;
        inflateReset(&stream);  // a file may have several members in sequence
        member_over = false;
      }
      if (stream.avail_in == 0) damaged("its compressed bytes are cut off");
      const auto room = static_cast<uInt>(std::min<std::size_t>(left, 1u << 30));
      stream.avail_out = room;
      const int status = inflate(&stream, Z_NO_FLUSH);
      left -= room - stream.avail_out;
      if (status == Z_STREAM_END)
        member_over = true;
      else if (status != Z_OK)
        damaged(
            str("its compressed bytes are damaged", stream.msg != nullptr ? str(" (", stream.msg, ")") : ""));
    }
    return bytes - left;
  }

  InputFile file;
  bool compressed = false, member_over = false;
  z_stream stream{};
  unsigned char packed[1 << 16];
};

GzipFile::GzipFile(const std::string& path) : state_(std::make_unique<State>(path)) {
  unsigned char magic[2] = {};
  const std::size_t got = state_->file.read(magic, sizeof magic);
  state_->file.seek(0);
  if (got < sizeof magic || magic[0] != 0x1f || magic[1] != 0x8b) return;
  constexpr int kGzipAlone = 16;
  if (inflateInit2(&state_->stream, 15 + kGzipAlone) != Z_OK)
    throw OutOfMemory("cannot read " + path, "there is no memory for zlib", "close other programs");
  state_->compressed = true;
}

GzipFile::~GzipFile() = default;

const std::string& GzipFile::path() const { return state_->file.path(); }

std::uint64_t GzipFile::most_bytes() const {
  const std::uint64_t size = state_->file.size();
  return state_->compressed ? (size > UINT64_MAX / 1032 ? UINT64_MAX : size * 1032) : size;
}

std::size_t GzipFile::read(void* to, std::size_t bytes) {
  return state_->compressed ? state_->unpack(to, bytes) : state_->file.read(to, bytes);
}

}  // namespace veldt::io
