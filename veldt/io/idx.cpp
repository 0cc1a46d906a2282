// Checks the header of an idx file against the size of the file, and swaps its big-endian numbers.
#include "veldt/io/idx.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/gzip.h"
#include "veldt/io/magic.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

struct KnownType {
  unsigned char code;
  std::size_t bytes;
  DType dtype;
};
constexpr KnownType kIdxTypes[] = {{0x08, 1, DType::u8},  {0x09, 1, DType::i8},  {0x0B, 2, DType::i32},
                                   {0x0C, 4, DType::i32}, {0x0D, 4, DType::f32}, {0x0E, 8, DType::f64}};

[[noreturn]] void fail_on_idx(const std::string& path, const std::string& why) {
  throw IoError(IoError::Kind::malformed, "cannot read " + path, why,
                "give an idx file, such as train-images-idx3-ubyte.gz, or copy it again");
}

std::uint32_t big_endian(const unsigned char* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

struct IdxHeader {
  KnownType type;
  Shape shape;
};

IdxHeader read_header(GzipFile& file) {
  unsigned char head[4 + 4 * 255] = {};
  const std::size_t got = file.read(head, 4);
  const auto* const type = std::find_if(std::begin(kIdxTypes), std::end(kIdxTypes),
                                        [&](const KnownType& t) { return t.code == head[2]; });
  if (got < 4 || head[0] != 0 || head[1] != 0 || type == std::end(kIdxTypes))
    fail_on_idx(file.path(), str("it does not begin like an idx file; ",
                                 seems_to_be({reinterpret_cast<const char*>(head), got})));
  const int rank = head[3];
  if (rank > kMaxRank)
    fail_on_idx(file.path(), str("it has ", rank, " dimensions, and Veldt reads up to ", kMaxRank));
  const std::size_t sizes = static_cast<std::size_t>(rank) * 4;
  if (file.read(head + 4, sizes) != sizes) fail_on_idx(file.path(), "the file ends within its header");
  IdxHeader header{*type, {}};
  // Sizes that the file cannot hold are refused before memory is allocated.
  std::uint64_t most = file.most_bytes() / type->bytes;
  bool empty = false;
  for (int d = 0; d < rank; ++d) {
    const std::uint32_t size = big_endian(head + 4 + 4 * d);
    header.shape.push_back(size);
    empty = empty || size == 0;
    most = size == 0 ? most : most / size;
  }
  if (most == 0 && !empty)
    fail_on_idx(file.path(), str("it cannot hold the ", header.shape, " that its header says"));
  return header;
}

// Big-endian numbers of From.
template <class From, class Bits>
Tensor converted(const std::vector<unsigned char>& bytes, const IdxHeader& header) {
  const Tensor out = empty(header.shape, header.type.dtype);
  using To = std::conditional_t<std::is_floating_point_v<From>, From, std::int32_t>;
  To* to = out.data<To>();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(From)) {
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof(From); ++i) bits = static_cast<Bits>(bits << 8 | bytes[at + i]);
    *to++ = static_cast<To>(std::bit_cast<From>(bits));
  }
  return out;
}

}  // namespace

Tensor read_idx(const std::string& path) {
  GzipFile file(path);
  const IdxHeader header = read_header(file);
  const std::size_t bytes = static_cast<std::size_t>(numel(header.shape)) * header.type.bytes;
  const auto read_all = [&](void* to) {
    const std::size_t got = file.read(to, bytes);
    unsigned char more;
    if (got < bytes)
      fail_on_idx(path, str("it is cut off: it has ", got, " of the ", bytes, " bytes of its numbers"));
    if (file.read(&more, 1) > 0)
      fail_on_idx(path, str("it is longer than the ", header.shape, " that its header says"));
  };
  if (header.type.bytes == 1) {
    const Tensor out = empty(header.shape, header.type.dtype);
    read_all(out.view().data);
    return out;
  }
  std::vector<unsigned char> packed(bytes);
  read_all(packed.data());
  switch (header.type.code) {
    case 0x0B: return converted<std::int16_t, std::uint16_t>(packed, header);
    case 0x0C: return converted<std::int32_t, std::uint32_t>(packed, header);
    case 0x0D: return converted<float, std::uint32_t>(packed, header);
    default: return converted<double, std::uint64_t>(packed, header);
  }
}

}  // namespace veldt::io
