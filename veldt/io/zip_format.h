// The numbers of the zip format, only for zip_read.cpp and zip_write.cpp.
// Tests: tests/io/npy_test.cpp
#pragma once

#include <cstdint>

namespace veldt::io {

inline constexpr std::uint32_t kZipMember = 0x04034b50;     // "PK\3\4", before each member
inline constexpr std::uint32_t kZipEntry = 0x02014b50;      // "PK\1\2", its entry in the directory
inline constexpr std::uint32_t kZipEnd = 0x06054b50;        // "PK\5\6", after the directory
inline constexpr std::uint32_t kZip64End = 0x06064b50;      // "PK\6\6", before that if numbers are large
inline constexpr std::uint32_t kZip64Locator = 0x07064b50;  // "PK\6\7", where that is
inline constexpr std::uint64_t kZipMemberBytes = 30, kZipEntryBytes = 46, kZipEndBytes = 22;
inline constexpr std::uint64_t kZip64EndBytes = 56, kZip64LocatorBytes = 20;
inline constexpr std::uint32_t kIn64 = 0xffffffff;  // the number is in the zip64 field
inline constexpr int kZipStored = 0, kZipDeflated = 8;

}  // namespace veldt::io
