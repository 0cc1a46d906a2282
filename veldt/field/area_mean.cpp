// Adds up the samples of a field per pixel, those on a border by the share inside.
#include "veldt/field/area_mean.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace veldt::field {
namespace {

// A bound very close to a sample's differs from it only by rounding.
double settled(double place) {
  const double whole = std::round(place);
  return std::abs(place - whole) < 1e-6 ? whole : place;
}

}  // namespace

AreaSide AreaSide::on_lattice(std::int64_t pixels, double begin, double step, std::int64_t among) {
  double first = std::floor(settled(begin)),
         end = std::ceil(settled(begin + step * static_cast<double>(pixels)));
  if (among > 0) {
    first = std::clamp(first, 0.0, static_cast<double>(among - 1));
    end = std::clamp(end, first + 1, static_cast<double>(among));
  }
  const auto from = static_cast<std::int64_t>(first);
  return {pixels, from, static_cast<std::int64_t>(end) - from, begin, step};
}

AreaSide AreaSide::even(std::int64_t pixels, std::int64_t samples) {
  return {pixels, 0, pixels * samples, 0, static_cast<double>(samples)};
}

AreaSide::Cover AreaSide::cover(std::int64_t pixel) const {
  const auto lowest = static_cast<double>(first), highest = static_cast<double>(first + count);
  const double from = settled(begin + step * static_cast<double>(pixel));
  const double to = settled(begin + step * static_cast<double>(pixel + 1));
  const double inside = std::clamp(std::floor(from), lowest, highest - 1);
  const double outside = std::clamp(std::ceil(to), inside + 1, highest);
  Cover out{.from = static_cast<std::int64_t>(inside) - first, .weights = {}};
  double sum = 0;
  for (double at = inside; at < outside; ++at) {
    // Positions beyond count as the outermost sample.
    const double begins = at == lowest ? -std::numeric_limits<double>::infinity() : at;
    const double ends = at + 1 == highest ? std::numeric_limits<double>::infinity() : at + 1;
    out.weights.push_back(std::max(0.0, std::min(to, ends) - std::max(from, begins)));
    sum += out.weights.back();
  }
  for (double& weight : out.weights) weight /= sum;
  return out;
}

AreaMean::AreaMean(const AreaSide& across, const AreaSide& down, std::int64_t channels, bool has_alpha,
                   std::int64_t row, std::int64_t row_of_samples)
    : across_(across),
      down_(down),
      channels_(channels),
      sums_(has_alpha ? 2 * channels - 1 : channels),
      next_(row),
      needs_(down.cover(row)),
      lines_from_(row_of_samples) {
  for (std::int64_t x = 0; x < across.pixels; ++x) columns_.push_back(across.cover(x));
}

AreaMean::Line AreaMean::line_of(const float* samples) const {
  Line line(static_cast<std::size_t>(across_.pixels * sums_));
  double* put = line.data();
  for (const AreaSide::Cover& cover : columns_) {
    const float* from = samples + cover.from * channels_;
    for (const double weight : cover.weights) {
      const double by_alpha = weight * static_cast<double>(from[channels_ - 1]);
      for (std::int64_t c = 0; c < channels_; ++c) put[c] += weight * static_cast<double>(from[c]);
      for (std::int64_t c = channels_; c < sums_; ++c)
        put[c] += by_alpha * static_cast<double>(from[c - channels_]);
      from += channels_;
    }
    put += sums_;
  }
  return line;
}

std::vector<float> AreaMean::row_of_lines() const {
  Line sums(static_cast<std::size_t>(across_.pixels * sums_));
  for (std::size_t i = 0; i < needs_.weights.size(); ++i) {
    const Line& line = lines_[static_cast<std::size_t>(needs_.from - lines_from_) + i];
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += needs_.weights[i] * line[k];
  }
  std::vector<float> row;
  row.reserve(static_cast<std::size_t>(across_.pixels * channels_));
  for (const double* from = sums.data(); from != sums.data() + sums.size(); from += sums_) {
    const double alpha = from[channels_ - 1];
    for (std::int64_t c = 0; c < channels_; ++c) {
      const bool is_seen = channels_ + c < sums_ && alpha > 0;
      row.push_back(static_cast<float>(is_seen ? from[channels_ + c] / alpha : from[c]));
    }
  }
  return row;
}

bool AreaMean::add(const Tensor& rows, const Take& take) {
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    lines_.push_back(line_of(rows.data<float>() + i * across_.count * channels_));
    while (next_ < down_.pixels && needs_.end() <= lines_from_ + std::ssize(lines_)) {
      if (!take(row_of_lines())) return false;
      if (++next_ < down_.pixels) needs_ = down_.cover(next_);
      for (; !lines_.empty() && lines_from_ < needs_.from; ++lines_from_) lines_.pop_front();
    }
  }
  return true;
}

}  // namespace veldt::field
