// The tensors of a checkpoint while they are read: views of storages, which the reader of a format
// fills one by one. Only for torch_read.cpp.
// Tests: tests/io/torch_file_test.cpp, tests/fuzz/torch.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "veldt/io/loaded_state.h"
#include "veldt/io/torch_tensor.h"

namespace veldt::io {

class TorchLoader {
 public:
  using Read = std::function<void(void* to, std::size_t bytes)>;

  // Finds the state in the pickle, which has taken `pickle_bytes`; throws as read_torch does. The pickle
  // outlives this.
  TorchLoader(const Pickle& pickle, std::uint64_t pickle_bytes, std::string path, const LoadOptions& options);

  // A storage's key, and the dtype that tensors have it in: one of bytes may be seen in several.
  using Key = std::pair<std::string, FileDType>;
  // The storages that the state's tensors are views of.
  const std::map<Key, TorchStorage>& needed() const { return needed_; }
  // Fills one of them by one call of `read` with its bytes. To be called when the file is known to have them.
  void fill(const Key& key, bool big_endian, const Read& read);
  // After all are filled.
  LoadedState finish(const std::string& format);

 private:
  struct Part {
    TorchTensor tensor = {};
    Tensor array = {};  // of NumPy's, ready
  };

  void add(const std::string& name, PickleRef value);
  Tensor array_of(TorchTensor& tensor);
  Tensor values(FileDType type, std::uint64_t numel, bool big_endian, const std::string& of,
                const Read& read) const;
  [[noreturn]] void fail(const std::string& why) const;

  TorchPickle torch_;
  std::string path_;
  std::uint64_t array_bytes_left_;  // arrays may share bytes, and a file of a megabyte describe a terabyte
  std::vector<Part> parts_;
  std::map<PickleRef, std::size_t> arrays_;  // the first of parts_ that is this value
  std::map<Key, TorchStorage> needed_;
  std::map<Key, Tensor> filled_;  // of one dimension
  LoadedState result_;
};

}  // namespace veldt::io
