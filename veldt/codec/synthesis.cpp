// Bands of rows by themselves: the latents of a band brought to its size level by level, the synthesis pixel
// by pixel, and its convolutions. Sums wrap around as unsigned numbers do, whatever the weights are.
#include "veldt/codec/synthesis.h"

#include <algorithm>

#include "veldt/core/threads.h"

namespace veldt::codec {
namespace {

using Wrapped = std::uint32_t;

constexpr int kFeature = 8;  // fractional bits of a latent on its way to the size of the picture
constexpr int kColourBits = 12;
constexpr int kFilter = 10;                          // fractional bits of a filter
constexpr int kSum = 24;                             // of products with weights
constexpr std::int64_t kRows = 32, kColumns = 4096;  // of a piece of work

// Numbers of a region.
class Plane {
 public:
  explicit Plane(const Region& region)
      : region_(region), values_(static_cast<std::size_t>(region.width() * region.height())) {}

  const Region& region() const { return region_; }
  // Points at column x0 of the region.
  std::int32_t* row(std::int64_t y) { return values_.data() + (y - region_.y0) * region_.width(); }
  const std::int32_t* row(std::int64_t y) const {
    return values_.data() + (y - region_.y0) * region_.width();
  }

 private:
  Region region_;
  std::vector<std::int32_t> values_;
};

Region widened(const Region& r, std::int64_t by, Size limit) {
  return {std::max<std::int64_t>(r.x0 - by, 0), std::max<std::int64_t>(r.y0 - by, 0),
          std::min(r.x1 + by, limit.width), std::min(r.y1 + by, limit.height)};
}

Plane features_of(const Latents& latents, const Region& region) {
  Plane plane(region);
  for (std::int64_t y = region.y0; y < region.y1; ++y) {
    const std::int16_t* from = latents.row(y) + region.x0;
    std::int32_t* to = plane.row(y);
    for (std::int64_t x = 0; x < region.width(); ++x) to[x] = from[x] * (1 << kFeature);
  }
  return plane;
}

using Filter = std::int32_t[kUpsampling];

// A new value: the four nearest ones, weighed.
std::int32_t between(const Filter& w, std::int32_t far, std::int32_t near, std::int32_t here,
                     std::int32_t other) {
  const Wrapped sum = static_cast<Wrapped>(w[0]) * static_cast<Wrapped>(far) +
                      static_cast<Wrapped>(w[1]) * static_cast<Wrapped>(near) +
                      static_cast<Wrapped>(w[2]) * static_cast<Wrapped>(here) +
                      static_cast<Wrapped>(w[3]) * static_cast<Wrapped>(other);
  return static_cast<std::int32_t>(sum + (1u << (kFilter - 1))) >> kFilter;
}

Plane upsampled(const Plane& coarse, Size level, const Region& region, const Filter& w) {
  const Region& from = coarse.region();
  Plane plane(region);
  const std::int64_t width = from.width();
  std::vector<std::int32_t> line(static_cast<std::size_t>(width));
  const auto row = [&](std::int64_t y) {
    return coarse.row(std::clamp<std::int64_t>(y, 0, level.height - 1));
  };
  const auto column = [&](std::int64_t x) {
    return line[static_cast<std::size_t>(std::clamp<std::int64_t>(x, 0, level.width - 1) - from.x0)];
  };
  for (std::int64_t y = region.y0; y < region.y1; ++y) {
    const std::int64_t i = y >> 1, side = y % 2 == 0 ? -1 : 1;
    const std::int32_t *far = row(i + 2 * side), *near = row(i + side), *here = row(i),
                       *other = row(i - side);
    for (std::int64_t x = 0; x < width; ++x)
      line[static_cast<std::size_t>(x)] = between(w, far[x], near[x], here[x], other[x]);
    std::int32_t* to = plane.row(y) - region.x0;
    for (std::int64_t x = region.x0; x < region.x1; ++x) {
      const std::int64_t j = x >> 1, beside = x % 2 == 0 ? -1 : 1;
      to[x] = between(w, column(j + 2 * beside), column(j + beside), column(j), column(j - beside));
    }
  }
  return plane;
}

// The latents of all levels at the size of the picture.
std::vector<Plane> features(const Pyramid& pyramid, const Region& region, const Synthesis<std::int32_t>& n) {
  std::array<Region, kLevels> regions;
  regions[0] = region;
  for (std::size_t l = 1; l < kLevels; ++l) regions[l] = upsampling_needs(regions[l - 1], pyramid[l].level());
  std::vector<Plane> stack;  // of the levels so far, the finest first
  for (std::size_t l = kLevels; l-- > 0;) {
    for (Plane& plane : stack) plane = upsampled(plane, pyramid[l + 1].level(), regions[l], n.upsampling[l]);
    stack.insert(stack.begin(), features_of(pyramid[l], regions[l]));
  }
  return stack;
}

// A row of pixels through the two layers.
void colours_of(const std::vector<Plane>& stack, std::int64_t y, const Synthesis<std::int32_t>& n,
                std::vector<Plane>& colours) {
  constexpr std::int64_t kBlock = 16;
  const std::int64_t width = stack[0].region().width();
  for (std::int64_t begin = 0; begin < width; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, width - begin);
    Wrapped f[kLevels][kBlock] = {}, sums[kColours][kBlock];
    for (int l = 0; l < kLevels; ++l) {
      const std::int32_t* from = stack[static_cast<std::size_t>(l)].row(y) + begin;
      for (std::int64_t i = 0; i < count; ++i) f[l][i] = static_cast<Wrapped>(from[i]);
    }
    for (int c = 0; c < kColours; ++c) {
      for (std::int64_t i = 0; i < kBlock; ++i) sums[c][i] = 0;
      for (int l = 0; l < kLevels; ++l) {
        const auto w = static_cast<Wrapped>(n.skip[c][l]) << 2;  // from 22 to 24 fractional bits
        for (std::int64_t i = 0; i < kBlock; ++i) sums[c][i] += w * f[l][i];
      }
      for (std::int64_t i = 0; i < kBlock; ++i) sums[c][i] += static_cast<Wrapped>(n.colour_bias[c]);
    }
    for (int h = 0; h < kHidden; ++h) {
      Wrapped unit[kBlock];
      for (std::int64_t i = 0; i < kBlock; ++i) unit[i] = static_cast<Wrapped>(n.hidden_bias[h]);
      for (int l = 0; l < kLevels; ++l) {
        const auto w = static_cast<Wrapped>(n.hidden[h][l]);
        for (std::int64_t i = 0; i < kBlock; ++i) unit[i] += w * f[l][i];
      }
      for (std::int64_t i = 0; i < kBlock; ++i)
        unit[i] = static_cast<Wrapped>(std::max(static_cast<std::int32_t>(unit[i]), 0) >> (22 - kColourBits));
      for (int c = 0; c < kColours; ++c) {
        const auto w = static_cast<Wrapped>(n.colour[c][h]);
        for (std::int64_t i = 0; i < kBlock; ++i) sums[c][i] += w * unit[i];
      }
    }
    for (int c = 0; c < kColours; ++c) {
      std::int32_t* to = colours[static_cast<std::size_t>(c)].row(y) + begin;
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = static_cast<std::int32_t>(sums[c][i]) >> (kSum - kColourBits);
    }
  }
}

// A line of pixels [x0 - 1, x1 + 1) of a row of a plane, the picture's edges repeated.
class Line {
 public:
  explicit Line(const Region& region)
      : region_(region), values_(static_cast<std::size_t>(region.width() + 2)) {}

  const Wrapped* of(const Plane& plane, std::int64_t y, Size picture) {
    const Region& from = plane.region();
    const std::int32_t* row = plane.row(std::clamp<std::int64_t>(y, 0, picture.height - 1));
    for (std::int64_t x = region_.x0 - 1; x <= region_.x1; ++x)
      values_[static_cast<std::size_t>(x - region_.x0 + 1)] =
          static_cast<Wrapped>(row[std::clamp<std::int64_t>(x, 0, picture.width - 1) - from.x0]);
    return values_.data();
  }

 private:
  Region region_;
  std::vector<Wrapped> values_;
};

// out[o] = bias[o] + the sum over inputs and taps, for a row.
template <int kIn, int kOut>
void convolve(const std::vector<Plane>& in, std::int64_t y, Size picture,
              const std::int32_t (&weights)[kOut][kIn][kTaps], const std::int32_t (&bias)[kOut], Line& line,
              std::int64_t width, std::vector<Wrapped>& sums) {
  sums.assign(static_cast<std::size_t>(width * kOut), 0);
  for (int o = 0; o < kOut; ++o) std::fill_n(sums.begin() + o * width, width, static_cast<Wrapped>(bias[o]));
  for (int i = 0; i < kIn; ++i)
    for (int dy = 0; dy < 3; ++dy) {
      const Wrapped* v = line.of(in[static_cast<std::size_t>(i)], y + dy - 1, picture);
      for (int o = 0; o < kOut; ++o) {
        const auto a = static_cast<Wrapped>(weights[o][i][3 * dy]),
                   b = static_cast<Wrapped>(weights[o][i][3 * dy + 1]),
                   c = static_cast<Wrapped>(weights[o][i][3 * dy + 2]);
        Wrapped* sum = sums.data() + o * width;
        for (std::int64_t x = 0; x < width; ++x) sum[x] += a * v[x] + b * v[x + 1] + c * v[x + 2];
      }
    }
}

// A row of numbers along the axes, [kColours][width], as bytes of colours.
void bytes_of(const std::vector<Wrapped>& numbers, std::int64_t width, const ColourAxes& axes,
              std::uint8_t* to) {
  for (std::int64_t x = 0; x < width; ++x)
    for (std::size_t c = 0; c < kColours; ++c) {
      Wrapped sum = 1u << (kAxisBits - 1);
      for (std::size_t k = 0; k < kColours; ++k)
        sum += static_cast<Wrapped>(axes.matrix[c][k]) *
               (numbers[static_cast<std::size_t>(static_cast<std::int64_t>(k) * width + x)] -
                static_cast<Wrapped>(kAxesMiddle));
      const auto mean = static_cast<Wrapped>(axes.mean[c]) << (kColourBits - 8);
      const auto level =
          static_cast<std::int32_t>(mean + static_cast<Wrapped>(static_cast<std::int32_t>(sum) >> kAxisBits));
      const std::int32_t inside = std::clamp(level, 0, 1 << kColourBits);
      to[x * kColours + static_cast<std::int64_t>(c)] =
          static_cast<std::uint8_t>((inside * 255 + (1 << (kColourBits - 1))) >> kColourBits);
    }
}

void synthesise_band(const Pyramid& pyramid, const Region& band, const Synthesis<std::int32_t>& n,
                     const ColourAxes& axes, std::uint8_t* bytes, std::int64_t row_bytes) {
  const Size picture = pyramid[0].level();
  const Region around = synthesis_needs(band, picture), beside = widened(band, 1, picture);
  const std::vector<Plane> stack = features(pyramid, around, n);
  std::vector<Plane> colours(kColours, Plane(around)), detail(kDetail, Plane(beside));
  for (std::int64_t y = around.y0; y < around.y1; ++y) colours_of(stack, y, n, colours);
  std::vector<Wrapped> sums;
  Line line(beside);
  for (std::int64_t y = beside.y0; y < beside.y1; ++y) {
    convolve<kColours, kDetail>(colours, y, picture, n.detail, n.detail_bias, line, beside.width(), sums);
    for (int d = 0; d < kDetail; ++d) {
      std::int32_t* to = detail[static_cast<std::size_t>(d)].row(y);
      for (std::int64_t x = 0; x < beside.width(); ++x)
        to[x] =
            std::max(static_cast<std::int32_t>(sums[static_cast<std::size_t>(d * beside.width() + x)]), 0) >>
            (kSum - kColourBits);
    }
  }
  Line narrow(band);
  for (std::int64_t y = band.y0; y < band.y1; ++y) {
    convolve<kDetail, kColours>(detail, y, picture, n.close, n.close_bias, narrow, band.width(), sums);
    for (int c = 0; c < kColours; ++c) {
      const std::int32_t* from = colours[static_cast<std::size_t>(c)].row(y) + (band.x0 - around.x0);
      Wrapped* sum = sums.data() + c * band.width();
      for (std::int64_t x = 0; x < band.width(); ++x)
        sum[x] = static_cast<Wrapped>(from[x]) +
                 static_cast<Wrapped>(static_cast<std::int32_t>(sum[x]) >> (kSum - kColourBits));
    }
    bytes_of(sums, band.width(), axes, bytes + (y - band.y0) * row_bytes);
  }
}

}  // namespace

Region upsampling_needs(const Region& finer, Size level) {
  return {std::max<std::int64_t>((finer.x0 >> 1) - 2, 0), std::max<std::int64_t>((finer.y0 >> 1) - 2, 0),
          std::min(((finer.x1 - 1) >> 1) + 3, level.width),
          std::min(((finer.y1 - 1) >> 1) + 3, level.height)};
}

Region synthesis_needs(const Region& pixels, Size picture) { return widened(pixels, 2, picture); }

std::vector<std::uint8_t> synthesise(const Pyramid& pyramid, const Region& pixels,
                                     const Synthesis<std::int32_t>& network, const ColourAxes& axes) {
  const std::int64_t width = pixels.width() * kColours;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(width * pixels.height()));
  parallel_for(pixels.height(), kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t x = 0; x < pixels.width(); x += kColumns)
      synthesise_band(
          pyramid,
          {pixels.x0 + x, pixels.y0 + begin, std::min(pixels.x0 + x + kColumns, pixels.x1), pixels.y0 + end},
          network, axes, bytes.data() + begin * width + x * kColours, width);
  });
  return bytes;
}

}  // namespace veldt::codec
