// From integers to the weights of a field, and its closing.
#include "veldt/pack/coordinate_field.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "veldt/codec/unpack.h"
#include "veldt/core/error.h"
#include "veldt/field/closing.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::pack {
namespace {

using codec::CoordinateLayer;
using codec::CoordinatePicture;

constexpr double kFieldOmega = 30;
constexpr double kFieldTolerance = 0.3 / 255;  // of a level from its pixel

// Of exact pixels of two tones a small network knows less than what interpolates them.
bool draws_by_network(const CoordinatePicture& picture) {
  return picture.network && (!picture.is_exact || picture.tones.empty());
}

field::FieldOptions options_of(const CoordinatePicture& picture) {
  field::FieldOptions o{.activation = field::Activation::siren,
                        .widths = {1},
                        .channels = picture.channels,
                        .first_omega = kFieldOmega,
                        .omega = kFieldOmega,
                        .width = picture.size.width,
                        .height = picture.size.height};
  if (draws_by_network(picture)) {
    o.widths.clear();
    for (std::size_t i = 0; i + 1 < picture.network->layers.size(); ++i)
      o.widths.push_back(picture.network->layers[i].out);
  }
  for (const auto& tone : picture.tones) {
    o.tones.emplace_back();
    for (const std::uint8_t level : tone) o.tones.back().push_back(level / 255.0);
  }
  return o;
}

// "layers.0.weight" and its like, f32.
NamedTensors weights_of_field(const CoordinatePicture& picture, const field::FieldOptions& o) {
  NamedTensors out;
  const auto put = [&](std::size_t layer, const std::vector<float>& weight, std::int64_t in,
                       const std::vector<float>& bias) {
    const auto units = static_cast<std::int64_t>(bias.size());
    out.push_back(NamedTensor{str("layers.", layer, ".weight"), Tensor::from<float>({units, in}, weight)});
    out.push_back(NamedTensor{str("layers.", layer, ".bias"), Tensor::from<float>({units}, bias)});
  };
  if (!draws_by_network(picture)) {
    // Half of the range everywhere, from which the closing reaches both ends.
    const auto channels = static_cast<std::size_t>(o.channels);
    put(0, {0, 0}, 2, {0});
    put(1, std::vector<float>(channels), 1, std::vector<float>(channels));
    return out;
  }
  const std::vector<CoordinateLayer>& layers = picture.network->layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const CoordinateLayer& layer = layers[i];
    const bool last = i + 1 == layers.size();
    const double worth = codec::worth_of_step(layer.step, i == 0, last) / (last ? 1 : kFieldOmega);
    std::vector<float> weight, bias;
    const auto add_unit = [&](std::int64_t unit, double gain, double shift) {
      const std::int32_t* const from = layer.weights.data() + unit * (layer.in + 1);
      for (std::int64_t k = 0; k < layer.in; ++k)
        weight.push_back(static_cast<float>(gain * worth * from[k]));
      bias.push_back(static_cast<float>(gain * worth * from[layer.in] + shift));
    };
    // The output of two tones goes from -1, the first, to 1.
    if (last && !picture.tones.empty())
      for (const std::size_t c : {0u, 1u, 2u, 3u}) {
        if (static_cast<std::int64_t>(c) >= o.channels) break;
        add_unit(0, o.tones[1][c] - o.tones[0][c], o.tones[1][c] + o.tones[0][c] - 1);
      }
    else
      for (std::int64_t unit = 0; unit < layer.out; ++unit) add_unit(unit, 1, 0);
    put(i, weight, layer.in, bias);
  }
  return out;
}

}  // namespace

field::ImageField field_of(const CoordinatePicture& picture) {
  const field::FieldOptions options = options_of(picture);
  const NamedTensors weights = weights_of_field(picture, options);
  field::ImageField field(options, 1);
  field.network().load_state_dict(weights);
  if (picture.is_exact) {
    // A field of two tones draws its own pixels in them; the closing is for what it draws between.
    const Tensor bytes =
        Tensor::from<std::uint8_t>({options.height, options.width, options.channels}, picture.pixels);
    const Tensor pixels = affine(to(bytes, DType::f32), 1 / 255.0, 0);
    field::FieldOptions open = options;
    open.tones.clear();
    field::ImageField levels(open, 1);
    levels.network().load_state_dict(weights);
    field.set_closing(
        field::close({pixels, pixels}, levels.open_levels(1, [](double) {}), Tensor(), kFieldTolerance));
  }
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
