// The tensors in a pickle of PyTorch's: which storage each is a view of, and how; and NumPy's arrays,
// which lie in the pickle itself. Only for the files of io.
// Tests: tests/io/torch_file_test.cpp, tests/fuzz/torch.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "veldt/io/file_dtype.h"
#include "veldt/io/pickle_value.h"
#include "veldt/io/torch_globals.h"

namespace veldt::io {

// A storage as a persistent id of the pickle describes it.
struct TorchStorage {
  std::string key = {};                 // its name in the file
  std::string type = {};                // "torch.FloatStorage"
  std::optional<FileDType> dtype = {};  // none: of bytes, or of a dtype that Veldt cannot convert
  bool is_of_bytes = false;
  std::uint64_t element_bytes = 1, numel = 0;
  std::uint64_t begin = 0;  // of the part that this one is a view of, in elements (PyTorch before 1.0)

  std::uint64_t bytes() const { return element_bytes * numel; }
};

// A tensor as its pickle describes it; all its elements are in its storage.
struct TorchTensor {
  std::string name = {};
  FileDType dtype = FileDType::float32;
  Shape shape = {};
  Strides strides = {};      // in elements, not negative
  std::uint64_t offset = 0;  // in elements
  TorchStorage storage = {};
  // Of an array of NumPy's, which has no storage:
  bool is_array = false;
  std::string array = {};  // its bytes, contiguous after `strides`
  bool big_endian = false;
};

class TorchPickle {
 public:
  // `name` is the file's, for errors.
  TorchPickle(const Pickle& pickle, std::string name) : pickle_(pickle), name_(std::move(name)) {}

  const Pickle& pickle() const { return pickle_; }
  // Whether the value is a tensor or an array, also of a kind that Veldt does not read.
  bool is_tensor(const PickleValue& value) const;
  // What such a value describes. Throws IoError malformed, naming `tensor`: for what cannot be, and for the
  // kinds and dtypes that Veldt does not read.
  TorchTensor tensor(const PickleValue& value, const std::string& tensor) const;
  // Of a persistent value. Throws IoError malformed.
  TorchStorage storage(const PickleValue& persistent) const;

 private:
  [[noreturn]] void damaged(const std::string& tensor, const std::string& why) const;
  [[noreturn]] void refuse(const std::string& tensor, const std::string& what) const;
  TorchGlobal role_of(const PickleValue& value) const { return torch_global(pickle_.class_of(value)); }
  const PickleValue& at(PickleRef ref) const { return pickle_[ref]; }
  const PickleValue& argument(const PickleValue& object, std::size_t i, const std::string& tensor) const;
  std::uint64_t count(const PickleValue& value, const std::string& tensor) const;
  Shape sizes(const PickleValue& value, const std::string& tensor) const;
  TorchTensor view_of_storage(const PickleValue& object, TorchGlobal role, const std::string& tensor) const;
  void take_bytes_storage(const PickleValue& dtype, TorchTensor& result) const;
  void check_metadata(const PickleValue& object, std::size_t at, const std::string& tensor) const;
  void check_inside(const TorchTensor& tensor) const;
  TorchTensor array_of_state(const PickleValue& state, const std::string& tensor) const;
  TorchTensor array_of_buffer(const PickleValue& object, const std::string& tensor) const;
  void take_array_dtype(const PickleValue& value, TorchTensor& result) const;
  void take_order(bool columns, TorchTensor& result) const;
  std::string bytes_of(const PickleValue& value, const std::string& tensor) const;

  const Pickle& pickle_;
  std::string name_;
};

}  // namespace veldt::io
