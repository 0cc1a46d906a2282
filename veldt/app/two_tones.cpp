// Counts the pixels that a drawing puts on the wrong side of its two colours.
#include "veldt/app/two_tones.h"

#include <algorithm>
#include <vector>

#include "veldt/field/kind.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"

namespace veldt::app {

std::optional<Tensor> two_tones_of(const field::Signal& picture) {
  if (!field::has_two_colours(picture)) return std::nullopt;
  const std::int64_t channels = picture.channels();
  const Tensor first = slice(picture.read(0, 1), 1, 0, 1);
  const std::vector<float> known = first.values<float>();
  for (std::int64_t row = 0; row < picture.rows(); ++row) {
    const Tensor line = picture.read(row, 1);
    for (std::int64_t x = 0; x < line.size(1); ++x)
      if (!std::equal(known.begin(), known.end(), line.data<float>() + x * channels))
        return cat({first, slice(line, 1, x, x + 1)}, 1);
  }
  return std::nullopt;
}

// The points at equal distance from both tones form a plane: their scalar product with the difference of the
// tones equals that of the midpoint.
std::int64_t wrong_pixels(const Tensor& a, const Tensor& b, const Tensor& tones) {
  const auto channels = static_cast<std::size_t>(a.size(2));
  const std::vector<float> both = contiguous(tones).values<float>();
  std::vector<double> along;
  double halfway = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    const double one = both[c], other = both[channels + c];
    along.push_back(other - one);
    halfway += (other - one) * (one + other) / 2;
  }
  const auto is_beyond = [&](const float* pixel) {
    double product = 0;
    for (std::size_t c = 0; c < channels; ++c) product += along[c] * static_cast<double>(pixel[c]);
    return product >= halfway;
  };
  const Tensor x = contiguous(a), y = contiguous(b);
  const float *p = x.data<float>(), *q = y.data<float>();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < a.size(0) * a.size(1); ++i, p += channels, q += channels)
    wrong += is_beyond(p) != is_beyond(q);
  return wrong;
}

}  // namespace veldt::app
