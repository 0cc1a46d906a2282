// Pixels as the closing of a field.
#include "veldt/pack/coordinate_field.h"

#include <limits>
#include <utility>

#include "veldt/codec/unpack.h"
#include "veldt/core/error.h"
#include "veldt/field/closing.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::pack {
namespace {

using codec::CoordinatePicture;

constexpr double kFieldTolerance = 0.3 / 255;  // of a level from its pixel

// Of one unit, which says nothing.
field::FieldOptions options_of(const CoordinatePicture& picture) {
  field::FieldOptions o{.activation = field::Activation::siren,
                        .widths = {1},
                        .channels = picture.channels,
                        .width = picture.size.width,
                        .height = picture.size.height};
  for (const auto& tone : picture.tones) {
    o.tones.emplace_back();
    for (const std::uint8_t level : tone) o.tones.back().push_back(level / 255.0);
  }
  return o;
}

// Half of the range everywhere, from which the closing reaches both ends.
void set_half(field::ImageField& field) {
  NoGrad off;
  for (auto& [name, parameter] : field.network().state_dict()) {
    Tensor to = parameter;
    to.assign(zeros(parameter.shape()));
  }
}

}  // namespace

field::ImageField field_of(const CoordinatePicture& picture) {
  const field::FieldOptions options = options_of(picture);
  field::ImageField field(options, 1);
  set_half(field);
  // A field of two tones draws its own pixels in them; the closing is for what it draws between.
  const Tensor bytes =
      Tensor::from<std::uint8_t>({options.height, options.width, options.channels}, picture.pixels);
  const Tensor pixels = affine(to(bytes, DType::f32), 1 / 255.0, 0);
  field::FieldOptions open = options;
  open.tones.clear();
  field::ImageField levels(open, 1);
  set_half(levels);
  field.set_closing(
      field::close({pixels, pixels}, levels.open_levels(1, [](double) {}), Tensor(), kFieldTolerance));
  return field;
}

field::ImageField packed_field(std::string_view bytes, const std::string& name) {
  const codec::PackedHeader header =
      codec::read_packed(bytes, name, std::numeric_limits<std::int64_t>::max());
  if (header.size.width > kMostFieldPixels / header.size.height)
    throw ConfigError(
        "cannot make a field of " + name,
        str("it is ", header.size.width, " x ", header.size.height, " pixels, more than ", kMostFieldPixels),
        "take a part of it with veldt unpack --crop, or make it smaller with veldt resize");
  if (header.family == codec::Family::drawing && header.complete)
    return field_of(codec::read_drawing(header, name));
  codec::Unpacked picture = codec::unpack(bytes, name);
  CoordinatePicture pixels;
  pixels.pixels = std::move(picture.pixels);
  pixels.size = picture.size;
  pixels.channels = picture.channels;
  return field_of(pixels);
}

}  // namespace veldt::pack
