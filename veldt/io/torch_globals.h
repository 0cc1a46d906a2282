// The names that a pickle of PyTorch's may have, and what each stands for: a closed table. Only for
// the files of io.
// Tests: tests/io/torch_file_test.cpp, tests/io/pickle_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "veldt/io/file_dtype.h"

namespace veldt::io {

enum class TorchRole : std::uint8_t {
  unknown,
  container,       // Python's own dict, list, set .., which the machine of pickles makes itself
  plain,           // what is kept beside tensors, and holds nothing of use: a path, a Namespace, a Generator
  storage,         // a class of storages of one dtype; without a dtype: one that Veldt cannot convert
  bytes_storage,   // a storage of bytes, whose dtype the tensor gives
  dtype,           // an object of torch.dtype; without a dtype: one that Veldt cannot convert
  tensor_v1,       // _rebuild_tensor(storage, offset, size, stride)
  tensor_v2,       // _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata)
  tensor_v3,       // the same with a dtype after the hooks
  parameter,       // _rebuild_parameter(tensor, ..): the tensor
  from_type,       // _rebuild_from_type_v2(function, type, arguments, state): function(arguments)
  tensor_class,    // torch.Tensor, torch.nn.Parameter: an argument of the one above
  size,            // torch.Size((2, 3))
  refused_tensor,  // sparse, quantised, nested ..: a tensor of another kind
  array,           // numpy's _reconstruct(ndarray, (0,), b"b"), whose state is the array
  array_of_bytes,  // numpy's _frombuffer(bytes, dtype, shape, order)
  array_class,     // numpy.ndarray
  array_dtype,     // numpy.dtype("f4", False, True), whose state has the byte order
  bytes,           // bytes() without any, bytearray(b"..")
  encode,          // _codecs.encode("text", "latin1"), which is how Python 3 writes bytes in protocol 2
};

struct TorchGlobal {
  TorchRole role = TorchRole::unknown;
  std::optional<FileDType> dtype = {};
  std::uint64_t bytes = 0;  // of an element of a storage
};

// By dotted name, "torch._utils._rebuild_tensor_v2".
TorchGlobal torch_global(std::string_view name);

}  // namespace veldt::io
