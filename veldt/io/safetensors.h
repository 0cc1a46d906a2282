// safetensors: named tensors in one file (github.com/huggingface/safetensors). Eight bytes of header length,
// a JSON header, then the tensors' bytes without gaps. The Python package can read Veldt's files, and Veldt
// its.
// Tests: tests/io/safetensors_test.cpp, tests/io/peers_test.cpp, tests/fuzz/arrays.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "veldt/io/file_dtype.h"
#include "veldt/tensor/named.h"

namespace veldt::io {

struct SafeTensors {
  NamedTensors tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  bool verified = false;  // Veldt wrote it, and it is unchanged
  std::vector<ConvertedTensor> converted;

  // Null if there is none of this name.
  const Tensor* find(const std::string& name) const;
};

// A tensor as the header describes it; its bytes are [begin, end) of the file.
struct TensorInfo {
  std::string name = {};
  std::string dtype = {};  // the format's own name: F32, BF16, I64 ...
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafeTensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::string>
      digests;  // XXH3 of each tensor, and of the header under ""; empty if another program wrote it
};

// Reads and checks only the header. Throws IoError missing, or malformed for a header that breaks the format;
// corrupt if Veldt wrote it and it has changed since.
SafeTensorsHeader read_safetensors_header(const std::string& path);

// Reads F32 F64 BF16 F16 I64 I32 U8 BOOL as they are; I8 I16 U16 U32 U64 become i64, F8_E4M3 and F8_E5M2 f32,
// which SafeTensors::converted lists. Throws as read_safetensors_header does, malformed for other dtypes and
// for a U64 beyond i64, and corrupt, naming the tensor, if its bytes are not those that Veldt wrote.
SafeTensors read_safetensors(const std::string& path);

// Writes all or nothing. Wider dtypes come first, so that each tensor is aligned; otherwise the order is
// kept. Adds metadata "veldt.xxh3", the digests that reading checks; other readers ignore it. Throws
// ConfigError for a repeated or reserved name or text that is not UTF-8, IoError unwritable.
void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace veldt::io
