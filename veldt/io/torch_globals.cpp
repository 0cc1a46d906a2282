// The closed table of names in PyTorch's pickles.
#include "veldt/io/torch_globals.h"

#include <unordered_map>

namespace veldt::io {
namespace {

using Role = TorchRole;

struct NamedGlobal {
  std::string_view name;
  Role role;
  std::optional<FileDType> dtype = {};
  std::uint64_t bytes = 0;  // of storages of a dtype that Veldt cannot convert
};

// What torch.save has written from 0.1.10 to 2.15, numpy to 2.4, and what checkpoints often have beside
// tensors.
constexpr NamedGlobal kTorchGlobals[] = {
    {"collections.OrderedDict", Role::container},
    {"collections.defaultdict", Role::container},
    {"collections.Counter", Role::container},
    {"collections.deque", Role::container},
    {"builtins.dict", Role::container},
    {"builtins.list", Role::container},
    {"builtins.tuple", Role::container},
    {"builtins.set", Role::container},
    {"builtins.frozenset", Role::container},
    {"__builtin__.dict", Role::container},
    {"__builtin__.list", Role::container},
    {"__builtin__.tuple", Role::container},
    {"__builtin__.set", Role::container},
    {"__builtin__.frozenset", Role::container},

    {"builtins.int", Role::plain},
    {"builtins.float", Role::plain},
    {"builtins.bool", Role::plain},
    {"builtins.str", Role::plain},
    {"builtins.complex", Role::plain},
    {"builtins.slice", Role::plain},
    {"builtins.range", Role::plain},
    {"builtins.object", Role::plain},
    {"__builtin__.int", Role::plain},
    {"__builtin__.long", Role::plain},
    {"__builtin__.float", Role::plain},
    {"__builtin__.bool", Role::plain},
    {"__builtin__.str", Role::plain},
    {"__builtin__.unicode", Role::plain},
    {"__builtin__.complex", Role::plain},
    {"__builtin__.xrange", Role::plain},
    {"__builtin__.object", Role::plain},
    {"copyreg._reconstructor", Role::plain},
    {"copy_reg._reconstructor", Role::plain},
    {"argparse.Namespace", Role::plain},
    {"types.SimpleNamespace", Role::plain},
    {"datetime.datetime", Role::plain},
    {"datetime.date", Role::plain},
    {"datetime.timedelta", Role::plain},
    {"pathlib.PosixPath", Role::plain},
    {"pathlib.WindowsPath", Role::plain},
    {"pathlib.PurePosixPath", Role::plain},
    {"pathlib.PureWindowsPath", Role::plain},
    {"pathlib._local.PosixPath", Role::plain},
    {"pathlib._local.WindowsPath", Role::plain},
    {"torch.device", Role::plain},
    {"torch.serialization._get_layout", Role::plain},
    {"torch.layout", Role::plain},
    {"torch.per_tensor_affine", Role::plain},
    {"torch.per_channel_affine", Role::plain},
    {"torch.per_tensor_symmetric", Role::plain},
    {"torch.per_channel_symmetric", Role::plain},
    {"torch.memory_format", Role::plain},
    {"torch.torch_version.TorchVersion", Role::plain},
    {"numpy.core.multiarray.scalar", Role::plain},
    {"numpy._core.multiarray.scalar", Role::plain},

    {"torch.FloatStorage", Role::storage, FileDType::float32},
    {"torch.DoubleStorage", Role::storage, FileDType::float64},
    {"torch.HalfStorage", Role::storage, FileDType::float16},
    {"torch.BFloat16Storage", Role::storage, FileDType::bfloat16},
    {"torch.LongStorage", Role::storage, FileDType::int64},
    {"torch.IntStorage", Role::storage, FileDType::int32},
    {"torch.ShortStorage", Role::storage, FileDType::int16},
    {"torch.CharStorage", Role::storage, FileDType::int8},
    {"torch.ByteStorage", Role::storage, FileDType::uint8},
    {"torch.BoolStorage", Role::storage, FileDType::boolean},
    {"torch.ComplexFloatStorage", Role::storage, {}, 8},
    {"torch.ComplexDoubleStorage", Role::storage, {}, 16},
    {"torch.QInt8Storage", Role::storage, {}, 1},
    {"torch.QUInt8Storage", Role::storage, {}, 1},
    {"torch.QInt32Storage", Role::storage, {}, 4},
    {"torch.QUInt4x2Storage", Role::storage, {}, 1},
    {"torch.QUInt2x4Storage", Role::storage, {}, 1},
    {"torch.cuda.FloatStorage", Role::storage, FileDType::float32},
    {"torch.cuda.DoubleStorage", Role::storage, FileDType::float64},
    {"torch.cuda.HalfStorage", Role::storage, FileDType::float16},
    {"torch.cuda.BFloat16Storage", Role::storage, FileDType::bfloat16},
    {"torch.cuda.LongStorage", Role::storage, FileDType::int64},
    {"torch.cuda.IntStorage", Role::storage, FileDType::int32},
    {"torch.cuda.ShortStorage", Role::storage, FileDType::int16},
    {"torch.cuda.CharStorage", Role::storage, FileDType::int8},
    {"torch.cuda.ByteStorage", Role::storage, FileDType::uint8},
    {"torch.cuda.BoolStorage", Role::storage, FileDType::boolean},
    {"torch.storage.UntypedStorage", Role::bytes_storage, {}, 1},
    {"torch.storage._UntypedStorage", Role::bytes_storage, {}, 1},
    {"torch.UntypedStorage", Role::bytes_storage, {}, 1},

    {"torch.float32", Role::dtype, FileDType::float32},
    {"torch.float64", Role::dtype, FileDType::float64},
    {"torch.float16", Role::dtype, FileDType::float16},
    {"torch.bfloat16", Role::dtype, FileDType::bfloat16},
    {"torch.int64", Role::dtype, FileDType::int64},
    {"torch.int32", Role::dtype, FileDType::int32},
    {"torch.int16", Role::dtype, FileDType::int16},
    {"torch.int8", Role::dtype, FileDType::int8},
    {"torch.uint8", Role::dtype, FileDType::uint8},
    {"torch.uint16", Role::dtype, FileDType::uint16},
    {"torch.uint32", Role::dtype, FileDType::uint32},
    {"torch.uint64", Role::dtype, FileDType::uint64},
    {"torch.bool", Role::dtype, FileDType::boolean},
    {"torch.float8_e4m3fn", Role::dtype, FileDType::float8_e4m3fn},
    {"torch.float8_e5m2", Role::dtype, FileDType::float8_e5m2},
    {"torch.float8_e4m3fnuz", Role::dtype},
    {"torch.float8_e5m2fnuz", Role::dtype},
    {"torch.float8_e8m0fnu", Role::dtype},
    {"torch.float4_e2m1fn_x2", Role::dtype},
    {"torch.complex32", Role::dtype},
    {"torch.complex64", Role::dtype},
    {"torch.complex128", Role::dtype},
    {"torch.qint8", Role::dtype},
    {"torch.quint8", Role::dtype},
    {"torch.qint32", Role::dtype},

    {"torch._utils._rebuild_tensor", Role::tensor_v1},
    {"torch._utils._rebuild_tensor_v2", Role::tensor_v2},
    {"torch._utils._rebuild_tensor_v3", Role::tensor_v3},
    {"torch._utils._rebuild_parameter", Role::parameter},
    {"torch._utils._rebuild_parameter_with_state", Role::parameter},
    {"torch._tensor._rebuild_from_type_v2", Role::from_type},
    {"torch.Tensor", Role::tensor_class},
    {"torch.nn.parameter.Parameter", Role::tensor_class},
    {"torch.nn.parameter.Buffer", Role::tensor_class},
    {"torch.Size", Role::size},
    {"torch._utils._rebuild_sparse_tensor", Role::refused_tensor},
    {"torch._utils._rebuild_sparse_csr_tensor", Role::refused_tensor},
    {"torch._utils._rebuild_nested_tensor", Role::refused_tensor},
    {"torch._utils._rebuild_qtensor", Role::refused_tensor},
    {"torch._utils._rebuild_meta_tensor_no_storage", Role::refused_tensor},
    {"torch._utils._rebuild_device_tensor_from_numpy", Role::refused_tensor},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", Role::refused_tensor},
    {"torch._utils._rebuild_xla_tensor", Role::refused_tensor},

    {"numpy.core.multiarray._reconstruct", Role::array},
    {"numpy._core.multiarray._reconstruct", Role::array},
    {"numpy.core.numeric._frombuffer", Role::array_of_bytes},
    {"numpy._core.numeric._frombuffer", Role::array_of_bytes},
    {"numpy.ndarray", Role::array_class},
    {"numpy.dtype", Role::array_dtype},
    {"builtins.bytes", Role::bytes},
    {"builtins.bytearray", Role::bytes},
    {"__builtin__.bytes", Role::bytes},
    {"__builtin__.bytearray", Role::bytes},
    {"_codecs.encode", Role::encode},
};

}  // namespace

TorchGlobal torch_global(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, TorchGlobal> all;
    for (const NamedGlobal& known : kTorchGlobals)
      all[known.name] = {known.role, known.dtype, known.dtype ? size_of(*known.dtype) : known.bytes};
    return all;
  }();
  const auto found = table.find(name);
  return found == table.end() ? TorchGlobal{} : found->second;
}

}  // namespace veldt::io
