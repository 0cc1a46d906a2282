// Writes PyTorch's zip format: the members, and the pickle, that torch.save would write of a dict of tensors.
#include <algorithm>
#include <set>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/core/escape.h"
#include "veldt/io/host_bytes.h"
#include "veldt/io/torch_file.h"
#include "veldt/io/zip.h"

namespace veldt::io {
namespace {

constexpr std::string_view kTorchFolder = "archive/";
constexpr std::uint64_t kTorchAlignment = 64;

const char* storage_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "FloatStorage";
    case DType::f64: return "DoubleStorage";
    case DType::bf16: return "BFloat16Storage";
    case DType::f16: return "HalfStorage";
    case DType::i64: return "LongStorage";
    case DType::i32: return "IntStorage";
    case DType::u8: return "ByteStorage";
    case DType::i8: return "CharStorage";
    case DType::boolean: return "BoolStorage";
  }
  return "?";
}

// Opcodes of protocol 2, one after the other. Nothing is put into the memo.
class PickleWriter {
 public:
  PickleWriter& op(std::string_view opcodes) {
    bytes_ += opcodes;
    return *this;
  }
  PickleWriter& text(std::string_view text) { return op("X").number(text.size(), 4).op(text); }
  PickleWriter& global(std::string_view module, std::string_view name) {
    return op("c").op(module).op("\n").op(name).op("\n");
  }
  PickleWriter& integer(std::int64_t value) {
    if (value >= 0 && value < 256) return op("K").number(static_cast<std::uint64_t>(value), 1);
    return op("\x8a\x08").number(static_cast<std::uint64_t>(value), 8);
  }
  PickleWriter& sizes(const Shape& sizes) {
    op("(");
    for (const std::int64_t size : sizes) integer(size);
    return op("t");
  }
  const std::string& bytes() const { return bytes_; }

 private:
  PickleWriter& number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 255);
    return *this;
  }

  std::string bytes_;
};

// {name: _rebuild_tensor_v2(("storage", torch.FloatStorage, key, "cpu", numel), 0, sizes, strides, False,
// OrderedDict()), ..}
std::string pickle_of(const NamedTensors& tensors) {
  using namespace std::string_view_literals;
  PickleWriter pickle;
  pickle.op("\x80\x02}("sv);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i].tensor;
    pickle.text(tensors[i].name).global("torch._utils", "_rebuild_tensor_v2").op("(("sv);
    pickle.text("storage").global("torch", storage_of(tensor.dtype())).text(std::to_string(i)).text("cpu");
    pickle.integer(tensor.numel()).op("tQK\0"sv);
    pickle.sizes(tensor.shape()).sizes(contiguous_strides(tensor.shape())).op("\x89"sv);
    pickle.global("collections", "OrderedDict").op(")RtR"sv);
  }
  return pickle.op("u."sv).bytes();
}

void check_torch_names(const std::string& path, const NamedTensors& tensors) {
  std::set<std::string> names;
  for (const NamedTensor& named : tensors) {
    if (named.name.empty() || named.name.size() > 1000)
      throw ConfigError(str("cannot save a tensor under a name of ", named.name.size(), " bytes"),
                        "a name is a key of 1 to 1000 bytes", "give it another name");
    if (!names.insert(named.name).second)
      throw ConfigError(str("cannot save two tensors under the name ", named.name), "names are keys",
                        "give each its own name");
    if (escape_controls(named.name) != named.name)
      throw ConfigError("cannot save " + path, str("the name ", named.name, " is not text in UTF-8"),
                        "give it another name");
  }
}

}  // namespace

void write_torch(const std::string& path, const NamedTensors& tensors) {
  check_torch_names(path, tensors);
  ZipWriter archive(path);
  const auto add = [&](std::string_view name, std::string_view bytes) {
    archive.add(str(kTorchFolder, name), bytes, {}, false, kTorchAlignment);
  };
  add("data.pkl", pickle_of(tensors));
  add(".format_version", "1");
  add(".storage_alignment", std::to_string(kTorchAlignment));
  add("byteorder", "little");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const HostBytes bytes(tensors[i].tensor);
    add(str("data/", i), {static_cast<const char*>(bytes.data()), bytes.size()});
  }
  add("version", "3\n");
  archive.commit();
}

}  // namespace veldt::io
