// The numbers of a TensorProto, in all the ways in which they may lie in a file.
#include "veldt/onnx/tensor_read.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <system_error>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/onnx/narrow.h"

namespace veldt::onnx {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

bool packed(const pbf_reader& m) { return m.wire_type() == pbf_wire_type::length_delimited; }

void expect_bytes(const pbf_reader& m) {
  if (!packed(m)) throw protozero::unknown_pbf_wire_type_exception();
}

// What a TensorProto says, before its numbers are believed.
struct Message {
  std::string name;
  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> dims;
  std::vector<double> reals;           // float_data and double_data
  std::vector<std::int64_t> integers;  // int32_data, int64_data, uint64_data
  std::vector<std::string> texts;
  protozero::data_view raw;
  bool has_raw = false;
  bool external = false;
  std::map<std::string, std::string> place;  // of external data
};

Message described(pbf_reader m, const Source& source) {
  Message out;
  while (m.next()) {
    switch (m.tag()) {
      case 1: append_integers(m, out.dims); break;
      case 2: out.type = element_type(integer_of(m)); break;
      case 4: append_reals(m, out.reals); break;
      case 5:
      case 7:
      case 11: append_integers(m, out.integers); break;
      case 6: out.texts.push_back(text_of(m)); break;
      case 8: out.name = text_of(m); break;
      case 9: expect_bytes(m), out.raw = m.get_view(), out.has_raw = true; break;
      case 10:
        if (packed(m)) {
          for (const double v : m.get_packed_double()) out.reals.push_back(v);
        } else {
          if (m.wire_type() != pbf_wire_type::fixed64) throw protozero::unknown_pbf_wire_type_exception();
          out.reals.push_back(m.get_double());
        }
        break;
      case 13: {
        pbf_reader entry = message_of(m);
        std::string key, value;
        while (entry.next()) {
          if (entry.tag() == 1)
            key = text_of(entry);
          else if (entry.tag() == 2)
            value = text_of(entry);
          else
            entry.skip();
        }
        out.place[key] = value;
        break;
      }
      case 14: out.external = integer_of(m) == 1; break;
      default: m.skip();
    }
  }
  if (out.dims.size() > static_cast<std::size_t>(kMaxRank))
    source.fail(
        str("the tensor ", out.name, " has ", out.dims.size(), " dimensions; Veldt takes up to ", kMaxRank));
  return out;
}

// The product of the sizes, if it is one.
std::uint64_t elements_in(const Message& m, const Source& source) {
  std::uint64_t count = 1;
  bool nothing = false;
  for (const std::int64_t d : m.dims) {
    if (d < 0) source.fail(str("the tensor ", m.name, " has the size ", d));
    nothing |= d == 0;
  }
  if (nothing) return 0;
  for (const std::int64_t d : m.dims) {
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(d), &count) || count > std::uint64_t{1}
                                                                                            << 48)
      source.fail(str("the sizes of the tensor ", m.name, " multiply to more than 2^48"));
  }
  return count;
}

std::uint64_t number_in(const Message& m, const char* key, std::uint64_t otherwise, const Source& source) {
  const auto found = m.place.find(key);
  if (found == m.place.end()) return otherwise;
  std::uint64_t value = 0;
  for (const char c : found->second) {
    if (c < '0' || c > '9' || value > (std::uint64_t{1} << 59))
      source.fail(str("the external data of ", m.name, " have the ", key, " \"", found->second,
                      "\", which is no number"));
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::string external_bytes(const Message& m, std::uint64_t wanted, const Source& source) {
  const auto location = m.place.find("location");
  if (location == m.place.end())
    source.fail(str("the tensor ", m.name, " has external data without a location"));
  const std::filesystem::path path(location->second);
  bool inside = !path.is_absolute() && !source.folder.empty();
  for (const auto& part : path) inside &= part != "..";
  if (!inside)
    source.fail(str("the external data of ", m.name, " lie in \"", location->second,
                    "\", outside the folder of the model"));
  const std::string whole = (std::filesystem::path(source.folder) / path).string();
  if (std::error_code ignored; !std::filesystem::exists(whole, ignored))
    throw IoError(IoError::Kind::missing, str("the weights of \"", source.name, "\" are missing"),
                  str("they lie in a file of their own, ", whole, ", which is not there"),
                  "copy it with the model, under the same name");
  io::InputFile file(whole);
  const std::uint64_t offset = number_in(m, "offset", 0, source);
  const std::uint64_t length = number_in(m, "length", wanted, source);
  if (length != wanted)
    source.fail(
        str("the tensor ", m.name, " has ", length, " external bytes where its sizes ask for ", wanted));
  if (offset > file.size() || length > file.size() - offset)
    source.fail(str("the external data of ", m.name, " end beyond \"", location->second, "\""));
  // Tensors may be tied; but no file is to take many times what it holds.
  std::uint64_t& taken = source.taken[std::filesystem::canonical(source.folder / path).string()];
  taken += length;
  if (taken > 2 * file.size())
    source.fail(str("its tensors read the external data in \"", location->second, "\" more than twice"));
  std::string bytes(static_cast<std::size_t>(length), '\0');
  file.seek(offset);
  file.read_exactly(bytes.data(), bytes.size());
  return bytes;
}

Shape shape_of(const Message& m) { return Shape(std::span<const std::int64_t>(m.dims)); }

// From float_data, int32_data and their like.
Value listed(const Message& m, std::uint64_t count, const Source& source) {
  const bool real = m.type == ElementType::float32 || m.type == ElementType::float64;
  const std::uint64_t there = real ? m.reals.size() : m.integers.size();
  // Two 4-bit numbers, or four of 2 bits, a byte.
  const std::uint64_t a_byte = static_cast<std::uint64_t>(packed_in_a_byte(m.type));
  if (there != (count + a_byte - 1) / a_byte)
    source.fail(str("the tensor ", m.name, " has ", there, " numbers where its sizes ask for ", count));
  const auto as_bytes = [&](auto zero, const auto& numbers) {
    using T = decltype(zero);
    std::string bytes(numbers.size() * sizeof(T), '\0');
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const T value = static_cast<T>(numbers[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  };
  std::string bytes;
  switch (bits_of(m.type)) {
    case 64: bytes = real ? as_bytes(double{}, m.reals) : as_bytes(std::int64_t{}, m.integers); break;
    case 32: bytes = real ? as_bytes(float{}, m.reals) : as_bytes(std::int32_t{}, m.integers); break;
    case 16: bytes = as_bytes(std::int16_t{}, m.integers); break;  // of float16 the bits
    default: bytes = as_bytes(std::int8_t{}, m.integers); break;
  }
  return from_packed(shape_of(m), m.type, bytes);
}

}  // namespace

void Source::fail(const std::string& why) const {
  throw IoError(IoError::Kind::malformed, str("\"", name, "\" cannot be read as ONNX"), why,
                "export it again; onnx.checker of Python's onnx package says more");
}

ElementType element_type(std::int64_t number) {
  if (number < 0 || number >= kElementTypes)
    throw IoError(IoError::Kind::malformed, str("a tensor has the unknown element type ", number),
                  "Veldt knows those of ONNX 1.20", "export the model with types that it has");
  return static_cast<ElementType>(number);
}

namespace {

void expect(const pbf_reader& m, pbf_wire_type type) {
  if (m.wire_type() != type) throw protozero::unknown_pbf_wire_type_exception();
}

}  // namespace

std::string text_of(pbf_reader& m) {
  expect(m, pbf_wire_type::length_delimited);
  return m.get_string();
}
std::int64_t integer_of(pbf_reader& m) {
  expect(m, pbf_wire_type::varint);
  return m.get_int64();
}
pbf_reader message_of(pbf_reader& m) {
  expect(m, pbf_wire_type::length_delimited);
  return m.get_message();
}

void append_integers(pbf_reader& m, std::vector<std::int64_t>& to) {
  if (packed(m)) {
    for (const std::int64_t v : m.get_packed_int64()) to.push_back(v);
  } else {
    to.push_back(integer_of(m));
  }
}

void append_reals(pbf_reader& m, std::vector<double>& to) {
  if (packed(m)) {
    for (const float v : m.get_packed_float()) to.push_back(static_cast<double>(v));
  } else {
    expect(m, pbf_wire_type::fixed32);
    to.push_back(static_cast<double>(m.get_float()));
  }
}

std::pair<std::string, Value> read_tensor(const pbf_reader& message, const Source& source) {
  const Message m = described(message, source);
  const std::uint64_t count = elements_in(m, source);
  if (m.type == ElementType::string) {
    if (m.texts.size() != count)
      source.fail(
          str("the tensor ", m.name, " has ", m.texts.size(), " texts where its sizes ask for ", count));
    return {m.name, Value(Texts{shape_of(m), m.texts})};
  }
  if (m.type == ElementType::undefined || m.type == ElementType::complex64 ||
      m.type == ElementType::complex128)
    source.fail(str("the tensor ", m.name, " is of the type ", name_of(m.type), ", which Veldt cannot hold"));
  const std::uint64_t bits = static_cast<std::uint64_t>(bits_of(m.type));
  if (!m.has_raw && !m.external) return {m.name, listed(m, count, source)};
  const std::uint64_t wanted = bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
  if (m.external) return {m.name, from_packed(shape_of(m), m.type, external_bytes(m, wanted, source))};
  if (m.raw.size() != wanted)
    source.fail(str("the tensor ", m.name, " has ", m.raw.size(), " bytes where its sizes ask for ", wanted));
  return {m.name, from_packed(shape_of(m), m.type, std::string_view(m.raw.data(), m.raw.size()))};
}

std::pair<std::string, Value> read_sparse_tensor(const pbf_reader& sparse, const Source& source) {
  pbf_reader message = sparse;
  std::pair<std::string, Value> values, indices;
  std::vector<std::int64_t> dims;
  while (message.next()) {
    switch (message.tag()) {
      case 1: values = read_tensor(message_of(message), source); break;
      case 2: indices = read_tensor(message_of(message), source); break;
      case 3: append_integers(message, dims); break;
      default: message.skip();
    }
  }
  if (!values.second.is_tensor() || !indices.second.is_tensor() ||
      indices.second.type() != ElementType::int64 || dims.size() > static_cast<std::size_t>(kMaxRank))
    source.fail("a sparse tensor lacks its values, its indices or its sizes");
  // What a dense copy takes is a size of the file's that nothing else limits.
  constexpr std::uint64_t kMaxDense = std::uint64_t{1} << 28;
  Message sizes;
  sizes.name = values.first;
  sizes.dims = dims;
  const std::uint64_t count = elements_in(sizes, source);
  const std::vector<std::byte> from = values.second.tensor().bytes();
  const std::size_t size = size_of(values.second.tensor().dtype());
  const std::size_t given = from.size() / size;
  const std::vector<std::int64_t> at = indices.second.tensor().values<std::int64_t>();
  const bool flat = indices.second.tensor().rank() == 1;
  source.dense += std::min(count, kMaxDense + 1);
  if (source.dense > kMaxDense || at.size() != given * (flat ? 1 : dims.size()))
    source.fail(str("the sparse tensor ", values.first,
                    " has sizes that do not fit its indices, or more than 2^28 elements"));
  std::vector<std::byte> dense(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < given; ++i) {
    std::int64_t place = flat ? at[i] : 0;
    for (std::size_t d = 0; !flat && d < dims.size(); ++d) {
      const std::int64_t index = at[i * dims.size() + d];
      if (index < 0 || index >= dims[d]) place = -1;
      if (place >= 0) place = place * dims[d] + index;
    }
    if (place < 0 || static_cast<std::uint64_t>(place) >= count)
      source.fail(str("the sparse tensor ", values.first, " has an index beyond its sizes"));
    std::memcpy(dense.data() + static_cast<std::size_t>(place) * size, from.data() + i * size, size);
  }
  return {values.first, Value(Tensor::from_bytes(Shape(std::span<const std::int64_t>(dims)),
                                                 values.second.tensor().dtype(), dense),
                              values.second.type())};
}

}  // namespace veldt::onnx
