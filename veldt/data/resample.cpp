// Separable resampling: a list of weights for each output position, along x first and then along y.
#include "veldt/data/resample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"nearest", "bilinear", "bicubic", "lanczos3", "area"};

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys, "Cubic convolution interpolation for digital image processing", 1981, equation 15.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

// Lanczos, 3 lobes: Duchon 1979.
double lanczos(double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }

struct Kernel {
  double (*at)(double);
  double radius;
};

Kernel kernel_of(Filter filter) {
  if (filter == Filter::bilinear) return {triangle, 1};
  if (filter == Filter::bicubic) return {cubic, 2};
  return {lanczos, 3};
}

// Output = sum of weights[k] * input[first + k].
struct Taps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

void normalise(std::vector<double>& weights) {
  double total = 0;
  for (const double w : weights) total += w;
  if (total == 0) return;
  for (double& w : weights) w /= total;
}

Taps nearest_taps(double centre, std::int64_t in) {
  return {std::min(static_cast<std::int64_t>(centre), in - 1), {1.0}};
}

// The overlap of [centre - scale / 2, centre + scale / 2] with each pixel.
Taps area_taps(double centre, double scale, std::int64_t in) {
  const double low = centre - scale / 2, high = centre + scale / 2;
  // A boundary that should be an integer may be rounded: no tap for the sliver.
  constexpr double kSliver = 1e-9;
  Taps taps;
  taps.first = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(low + kSliver)), 0, in - 1);
  const auto end =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(high - kSliver)), taps.first + 1, in);
  for (std::int64_t i = taps.first; i < end; ++i) {
    const double share = std::min(high, static_cast<double>(i + 1)) - std::max(low, static_cast<double>(i));
    taps.weights.push_back(std::abs(share - 1) < kSliver ? 1.0 : share);
  }
  normalise(taps.weights);
  return taps;
}

// The bounds are Pillow's (libImaging/Resample.c): pixels whose centres lie within the radius.
Taps kernel_taps(const Kernel& kernel, double centre, double scale, std::int64_t in) {
  const double stretch = std::max(scale, 1.0);
  const double radius = kernel.radius * stretch;
  Taps taps;
  taps.first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - radius + 0.5));
  const std::int64_t end = std::min(in, static_cast<std::int64_t>(centre + radius + 0.5));
  for (std::int64_t i = taps.first; i < end; ++i)
    taps.weights.push_back(kernel.at((static_cast<double>(i) + 0.5 - centre) / stretch));
  normalise(taps.weights);
  return taps;
}

std::vector<Taps> taps_for(std::int64_t in, std::int64_t out, Filter filter) {
  std::vector<Taps> all;
  all.reserve(static_cast<std::size_t>(out));
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  for (std::int64_t i = 0; i < out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    if (filter == Filter::nearest) {
      all.push_back(nearest_taps(centre, in));
    } else if (filter == Filter::area) {
      all.push_back(area_taps(centre, scale, in));
    } else {
      all.push_back(kernel_taps(kernel_of(filter), centre, scale, in));
    }
  }
  return all;
}

// Rows per task: small pictures are not worth waking a thread for.
std::int64_t grain_of(std::int64_t row) { return std::max<std::int64_t>(1, 20'000 / row); }

// [h, w, c] -> [h, out, c]
Tensor along_x(const Tensor& image, std::int64_t out, Filter filter) {
  const std::int64_t h = image.size(0), w = image.size(1), c = image.size(2);
  const std::vector<Taps> taps = taps_for(w, out, filter);
  Tensor result = empty({h, out, c}, image);
  const float* from = image.data<float>();
  float* to = result.data<float>();
  parallel_for(h, grain_of(out * c), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) {
      const float* row = from + y * w * c;
      float* put = to + y * out * c;
      for (const Taps& t : taps) {
        for (std::int64_t channel = 0; channel < c; ++channel) {
          const float* pixel = row + t.first * c + channel;
          double sum = 0;
          for (const double weight : t.weights) {
            sum += weight * *pixel;
            pixel += c;
          }
          *put++ = static_cast<float>(sum);
        }
      }
    }
  });
  return result;
}

// [h, w, c] -> [out, w, c]
Tensor along_y(const Tensor& image, std::int64_t out, Filter filter) {
  const std::int64_t row = image.size(1) * image.size(2);
  const std::vector<Taps> taps = taps_for(image.size(0), out, filter);
  Tensor result = empty({out, image.size(1), image.size(2)}, image);
  const float* from = image.data<float>();
  float* to = result.data<float>();
  parallel_for(out, grain_of(row), [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> sum(static_cast<std::size_t>(row));
    for (std::int64_t y = begin; y < end; ++y) {
      std::fill(sum.begin(), sum.end(), 0.0);
      const Taps& t = taps[static_cast<std::size_t>(y)];
      const float* source = from + t.first * row;
      for (const double weight : t.weights) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * source[i];
        source += row;
      }
      std::transform(sum.begin(), sum.end(), to + y * row, [](double v) { return static_cast<float>(v); });
    }
  });
  return result;
}

}  // namespace

std::string_view name_of(Filter filter) { return kNames[static_cast<std::size_t>(filter)]; }

Filter filter_from(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end())
    throw ConfigError(str("there is no filter '", name, "'"), "the name is unknown",
                      "choose nearest, bilinear, bicubic, lanczos3 or area");
  return static_cast<Filter>(found - kNames.begin());
}

Tensor resample(const Tensor& image, Size size, Filter filter) {
  const std::int64_t width = size.width, height = size.height;
  if (image.rank() != 3 || image.numel() == 0 || image.dtype() != DType::f32)
    throw ShapeError(str("cannot resample ", image.shape(), " of ", name_of(image.dtype())),
                     "a picture is f32 [height, width, channels] and not empty",
                     "reshape or convert it first");
  if (height < 1 || width < 1)
    throw ShapeError(str("cannot resample to ", width, " x ", height), "a size is at least 1",
                     "ask for a larger one");
  const Tensor source = contiguous(image.detach());
  const Tensor wide = width == source.size(1) ? source : along_x(source, width, filter);
  if (height != wide.size(0)) return along_y(wide, height, filter);
  if (wide.data<float>() != image.data<float>()) return wide;
  Tensor copy = empty(image.shape(), image);
  copy.assign(image);
  return copy;
}

}  // namespace veldt::data
