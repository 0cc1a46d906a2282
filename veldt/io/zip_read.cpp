// Reads zip archives, as untrusted files.
#include "veldt/io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <set>

#include "veldt/core/error.h"
#include "veldt/io/magic.h"
#include "veldt/io/zip_format.h"

namespace veldt::io {
namespace {

constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{1} << 26;  // half a million members

IoError malformed_zip(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, "cannot read " + path, why, "save or copy the archive again"};
}

std::uint64_t number(const std::string& bytes, std::uint64_t at, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i)
    value = (value << 8) | static_cast<unsigned char>(bytes.at(at + static_cast<std::uint64_t>(i)));
  return value;
}

std::string read_at(InputFile& file, std::uint64_t position, std::uint64_t bytes) {
  if (position > file.size() || bytes > file.size() - position)
    throw malformed_zip(file.path(), str("it refers to bytes ", position, " to ", position + bytes,
                                         " and has ", file.size()));
  std::string result(bytes, '\0');
  file.seek(position);
  file.read_exactly(result.data(), result.size());
  return result;
}

struct Directory {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

// The end record is the last part of the file except for a comment, whose length it gives.
Directory find_directory(InputFile& file) {
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(file.size(), kZipEndBytes + 0xffff);
  const std::string tail = read_at(file, file.size() - tail_bytes, tail_bytes);
  std::uint64_t at = 0;
  bool found = false;
  for (std::uint64_t back = kZipEndBytes; back <= tail_bytes && !found; ++back) {
    at = tail_bytes - back;
    found = number(tail, at, 4) == kZipEnd && number(tail, at + 20, 2) == back - kZipEndBytes;
  }
  if (!found) throw malformed_zip(file.path(), "it has no end record; the file may be cut off");
  if (number(tail, at + 4, 4) != 0) throw malformed_zip(file.path(), "it is one of several parts");
  Directory directory{.begin = number(tail, at + 16, 4), .bytes = number(tail, at + 12, 4)};
  directory.count = number(tail, at + 10, 2);
  const std::uint64_t end = file.size() - tail_bytes + at;
  const bool fits = directory.begin != kIn64 && directory.bytes != kIn64 && directory.count != 0xffff;
  if (fits && directory.begin + directory.bytes == end) return directory;
  // Or there are the 64-bit records between, which PyTorch writes for small archives too.
  const std::string locator =
      end < kZip64LocatorBytes ? "" : read_at(file, end - kZip64LocatorBytes, kZip64LocatorBytes);
  if (locator.empty() || number(locator, 0, 4) != kZip64Locator)
    throw malformed_zip(file.path(), fits ? "its directory does not lie before its end record"
                                          : "it lacks its 64-bit end record");
  const std::string large = read_at(file, number(locator, 8, 8), kZip64EndBytes);
  if (number(large, 0, 4) != kZip64End) throw malformed_zip(file.path(), "it lacks its 64-bit end record");
  return {.begin = number(large, 48, 8), .bytes = number(large, 40, 8), .count = number(large, 32, 8)};
}

// Replaces the numbers that did not fit with those of the zip64 field.
void take_zip64(const std::string& path, const std::string& extra, ZipEntry& entry) {
  for (std::uint64_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t id = number(extra, at, 2), bytes = number(extra, at + 2, 2);
    at += 4;
    if (bytes > extra.size() - at) break;
    if (id == 1) {
      std::uint64_t next = at;
      for (std::uint64_t* value : {&entry.bytes, &entry.packed_bytes, &entry.begin}) {
        if (*value != kIn64) continue;
        if (next + 8 > at + bytes) throw malformed_zip(path, str("member ", entry.name, " lacks its sizes"));
        *value = number(extra, next, 8);
        next += 8;
      }
      return;
    }
    at += bytes;
  }
}

// One entry at `at`, which moves on to the next.
ZipEntry parse_entry(const std::string& path, const std::string& directory, std::uint64_t& at) {
  if (directory.size() - at < kZipEntryBytes || number(directory, at, 4) != kZipEntry)
    throw malformed_zip(path, "its directory ends early or is damaged");
  const std::uint64_t name = number(directory, at + 28, 2), extra = number(directory, at + 30, 2),
                      comment = number(directory, at + 32, 2);
  if (directory.size() - at - kZipEntryBytes < name + extra + comment)
    throw malformed_zip(path, "its directory ends early or is damaged");
  ZipEntry entry{.name = directory.substr(at + kZipEntryBytes, name)};
  const std::uint64_t flags = number(directory, at + 8, 2), method = number(directory, at + 10, 2);
  if ((flags & 1) != 0) throw malformed_zip(path, str("member ", entry.name, " is encrypted"));
  if (method != kZipStored && method != kZipDeflated)
    throw malformed_zip(path, str("member ", entry.name, " is compressed by method ", method,
                                  ", and Veldt knows 0 (stored) and 8 (deflated)"));
  entry.deflated = method == kZipDeflated;
  entry.crc = static_cast<std::uint32_t>(number(directory, at + 16, 4));
  entry.packed_bytes = number(directory, at + 20, 4);
  entry.bytes = number(directory, at + 24, 4);
  entry.begin = number(directory, at + 42, 4);
  take_zip64(path, directory.substr(at + kZipEntryBytes + name, extra), entry);
  at += kZipEntryBytes + name + extra + comment;
  return entry;
}

// Members must be in sequence before the directory, have different names, and a size that their bytes can
// hold: so an archive cannot unpack to more than 1032 times its own size.
void check_entries(const std::string& path, const std::vector<ZipEntry>& entries, std::uint64_t end) {
  std::vector<const ZipEntry*> order;
  std::set<std::string> names;
  for (const ZipEntry& entry : entries) {
    order.push_back(&entry);
    if (!names.insert(entry.name).second)
      throw malformed_zip(path, str("it has member ", entry.name, " twice"));
    const bool possible =
        entry.deflated ? entry.bytes / 1032 <= entry.packed_bytes : entry.bytes == entry.packed_bytes;
    if (!possible)
      throw malformed_zip(
          path, str("member ", entry.name, " cannot hold ", entry.bytes, " bytes in ", entry.packed_bytes));
  }
  std::sort(order.begin(), order.end(),
            [](const ZipEntry* a, const ZipEntry* b) { return a->begin < b->begin; });
  std::uint64_t reached = 0;
  for (const ZipEntry* entry : order) {
    if (entry->begin < reached || entry->begin > end || entry->packed_bytes > end ||
        entry->packed_bytes + kZipMemberBytes + entry->name.size() > end - entry->begin)
      throw malformed_zip(path, str("member ", entry->name, " overlaps another, or lies beyond the end"));
    reached = entry->begin + kZipMemberBytes + entry->name.size() + entry->packed_bytes;
  }
}

}  // namespace

ZipReader::ZipReader(const std::string& path) : file_(path) {
  const std::string head = read_at(file_, 0, std::min<std::uint64_t>(file_.size(), kMagicBytes));
  if (!head.starts_with("PK"))
    throw IoError(IoError::Kind::malformed, path + " is not a zip archive", seems_to_be(head),
                  "check the path");
  const Directory directory = find_directory(file_);
  if (directory.bytes > kMaxDirectoryBytes || directory.count > directory.bytes / kZipEntryBytes)
    throw malformed_zip(
        path, str("its directory would have ", directory.count, " members in ", directory.bytes, " bytes"));
  const std::string text = read_at(file_, directory.begin, directory.bytes);
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < directory.count; ++i) entries_.push_back(parse_entry(path, text, at));
  if (at != text.size()) throw malformed_zip(path, "its directory has more than its members");
  check_entries(path, entries_, directory.begin);
}

struct ZipMember::State {
  State(InputFile& from, const ZipEntry& of) : file(from), entry(of) {}
  ~State() {
    if (entry.deflated) inflateEnd(&stream);
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw malformed_zip(file.path(), str("member ", entry.name, " ", why));
  }
  // Up to `bytes` packed bytes.
  std::size_t read_packed(void* to, std::size_t bytes) {
    const std::size_t count = std::min<std::uint64_t>(bytes, packed_left);
    file.read_exactly(to, count);
    packed_left -= count;
    return count;
  }
  void inflate_to(unsigned char* to, std::size_t bytes);

  InputFile& file;
  ZipEntry entry;
  std::uint64_t packed_left = 0;
  std::uint64_t left = 0;  // unpacked
  uLong crc = 0;
  z_stream stream{};
  std::vector<unsigned char> buffer;
};

void ZipMember::State::inflate_to(unsigned char* to, std::size_t bytes) {
  constexpr std::size_t kPortion = std::size_t{1} << 30;  // zlib counts in 32 bits
  while (bytes > 0) {
    if (stream.avail_in == 0) {
      stream.next_in = buffer.data();
      stream.avail_in = static_cast<uInt>(read_packed(buffer.data(), buffer.size()));
    }
    const auto portion = static_cast<uInt>(std::min(bytes, kPortion));
    stream.next_out = to;
    stream.avail_out = portion;
    const int status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t done = portion - stream.avail_out;
    to += done;
    bytes -= done;
    if (status == Z_STREAM_END && bytes > 0) fail("ends early");
    if (status != Z_OK && status != Z_STREAM_END) fail("is damaged: its data do not unpack");
    if (done == 0 && stream.avail_in == 0 && packed_left == 0) fail("ends early");
  }
}

ZipMember::ZipMember(ZipReader& archive, const ZipEntry& entry)
    : state_(std::make_unique<State>(archive.file(), entry)) {
  State& s = *state_;
  if (entry.deflated) {
    if (inflateInit2(&s.stream, -MAX_WBITS) != Z_OK)
      throw OutOfMemory("cannot unpack " + s.file.path(), "no memory for zlib's state", "free some memory");
    s.buffer.resize(std::size_t{1} << 16);
  }
  const std::string head = read_at(s.file, entry.begin, kZipMemberBytes + entry.name.size());
  const std::uint64_t skipped = number(head, 28, 2);  // an extra field of its own
  if (number(head, 0, 4) != kZipMember || number(head, 26, 2) != entry.name.size() ||
      head.substr(kZipMemberBytes) != entry.name)
    s.fail("is not where the directory says");
  const std::uint64_t begin = entry.begin + head.size() + skipped;
  if (begin > s.file.size() || entry.packed_bytes > s.file.size() - begin) s.fail("lies beyond the end");
  s.file.seek(begin);
  s.packed_left = entry.packed_bytes;
  s.left = entry.bytes;
}

ZipMember::~ZipMember() = default;

void ZipMember::read(void* to, std::size_t bytes) {
  State& s = *state_;
  if (bytes > s.left) s.fail("ends early");
  auto* data = static_cast<unsigned char*>(to);
  if (s.entry.deflated) {
    s.inflate_to(data, bytes);
  } else {
    s.read_packed(data, bytes);
  }
  s.left -= bytes;
  if (bytes > 0) s.crc = crc32_z(s.crc, data, bytes);  // a null pointer would restart it
}

void ZipMember::finish() {
  State& s = *state_;
  if (s.left > 0) s.fail(str("has ", s.left, " bytes more than its content"));
  if (s.crc != s.entry.crc) s.fail("is damaged: its CRC is not the one that was saved");
}

}  // namespace veldt::io
