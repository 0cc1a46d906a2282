// Directories: list, make, make durable.
// Tests: tests/io/file_test.cpp, tests/io/power_failure_test.cpp, tests/train/checkpoint_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace veldt::io {

// The names in a directory, sorted, without "." and "..". Throws IoError missing.
std::vector<std::string> list_directory(const std::string& path);

bool is_directory(const std::string& path);

// A path that cannot be examined counts as existing, so that reading it gives the reason.
bool exists(const std::string& path);

// Makes the directory and its parents, each so that it survives a power failure. Throws IoError unwritable.
void make_directories(const std::string& path);

// Makes renames, new files and removals in a directory survive a power failure. Throws IoError unwritable.
void sync_directory(const std::string& path);

// The bytes that can still be written to the disk of a directory, as the system reports; nullopt if it does
// not.
std::optional<std::uint64_t> free_bytes(const std::string& path);

// The directory that holds a path: "." for a bare name.
std::string parent_of(const std::string& path);

}  // namespace veldt::io
