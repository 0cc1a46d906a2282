// Zip archives as NumPy and PyTorch write them: stored and deflated members, zip64. Only for the files of io.
// Source: PKWARE's APPNOTE.TXT 6.3.10.
// Tests: tests/io/npy_test.cpp, tests/io/torch_file_test.cpp, tests/fuzz/arrays.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/io/file.h"

namespace veldt::io {

struct ZipEntry {
  std::string name = {};
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t bytes = 0;         // unpacked
  std::uint64_t packed_bytes = 0;  // in the file
  std::uint64_t begin = 0;         // of its own header
};

// The members of an archive. Throws IoError malformed for a directory that breaks the format, members that
// overlap or share a name, sizes beyond deflate's limit, encryption, other compression methods.
class ZipReader {
 public:
  explicit ZipReader(const std::string& path);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  InputFile& file() { return file_; }

 private:
  InputFile file_;
  std::vector<ZipEntry> entries_;
};

// Reads one member from its start. Only one member of an archive can be read at a time.
class ZipMember {
 public:
  ZipMember(ZipReader& archive, const ZipEntry& entry);
  ~ZipMember();
  ZipMember(const ZipMember&) = delete;
  ZipMember& operator=(const ZipMember&) = delete;

  // The next `bytes`. Throws IoError malformed if the member ends before, or its data are damaged.
  void read(void* to, std::size_t bytes);
  // Throws IoError malformed unless everything was read and the CRC matches the directory.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes an archive completely or not at all. The same members give the same bytes: all are dated 1980-01-01.
class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : file_(path) {}

  // A member of two consecutive pieces. It begins at a multiple of `align`, by padding in its own header.
  void add(const std::string& name, std::string_view head, std::string_view body, bool deflate,
           std::uint64_t align = 1);
  void commit();

 private:
  AtomicFile file_;
  std::vector<ZipEntry> entries_;
  std::uint64_t position_ = 0;
};

}  // namespace veldt::io
