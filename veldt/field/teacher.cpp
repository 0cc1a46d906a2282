// Redraws a picture by rules: minimal variation under the condition that averages stay unchanged.
#include "veldt/field/teacher.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/field/areas.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

using data::Filter;

// Both step lengths: their product times the operator's squared norm, 8 for the slopes and 1 for the bounds,
// is below 1.
constexpr float kFlatteningStep = 0.3f;

// One problem of least_variation(): planes [channels, rows, columns] of the redraw, and its dual variables.
class VariationProblem {
 public:
  VariationProblem(const Tensor& picture, const Tensor& start, int factor)
      : factor_(factor),
        channels_(picture.size(2)),
        rows_(start.size(0)),
        columns_(start.size(1)),
        pixels_(contiguous(permute(picture, {2, 0, 1}))),
        u_(contiguous(permute(start, {2, 0, 1})).values<float>()),
        leading_(u_),
        across_(u_.size()),
        down_(u_.size()),
        bounds_(u_.size()) {}

  void iterate() {
    parallel_for(rows_, grain(1), [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t y = begin; y < end; ++y) step_duals(y);
    });
    parallel_for(rows_ / factor_, grain(factor_), [this](std::int64_t begin, std::int64_t end) {
      std::vector<float> mean(static_cast<std::size_t>(columns_ / factor_));
      for (std::int64_t y = begin; y < end; ++y)
        for (std::int64_t c = 0; c < channels_; ++c) step_redraw(c, y, mean);
    });
  }

  Tensor result() const {
    return contiguous(permute(Tensor::from<float>({channels_, rows_, columns_}, u_), {1, 2, 0}));
  }

 private:
  std::int64_t grain(std::int64_t rows) const {
    return std::max<std::int64_t>(1, 20'000 / (rows * columns_ * channels_));
  }
  std::size_t row_at(std::int64_t channel, std::int64_t y) const {
    return static_cast<std::size_t>((channel * rows_ + y) * columns_);
  }

  // The duals of the slopes to the right and down, kept within a unit ball over all channels; and of the
  // bounds.
  void step_duals(std::int64_t y) {
    const auto n = static_cast<std::size_t>(columns_);
    std::vector<float> length(n, 0.0f);
    for (std::int64_t c = 0; c < channels_; ++c) {
      const float* const u = leading_.data() + row_at(c, y);
      const float* const below = y + 1 < rows_ ? u + n : u;
      float *const px = across_.data() + row_at(c, y), *const py = down_.data() + row_at(c, y),
                   *const q = bounds_.data() + row_at(c, y);
      for (std::size_t x = 0; x + 1 < n; ++x) px[x] += kFlatteningStep * (u[x + 1] - u[x]);
      for (std::size_t x = 0; x < n; ++x) {
        py[x] += kFlatteningStep * (below[x] - u[x]);
        length[x] += px[x] * px[x] + py[x] * py[x];
        const float z = q[x] + kFlatteningStep * u[x];
        q[x] = z - std::clamp(z, 0.0f, kFlatteningStep);
      }
    }
    for (float& l : length) l = 1 / std::sqrt(std::max(l, 1.0f));
    for (std::int64_t c = 0; c < channels_; ++c) {
      float *const px = across_.data() + row_at(c, y), *const py = down_.data() + row_at(c, y);
      for (std::size_t x = 0; x < n; ++x) px[x] *= length[x], py[x] *= length[x];
    }
  }

  // A row of pixels: a step against the slope, then each pixel's average is corrected.
  void step_redraw(std::int64_t channel, std::int64_t pixel_row, std::vector<float>& mean) {
    const auto n = static_cast<std::size_t>(columns_), factor = static_cast<std::size_t>(factor_);
    std::fill(mean.begin(), mean.end(), 0.0f);
    const auto stepped = [&](std::int64_t y, std::size_t x) {
      const std::size_t at = row_at(channel, y) + x;
      const float left = x > 0 ? across_[at - 1] : 0.0f, above = y > 0 ? down_[at - n] : 0.0f;
      return u_[at] + kFlatteningStep * (across_[at] - left + down_[at] - above - bounds_[at]);
    };
    const std::int64_t first = pixel_row * factor_;
    for (std::int64_t y = first; y < first + factor_; ++y) {
      float* const next = leading_.data() + row_at(channel, y);
      for (std::size_t x = 0; x < n; ++x) next[x] = stepped(y, x);
      for (std::size_t x = 0; x < n; ++x) mean[x / factor] += next[x];
    }
    const float* const wanted =
        pixels_.data<float>() + (channel * (rows_ / factor_) + pixel_row) * (columns_ / factor_);
    const float share = 1 / static_cast<float>(factor_ * factor_);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = wanted[i] - mean[i] * share;
    for (std::int64_t y = first; y < first + factor_; ++y) {
      float *const next = leading_.data() + row_at(channel, y), *const u = u_.data() + row_at(channel, y);
      for (std::size_t x = 0; x < n; ++x) {
        const float now = next[x] + mean[x / factor];
        next[x] = 2 * now - u[x];
        u[x] = now;
      }
    }
  }

  std::int64_t factor_, channels_, rows_, columns_;
  Tensor pixels_;
  std::vector<float> u_, leading_, across_, down_, bounds_;
};

}  // namespace

Tensor with_averages_of(const Tensor& picture, const Tensor& redraw, int factor) {
  NoGrad off;
  return redraw + repeated(picture - means_of_squares(redraw, factor), factor);
}

Tensor back_projected(const Tensor& picture, int factor, Filter filter, int rounds, const Round& round) {
  NoGrad off;
  Tensor u = enlarged(picture, factor, filter);
  for (int i = 0; i < rounds; ++i) {
    u = clamp(u, 0, 1);
    u = u + enlarged(picture - means_of_squares(u, factor), factor, filter);
    if (!round()) break;
  }
  return u;
}

Tensor least_variation(const Tensor& picture, const Tensor& start, int factor, int rounds,
                       const Round& round) {
  VariationProblem problem(picture, with_averages_of(picture, start, factor), factor);
  for (int i = 0; i < rounds; ++i) {
    problem.iterate();
    if (!round()) break;
  }
  return problem.result();
}

// Above it the iterations would take longer than the fit.
constexpr std::int64_t kIteratedPixels = 1 << 16;

std::optional<Tensor> redraw_by_rules(const Tensor& picture, int factor, bool is_grey_drawing,
                                      const Watch& watch) {
  constexpr int kSmoothRounds = 12, kSharpRounds = 40, kFlatRounds = 120;
  NoGrad off;
  const bool is_large = picture.size(0) * picture.size(1) > kIteratedPixels;
  const int all = is_large          ? kSmoothRounds
                  : is_grey_drawing ? kSharpRounds
                                    : kSharpRounds + kSmoothRounds + kFlatRounds;
  int done = 0;
  bool goes_on = true;
  const Round round = [&] { return goes_on = goes_on && watch(static_cast<double>(++done) / all); };
  const auto smooth = [&] { return back_projected(picture, factor, Filter::bicubic, kSmoothRounds, round); };
  Tensor redraw =
      is_large ? smooth() : back_projected(picture, factor, Filter::lanczos3, kSharpRounds, round);
  if (goes_on && !is_large && !is_grey_drawing)
    redraw = (redraw + least_variation(picture, smooth(), factor, kFlatRounds, round)) * 0.5;
  if (!goes_on) return std::nullopt;
  return with_averages_of(picture, redraw, factor);
}

}  // namespace veldt::field
