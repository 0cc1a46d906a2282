// Makes tensors of what a checkpoint's pickle describes and its storages hold.
#include "veldt/io/torch_loader.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/torch_state.h"

namespace veldt::io {

TorchLoader::TorchLoader(const Pickle& pickle, std::uint64_t pickle_bytes, std::string path,
                         const LoadOptions& options)
    : torch_(pickle, path),
      path_(std::move(path)),
      array_bytes_left_(pickle_bytes + (std::uint64_t{1} << 20)) {
  TorchState state = find_state(torch_, path_, options.take);
  result_.taken = std::move(state.taken);
  result_.left_out = std::move(state.left_out);
  for (const NamedValue& named : state.tensors) add(named.name, named.value);
}

void TorchLoader::fail(const std::string& why) const {
  throw IoError(IoError::Kind::malformed, "cannot read " + path_, why,
                "save, copy or download the file again");
}

void TorchLoader::add(const std::string& name, PickleRef value) {
  if (const auto known = arrays_.find(value); known != arrays_.end()) {
    parts_.push_back(parts_[known->second]);
    parts_.back().tensor.name = name;
    return;
  }
  Part part{.tensor = torch_.tensor(torch_.pickle()[value], name)};
  if (part.tensor.is_array) {
    arrays_[value] = parts_.size();
    part.array = array_of(part.tensor);
  } else if (numel(part.tensor.shape) > 0) {
    const TorchStorage& storage = part.tensor.storage;
    const TorchStorage& known = needed_.try_emplace({storage.key, part.tensor.dtype}, storage).first->second;
    if (known.numel != storage.numel) fail(str("storage ", storage.key, " is of two sizes at once"));
  }
  parts_.push_back(std::move(part));
}

Tensor TorchLoader::array_of(TorchTensor& tensor) {
  const std::string bytes = std::exchange(tensor.array, {});
  if (bytes.size() > array_bytes_left_) fail("its arrays share their bytes");
  array_bytes_left_ -= bytes.size();
  if (bytes.empty()) return empty(tensor.shape, dtype_of(tensor.dtype));
  const Tensor all =
      values(tensor.dtype, tensor.storage.numel, tensor.big_endian, str("tensor ", tensor.name),
             [&](void* to, std::size_t count) { bytes.copy(static_cast<char*>(to), count); });
  return all.alias(tensor.shape, tensor.strides, 0);
}

// The numbers in the memory of a tensor of one dimension.
Tensor TorchLoader::values(FileDType type, std::uint64_t numel, bool big_endian, const std::string& of,
                           const Read& read) const {
  const Tensor tensor = empty({static_cast<std::int64_t>(numel)}, dtype_of(type));
  const std::size_t count = static_cast<std::size_t>(numel) * size_of(type);
  std::vector<std::byte> narrow(is_converted(type) ? count : 0);
  const std::span<std::byte> bytes(
      is_converted(type) ? narrow.data() : static_cast<std::byte*>(tensor.view().data), count);
  read(bytes.data(), bytes.size());
  if (big_endian) swap_bytes(bytes, size_of(type));
  if (type == FileDType::boolean && !are_booleans(bytes))
    fail(str(of, " is of booleans and holds a byte above 1"));
  if (is_converted(type))
    if (const std::string fault = convert(type, bytes, tensor); !fault.empty()) fail(str(of, ": ", fault));
  return tensor;
}

void TorchLoader::fill(const Key& key, bool big_endian, const Read& read) {
  const TorchStorage& storage = needed_.at(key);
  filled_[key] = values(key.second, storage.numel, big_endian, "storage " + key.first, read);
}

LoadedState TorchLoader::finish(const std::string& format) {
  for (const Part& part : parts_) {
    const TorchTensor& tensor = part.tensor;
    const DType dtype = dtype_of(tensor.dtype);
    if (is_converted(tensor.dtype)) result_.converted.push_back({tensor.name, name_of(tensor.dtype), dtype});
    Tensor made = part.array;
    if (!tensor.is_array)
      made = numel(tensor.shape) == 0
                 ? empty(tensor.shape, dtype)
                 : filled_.at({tensor.storage.key, tensor.dtype})
                       .alias(tensor.shape, tensor.strides, static_cast<std::int64_t>(tensor.offset));
    result_.tensors.push_back({tensor.name, std::move(made)});
  }
  result_.format = format;
  return std::move(result_);
}

}  // namespace veldt::io
