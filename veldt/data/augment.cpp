// Random transforms: crops, flips, rotations, colours, erasures and noise, each drawn from an Rng.
#include "veldt/data/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/data/picture_parts.h"
#include "veldt/data/resample.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::data {
namespace {

using Index = std::int64_t;

double between(Rng& rng, double low, double high) {
  return low + (high - low) * static_cast<double>(rng.next_uniform());
}

struct Box {
  Index top, left, height, width;
};

// One of a random area and shape within height x width; nothing after ten tries.
std::optional<Box> random_box(Rng& rng, Index height, Index width, std::pair<double, double> area,
                              std::pair<double, double> ratio) {
  const double all = static_cast<double>(height) * static_cast<double>(width);
  for (int i = 0; i < 10; ++i) {
    const double wanted = all * between(rng, area.first, area.second);
    const double shape = std::exp(between(rng, std::log(ratio.first), std::log(ratio.second)));
    const Index w = std::llround(std::sqrt(wanted * shape)), h = std::llround(std::sqrt(wanted / shape));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const auto pick = [&](Index room) {
      return static_cast<Index>(rng.next_below(static_cast<std::uint64_t>(room)));
    };
    const Index top = pick(height - h + 1);
    return Box{top, pick(width - w + 1), h, w};
  }
  return std::nullopt;
}

Tensor cut(const Tensor& picture, const Box& box) {
  return slice(slice(picture, 1, box.top, box.top + box.height), 2, box.left, box.left + box.width);
}

void check_range(const char* what, std::pair<double, double> range, double low, double high) {
  require(range.first > low && range.first <= range.second && range.second <= high,
          str("cannot augment with a ", what, " of ", range.first, " to ", range.second),
          "the range is empty or beyond its limits", "give the smaller number first, above 0");
}

// The hue of one pixel turned by `turn` of the circle: to HSV and back (Smith 1978).
void turn_hue(float& r, float& g, float& b, float turn) {
  const float most = std::max({r, g, b}), least = std::min({r, g, b}), chroma = most - least;
  if (chroma == 0) return;
  float hue = most == r ? (g - b) / chroma : most == g ? 2 + (b - r) / chroma : 4 + (r - g) / chroma;
  hue = hue / 6 + turn;
  hue = 6 * (hue - std::floor(hue));
  const auto channel = [&](float n) {
    const float k = std::fmod(n + hue, 6.0f);
    return most - chroma * std::clamp(std::min(k, 4 - k), 0.0f, 1.0f);
  };
  r = channel(5), g = channel(3), b = channel(1);
}

}  // namespace

Transform sequence(std::vector<Transform> transforms) {
  return [transforms = std::move(transforms)](Example example, Rng& rng) {
    for (const Transform& t : transforms) example = t(std::move(example), rng);
    return example;
  };
}

Transform maybe(double p, Transform transform) {
  require(p >= 0 && p <= 1, str("cannot augment with a probability of ", p), "it must be from 0 to 1",
          "give 0.5 for half of them");
  return [p, transform = std::move(transform)](Example example, Rng& rng) {
    return static_cast<double>(rng.next_uniform()) < p ? transform(std::move(example), rng) : example;
  };
}

Transform random_crop(Size size, Index padding, PadMode mode) {
  const Index width = size.width, height = size.height;
  require(height > 0 && width > 0 && padding >= 0,
          str("cannot crop to ", width, " x ", height, " with a padding of ", padding),
          "sizes are 1 or more, a padding 0 or more", "give the size that the network takes");
  return of_picture([=](const Tensor& given, Rng& rng) {
    const Tensor picture = padding > 0 ? pad(given, {padding, padding, padding, padding}, mode) : given;
    const Index down = picture.size(1) - height, right = picture.size(2) - width;
    if (down < 0 || right < 0)
      throw ShapeError(str("cannot crop ", given.shape(), " to ", width, " x ", height),
                       "the picture is smaller", "use a padding, or random_resized_crop()");
    const auto pick = [&](Index room) {
      return static_cast<Index>(rng.next_below(static_cast<std::uint64_t>(room) + 1));
    };
    const Index top = pick(down);
    return cut(picture, {top, pick(right), height, width});
  });
}

Transform random_resized_crop(Size size, ResizedCropOptions o) {
  const Index width = size.width, height = size.height;
  require(height > 0 && width > 0, str("cannot crop to ", width, " x ", height), "sizes are 1 or more",
          "give the size that the network takes");
  check_range("share of the area", o.area, 0, 1);
  check_range("ratio", o.ratio, 0, 1e3);
  return of_picture([=](const Tensor& picture, Rng& rng) {
    const Index h = picture.size(1), w = picture.size(2), side = std::min(h, w);
    const Box box =
        random_box(rng, h, w, o.area, o.ratio).value_or(Box{(h - side) / 2, (w - side) / 2, side, side});
    const Tensor part = contiguous(permute(cut(picture, box), {1, 2, 0}));
    return permute(resample(part, {width, height}, Filter::bilinear), {2, 0, 1});
  });
}

Transform horizontal_flip(double p) {
  return maybe(p, of_picture([](const Tensor& picture, Rng&) { return flip(picture, {2}); }));
}

Transform vertical_flip(double p) {
  return maybe(p, of_picture([](const Tensor& picture, Rng&) { return flip(picture, {1}); }));
}

Transform random_affine(AffineOptions o) {
  require(o.degrees >= 0 && o.degrees <= 360 && o.translate >= 0 && o.translate <= 1 && o.shear >= 0 &&
              o.shear < 90,
          str("cannot turn by ", o.degrees, " degrees, move by ", o.translate, " and shear by ", o.shear),
          "degrees are 0 to 360, shares 0 to 1, shears below 90", "give numbers in these ranges");
  check_range("scale", o.scale, 0, 1e3);
  return of_picture([o](const Tensor& picture, Rng& rng) {
    constexpr double kDegree = std::numbers::pi / 180;
    const auto height = static_cast<double>(picture.size(1)), width = static_cast<double>(picture.size(2));
    const double turn = between(rng, -o.degrees, o.degrees) * kDegree;
    const double dx = between(rng, -o.translate, o.translate) * width,
                 dy = between(rng, -o.translate, o.translate) * height;
    const double scale = between(rng, o.scale.first, o.scale.second);
    const double shear = std::tan(between(rng, -o.shear, o.shear) * kDegree);
    return placed(picture, {turn, dx, dy, scale, shear, o.fill});
  });
}

Transform random_rotation(double degrees, double fill) {
  return random_affine({.degrees = degrees, .fill = fill});
}

Transform colour_jitter(JitterOptions o) {
  for (const double x : {o.brightness, o.contrast, o.saturation, o.hue})
    require(x >= 0 && x <= 1e3, str("cannot jitter colours by ", x), "it must be 0 or more", "0.2 is usual");
  require(o.hue <= 0.5, str("cannot turn hues by ", o.hue), "the maximum is half of the circle, 0.5",
          "0.05 is usual");
  return of_picture([o](const Tensor& given, Rng& rng) {
    const Tensor picture = given + 0.0;
    float* const x = picture.data<float>();
    const Index channels = picture.size(0), pixels = picture.size(1) * picture.size(2),
                count = picture.numel();
    const auto factor = [&](double range) {
      return static_cast<float>(between(rng, std::max(0.0, 1 - range), 1 + range));
    };
    const float brightness = factor(o.brightness), contrast = factor(o.contrast),
                saturation = factor(o.saturation);
    const auto turn = static_cast<float>(between(rng, -o.hue, o.hue));
    std::vector<float> other(static_cast<std::size_t>(count), 0.0f);
    if (o.brightness > 0) blend(x, count, other.data(), brightness);
    if (o.contrast > 0) {
      std::fill(other.begin(), other.end(), mean_luma(x, pixels, channels));
      blend(x, count, other.data(), contrast);
    }
    if (channels != 3) return picture;
    if (o.saturation > 0) {
      const std::vector<float> grey = luma(x, pixels, channels);
      for (Index c = 0; c < 3; ++c) blend(x + c * pixels, pixels, grey.data(), saturation);
    }
    if (o.hue > 0)
      for (Index i = 0; i < pixels; ++i) turn_hue(x[i], x[i + pixels], x[i + 2 * pixels], turn);
    return picture;
  });
}

Transform random_erasing(ErasingOptions o) {
  check_range("share of the area", o.area, 0, 1);
  check_range("ratio", o.ratio, 0, 1e3);
  return maybe(o.p, of_picture([o](const Tensor& given, Rng& rng) {
                 const std::optional<Box> box =
                     random_box(rng, given.size(1), given.size(2), o.area, o.ratio);
                 if (!box) return given;
                 const Tensor picture = given + 0.0;
                 Tensor part = cut(picture, *box);
                 part.assign(full(part.shape(), o.value));
                 return picture;
               }));
}

Transform gaussian_noise(double deviation) {
  require(deviation >= 0 && deviation <= 1e3, str("cannot add noise of deviation ", deviation),
          "it must be from 0 to 1,000", "0.05 is usual");
  return of_picture([deviation](const Tensor& picture, Rng& rng) {
    return picture + randn(picture.shape(), rng, 0, deviation);
  });
}

Transform resize(Size size) {
  require(size.width >= 1 && size.height >= 1, str("cannot resize to ", size.width, " x ", size.height),
          "a picture has a pixel or more", "give sizes of 1 or more");
  return of_picture([size](const Tensor& picture, Rng&) {
    if (picture.size(1) == size.height && picture.size(2) == size.width) return picture;
    const Tensor resized = resample(contiguous(permute(picture, {1, 2, 0})), size, Filter::bilinear);
    return contiguous(permute(clamp(resized, 0, 1), {2, 0, 1}));
  });
}

Transform normalise(std::vector<double> mean, std::vector<double> deviation) {
  require(mean.size() == deviation.size() && !mean.empty() &&
              std::find(deviation.begin(), deviation.end(), 0.0) == deviation.end(),
          str("cannot normalise by ", mean.size(), " means and ", deviation.size(), " deviations"),
          "each channel needs a mean and a deviation, and no deviation may be 0",
          "give as many as the pictures have channels");
  return of_picture([mean, deviation](const Tensor& picture, Rng&) {
    if (picture.size(0) != std::ssize(mean))
      throw ShapeError(str("cannot normalise ", picture.shape(), " by ", mean.size(), " means"),
                       "each channel needs one", "give as many as the pictures have channels");
    const Tensor out = empty(picture.shape());
    const Index pixels = picture.size(1) * picture.size(2);
    const float* from = picture.data<float>();
    float* to = out.data<float>();
    for (std::size_t c = 0; c < mean.size(); ++c)
      for (Index i = 0; i < pixels; ++i)
        *to++ = static_cast<float>((static_cast<double>(*from++) - mean[c]) / deviation[c]);
    return out;
  });
}

}  // namespace veldt::data
