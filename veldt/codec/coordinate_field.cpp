// From integers to the weights of a field, and its closing.
#include "veldt/codec/coordinate_field.h"

#include <algorithm>

#include "veldt/codec/coordinate_training.h"
#include "veldt/field/closing.h"
#include "veldt/ops/create.h"

namespace veldt::codec {
namespace {

constexpr double kFieldOmega = 30;
// How far a level may be from its pixel, and how far, as a share of the distance of two tones, a pixel of
// one of them must be from the middle between them.
constexpr double kFieldTolerance = 0.3 / 255;
constexpr float kFieldMargin = 0.02f;

field::FieldOptions options_of(const CoordinatePicture& picture) {
  field::FieldOptions o{.activation = field::Activation::siren,
                        .widths = {1},
                        .channels = picture.pixels.size(2),
                        .first_omega = kFieldOmega,
                        .omega = kFieldOmega,
                        .width = picture.pixels.size(1),
                        .height = picture.pixels.size(0)};
  if (picture.network) {
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
  if (!picture.network) {
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
    const double worth = worth_of_step(layer.step, i == 0, last) / (last ? 1 : kFieldOmega);
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

// With a network of two tones a pixel may be anything on its own tone's side: the network has drawn the edge.
field::Bounds bounds_for(const CoordinatePicture& picture) {
  const Tensor level = empty(picture.pixels.shape()), low = empty(level.shape()), high = empty(level.shape());
  const std::uint8_t* const from = picture.pixels.data<std::uint8_t>();
  for (std::int64_t i = 0; i < level.numel(); ++i) {
    const float own = from[i] / 255.0f;
    low.data<float>()[i] = high.data<float>()[i] = own;
    if (picture.tones.empty() || !picture.network) continue;
    const auto c = static_cast<std::size_t>(i % level.size(2));
    const float other = (picture.tones[0][c] + picture.tones[1][c] - from[i]) / 255.0f,
                limit = (own + other) / 2 + (own - other) * kFieldMargin;
    if (own > other) low.data<float>()[i] = limit, high.data<float>()[i] = 2;
    if (own < other) high.data<float>()[i] = limit, low.data<float>()[i] = -1;
  }
  return {low, high};
}

}  // namespace

field::ImageField field_of(const CoordinatePicture& picture) {
  const field::FieldOptions options = options_of(picture);
  field::ImageField field(options, 1);
  field.network().load_state_dict(weights_of_field(picture, options));
  if (picture.is_exact)
    field.set_closing(
        field::close(bounds_for(picture), field.open_levels(1, [](double) {}), Tensor(), kFieldTolerance));
  return field;
}

}  // namespace veldt::codec
