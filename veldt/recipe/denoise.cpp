// Puts a picture together from tiles that a network has cleaned.
#include "veldt/recipe/denoise.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "veldt/data/pictures.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {
namespace {

constexpr std::int64_t kTilesAtOnce = 16;

// Where tiles begin along a side: each half a tile after the one before, the last at the end.
std::vector<std::int64_t> begins_of(std::int64_t length, std::int64_t tile) {
  std::vector<std::int64_t> begins;
  for (std::int64_t at = 0; at < length - tile; at += std::max<std::int64_t>(tile / 2, 1))
    begins.push_back(at);
  begins.push_back(length - tile);
  return begins;
}

// Sums of tiles [channels, tile, tile] of a picture, with a weight that falls from their middle to the sides.
class Mosaic {
 public:
  Mosaic(const Tensor& planes, std::int64_t tile)
      : tile_(tile), channels_(planes.size(0)), height_(planes.size(1)), width_(planes.size(2)) {
    sum_.resize(static_cast<std::size_t>(planes.numel()));
    weights_.resize(static_cast<std::size_t>(height_ * width_));
  }

  void add(const std::vector<float>& values, std::size_t from, std::int64_t y, std::int64_t x) {
    const auto weight = [&](std::int64_t i) { return static_cast<float>(std::min(i + 1, tile_ - i)); };
    for (std::int64_t i = 0; i < tile_ * tile_; ++i) {
      const float w = weight(i / tile_) * weight(i % tile_);
      const auto at = static_cast<std::size_t>((y + i / tile_) * width_ + x + i % tile_);
      weights_[at] += w;
      for (std::int64_t c = 0; c < channels_; ++c)
        sum_[static_cast<std::size_t>(c * height_ * width_) + at] +=
            w * values[from + static_cast<std::size_t>(c * tile_ * tile_ + i)];
    }
  }

  // [channels, height, width] in 0..1
  Tensor mean() const {
    std::vector<float> all = sum_;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = std::clamp(all[i] / weights_[i % weights_.size()], 0.0F, 1.0F);
    return Tensor::from<float>({channels_, height_, width_}, all);
  }

 private:
  std::int64_t tile_, channels_, height_, width_;
  std::vector<float> sum_, weights_;
};

}  // namespace

Tensor denoised_picture(const Facts& facts, const nn::Module& model, const Tensor& picture,
                        const RowsHeard& heard) {
  const NoGrad off;
  const std::int64_t tile = facts.model.input[1];
  const Device device = model.parameters().empty() ? Device{} : model.parameters().front().device();
  const Tensor planes = data::picture_planes(picture, {.grey = facts.model.input[0] == 1});
  const std::int64_t height = planes.size(1), width = planes.size(2);
  // A network knows least at the sides of a tile: those of the picture are moved inwards.
  const std::int64_t margin = tile / 4;
  const auto after = [&](std::int64_t side) { return std::max(tile - side - margin, margin); };
  const bool mirrored = std::min(height, width) > std::max(after(height), after(width));
  const Tensor padded = pad(planes, {margin, after(width), margin, after(height)},
                            mirrored ? PadMode::reflect : PadMode::replicate);
  Mosaic mosaic(padded, tile);
  std::vector<Tensor> tiles;
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  const auto clean = [&] {
    const std::vector<float> values = to(model(to(stack(tiles, 0), device)), Device{}).values<float>();
    const std::size_t each = values.size() / tiles.size();
    for (std::size_t i = 0; i < places.size(); ++i)
      mosaic.add(values, i * each, places[i].first, places[i].second);
    tiles.clear(), places.clear();
  };
  for (const std::int64_t y : begins_of(padded.size(1), tile)) {
    for (const std::int64_t x : begins_of(padded.size(2), tile)) {
      tiles.push_back(narrow(narrow(padded, 1, y, tile), 2, x, tile));
      places.emplace_back(y, x);
      if (std::ssize(tiles) == kTilesAtOnce) clean();
    }
    if (heard && !heard(std::min(y + tile - margin, height), height)) return {};
  }
  if (!tiles.empty()) clean();
  return contiguous(permute(narrow(narrow(mosaic.mean(), 1, margin, height), 2, margin, width), {1, 2, 0}));
}

}  // namespace veldt::recipe
