#include "veldt/field/shrink.h"

#include <algorithm>
#include <cmath>

namespace veldt::field {

ShrunkSide ShrunkSide::on_lattice(std::int64_t pixels, double begin, double step) {
  // A bound that is a hair beside a sample's has been rounded.
  const auto down_to = [](double x) { return static_cast<std::int64_t>(std::floor(x + 1e-6)); };
  const auto first = down_to(begin);
  const auto end = -down_to(-(begin + step * static_cast<double>(pixels)));
  return {.pixels = pixels, .first = first, .count = end - first, .begin = begin, .step = step};
}

ShrunkSide ShrunkSide::even(std::int64_t pixels, std::int64_t samples) {
  return {.pixels = pixels,
          .first = 0,
          .count = pixels * samples,
          .begin = 0,
          .step = static_cast<double>(samples)};
}

ShrunkSide::Share ShrunkSide::share(std::int64_t sample) const {
  const double from = static_cast<double>(first + sample) - begin;
  const double pixel = std::floor(from / step);
  const double next = std::clamp(from + 1 - (pixel + 1) * step, 0.0, 1.0);
  return {.pixel = static_cast<std::int64_t>(pixel), .here = (1 - next) / step, .next = next / step};
}

AreaMean::AreaMean(const ShrunkSide& across, const ShrunkSide& down, std::int64_t channels)
    : across_(across),
      down_(down),
      channels_(channels),
      here_(static_cast<std::size_t>(across.pixels * channels)),
      next_(here_.size()) {}

void AreaMean::finish_pixel_row() {
  if (pixel_row_ >= 0) {
    out_.insert(out_.end(), here_.begin(), here_.end());
    ++ready_;
  }
  ++pixel_row_;
  here_.swap(next_);
  std::fill(next_.begin(), next_.end(), 0.0);
}

void AreaMean::add(const Tensor& samples) {
  const float* v = samples.data<float>();
  for (std::int64_t left = samples.size(0); left > 0;) {
    const ShrunkSide::Share y = down_.share(row_);
    if (column_ == 0 && y.pixel > pixel_row_) finish_pixel_row();
    const std::int64_t end = std::min(across_.count, column_ + left);
    left -= end - column_;
    for (; column_ < end; ++column_, v += channels_) {
      const ShrunkSide::Share x = across_.share(column_);
      const auto put = [&](std::int64_t pixel, double weight) {
        if (weight == 0 || pixel < 0 || pixel >= across_.pixels) return;
        for (std::int64_t c = 0; c < channels_; ++c) {
          const auto at = static_cast<std::size_t>(pixel * channels_ + c);
          here_[at] += weight * y.here * static_cast<double>(v[c]);
          next_[at] += weight * y.next * static_cast<double>(v[c]);
        }
      };
      put(x.pixel, x.here);
      put(x.pixel + 1, x.next);
    }
    if (column_ < across_.count) continue;
    column_ = 0;
    if (++row_ == down_.count)
      while (pixel_row_ < down_.pixels) finish_pixel_row();
  }
}

Tensor AreaMean::take() {
  Tensor rows = Tensor::from<float>({ready_, across_.pixels, channels_}, out_);
  out_.clear();
  ready_ = 0;
  return rows;
}

}  // namespace veldt::field
