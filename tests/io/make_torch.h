// PyTorch's files made by hand, for tests of what no torch.save would write.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/zip.h"

namespace veldt::test {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

// Opcodes that push a text, a whole number and a tuple of whole numbers.
inline std::string pickled(const std::string& text) { return "X" + little_endian(text.size(), 4) + text; }
inline std::string pickled(std::int64_t value) {
  return "\x8a\x08" + little_endian(static_cast<std::uint64_t>(value), 8);
}
inline std::string pickled(const std::vector<std::int64_t>& values) {
  std::string text = "(";
  for (const std::int64_t value : values) text += pickled(value);
  return text + "t";
}

struct PickledTensor {
  std::vector<std::int64_t> sizes = {2}, strides = {1};
  std::int64_t offset = 0, numel = 2;  // the second of the storage
  std::string key = "0", type = "FloatStorage";
};

inline std::string pickled(const PickledTensor& t) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled(std::string("storage")) + "ctorch\n" + t.type +
         "\n" + pickled(t.key) + pickled(std::string("cpu")) + pickled(t.numel) + "tQ" + pickled(t.offset) +
         pickled(t.sizes) + pickled(t.strides) +
         "\x89"
         "ccollections\nOrderedDict\n)RtR";
}

// A dict of one tensor, "a".
inline std::string dict_of(const PickledTensor& t) {
  return "\x80\x02}" + pickled(std::string("a")) + pickled(t) + "s.";
}

using Members = std::vector<std::pair<std::string, std::string>>;

// An archive with these members besides data.pkl, in the folder "x".
inline void write_archive(const std::string& path, const std::string& pickle,
                          const Members& members = {{"data/0", std::string(8, '\0')}}) {
  io::ZipWriter archive(path);
  archive.add("x/data.pkl", pickle, {}, false);
  for (const auto& [name, bytes] : members) archive.add("x/" + name, bytes, {}, false);
  archive.commit();
}

// A legacy file: `keys` are listed, `storages` follow, each with the number of its elements before it.
inline std::string legacy_file(const std::string& pickle, const std::vector<std::string>& keys = {"0"},
                               const std::string& storages = little_endian(2, 8) + std::string(8, '\0')) {
  std::string list = "\x80\x02(";
  for (const std::string& key : keys) list += pickled(key);
  return std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15) + "\x80\x02M\xe9\x03." +
         "\x80\x02}." + pickle + list + "l." + storages;
}

}  // namespace veldt::test
