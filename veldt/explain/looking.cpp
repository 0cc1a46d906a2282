// Filters as a picture, and a search for what drives a channel.
#include "veldt/explain/looking.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/explain/target.h"
#include "veldt/nn/convolution.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::explain {

Tensor first_layer_filters(const nn::Module& model) {
  const nn::Conv2d* first = nullptr;
  for (const nn::NamedModule& inner : model.named_modules())
    if (first == nullptr) first = dynamic_cast<const nn::Conv2d*>(inner.module);
  if (first == nullptr)
    throw ConfigError("there are no filters to look at", str(model.title(), " has no Conv2d"),
                      "give a network whose first layer is a convolution");
  const Tensor weight = to(to(first->weight().detach(), Device{}), DType::f32);
  const std::int64_t high = weight.size(2), wide = weight.size(3), colours = weight.size(1) == 3 ? 3 : 1;
  const std::int64_t tiles = weight.size(0) * weight.size(1) / colours;
  const auto columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(tiles))));
  const std::int64_t rows = (tiles + columns - 1) / columns;
  const std::int64_t height = rows * (high + 1) + 1, width = columns * (wide + 1) + 1;
  const std::vector<float> values = weight.values<float>();
  float largest = 0;
  for (const float v : values) largest = std::max(largest, std::abs(v));
  std::vector<float> picture(static_cast<std::size_t>(height * width * colours), 0.5F);
  std::size_t next = 0;  // values lie by tile, colour, row and column
  for (std::int64_t tile = 0; tile < tiles; ++tile)
    for (std::int64_t c = 0; c < colours; ++c)
      for (std::int64_t y = 0; y < high; ++y)
        for (std::int64_t x = 0; x < wide; ++x) {
          const std::int64_t row = tile / columns * (high + 1) + 1 + y;
          const std::int64_t column = tile % columns * (wide + 1) + 1 + x;
          const float value = values[next++];
          picture[static_cast<std::size_t>((row * width + column) * colours + c)] =
              largest > 0 ? 0.5F + 0.5F * value / largest : 0.5F;
        }
  return Tensor::from<float>({height, width, colours}, picture);
}

std::vector<Activation> most_activating(const nn::Module& model, nn::Module& layer, std::int64_t channel,
                                        const std::function<Tensor()>& next, std::int64_t count) {
  if (count < 1)
    throw ConfigError(str("cannot keep ", count, " inputs"),
                      "the most activating one is the least to ask for", "give 1 or more");
  const nn::Evaluating evaluating(model);
  const NoGrad off;
  Tensor given;
  const ScopedHooks hook(
      layer.register_forward_hook([&](auto&, auto&, TensorList& outputs) { given = outputs.at(0); }));
  std::vector<Activation> kept;
  std::int64_t seen = 0;
  for (Tensor x = next(); x.defined(); x = next()) {
    given = Tensor();
    model(x);
    if (!given.defined() || given.rank() < 2)
      throw ConfigError(
          str("there is no channel ", channel, " of ", layer.title()),
          given.defined() ? str("it gives ", given.shape()) : std::string("the network does not call it"),
          "give a layer that is called, with channels as its second dimension");
    if (channel < 0 || channel >= given.size(1))
      throw ConfigError(str("there is no channel ", channel, " of ", layer.title()),
                        str("it gives ", given.shape(), ", of which the second are its channels"),
                        str("give one of 0 .. ", given.size(1) - 1));
    const std::int64_t n = given.size(0);
    const Tensor places = to(to(reshape(select(given, 1, channel), {n, -1}), Device{}), DType::f64);
    const std::vector<double> values = max(places, {1}).values<double>();
    const std::vector<std::int64_t> where = argmax(places, 1).values<std::int64_t>();
    for (std::size_t i = 0; i < values.size(); ++i)
      kept.push_back({values[i], seen + static_cast<std::int64_t>(i), where[i]});
    seen += n;
    std::stable_sort(kept.begin(), kept.end(),
                     [](const Activation& a, const Activation& b) { return a.value > b.value; });
    if (std::ssize(kept) > count) kept.resize(static_cast<std::size_t>(count));
  }
  return kept;
}

}  // namespace veldt::explain
