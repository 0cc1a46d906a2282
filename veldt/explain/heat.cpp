// Draws heat over a picture, with a legend.
#include "veldt/explain/heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/explain/letters.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/interpolate.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::explain {
namespace {

using Rgb = std::array<float, 3>;

Rgb mixed(const Rgb& a, const Rgb& b, float share) {
  return {a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share};
}

// 0..1, dark to light: five colours of matplotlib's "inferno" (CC0), straight lines between them.
Rgb colour_of_strength(float v) {
  static constexpr std::array<Rgb, 5> kStops{{{0.05F, 0.03F, 0.25F},
                                              {0.40F, 0.08F, 0.43F},
                                              {0.76F, 0.21F, 0.33F},
                                              {0.97F, 0.55F, 0.10F},
                                              {0.99F, 0.94F, 0.50F}}};
  const float place = std::clamp(v, 0.0F, 1.0F) * 4;
  const auto below = std::min<std::size_t>(static_cast<std::size_t>(place), 3);
  return mixed(kStops[below], kStops[below + 1], place - static_cast<float>(below));
}

constexpr Rgb kFor{0.80F, 0.05F, 0.10F}, kAgainst{0.07F, 0.32F, 0.78F}, kInk{0.13F, 0.13F, 0.13F};

class Sheet {
 public:
  Sheet(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), pixels_(static_cast<std::size_t>(width * height * 3), 1.0F) {}

  void put(std::int64_t x, std::int64_t y, const Rgb& colour) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    std::copy(colour.begin(), colour.end(), pixels_.begin() + (y * width_ + x) * 3);
  }
  // Letters twice as large as they are; returns where the text ends.
  std::int64_t text(std::int64_t x, std::int64_t y, const std::string& words) {
    for (const char c : words) {
      const std::array<std::uint8_t, 7> rows = letter(c);
      for (std::int64_t py = 0; py < 7 * kEnlarged; ++py)
        for (std::int64_t px = 0; px < 5 * kEnlarged; ++px)
          if ((rows[static_cast<std::size_t>(py / kEnlarged)] >> (4 - px / kEnlarged)) & 1)
            put(x + px, y + py, kInk);
      x += kLetter;
    }
    return x;
  }
  static std::int64_t width_of(const std::string& words) { return std::ssize(words) * kLetter; }
  Tensor picture() const { return Tensor::from<float>({height_, width_, 3}, pixels_); }

  static constexpr std::int64_t kEnlarged = 2, kLetter = 6 * kEnlarged, kLine = 9 * kEnlarged;

 private:
  std::int64_t width_, height_;
  std::vector<float> pixels_;
};

// A line that is too long, without its middle: it ends with a number.
std::string shortened(const std::string& line, std::size_t most) {
  constexpr std::size_t kEnd = 12;  // "ame: 100.0 %"
  if (line.size() <= most) return line;
  return line.substr(0, most - kEnd - 2) + ".." + line.substr(line.size() - kEnd);
}

// [h, w, c] at another size: each pixel a square, or smooth between their centres.
Tensor resized(const Tensor& t, std::int64_t height, std::int64_t width, bool smooth) {
  const Tensor planes = unsqueeze(permute(t, {2, 0, 1}), 0);
  const Tensor larger = interpolate(
      planes,
      {.size = PerDim{height, width}, .mode = smooth ? Interpolation::linear : Interpolation::nearest_exact});
  return contiguous(permute(squeeze(larger, 0), {1, 2, 0}));
}

// The magnitude that has the strongest colour.
float strongest(const std::vector<float>& heat, double share) {
  std::vector<float> magnitudes;
  for (const float v : heat) magnitudes.push_back(std::abs(v));
  const auto place = static_cast<std::ptrdiff_t>(
      std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(magnitudes.size() - 1)));
  std::nth_element(magnitudes.begin(), magnitudes.begin() + place, magnitudes.end());
  const float found = magnitudes[static_cast<std::size_t>(place)];
  // Of a heat that is 0 nearly everywhere.
  return found > 0 ? found : *std::max_element(magnitudes.begin(), magnitudes.end());
}

// The colour of a heat in -1..1 over a pixel: the stronger, the less of the pixel is seen.
Rgb over(const Rgb& pixel, float v, bool is_signed) {
  const float grey = 0.30F * pixel[0] + 0.59F * pixel[1] + 0.11F * pixel[2];
  const float strength = std::min(std::abs(v), 1.0F);
  if (is_signed) {
    const float pale = 0.45F + 0.55F * grey;
    return mixed({pale, pale, pale}, v > 0 ? kFor : kAgainst, 0.92F * strength);
  }
  const Rgb heat = colour_of_strength(std::max(v, 0.0F));
  return mixed(mixed({grey, grey, grey}, heat, 0.55F), heat, 0.35F * strength);
}

void check_forms(const Tensor& picture, const Tensor& heat) {
  const bool is_picture = picture.rank() == 3 && (picture.size(2) == 1 || picture.size(2) == 3) &&
                          is_float(picture.dtype()) && picture.numel() > 0;
  if (!is_picture || heat.rank() != 2 || !is_float(heat.dtype()) || heat.numel() < 1)
    throw ShapeError(str("cannot draw heat of ", heat.shape(), " over a picture of ", picture.dtype(), ' ',
                         picture.shape()),
                     "heat is floats [height, width], and a picture floats [height, width, 1 or 3]",
                     "add up the channels of the heat (pixel_heat()), and leave out alpha");
  if (!all(isfinite(heat)).item<bool>())
    throw ConfigError("cannot draw heat that is not finite", "some of its numbers are infinite or NaN",
                      "look at the network's output for this input");
}

}  // namespace

Tensor pixel_heat(const Tensor& attributions, bool is_signed) {
  if (attributions.rank() != 4 || attributions.size(0) != 1)
    throw ShapeError(str("there is no heat of the pixels in ", attributions.shape()),
                     "it is that of one picture, [1, channels, height, width]", "explain one picture");
  const NoGrad off;
  const Tensor one = attributions.detach()[0];
  return is_signed ? sum(one, {0}) : max(abs(one), {0});
}

Tensor heat_picture(const Tensor& given, const Tensor& given_heat, const HeatOptions& o) {
  const NoGrad off;
  check_forms(given, given_heat);
  Tensor picture = to(to(given.detach(), Device{}), DType::f32);
  if (picture.size(2) == 1) picture = expand(picture, {picture.size(0), picture.size(1), 3});
  const std::int64_t longer = std::max(picture.size(0), picture.size(1));
  const std::int64_t times = std::max<std::int64_t>(1, o.longer_side / longer);
  const std::int64_t height = picture.size(0) * times, width = picture.size(1) * times;
  const std::vector<float> pixels = resized(picture, height, width, false).values<float>();
  Tensor heat = to(to(given_heat.detach(), Device{}), DType::f32);
  const float limit = strongest(heat.values<float>(), o.share);
  const std::vector<float> strengths = resized(unsqueeze(heat, 2), height, width, o.smooth).values<float>();

  constexpr std::int64_t kEdge = 12, kBar = 16;
  // Lines may hold names of any length out of a model file: those that do not fit are shortened.
  constexpr std::int64_t kWidest = 708;
  std::int64_t sheet_width = 2 * width + 3 * kEdge;
  for (const std::string& line : o.lines)
    sheet_width = std::max(sheet_width, std::min(Sheet::width_of(line) + 2 * kEdge, kWidest));
  const auto fits = static_cast<std::size_t>((sheet_width - 2 * kEdge) / Sheet::kLetter);
  const std::int64_t top = kEdge + std::ssize(o.lines) * Sheet::kLine;
  const std::int64_t bar = top + height + kEdge, numbers = bar + kBar + 4;
  Sheet sheet(sheet_width, numbers + Sheet::kLine + kEdge / 2);
  for (std::size_t i = 0; i < o.lines.size(); ++i)
    sheet.text(kEdge, kEdge / 2 + 2 + static_cast<std::int64_t>(i) * Sheet::kLine,
               shortened(o.lines[i], fits));
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      const auto place = static_cast<std::size_t>(y * width + x);
      const Rgb pixel{pixels[3 * place], pixels[3 * place + 1], pixels[3 * place + 2]};
      sheet.put(kEdge + x, top + y, pixel);
      const float v = limit > 0 ? strengths[place] / limit : 0;
      sheet.put(2 * kEdge + width + x, top + y, over(pixel, v, o.is_signed));
    }
  const std::int64_t bar_width = sheet_width - 2 * kEdge;
  for (std::int64_t x = 0; x < bar_width; ++x)
    for (std::int64_t y = 0; y < kBar; ++y) {
      const float share = static_cast<float>(x) / static_cast<float>(bar_width - 1);
      sheet.put(kEdge + x, bar + y,
                over({0.5F, 0.5F, 0.5F}, o.is_signed ? 2 * share - 1 : share, o.is_signed));
    }
  const std::string most = fmt::format("{}{:.3g}", o.is_signed ? "+" : "", limit);
  sheet.text(kEdge, numbers, o.is_signed ? fmt::format("-{:.3g}", limit) : "0");
  if (o.is_signed) sheet.text(sheet_width / 2 - Sheet::kLetter / 2, numbers, "0");
  sheet.text(sheet_width - kEdge - Sheet::width_of(most), numbers, most);
  return sheet.picture();
}

}  // namespace veldt::explain
