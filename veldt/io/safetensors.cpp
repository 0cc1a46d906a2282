// Checks names, layout and digests of a safetensors file before it reads a tensor, and writes such a file.
#include "veldt/io/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "veldt/core/error.h"
#include "veldt/io/digest.h"
#include "veldt/io/file.h"
#include "veldt/io/host_bytes.h"
#include "veldt/io/json.h"
#include "veldt/io/magic.h"
#include "veldt/io/safetensors_header.h"

namespace veldt::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian");

IoError malformed_safetensors(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, path + " is not a valid safetensors file", why,
          "copy, download or save the file again"};
}

IoError corrupt(const std::string& path, const std::string& part) {
  return {IoError::Kind::corrupt, str(path, " is damaged: ", part, " has changed"),
          "its XXH3 is not the one that was saved",
          "use a backup; if another program changed it on purpose, let it drop the metadata veldt.xxh3"};
}

struct NamedDType {
  const char* name;
  std::size_t bytes;
  std::optional<FileDType> type;  // none: the file may be listed, but its tensor is not read
};
constexpr NamedDType kNamedDTypes[] = {
    {"F64", 8, FileDType::float64},
    {"F32", 4, FileDType::float32},
    {"BF16", 2, FileDType::bfloat16},
    {"F16", 2, FileDType::float16},
    {"I64", 8, FileDType::int64},
    {"I32", 4, FileDType::int32},
    {"U8", 1, FileDType::uint8},
    {"BOOL", 1, FileDType::boolean},
    {"I16", 2, FileDType::int16},
    {"I8", 1, FileDType::int8},
    {"U64", 8, FileDType::uint64},
    {"U32", 4, FileDType::uint32},
    {"U16", 2, FileDType::uint16},
    {"F8_E4M3", 1, FileDType::float8_e4m3fn},
    {"F8_E5M2", 1, FileDType::float8_e5m2},
    {"F8_E8M0", 1, {}},
    {"F8_E4M3FNUZ", 1, {}},
    {"F8_E5M2FNUZ", 1, {}},
    {"C64", 8, {}},
};

const NamedDType* find_dtype(const std::string& name) {
  const auto found = std::find_if(std::begin(kNamedDTypes), std::end(kNamedDTypes),
                                  [&](const NamedDType& known) { return name == known.name; });
  return found == std::end(kNamedDTypes) ? nullptr : found;
}

const char* format_name(DType dtype) {
  for (const NamedDType& known : kNamedDTypes)
    if (known.type && !is_converted(*known.type) && dtype_of(*known.type) == dtype) return known.name;
  return "?";
}

// The bytes of a tensor, or nullopt if their number is beyond 2^62.
std::optional<std::uint64_t> byte_count(const TensorInfo& tensor, std::size_t element) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return 0;
  std::uint64_t bytes = element;
  for (const std::int64_t size : tensor.shape) {
    if (bytes > kLimit / static_cast<std::uint64_t>(size)) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(size);
  }
  return bytes;
}

// Tensors must cover the data: in order of offsets, each begins where the one before ends, and the last ends
// with the file.
void check_layout(const std::string& path, SafeTensorsHeader& header, std::uint64_t data_bytes) {
  std::sort(header.tensors.begin(), header.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t reached = 0;
  for (const TensorInfo& tensor : header.tensors) {
    const NamedDType* known = find_dtype(tensor.dtype);
    if (known == nullptr)
      throw malformed_safetensors(path, str("tensor ", tensor.name, " has the unknown dtype ", tensor.dtype));
    if (tensor.begin != reached || tensor.end < tensor.begin)
      throw malformed_safetensors(path, str("tensor ", tensor.name, " lies at ", tensor.begin, " to ",
                                            tensor.end, " but the one before ends at ", reached));
    const auto bytes = byte_count(tensor, known->bytes);
    if (!bytes || *bytes != tensor.end - tensor.begin)
      throw malformed_safetensors(path, str("tensor ", tensor.name, " has ", tensor.end - tensor.begin,
                                            " bytes, which its shape and dtype do not"));
    reached = tensor.end;
  }
  if (reached != data_bytes)
    throw malformed_safetensors(path, str("its tensors end at ", reached, " and its data at ", data_bytes));
}

// The content of the header except offsets, in a canonical form: the input of its own digest.
std::string header_digest(const SafeTensorsHeader& header) {
  nlohmann::json canonical = {{"metadata", header.metadata}};
  // Created as objects: [] on a null value crashes if memory runs out (nlohmann 3.11).
  nlohmann::json tensors = nlohmann::json::object();
  for (const TensorInfo& tensor : header.tensors)
    tensors[tensor.name] = nlohmann::json{{"dtype", tensor.dtype}, {"shape", tensor.shape}};
  if (!tensors.empty()) canonical["tensors"] = std::move(tensors);
  const std::string text = dump_json(canonical);
  return digest_of(text.data(), text.size());
}

// An upper bound of the digests' size: a byte of a name takes at most six ("\u0001"), a digest 32.
std::size_t most_digest_bytes(const SafeTensorsHeader& header) {
  std::size_t most = 1024;
  for (const TensorInfo& tensor : header.tensors) most += 6 * tensor.name.size() + 64;
  return most;
}

nlohmann::json parse_digests(const std::string& path, const SafeTensorsHeader& header,
                             const std::string& text) {
  try {
    return parse_json<nlohmann::json>(text, 1, most_digest_bytes(header));
  } catch (const IoError&) {
    throw corrupt(path, "its header");
  }
}

// Moves our digests out of the metadata, and checks that of the header.
void take_digests(const std::string& path, SafeTensorsHeader& header) {
  const auto stored = header.metadata.find(kDigestKey);
  if (stored == header.metadata.end()) return;
  const nlohmann::json digests = parse_digests(path, header, stored->second);
  header.metadata.erase(stored);
  if (!digests.is_object()) throw corrupt(path, "its header");
  for (const auto& [name, digest] : digests.items()) {
    if (!digest.is_string()) throw corrupt(path, "its header");
    header.digests[name] = digest.get<std::string>();
  }
  if (header.digests[""] != header_digest(header)) throw corrupt(path, "its header");
}

// True if the digests are longer than those of all tensors that the rest of the header can describe: each
// needs half of that there. Checked before parsing, which takes a second for the largest header.
bool has_too_many_digests(const std::string& header) {
  const std::string quoted = str('"', kDigestKey, '"');
  const std::size_t key = header.find(quoted);
  if (key == std::string::npos) return false;
  std::size_t end = header.find('"', key + quoted.size());  // where the digests' text begins
  if (end == std::string::npos) return false;
  do end = header.find('"', end + 1);
  while (end != std::string::npos && header[end - 1] == '\\');
  const std::size_t bytes = std::min(end, header.size()) - key;
  return bytes > 2 * (header.size() - bytes) + 1024;
}

// Reads the header, up to the first byte of data. `data` receives its position.
SafeTensorsHeader read_header(InputFile& file, std::uint64_t* data) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length)
    throw malformed_safetensors(file.path(), str("it has only ", file.size(), " bytes"));
  file.read_exactly(&length, sizeof length);
  const std::string_view first(reinterpret_cast<const char*>(&length), sizeof length);
  if (!known_content(first).empty())
    throw IoError(IoError::Kind::malformed, file.path() + " is not a safetensors file", seems_to_be(first),
                  "give a model that veldt fit or veldt train wrote");
  // A header's length begins with small bytes and ends with zeros, so this cannot be one.
  if (length > kMaxHeaderBytes && seems_to_be(first) == "it seems to be text")
    throw IoError(IoError::Kind::malformed, file.path() + " is not a safetensors file", seems_to_be(first),
                  "give a model; of a recipe, the folder of its run, such as runs/mnist");
  if (length > kMaxHeaderBytes || length > file.size() - sizeof length)
    throw malformed_safetensors(
        file.path(), str("its header would have ", length, " bytes, ",
                         length > kMaxHeaderBytes ? str("and at most ", kMaxHeaderBytes, " are read")
                                                  : str("and the whole file has ", file.size())));
  std::string text(length, '\0');
  file.read_exactly(text.data(), text.size());
  if (has_too_many_digests(text)) throw corrupt(file.path(), "its header");
  SafeTensorsHeader header;
  if (const std::string fault = parse_safetensors_header(text, header); !fault.empty())
    throw malformed_safetensors(file.path(), fault);
  check_layout(file.path(), header, file.size() - sizeof length - length);
  take_digests(file.path(), header);
  *data = sizeof length + length;
  return header;
}

// `digest`: of its bytes, if Veldt wrote them.
Tensor read_tensor(InputFile& file, const TensorInfo& info, const std::string* digest) {
  const NamedDType* known = find_dtype(info.dtype);
  if (!known->type)
    throw IoError(IoError::Kind::malformed, str("cannot read tensor ", info.name, " of ", file.path()),
                  str("Veldt has no tensors of ", info.dtype),
                  "convert it to F32, F64, BF16, F16, I64, I32, U8 or BOOL");
  if (info.shape.size() > kMaxRank)
    throw malformed_safetensors(file.path(), str("tensor ", info.name, " has ", info.shape.size(),
                                                 " dimensions, and ", kMaxRank, " are allowed"));
  const FileDType type = *known->type;
  Tensor tensor = empty(Shape(std::span<const std::int64_t>(info.shape)), dtype_of(type));
  std::vector<std::byte> narrow(is_converted(type) ? info.end - info.begin : 0);
  const std::span<std::byte> bytes(
      is_converted(type) ? narrow.data() : static_cast<std::byte*>(tensor.view().data),
      info.end - info.begin);
  file.read_exactly(bytes.data(), bytes.size());
  if (type == FileDType::boolean && !are_booleans(bytes))
    throw malformed_safetensors(file.path(),
                                str("tensor ", info.name, " is of BOOL and holds a byte above 1"));
  if (digest != nullptr && *digest != digest_of(bytes.data(), bytes.size()))
    throw corrupt(file.path(), "tensor " + info.name);
  if (is_converted(type))
    if (const std::string fault = convert(type, bytes, tensor); !fault.empty())
      throw malformed_safetensors(file.path(), str("tensor ", info.name, ": ", fault));
  return tensor;
}

// ---- writing ----

void check_names(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata) {
  std::set<std::string> names;
  for (const NamedTensor& named : tensors) {
    if (named.name.empty() || named.name == "__metadata__")
      throw ConfigError(str("cannot save a tensor under the name '", named.name, "'"),
                        "the format reserves it", "give it another name");
    if (!names.insert(named.name).second)
      throw ConfigError(str("cannot save two tensors under the name ", named.name), "names are keys",
                        "give each its own name");
  }
  if (metadata.contains(kDigestKey))
    throw ConfigError(str("cannot save metadata under the name ", kDigestKey),
                      "Veldt keeps its digests there", "choose another key");
}

// The header's entries, offsets included, and the digests of the bytes.
SafeTensorsHeader lay_out(const std::vector<const NamedTensor*>& order,
                          const std::map<std::string, std::string>& metadata) {
  SafeTensorsHeader header;
  header.metadata = metadata;
  std::uint64_t offset = 0;
  for (const NamedTensor* named : order) {
    const HostBytes bytes(named->tensor);
    const Shape& shape = named->tensor.shape();
    header.tensors.push_back({named->name,
                              format_name(named->tensor.dtype()),
                              {shape.begin(), shape.end()},
                              offset,
                              offset + bytes.size()});
    header.digests[named->name] = digest_of(bytes.data(), bytes.size());
    offset += bytes.size();
  }
  return header;
}

std::string header_text(SafeTensorsHeader& header) {
  header.digests[""] = header_digest(header);
  std::map<std::string, std::string> metadata = header.metadata;
  metadata[kDigestKey] = dump_json(nlohmann::json(header.digests));
  nlohmann::ordered_json json = {{"__metadata__", metadata}};
  for (const TensorInfo& tensor : header.tensors)
    json[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
  std::string text = dump_json(json);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data
  return text;
}

}  // namespace

const Tensor* SafeTensors::find(const std::string& name) const {
  for (const NamedTensor& named : tensors)
    if (named.name == name) return &named.tensor;
  return nullptr;
}

SafeTensorsHeader read_safetensors_header(const std::string& path) {
  InputFile file(path);
  std::uint64_t data = 0;
  SafeTensorsHeader header = read_header(file, &data);
  for (TensorInfo& tensor : header.tensors) {
    tensor.begin += data;
    tensor.end += data;
  }
  return header;
}

SafeTensors read_safetensors(const std::string& path) {
  InputFile file(path);
  std::uint64_t data = 0;
  SafeTensorsHeader header = read_header(file, &data);
  SafeTensors result;
  for (const TensorInfo& info : header.tensors) {
    // They are in this order, without gaps.
    Tensor tensor = read_tensor(file, info, header.digests.empty() ? nullptr : &header.digests[info.name]);
    if (const FileDType type = *find_dtype(info.dtype)->type; is_converted(type))
      result.converted.push_back({info.name, name_of(type), tensor.dtype()});
    result.tensors.push_back({info.name, std::move(tensor)});
  }
  result.metadata = std::move(header.metadata);
  result.verified = !header.digests.empty();
  return result;
}

void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  check_names(tensors, metadata);
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& named : tensors) order.push_back(&named);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return size_of(a->tensor.dtype()) > size_of(b->tensor.dtype());
  });
  SafeTensorsHeader header = lay_out(order, metadata);
  std::string text;
  try {
    text = header_text(header);
  } catch (const nlohmann::json::exception&) {
    throw ConfigError("cannot save " + path, "a name or a metadata value is not UTF-8",
                      "write them in UTF-8");
  }
  const std::uint64_t length = text.size();
  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(text.data(), text.size());
  for (const NamedTensor* named : order) {
    const HostBytes bytes(named->tensor);
    file.write(bytes.data(), bytes.size());
  }
  file.commit();
}

}  // namespace veldt::io
