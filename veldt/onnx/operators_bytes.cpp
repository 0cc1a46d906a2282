// Bytes taken as something else: numbers of another type, pictures.
#include <bit>
#include <cmath>
#include <cstring>

#include "veldt/io/image.h"
#include "veldt/onnx/narrow.h"
#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"

namespace veldt::onnx {

namespace {

// The numbers as they lie in a file, whole bytes each.
std::string bytes_of(const Call& c, const Value& x) {
  const ElementType type = x.type();
  const int bits = bits_of(type);
  if (bits < 8 || (is_floating(type) && bits == 8))
    c.fail(str("it does not read the bits of ", name_of(type)));
  const DType held = x.tensor().dtype();
  const bool as_held = is_floating(type) || type == ElementType::int64 || type == ElementType::uint64 ||
                       type == ElementType::int32 || held == DType::u8 || held == DType::boolean;
  std::string out;
  if (as_held) {
    const std::vector<std::byte> bytes = x.tensor().bytes();
    out.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return out;
  }
  for (const std::int64_t v : host<std::int64_t>(x.tensor()))
    for (int shift = 0; shift < bits; shift += 8)
      out.push_back(static_cast<char>(std::bit_cast<std::uint64_t>(v) >> static_cast<unsigned>(shift)));
  return out;
}

Values bit_cast_op(const Call& c) {
  const auto type = element_of(c, c.integer("to"));
  const Value& x = c.value(0);
  if (bits_of(type) != bits_of(x.type()))
    c.fail(str(name_of(x.type()), " and ", name_of(type), " have different numbers of bits"));
  if (type == x.type()) return {x};
  return {from_packed(x.shape(), type, bytes_of(c, x))};
}

// A picture file as [height, width, channels] of u8.
Values image_decoder(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::string format = c.text("pixel_format", "RGB");
  if (format != "RGB" && format != "BGR" && format != "Grayscale")
    c.fail("its pixel_format is \"" + format + "\", which ONNX does not have");
  if (x.rank() != 1 || x.dtype() != DType::u8) c.fail("its input is no list of bytes");
  const std::vector<std::uint8_t> bytes = x.values<std::uint8_t>();
  const io::ReadOptions options{.keep_bytes = true};
  const Tensor read =
      io::read_picture(std::as_bytes(std::span(bytes)), "the picture of " + c.node().op, options).image;
  Tensor y = read.dtype() == DType::u8 ? to(read, DType::f32) : mul(read, 255.0);
  const std::int64_t channels = y.size(2), colours = channels >= 3 ? 3 : 1;
  y = narrow(y, 2, 0, colours);  // without alpha
  if (format == "Grayscale") {
    if (colours == 3) {  // ITU-R BT.601
      const Tensor weights = Tensor::of({3}, {0.299, 0.587, 0.114});
      y = sum(mul(y, weights), {2}, true);
    }
  } else {
    if (colours == 1) y = contiguous(expand(y, {y.size(0), y.size(1), 3}));
    if (format == "BGR") y = flip(y, {2});
  }
  return {to(clamp(round(y), 0.0, 255.0), DType::u8)};
}

}  // namespace

void add_bytes(OperatorTable& t) {
  t.add("BitCast", bit_cast_op);
  t.add("ImageDecoder", image_decoder);
}

}  // namespace veldt::onnx
