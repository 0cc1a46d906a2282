// Reads and writes arrays of NumPy in either byte order and memory order, alone or in a zip.
#include "veldt/io/npy.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/host_bytes.h"
#include "veldt/io/magic.h"
#include "veldt/io/npy_header.h"
#include "veldt/io/zip.h"

namespace veldt::io {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written little-endian");

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kMaxNpyHeaderBytes = 10'000;  // NumPy's own limit (numpy.lib.format)
constexpr std::string_view kEnding = ".npy";

// The source of an array's bytes: a file, or a member of an archive.
struct NpySource {
  std::string name;  // for errors
  std::uint64_t bytes = 0;
  std::function<void(void* to, std::size_t bytes)> read;  // throws IoError malformed at the end
};

IoError malformed_npy(const std::string& name, const std::string& why) {
  return {IoError::Kind::malformed, "cannot read " + name, why, "save or copy the array again"};
}

// Reads everything up to the first byte of data; returns how many bytes that is.
NpyHeader read_header(const NpySource& source, std::uint64_t* bytes_read) {
  unsigned char head[12] = {};
  if (source.bytes < 10) throw malformed_npy(source.name, "the file ends within its header");
  source.read(head, 10);
  if (std::memcmp(head, kMagic.data(), kMagic.size()) != 0)
    throw IoError(IoError::Kind::malformed, source.name + " is not an npy array",
                  seems_to_be({reinterpret_cast<const char*>(head), 10}),
                  "save it with numpy.save, or check the path");
  const int version = head[6];
  if (version < 1 || version > 3 || head[7] != 0)
    throw malformed_npy(source.name, str("its format version ", version, ".", int{head[7]}, " is not known"));
  std::uint64_t length = head[8] + 256u * head[9], before = 10;
  if (version > 1) {
    if (source.bytes < 12) throw malformed_npy(source.name, "the file ends within its header");
    source.read(head + 10, 2);
    length += (std::uint64_t{head[10]} << 16) + (std::uint64_t{head[11]} << 24);
    before = 12;
  }
  if (length > kMaxNpyHeaderBytes || length > source.bytes - before)
    throw malformed_npy(source.name,
                        str("its header would have ", length, " bytes, ",
                            length > kMaxNpyHeaderBytes ? str("and at most ", kMaxNpyHeaderBytes, " are read")
                                                        : str("and the whole file has ", source.bytes)));
  std::string text(length, '\0');
  source.read(text.data(), text.size());
  NpyHeader header;
  if (const std::string fault = parse_npy_header(text, header); !fault.empty())
    throw malformed_npy(source.name, fault);
  *bytes_read = before + length;
  return header;
}

FileDType find_dtype(const NpySource& source, const std::string& descr) {
  const auto known = numpy_dtype(descr.empty() ? std::string_view() : std::string_view(descr).substr(1));
  if (known && (descr[0] == '<' || descr[0] == '>' || (descr[0] == '|' && size_of(*known) == 1)))
    return *known;
  throw IoError(IoError::Kind::malformed, "cannot read " + source.name,
                str("Veldt has no tensors of NumPy's dtype '", descr, "'"),
                "convert it with astype, to float32 or int64 for example");
}

// Throws unless the shape takes exactly `bytes`, all numbers checked for overflow.
Shape check_shape(const NpySource& source, const NpyHeader& header, std::uint64_t element,
                  std::uint64_t bytes) {
  if (header.shape.size() > kMaxRank)
    throw malformed_npy(source.name,
                        str("it has ", header.shape.size(), " dimensions, and ", kMaxRank, " are allowed"));
  std::uint64_t expected = element;
  const bool none = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  for (const std::int64_t size : header.shape) {
    if (none) break;
    if (expected > (std::uint64_t{1} << 62) / static_cast<std::uint64_t>(size))
      throw malformed_npy(source.name, "its shape is too large for any memory");
    expected *= static_cast<std::uint64_t>(size);
  }
  if (none) expected = 0;
  if (expected != bytes)
    throw malformed_npy(source.name, str("its shape takes ", expected, " bytes and ", bytes, " are there"));
  return Shape(std::span<const std::int64_t>(header.shape));
}

// The values of a shape, in the order of the file.
Tensor read_values(const NpySource& source, FileDType type, bool big_endian, const Shape& shape) {
  const Tensor tensor = empty(shape, dtype_of(type));
  const std::size_t count = static_cast<std::size_t>(tensor.numel()) * size_of(type);
  std::vector<std::byte> narrow(is_converted(type) ? count : 0);
  const std::span<std::byte> bytes(
      is_converted(type) ? narrow.data() : static_cast<std::byte*>(tensor.view().data), count);
  source.read(bytes.data(), bytes.size());
  if (big_endian) swap_bytes(bytes, size_of(type));
  if (type == FileDType::boolean && !are_booleans(bytes))
    throw malformed_npy(source.name, "it is of booleans and holds a byte above 1");
  if (is_converted(type))
    if (const std::string fault = convert(type, bytes, tensor); !fault.empty())
      throw malformed_npy(source.name, fault);
  return tensor;
}

// Stored column by column: a row-major array of the reversed sizes.
Tensor read_fortran(const NpySource& source, FileDType type, bool big_endian, const Shape& shape) {
  Shape reversed = shape, strides = shape;
  std::reverse_copy(shape.begin(), shape.end(), &reversed[0]);
  const Strides there = contiguous_strides(reversed);
  std::reverse_copy(there.begin(), there.end(), &strides[0]);
  const Tensor columns = read_values(source, type, big_endian, reversed);
  Tensor rows = empty(shape, dtype_of(type));
  rows.assign(columns.alias(shape, strides, 0));
  return rows;
}

// `type`: what the file has.
Tensor read_array(const NpySource& source, FileDType* type) {
  std::uint64_t header_bytes = 0;
  const NpyHeader header = read_header(source, &header_bytes);
  *type = find_dtype(source, header.descr);
  const Shape shape = check_shape(source, header, size_of(*type), source.bytes - header_bytes);
  const bool big_endian = header.descr[0] == '>';
  return header.fortran_order && shape.rank() > 1 ? read_fortran(source, *type, big_endian, shape)
                                                  : read_values(source, *type, big_endian, shape);
}

// ---- writing ----

std::string array_head(const Tensor& tensor) {
  NpyHeader header;
  if (const std::string_view name = numpy_name(tensor.dtype()); !name.empty())
    header.descr = str(size_of(tensor.dtype()) == 1 ? '|' : '<', name);
  if (header.descr.empty())
    throw ShapeError(str("cannot write a tensor of ", tensor.dtype(), " for NumPy"),
                     "NumPy has no such numbers", "convert it to f32 first");
  header.shape.assign(tensor.shape().begin(), tensor.shape().end());
  const std::string text = npy_header_text(header, kMagic.size() + 4);
  const auto length = static_cast<std::uint16_t>(text.size());  // eight sizes take less than 300 bytes
  std::string head(kMagic);
  head += {'\1', '\0', static_cast<char>(length & 255), static_cast<char>(length >> 8)};
  return head + text;
}

}  // namespace

Tensor read_npy(const std::string& path) {
  InputFile file(path);
  FileDType type{};
  return read_array({path, file.size(), [&](void* to, std::size_t bytes) { file.read_exactly(to, bytes); }},
                    &type);
}

NamedTensors read_npz(const std::string& path, std::vector<ConvertedTensor>* converted) {
  ZipReader archive(path);
  NamedTensors tensors;
  for (const ZipEntry& entry : archive.entries()) {
    std::string name = entry.name;
    if (name.ends_with("/data.pkl"))
      throw IoError(
          IoError::Kind::malformed, path + " is no npz", "it is a file of PyTorch's",
          "save its tensors by numpy.savez(PATH, **{name: t.numpy() for name, t in torch.load(..).items()})");
    if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());
    ZipMember member(archive, entry);
    FileDType type{};
    tensors.push_back({name, read_array({str(entry.name, " of ", path), entry.bytes,
                                         [&](void* to, std::size_t bytes) { member.read(to, bytes); }},
                                        &type)});
    member.finish();
    if (converted != nullptr && is_converted(type))
      converted->push_back({name, name_of(type), dtype_of(type)});
  }
  return tensors;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const std::string head = array_head(tensor);
  const HostBytes bytes(tensor);
  AtomicFile file(path);
  file.write(head.data(), head.size());
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void write_npz(const std::string& path, const NamedTensors& tensors, const NpzOptions& options) {
  std::set<std::string> names;
  for (const NamedTensor& named : tensors) {
    if (named.name.empty() || named.name.size() > 1000)
      throw ConfigError(str("cannot save a tensor under a name of ", named.name.size(), " bytes"),
                        "a name is a key of 1 to 1000 bytes", "give it another name");
    if (!names.insert(named.name).second)
      throw ConfigError(str("cannot save two tensors under the name ", named.name), "names are keys",
                        "give each its own name");
    array_head(named.tensor);  // throws before the file is created
  }
  ZipWriter archive(path);
  for (const NamedTensor& named : tensors) {
    const std::string head = array_head(named.tensor);
    const HostBytes bytes(named.tensor);
    archive.add(named.name + std::string(kEnding), head,
                {static_cast<const char*>(bytes.data()), bytes.size()}, options.compress);
  }
  archive.commit();
}

}  // namespace veldt::io
