// A latent at a time: its contexts, the model in integers, the coder. Sums wrap around as unsigned numbers
// do, so that weights from a hostile file give a wrong picture and nothing else.
#include "veldt/codec/latents.h"

#include "veldt/codec/laplace.h"

namespace veldt::codec {
namespace {

constexpr int kUnitBits = 6;  // fractional bits of what goes from layer to layer
constexpr int kProduct = 16;  // and of a sum of products with weights
constexpr std::int32_t kFarthestMean = 1 << 14;

using Wrapped = std::uint32_t;

struct Vector {
  std::int32_t v[kContexts];
};

// The matrices with the weights of one input beside each other, so that compilers see sums of whole vectors.
class IntegerModel {
 public:
  explicit IntegerModel(const ContextModel<std::int32_t>& m) : model_(m) {
    for (int o = 0; o < kContexts; ++o)
      for (int i = 0; i < kContexts; ++i) {
        first_[i][o] = m.first[o][i];
        second_[i][o] = m.second[o][i];
      }
  }

  Laplace operator()(const Vector& x) const {
    Vector h, g;
    layer(x, first_, model_.first_bias, h);
    layer(h, second_, model_.second_bias, g);
    std::int32_t out[2];
    for (int o = 0; o < 2; ++o) {
      auto sum = static_cast<Wrapped>(model_.last_bias[o]);
      for (int i = 0; i < kContexts; ++i)
        sum += static_cast<Wrapped>(model_.last[o][i]) * static_cast<Wrapped>(g.v[i]) +
               static_cast<Wrapped>(model_.skip[o][i]) * static_cast<Wrapped>(x.v[i]);
      out[o] = static_cast<std::int32_t>(sum);
    }
    return {std::clamp((out[0] >> (kProduct - 4)) + (out[0] >> (kProduct - 5) & 1), -kFarthestMean,
                       kFarthestMean),
            std::clamp((out[1] >> kProduct) + (out[1] >> (kProduct - 1) & 1), 0, kScales - 1)};
  }

 private:
  static void layer(const Vector& x, const std::int32_t (&weights)[kContexts][kContexts],
                    const std::int32_t (&bias)[kContexts], Vector& out) {
    Wrapped sums[kContexts];
    for (int o = 0; o < kContexts; ++o)
      sums[o] = static_cast<Wrapped>(bias[o]) + (static_cast<Wrapped>(x.v[o]) << (kProduct - kUnitBits));
    for (int i = 0; i < kContexts; ++i) {
      const auto v = static_cast<Wrapped>(x.v[i]);
      for (int o = 0; o < kContexts; ++o) sums[o] += static_cast<Wrapped>(weights[i][o]) * v;
    }
    for (int o = 0; o < kContexts; ++o)
      out.v[o] = std::max(static_cast<std::int32_t>(sums[o]), 0) >> (kProduct - kUnitBits);
  }

  const ContextModel<std::int32_t>& model_;
  std::int32_t first_[kContexts][kContexts], second_[kContexts][kContexts];  // [in][out]
};

// Gathers the contexts along the rows of a tile. Around a tile of its own level there are zeros, kept in
// three rows with a border; coarser levels are looked up, and are 0 outside of the level above them.
class LatentContexts {
 public:
  LatentContexts(const Pyramid& pyramid, int level, const Region& tile)
      : tile_(tile),
        level_(pyramid[static_cast<std::size_t>(level)].level()),
        parent_(level + 1 < kLevels ? &pyramid[static_cast<std::size_t>(level + 1)] : nullptr),
        grandparent_(level + 2 < kLevels ? &pyramid[static_cast<std::size_t>(level + 2)] : nullptr),
        stride_(tile.width() + 2 * kBorder) {
    for (auto& row : own_) row.assign(static_cast<std::size_t>(stride_), 0);
    for (auto& row : above_) row.assign(static_cast<std::size_t>(stride_), 0);
    coarsest_.assign(static_cast<std::size_t>(stride_), 0);
  }

  // Before the first latent of each row, from the top.
  void begin_row(std::int64_t y) {
    std::rotate(own_.begin(), own_.end() - 1, own_.end());
    std::fill(own_[0].begin(), own_[0].end(), 0);
    for (int dy = -1; dy <= 1; ++dy) look_up(parent_, y + dy, 1, above_[static_cast<std::size_t>(dy + 1)]);
    look_up(grandparent_, y, 2, coarsest_);
  }

  Vector at(std::int64_t x) const {
    const auto i = static_cast<std::size_t>(x - tile_.x0 + kBorder);
    Vector v;
    int n = 0;
    for (const Offset o : kOwnContext)
      v.v[n++] = own_[static_cast<std::size_t>(-o.y)][i + static_cast<std::size_t>(o.x)] * (1 << kUnitBits);
    for (const Offset o : kParentContext)
      v.v[n++] =
          above_[static_cast<std::size_t>(o.y + 1)][i + static_cast<std::size_t>(o.x)] * (1 << kUnitBits);
    v.v[n] = coarsest_[i] * (1 << kUnitBits);
    return v;
  }

  void set(std::int64_t x, std::int16_t value) {
    own_[0][static_cast<std::size_t>(x - tile_.x0 + kBorder)] = value;
  }

 private:
  static constexpr std::int64_t kBorder = 3;  // the farthest of kOwnContext

  void look_up(const Latents* from, std::int64_t y, int shift, std::vector<std::int16_t>& row) const {
    if (from == nullptr) return;
    const bool inside = y >= 0 && y < level_.height;
    for (std::int64_t x = tile_.x0 - 1; x <= tile_.x1; ++x)
      row[static_cast<std::size_t>(x - tile_.x0 + kBorder)] =
          inside && x >= 0 && x < level_.width ? static_cast<std::int16_t>(from->at(x >> shift, y >> shift))
                                               : std::int16_t{0};
  }

  Region tile_;
  Size level_;
  const Latents *parent_, *grandparent_;
  std::int64_t stride_;
  std::array<std::vector<std::int16_t>, 4> own_;  // this row, and the three above it
  std::array<std::vector<std::int16_t>, 3> above_;
  std::vector<std::int16_t> coarsest_;
};

// Calls visit(distribution, x, y), which returns the latent, for each latent of the tile in order.
template <class Visit>
void walk(const Pyramid& pyramid, int level, const Region& tile, const ContextModel<std::int32_t>& model,
          Visit&& visit) {
  const IntegerModel distribution(model);
  LatentContexts contexts(pyramid, level, tile);
  for (std::int64_t y = tile.y0; y < tile.y1; ++y) {
    contexts.begin_row(y);
    for (std::int64_t x = tile.x0; x < tile.x1; ++x)
      contexts.set(x, visit(distribution(contexts.at(x)), x, y));
  }
}

}  // namespace

Latents::Latents(Size level, Region region)
    : level_(level), region_(region), values_(static_cast<std::size_t>(region.width() * region.height())) {}

Pyramid whole_pyramid(Size picture) {
  Pyramid pyramid;
  for (int l = 0; l < kLevels; ++l) {
    const Size size = level_size(picture, l);
    pyramid[static_cast<std::size_t>(l)] = Latents(size, {0, 0, size.width, size.height});
  }
  return pyramid;
}

Region Tiles::operator[](std::int64_t i) const {
  const std::int64_t x = (i % across()) << tile_log2, y = (i / across()) << tile_log2;
  return {x, y, std::min(x + side(), level.width), std::min(y + side(), level.height)};
}

void encode_tile(RangeEncoder& out, const Pyramid& pyramid, int level, const Region& tile,
                 const ContextModel<std::int32_t>& model) {
  const Latents& latents = pyramid[static_cast<std::size_t>(level)];
  walk(pyramid, level, tile, model, [&](Laplace d, std::int64_t x, std::int64_t y) {
    const std::int16_t value = latents.row(y)[x];
    encode(out, d, value);
    return value;
  });
}

void decode_tile(RangeDecoder& in, Pyramid& pyramid, int level, const Region& tile,
                 const ContextModel<std::int32_t>& model, bool cut) {
  Latents& latents = pyramid[static_cast<std::size_t>(level)];
  walk(pyramid, level, tile, model, [&](Laplace d, std::int64_t x, std::int64_t y) {
    auto value = static_cast<std::int16_t>(std::clamp(decode(in, d), -kLargestLatent, kLargestLatent));
    if (cut && in.beyond_end()) value = 0;
    latents.row(y)[x] = value;
    return value;
  });
}

double bits_of_tile(const Pyramid& pyramid, int level, const Region& tile,
                    const ContextModel<std::int32_t>& model) {
  const Latents& latents = pyramid[static_cast<std::size_t>(level)];
  double bits = 0;
  walk(pyramid, level, tile, model, [&](Laplace d, std::int64_t x, std::int64_t y) {
    bits += bits_of(d, latents.row(y)[x]);
    return latents.row(y)[x];
  });
  return bits;
}

}  // namespace veldt::codec
