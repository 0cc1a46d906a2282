// Writes zip archives.
#include "veldt/io/zip.h"

#include <zlib.h>

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/io/zip_format.h"

namespace veldt::io {
namespace {

// Consecutive little-endian numbers.
class Record {
 public:
  Record& put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 255);
    return *this;
  }
  Record& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

constexpr std::uint64_t kVersion = 45;        // of the format: zip64
constexpr std::uint64_t kDate = 0x0021'0000;  // 1980-01-01 00:00

std::uint64_t in_32(std::uint64_t value) { return std::min<std::uint64_t>(value, kIn64); }

// The common part of a member's own header and its entry in the directory.
void put_common(Record& record, const ZipEntry& entry, std::uint64_t extra_bytes) {
  const bool ascii = std::all_of(entry.name.begin(), entry.name.end(), [](char c) { return c >= 0; });
  record.put(kVersion, 2).put(ascii ? 0 : 0x800, 2).put(entry.deflated ? kZipDeflated : kZipStored, 2);
  record.put(kDate, 4).put(entry.crc, 4).put(in_32(entry.packed_bytes), 4).put(in_32(entry.bytes), 4);
  record.put(entry.name.size(), 2).put(extra_bytes, 2);
}

std::uint32_t crc_of(std::string_view head, std::string_view body) {
  uLong crc = 0;
  for (const std::string_view part : {head, body})
    if (!part.empty()) crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
  return static_cast<std::uint32_t>(crc);
}

// zlib counts in 32 bits, so long inputs are passed in parts.
std::string deflated(std::string_view head, std::string_view body) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw OutOfMemory("cannot compress", "no memory for zlib's state", "free some memory");
  std::string packed;
  std::string buffer(std::size_t{1} << 16, '\0');
  const auto feed = [&](std::string_view part, bool last) {
    constexpr std::size_t kPortion = std::size_t{1} << 30;
    do {
      const std::size_t bytes = std::min(part.size(), kPortion);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
      stream.avail_in = static_cast<uInt>(bytes);
      part.remove_prefix(bytes);
      do {
        stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream.avail_out = static_cast<uInt>(buffer.size());
        deflate(&stream, last && part.empty() ? Z_FINISH : Z_NO_FLUSH);
        packed.append(buffer, 0, buffer.size() - stream.avail_out);
      } while (stream.avail_out == 0);
    } while (!part.empty());
  };
  try {
    feed(head, false);
    feed(body, true);
  } catch (...) {
    deflateEnd(&stream);
    throw;
  }
  deflateEnd(&stream);
  return packed;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::string_view head, std::string_view body, bool deflate,
                    std::uint64_t align) {
  ZipEntry entry{.name = name, .deflated = deflate, .crc = crc_of(head, body)};
  entry.bytes = head.size() + body.size();
  const std::string packed = deflate ? deflated(head, body) : std::string();
  entry.packed_bytes = deflate ? packed.size() : entry.bytes;
  entry.begin = position_;
  const bool large = std::max(entry.bytes, entry.packed_bytes) >= kIn64;
  Record record;
  record.put(kZipMember, 4);
  // The padding is a field of its own, "FB" as PyTorch's, which takes four bytes at least.
  const std::uint64_t before = large ? 20 : 0, data = position_ + kZipMemberBytes + name.size() + before;
  std::uint64_t padding = (align - data % align) % align;
  while (padding > 0 && padding < 4) padding += align;
  put_common(record, entry, before + padding);
  record.text(name);
  if (large) record.put(1, 2).put(16, 2).put(entry.bytes, 8).put(entry.packed_bytes, 8);
  if (padding > 0) record.text("FB").put(padding - 4, 2).text(std::string(padding - 4, 'Z'));
  const auto write = [&](std::string_view bytes) {
    file_.write(bytes.data(), bytes.size());
    position_ += bytes.size();
  };
  write(record.bytes());
  if (deflate) {
    write(packed);
  } else {
    write(head);
    write(body);
  }
  entries_.push_back(std::move(entry));
}

void ZipWriter::commit() {
  Record directory;
  for (const ZipEntry& entry : entries_) {
    Record extra;  // of the three numbers those that do not fit, in this order
    for (const std::uint64_t value : {entry.bytes, entry.packed_bytes, entry.begin})
      if (value >= kIn64) extra.put(value, 8);
    const std::uint64_t extra_bytes = extra.bytes().empty() ? 0 : 4 + extra.bytes().size();
    directory.put(kZipEntry, 4).put(kVersion, 2);
    put_common(directory, entry, extra_bytes);
    directory.put(0, 2).put(0, 2).put(0, 2).put(0, 4).put(in_32(entry.begin), 4).text(entry.name);
    if (extra_bytes > 0) directory.put(1, 2).put(extra.bytes().size(), 2).text(extra.bytes());
  }
  const std::uint64_t count = entries_.size(), bytes = directory.bytes().size();
  if (count >= 0xffff || position_ + bytes >= kIn64) {
    const std::uint64_t end = position_ + bytes;
    directory.put(kZip64End, 4).put(kZip64EndBytes - 12, 8).put(kVersion, 2).put(kVersion, 2);
    directory.put(0, 4).put(0, 4).put(count, 8).put(count, 8).put(bytes, 8).put(position_, 8);
    directory.put(kZip64Locator, 4).put(0, 4).put(end, 8).put(1, 4);
  }
  const std::uint64_t few = std::min<std::uint64_t>(count, 0xffff);
  directory.put(kZipEnd, 4).put(0, 4).put(few, 2).put(few, 2).put(in_32(bytes), 4).put(in_32(position_), 4);
  directory.put(0, 2);
  file_.write(directory.bytes().data(), directory.bytes().size());
  file_.commit();
}

}  // namespace veldt::io
