// PSNR and errors in one pass over the rows, SSIM in another. Each row has its own partial sums, added in
// order, so the result does not depend on the number of threads.
#include "veldt/train/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/shape.h"

namespace veldt::train {
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

// A NaN stays, and wins.
double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

// Rows a piece of work has: small pictures are not worth waking a thread for.
std::int64_t grain_of(std::int64_t row) { return std::max<std::int64_t>(1, 20'000 / row); }

struct RowSums {
  double squared = 0, absolute = 0, largest = 0;
  std::int64_t wrong = 0;
};

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

RowSums sums_of(const Tensor& a, const Tensor& b) {
  const std::int64_t h = a.size(0), w = a.size(1), c = a.size(2);
  const float* pa = a.data<float>();
  const float* pb = b.data<float>();
  std::vector<RowSums> rows(static_cast<std::size_t>(h));
  parallel_for(h, grain_of(w * c), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y)
      rows[static_cast<std::size_t>(y)] = sums_of_row(pa + y * w * c, pb + y * w * c, w, c);
  });
  RowSums total;
  for (const RowSums& row : rows) {
    total.squared += row.squared;
    total.absolute += row.absolute;
    total.largest = larger(total.largest, row.largest);
    total.wrong += row.wrong;
  }
  return total;
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

// Both contiguous and alike.
double ssim_of(const Tensor& a, const Tensor& b) {
  const std::int64_t h = a.size(0), w = a.size(1), c = a.size(2);
  const std::vector<double> across = window_for(w), down = window_for(h);
  const std::int64_t rows = h - static_cast<std::int64_t>(down.size()) + 1;
  const std::int64_t columns = w - static_cast<std::int64_t>(across.size()) + 1;
  std::vector<double> sums(static_cast<std::size_t>(rows));
  const float* pa = a.data<float>();
  const float* pb = b.data<float>();
  parallel_for(rows, grain_of(w * c), [&](std::int64_t begin, std::int64_t end) {
    SsimRow ssim_row(w, c, across, down);
    for (std::int64_t y = begin; y < end; ++y)
      sums[static_cast<std::size_t>(y)] = ssim_row(pa + y * w * c, pb + y * w * c);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total / static_cast<double>(rows * columns * c);
}

}  // namespace

PictureScore compare_pictures(const Tensor& a, const Tensor& b) {
  require_alike(a, b);
  const Tensor x = contiguous(a.detach()), y = contiguous(b.detach());
  const RowSums sums = sums_of(x, y);
  return {.psnr = psnr_of(sums.squared, a.numel()),
          .ssim = ssim_of(x, y),
          .mae = 255 * sums.absolute / static_cast<double>(a.numel()),
          .max_abs = 255 * sums.largest,
          .wrong_pixels = sums.wrong};
}

double psnr(const Tensor& a, const Tensor& b) {
  require_alike(a, b);
  return psnr_of(sums_of(contiguous(a.detach()), contiguous(b.detach())).squared, a.numel());
}

double ssim(const Tensor& a, const Tensor& b) {
  require_alike(a, b);
  return ssim_of(contiguous(a.detach()), contiguous(b.detach()));
}

}  // namespace veldt::train
