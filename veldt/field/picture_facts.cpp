// Counts colours, edges and flats of a picture, row by row.
#include "veldt/field/picture_facts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace veldt::field {
namespace {

// Levels of 0 to 65535; one 8-bit level is 257.
using Line = std::vector<int>;
constexpr int kLevel = 257, kHighest = 65535;

Line line_of(const float* v, std::size_t samples) {
  Line out(samples);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int>(std::lround(std::clamp(v[i], 0.0f, 1.0f) * float{kHighest}));
  return out;
}

}  // namespace

class FactsCounter::Counter {
 public:
  Counter(std::int64_t rows, std::int64_t columns, std::int64_t channels)
      : rows_(rows),
        channels_(static_cast<std::size_t>(channels)),
        width_(static_cast<std::size_t>(columns)),
        across_(width_ + 1, false) {}

  // The next row.
  void add(const float* levels) {
    Line line = line_of(levels, width_ * channels_);
    count_levels(line);
    count_colours(line);
    count_along(line);
    if (y_ > 0) {
      for (const int step : steps(above_.data(), line.data(), width_)) count_step(step);
      if (line != above_) period_ = std::gcd(period_, y_);
    }
    if (y_ > 1)
      for (std::size_t i = 0; i < line.size(); i += channels_)
        count_blend(before_.data() + i, above_.data() + i, line.data() + i);
    before_ = std::exchange(above_, std::move(line));
    ++y_;
  }

  PictureFacts facts() {
    for (std::size_t x = 1; x < width_; ++x)
      if (across_[x]) period_ = std::gcd(period_, static_cast<std::int64_t>(x));
    const auto share = [](std::int64_t part, std::int64_t of) {
      return of > 0 ? static_cast<double>(part) / static_cast<double>(of) : 0.0;
    };
    const auto columns = static_cast<std::int64_t>(width_), points = rows_ * columns;
    return {.colours = static_cast<int>(colours_.size()),
            .flat = share(flat_, steps_),
            .soft = share(soft_, steps_),
            .hard = share(hard_, steps_ - flat_ - soft_),
            .blended = share(blended_, edges_),
            .clear = share(points - visible_, points),
            .partial = share(partial_, visible_),
            .between = share(between_, points),
            .is_grey = grey_,
            .two_level = pure_,
            .period = std::gcd(period_, std::gcd(rows_, columns))};
  }

 private:
  // Between `n` pixels each.
  std::vector<int> steps(const int* a, const int* b, std::size_t n) const {
    std::vector<int> out(n, 0);
    for (std::size_t i = 0; i < n * channels_; ++i)
      out[i / channels_] = std::max(out[i / channels_], std::abs(a[i] - b[i]));
    return out;
  }

  void count_along(const Line& line) {
    if (width_ < 2) return;
    const std::vector<int> s = steps(line.data(), line.data() + channels_, width_ - 1);
    for (std::size_t x = 0; x < s.size(); ++x) {
      count_step(s[x]);
      if (s[x] > 0) across_[x + 1] = true;
    }
    for (std::size_t i = 0; i + 2 * channels_ < line.size(); i += channels_)
      count_blend(line.data() + i, line.data() + i + channels_, line.data() + i + 2 * channels_);
  }

  void count_step(int step) {
    ++steps_;
    flat_ += step == 0;
    soft_ += step > 0 && step <= 8 * kLevel;
    hard_ += step > 48 * kLevel;
  }

  // Three pixels in a row.
  void count_blend(const int* a, const int* b, const int* c) {
    int largest = 0;
    double length = 0, along = 0;
    for (std::size_t i = 0; i < channels_; ++i) {
      const double all = c[i] - a[i];
      largest = std::max(largest, std::abs(c[i] - a[i]));
      length += all * all;
      along += (b[i] - a[i]) * all;
    }
    if (largest <= 48 * kLevel) return;
    ++edges_;
    const double share = along / length;
    if (share <= 0.15 || share >= 0.85) return;
    for (std::size_t i = 0; i < channels_; ++i)
      if (std::abs(b[i] - a[i] - share * (c[i] - a[i])) >= 12 * kLevel) return;
    ++blended_;
  }

  void count_levels(const Line& line) {
    const std::size_t colours = channels_ >= 3 ? 3 : 1;
    for (std::size_t x = 0; x < width_; ++x) {
      const int* const pixel = line.data() + x * channels_;
      if (colours == 3) grey_ = grey_ && pixel[0] == pixel[1] && pixel[1] == pixel[2];
      between_ += pixel[0] > 5 * kLevel && pixel[0] < 250 * kLevel;
      const int alpha = channels_ % 2 == 0 ? pixel[channels_ - 1] : kHighest;
      visible_ += alpha > 0;
      partial_ += alpha > 0 && alpha < kHighest;
      pure_ = pure_ && channels_ == 1 && (pixel[0] == 0 || pixel[0] == kHighest);
    }
  }

  void count_colours(const Line& line) {
    if (colours_.size() == PictureFacts::kMostColours) return;
    for (std::size_t x = 0; x < width_; ++x) {
      std::uint64_t colour = 0;
      for (std::size_t c = 0; c < channels_; ++c)
        colour = colour << 16 | static_cast<std::uint64_t>(line[x * channels_ + c]);
      note_colour(colour);
    }
  }
  void note_colour(std::uint64_t colour) {
    if (!colours_.empty() && colours_.back() == colour) return;
    const auto found = std::find(colours_.begin(), colours_.end(), colour);
    if (found != colours_.end())
      std::iter_swap(found, colours_.end() - 1);  // it will often be the next one too
    else if (colours_.size() < PictureFacts::kMostColours)
      colours_.push_back(colour);
  }

  std::int64_t rows_, y_ = 0;  // of all rows, the next one
  std::size_t channels_, width_;
  Line before_, above_;       // rows y - 2 and y - 1
  std::vector<bool> across_;  // whether any two pixels differ across this column's border
  std::vector<std::uint64_t> colours_;
  std::int64_t steps_ = 0, flat_ = 0, soft_ = 0, hard_ = 0, edges_ = 0, blended_ = 0, visible_ = 0,
               partial_ = 0, between_ = 0, period_ = 0;
  bool grey_ = true, pure_ = true;
};

FactsCounter::FactsCounter(std::int64_t rows, std::int64_t columns, std::int64_t channels)
    : counter_(std::make_unique<Counter>(rows, columns, channels)) {}
FactsCounter::~FactsCounter() = default;
void FactsCounter::add(const Tensor& levels) {
  for (std::int64_t y = 0; y < levels.size(0); ++y)
    counter_->add(levels.data<float>() + y * levels.size(1) * levels.size(2));
}
PictureFacts FactsCounter::facts() { return counter_->facts(); }

}  // namespace veldt::field
