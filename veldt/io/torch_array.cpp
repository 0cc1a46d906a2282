// NumPy's arrays in PyTorch's pickles: their dtype, sizes and bytes.
#include <algorithm>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/io/npy_header.h"
#include "veldt/io/torch_tensor.h"

namespace veldt::io {
// numpy.dtype("f4", False, True), with the state (3, "<", ..).
void TorchPickle::take_array_dtype(const PickleValue& value, TorchTensor& result) const {
  if (role_of(value).role != TorchRole::array_dtype) damaged(result.name, "its dtype is none");
  const std::string& name = argument(value, 0, result.name).text;
  const auto known = numpy_dtype(name);
  if (!known) refuse(result.name, str("tensors of NumPy's dtype '", name, "'"));
  result.dtype = *known;
  const PickleValue& state = at(value.state);
  if (state.items.size() > 1) result.big_endian = at(state.items[1]).text == ">";
}

// The bytes of b"..": themselves, or text of the characters 0 to 255, which protocols 0 to 2 have for them.
std::string TorchPickle::bytes_of(const PickleValue& value, const std::string& tensor) const {
  if (value.kind == PickleKind::bytes || value.kind == PickleKind::text) return value.text;
  const TorchRole role = role_of(value).role;
  if (role == TorchRole::bytes && at(value.arguments).items.empty()) return {};
  if (role == TorchRole::bytes && argument(value, 0, tensor).kind != PickleKind::object)
    return bytes_of(argument(value, 0, tensor), tensor);
  if (role != TorchRole::encode) damaged(tensor, "its bytes are none");
  const std::string& text = argument(value, 0, tensor).text;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      bytes += text[i];
    } else if ((c == 0xc2 || c == 0xc3) && i + 1 < text.size()) {
      bytes += static_cast<char>((c & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 63));
    } else {
      damaged(tensor, "its bytes are text beyond Latin-1");
    }
  }
  return bytes;
}

// Row by row, or column by column, which are views of a row of the same elements.
void TorchPickle::take_order(bool columns, TorchTensor& result) const {
  Shape shape = result.shape;
  numel(shape);  // throws for sizes whose product, and so the strides, would overflow
  if (columns) std::reverse(&shape[0], &shape[0] + shape.rank());
  result.strides = contiguous_strides(shape);
  if (columns) std::reverse(&result.strides[0], &result.strides[0] + result.strides.rank());
  result.storage.numel = result.array.size() / size_of(result.dtype);
  check_inside(result);
  const auto bytes = static_cast<std::uint64_t>(numel(result.shape)) * size_of(result.dtype);
  if (bytes != result.array.size())
    damaged(result.name, str("its shape takes ", bytes, " bytes and ", result.array.size(), " are there"));
}

// (1, shape, dtype, is_fortran, bytes)
TorchTensor TorchPickle::array_of_state(const PickleValue& state, const std::string& tensor) const {
  TorchTensor result{.name = tensor, .is_array = true};
  if (state.kind != PickleKind::tuple || state.items.size() != 5)
    damaged(tensor, "its state is none of NumPy's");
  take_array_dtype(at(state.items[2]), result);
  result.shape = sizes(at(state.items[1]), tensor);
  result.array = bytes_of(at(state.items[4]), tensor);
  take_order(at(state.items[3]).integer != 0, result);
  return result;
}

// _frombuffer(bytes, dtype, shape, "C" or "F")
TorchTensor TorchPickle::array_of_buffer(const PickleValue& object, const std::string& tensor) const {
  TorchTensor result{.name = tensor, .is_array = true};
  take_array_dtype(argument(object, 1, tensor), result);
  result.shape = sizes(argument(object, 2, tensor), tensor);
  result.array = bytes_of(argument(object, 0, tensor), tensor);
  take_order(argument(object, 3, tensor).text == "F", result);
  return result;
}

}  // namespace veldt::io
