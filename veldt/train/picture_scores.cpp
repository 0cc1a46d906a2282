// Errors and SSIM row by row. Each row has its own partial sums, added in order, so the result does not
// depend on the number of threads.
#include "veldt/train/picture_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/shape.h"

namespace veldt::train {

struct RowSums {
  double squared = 0, absolute = 0, largest = 0;
  std::int64_t wrong = 0;
};

namespace {

void require_alike(const Tensor& a, const Tensor& b) {
  if (a.rank() != 3 || b.rank() != 3 || !(a.shape() == b.shape()) || a.numel() == 0)
    throw ShapeError(str("cannot compare pictures of ", a.shape(), " and ", b.shape()),
                     "both must be [height, width, channels] of the same sizes, none of them 0",
                     "resample one of them, or repeat its channels");
  if (a.dtype() != DType::f32 || b.dtype() != DType::f32)
    throw ShapeError(str("cannot compare pictures of ", name_of(a.dtype()), " and ", name_of(b.dtype())),
                     "pictures are f32 in 0..1", "convert them with to(x, DType::f32)");
}

// A NaN stays and takes precedence.
double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

// Rows per task: small pictures are not worth waking a thread for.
std::int64_t grain_of(std::int64_t row) { return std::max<std::int64_t>(1, 20'000 / row); }

RowSums sums_of_row(const float* a, const float* b, std::int64_t width, std::int64_t channels) {
  RowSums sums;
  for (std::int64_t x = 0; x < width; ++x) {
    bool wrong = false;
    for (std::int64_t c = 0; c < channels; ++c, ++a, ++b) {
      const double d = static_cast<double>(*a) - static_cast<double>(*b);
      const double size = std::abs(d);
      sums.squared += d * d;
      sums.absolute += size;
      sums.largest = larger(sums.largest, size);
      wrong |= (*a >= 0.5f) != (*b >= 0.5f);
    }
    sums.wrong += wrong;
  }
  return sums;
}

// Adds those of `count` rows to the totals.
void add_sums(const float* a, const float* b, std::int64_t count, std::int64_t width, std::int64_t channels,
              RowSums& total) {
  const std::int64_t row = width * channels;
  std::vector<RowSums> rows(static_cast<std::size_t>(count));
  parallel_for(count, grain_of(row), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y)
      rows[static_cast<std::size_t>(y)] = sums_of_row(a + y * row, b + y * row, width, channels);
  });
  for (const RowSums& of_row : rows) {
    total.squared += of_row.squared;
    total.absolute += of_row.absolute;
    total.largest = larger(total.largest, of_row.largest);
    total.wrong += of_row.wrong;
  }
}

double psnr_of(double squared, std::int64_t count) {
  if (squared == 0) return std::numeric_limits<double>::infinity();
  return -10 * std::log10(squared / static_cast<double>(count));
}

// A Gaussian of deviation 1.5 over at most 11 pixels, summing to 1.
std::vector<double> window_for(std::int64_t side) {
  const std::int64_t radius = std::min<std::int64_t>(5, (side - 1) / 2);
  std::vector<double> window;
  double total = 0;
  for (std::int64_t i = -radius; i <= radius; ++i) {
    window.push_back(std::exp(-static_cast<double>(i * i) / (2 * 1.5 * 1.5)));
    total += window.back();
  }
  for (double& w : window) w /= total;
  return window;
}

// With s = a + b and d = a - b only four blurred maps are needed where a and b need five:
// 2 E[a] E[b] = (E[s]^2 - E[d]^2) / 2, E[a]^2 + E[b]^2 = (E[s]^2 + E[d]^2) / 2, and so for (co)variances.
struct Moments {
  double s = 0, d = 0, ss = 0, dd = 0;
};

double similarity(const Moments& m) {
  constexpr double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
  const double s2 = m.s * m.s, d2 = m.d * m.d;
  const double variance_s = m.ss - s2, variance_d = m.dd - d2;
  return ((s2 - d2) / 2 + c1) * ((variance_s - variance_d) / 2 + c2) /
         (((s2 + d2) / 2 + c1) * ((variance_s + variance_d) / 2 + c2));
}

// The sum of SSIM over the windows whose top row is at `a` and `b`: blurs down the columns, then along the
// row.
class SsimRow {
 public:
  SsimRow(std::int64_t width, std::int64_t channels, const std::vector<double>& across,
          const std::vector<double>& down)
      : row_(static_cast<std::size_t>(width * channels)),
        channels_(static_cast<std::size_t>(channels)),
        across_(across),
        down_(down),
        s_(row_),
        d_(row_),
        ss_(row_),
        dd_(row_) {}

  double operator()(const float* a, const float* b) {
    blur_columns(a, b);
    double total = 0;
    for (std::size_t i = 0; i + (across_.size() - 1) * channels_ < row_; ++i)
      total += similarity(blur_along(i));
    return total;
  }

 private:
  void blur_columns(const float* a, const float* b) {
    for (auto* map : {&s_, &d_, &ss_, &dd_}) std::fill(map->begin(), map->end(), 0.0);
    double *ps = s_.data(), *pd = d_.data(), *pss = ss_.data(), *pdd = dd_.data();
    for (const double w : down_) {
      for (std::size_t i = 0; i < row_; ++i) {
        const double s = static_cast<double>(a[i]) + static_cast<double>(b[i]);
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        ps[i] += w * s;
        pd[i] += w * d;
        pss[i] += w * s * s;
        pdd[i] += w * d * d;
      }
      a += row_;
      b += row_;
    }
  }

  Moments blur_along(std::size_t i) const {
    Moments m;
    for (const double w : across_) {
      m.s += w * s_[i];
      m.d += w * d_[i];
      m.ss += w * ss_[i];
      m.dd += w * dd_[i];
      i += channels_;
    }
    return m;
  }

  std::size_t row_, channels_;
  const std::vector<double>& across_;
  const std::vector<double>& down_;
  std::vector<double> s_, d_, ss_, dd_;
};

}  // namespace

struct PictureComparison::State {
  State(std::int64_t h, std::int64_t w, std::int64_t c)
      : height(h), width(w), channels(c), across(window_for(w)), down(window_for(h)) {}

  // SSIM of the windows that begin in the first `count` rows at a and b, which have all rows of those
  // windows.
  void add_windows(const float* a, const float* b, std::int64_t count) {
    const std::int64_t row = width * channels;
    std::vector<double> sums(static_cast<std::size_t>(count));
    parallel_for(count, grain_of(row), [&](std::int64_t begin, std::int64_t end) {
      SsimRow ssim_row(width, channels, across, down);
      for (std::int64_t y = begin; y < end; ++y)
        sums[static_cast<std::size_t>(y)] = ssim_row(a + y * row, b + y * row);
    });
    for (const double sum : sums) ssim += sum;
  }

  // `count` more rows. Windows span earlier rows, so those are kept.
  void add(const float* a, const float* b, std::int64_t count) {
    add_sums(a, b, count, width, channels, total);
    done += count;
    const std::int64_t row = width * channels, above = static_cast<std::int64_t>(down.size()) - 1;
    kept_a.insert(kept_a.end(), a, a + count * row);
    kept_b.insert(kept_b.end(), b, b + count * row);
    const std::int64_t whole = static_cast<std::int64_t>(kept_a.size()) / row - above;
    if (whole <= 0) return;
    add_windows(kept_a.data(), kept_b.data(), whole);
    kept_a.erase(kept_a.begin(), kept_a.begin() + whole * row);
    kept_b.erase(kept_b.begin(), kept_b.begin() + whole * row);
  }

  const std::int64_t height, width, channels;
  const std::vector<double> across, down;
  std::int64_t done = 0;
  RowSums total;
  double ssim = 0;
  std::vector<float> kept_a, kept_b;
};

PictureComparison::PictureComparison(Size size, std::int64_t channels) {
  const std::int64_t width = size.width, height = size.height;
  if (height < 1 || width < 1 || channels < 1)
    throw ShapeError(str("cannot compare pictures of ", width, " x ", height, " and ", channels, " channels"),
                     "none of these may be 0", "give pictures with pixels in them");
  state_ = std::make_unique<State>(height, width, channels);
}
PictureComparison::~PictureComparison() = default;

void PictureComparison::add(const Tensor& a, const Tensor& b) {
  require_alike(a, b);
  State& s = *state_;
  if (a.size(1) != s.width || a.size(2) != s.channels || a.size(0) > s.height - s.done)
    throw ShapeError(
        str("cannot compare rows of ", a.shape()),
        str("the pictures are ", Shape{s.height, s.width, s.channels}, " and ", s.done, " rows are done"),
        "give the rows of both pictures, each once");
  const Tensor x = contiguous(a.detach()), y = contiguous(b.detach());
  // In parts, because the rows of windows are copied.
  const std::int64_t row = s.width * s.channels, part = std::max<std::int64_t>(64, (1 << 18) / row);
  for (std::int64_t at = 0; at < x.size(0); at += part)
    s.add(x.data<float>() + at * row, y.data<float>() + at * row, std::min(part, x.size(0) - at));
}

PictureScore PictureComparison::score() const {
  const State& s = *state_;
  if (s.done != s.height)
    throw ShapeError("cannot compare half a picture", str(s.done, " of ", s.height, " rows are there"),
                     "give the other rows first");
  const std::int64_t count = s.height * s.width * s.channels;
  const std::int64_t rows = s.height - static_cast<std::int64_t>(s.down.size()) + 1;
  const std::int64_t columns = s.width - static_cast<std::int64_t>(s.across.size()) + 1;
  return {.psnr = psnr_of(s.total.squared, count),
          .ssim = s.ssim / static_cast<double>(rows * columns * s.channels),
          .mae = 255 * s.total.absolute / static_cast<double>(count),
          .max_abs = 255 * s.total.largest,
          .wrong_pixels = s.total.wrong};
}

PictureScore compare_pictures(const Tensor& a, const Tensor& b) {
  require_alike(a, b);
  PictureComparison comparison({a.size(1), a.size(0)}, a.size(2));
  comparison.add(a, b);
  return comparison.score();
}

double psnr(const Tensor& a, const Tensor& b) {
  require_alike(a, b);
  const Tensor x = contiguous(a.detach()), y = contiguous(b.detach());
  RowSums total;
  add_sums(x.data<float>(), y.data<float>(), a.size(0), a.size(1), a.size(2), total);
  return psnr_of(total.squared, a.numel());
}

double ssim(const Tensor& a, const Tensor& b) { return compare_pictures(a, b).ssim; }

}  // namespace veldt::train
