// Reads what the calls in PyTorch's pickles say of tensors: their arguments, checked one by one.
#include "veldt/io/torch_tensor.h"

#include <algorithm>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::io {
namespace {

constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 58;  // of 16 bytes: no sum of them overflows

}  // namespace

void TorchPickle::damaged(const std::string& tensor, const std::string& why) const {
  throw IoError(
      IoError::Kind::malformed,
      str("cannot read ", name_, ": ", tensor.empty() ? "a storage" : "tensor " + tensor, " is damaged"), why,
      "save, copy or download the file again");
}

void TorchPickle::refuse(const std::string& tensor, const std::string& what) const {
  throw IoError(IoError::Kind::malformed, str("cannot read tensor ", tensor, " of ", name_),
                str("Veldt has no ", what),
                "convert it in PyTorch, to float32 and a dense tensor, or leave it out of what is saved");
}

const PickleValue& TorchPickle::argument(const PickleValue& object, std::size_t i,
                                         const std::string& tensor) const {
  const std::vector<PickleRef>& arguments = at(object.arguments).items;
  if (i >= arguments.size()) damaged(tensor, str("its call has ", arguments.size(), " arguments"));
  return at(arguments[i]);
}

std::uint64_t TorchPickle::count(const PickleValue& value, const std::string& tensor) const {
  if (value.kind != PickleKind::integer || value.integer < 0 || std::cmp_greater(value.integer, kMaxElements))
    damaged(tensor, "a size, a stride or an offset is not a number from 0 to 2^58");
  return static_cast<std::uint64_t>(value.integer);
}

// (2, 3), or torch.Size((2, 3)).
Shape TorchPickle::sizes(const PickleValue& value, const std::string& tensor) const {
  if (role_of(value).role == TorchRole::size) {
    const PickleValue& inner = argument(value, 0, tensor);
    if (inner.kind != PickleKind::object) return sizes(inner, tensor);
  }
  if (value.kind != PickleKind::tuple && value.kind != PickleKind::list)
    damaged(tensor, "its sizes or strides are no tuple");
  if (value.items.size() > kMaxRank)
    damaged(tensor, str("it has ", value.items.size(), " dimensions, and ", kMaxRank, " are allowed"));
  Shape result;
  for (const PickleRef item : value.items)
    result.push_back(static_cast<std::int64_t>(count(at(item), tensor)));
  return result;
}

bool TorchPickle::is_tensor(const PickleValue& value) const {
  switch (role_of(value).role) {
    case TorchRole::tensor_v1:
    case TorchRole::tensor_v2:
    case TorchRole::tensor_v3:
    case TorchRole::parameter:
    case TorchRole::refused_tensor:
    case TorchRole::array:
    case TorchRole::array_of_bytes: return true;
    case TorchRole::from_type: {
      const std::vector<PickleRef>& arguments = at(value.arguments).items;
      return !arguments.empty() && at(arguments[0]).kind == PickleKind::global &&
             torch_global(at(arguments[0]).text).role != TorchRole::unknown;
    }
    default: return false;
  }
}

TorchTensor TorchPickle::tensor(const PickleValue& value, const std::string& tensor) const {
  const PickleValue* object = &value;
  PickleValue inner;  // of a call in the arguments of another
  for (int depth = 0; depth < 4; ++depth) {
    const TorchGlobal role = role_of(*object);
    switch (role.role) {
      case TorchRole::tensor_v1:
      case TorchRole::tensor_v2:
      case TorchRole::tensor_v3: return view_of_storage(*object, role, tensor);
      case TorchRole::refused_tensor:
        refuse(tensor, str("tensors that are sparse, quantised, nested or without values (",
                           pickle_.class_of(*object), ")"));
      case TorchRole::array: return array_of_state(at(object->state), tensor);
      case TorchRole::array_of_bytes: return array_of_buffer(*object, tensor);
      case TorchRole::parameter: object = &argument(*object, 0, tensor); break;
      case TorchRole::from_type: {
        const std::vector<PickleRef>& arguments = at(object->arguments).items;
        if (arguments.size() < 3) damaged(tensor, "its call has too few arguments");
        inner = {.kind = PickleKind::object, .callee = arguments[0], .arguments = arguments[2]};
        object = &inner;
        break;
      }
      default: damaged(tensor, "it is no tensor");
    }
  }
  damaged(tensor, "it is a tensor in a tensor in a tensor");
}

// ---- views of storages ----

// ("storage", torch.FloatStorage, key, "cpu", numel), and in old files None or (key, offset, numel) of a
// view.
TorchStorage TorchPickle::storage(const PickleValue& persistent) const {
  const std::string unnamed;
  if (persistent.kind != PickleKind::persistent) damaged(unnamed, "its storage is none");
  const PickleValue& id = at(persistent.arguments);
  const bool known = id.kind == PickleKind::tuple && id.items.size() >= 5 &&
                     at(id.items[1]).kind == PickleKind::global && at(id.items[2]).kind == PickleKind::text;
  if (!known) damaged(unnamed, "what it says of its storage is not known");
  constexpr std::size_t kLongestKey = 1000;  // each tensor has a copy
  if (at(id.items[2]).text.size() > kLongestKey)
    damaged(unnamed, str("a storage has a name of ", at(id.items[2]).text.size(), " bytes"));
  TorchStorage result{.key = at(id.items[2]).text, .type = at(id.items[1]).text};
  const TorchGlobal type = torch_global(result.type);
  result.is_of_bytes = type.role == TorchRole::bytes_storage;
  if (type.role != TorchRole::storage && !result.is_of_bytes)
    damaged(unnamed, str(result.type, " is no class of storages"));
  result.dtype = type.dtype;
  result.element_bytes = type.bytes;
  result.numel = count(at(id.items[4]), unnamed);
  if (id.items.size() > 5 && at(id.items[5]).kind == PickleKind::tuple) {
    const PickleValue& view = at(id.items[5]);
    if (view.items.size() != 3) damaged(unnamed, "what it says of its view is not known");
    result.begin = count(at(view.items[1]), unnamed);
  }
  return result;
}

// torch's metadata of conjugate and negative views, whose bytes are not the values.
void TorchPickle::check_metadata(const PickleValue& object, std::size_t i, const std::string& tensor) const {
  const std::vector<PickleRef>& arguments = at(object.arguments).items;
  if (i >= arguments.size()) return;
  constexpr std::size_t kMostEntries = 64;  // each tensor looks through them
  if (at(arguments[i]).items.size() > kMostEntries)
    damaged(tensor, str("its metadata have ", at(arguments[i]).items.size(), " parts"));
  for (const char* key : {"conj", "neg"}) {
    const PickleValue* flag = pickle_.find(at(arguments[i]), key);
    if (flag != nullptr && flag->integer != 0) refuse(tensor, "views that negate or conjugate");
  }
}

// A storage of bytes, and the dtype that the tensor gives it.
void TorchPickle::take_bytes_storage(const PickleValue& value, TorchTensor& result) const {
  const TorchGlobal dtype = torch_global(value.text);
  if (value.kind != PickleKind::global || dtype.role != TorchRole::dtype)
    damaged(result.name, "its dtype is none");
  if (!dtype.dtype) refuse(result.name, str("tensors of ", value.text));
  TorchStorage& storage = result.storage;
  if (storage.is_of_bytes) {
    if (storage.numel % dtype.bytes != 0) damaged(result.name, "its storage ends within an element");
    storage.numel /= dtype.bytes;
    storage.element_bytes = dtype.bytes;
    storage.dtype = dtype.dtype;
  } else if (storage.dtype != dtype.dtype) {
    damaged(result.name, str("it is of ", value.text, " and its storage a ", storage.type));
  }
}

TorchTensor TorchPickle::view_of_storage(const PickleValue& object, TorchGlobal role,
                                         const std::string& tensor) const {
  TorchTensor result{.name = tensor};
  result.storage = storage(argument(object, 0, tensor));
  if (role.role == TorchRole::tensor_v3) take_bytes_storage(argument(object, 6, tensor), result);
  if (!result.storage.dtype) refuse(tensor, str("tensors of a ", result.storage.type));
  check_metadata(object, role.role == TorchRole::tensor_v3 ? 7 : 6, tensor);
  result.dtype = *result.storage.dtype;
  result.offset = count(argument(object, 1, tensor), tensor) + result.storage.begin;
  result.shape = sizes(argument(object, 2, tensor), tensor);
  result.strides = sizes(argument(object, 3, tensor), tensor);
  check_inside(result);
  return result;
}

void TorchPickle::check_inside(const TorchTensor& tensor) const {
  if (tensor.strides.rank() != tensor.shape.rank())
    damaged(tensor.name,
            str("it has ", tensor.shape.rank(), " sizes and ", tensor.strides.rank(), " strides"));
  std::uint64_t elements = 1, last = tensor.offset;
  bool none = false;
  for (int d = 0; d < tensor.shape.rank(); ++d) none = none || tensor.shape[d] == 0;
  for (int d = 0; d < tensor.shape.rank() && !none; ++d) {
    const auto size = static_cast<std::uint64_t>(tensor.shape[d]),
               stride = static_cast<std::uint64_t>(tensor.strides[d]);
    if (elements > kMaxElements / size || (size > 1 && stride > kMaxElements / (size - 1)))
      damaged(tensor.name, "its shape is too large for any memory");
    elements *= size;
    last += (size - 1) * stride;
  }
  if (!none && last >= tensor.storage.numel)
    damaged(tensor.name,
            str("it goes on to element ", last, " of a storage that has ", tensor.storage.numel));
}

}  // namespace veldt::io
