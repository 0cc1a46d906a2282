// Regions of pictures, and boxes. Source of the rules of rounding: the operators' texts, which follow
// Caffe2's.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"

namespace veldt::onnx {

namespace {

// A box by its corners.
struct Box {
  double x1, y1, x2, y2;
  double area() const { return (x2 - x1) * (y2 - y1); }
};

bool overlap(const Box& a, const Box& b, double threshold) {
  const double wide = std::min(a.x2, b.x2) - std::max(a.x1, b.x1),
               high = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(wide > 0) || !(high > 0) || !(a.area() > 0) || !(b.area() > 0)) return false;
  return wide * high > threshold * (a.area() + b.area() - wide * high);
}

// The best boxes of each class, without those that overlap a better one.
Values non_max_suppression(const Call& c) {
  const Tensor &boxes = c.tensor(0), &scores = c.tensor(1);
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.size(2) != 4 || scores.size(0) != boxes.size(0) ||
      scores.size(2) != boxes.size(1))
    c.fail(str("its boxes are ", boxes.shape(), ", its scores ", scores.shape()));
  const std::int64_t most = c.has(2) ? std::max<std::int64_t>(0, c.integer(2)) : 0;
  const double threshold = c.has(3) ? c.number(3) : 0;
  const bool bounded = c.has(4);
  const double lowest = bounded ? c.number(4) : 0;
  const bool centred = c.integer("center_point_box", 0) != 0;
  const std::vector<double> corners = host<double>(boxes), score = host<double>(scores);
  const auto count = static_cast<std::size_t>(boxes.size(1)),
             classes = static_cast<std::size_t>(scores.size(1));
  std::vector<std::int64_t> out;
  std::vector<Box> all(count);
  for (std::size_t n = 0; n < static_cast<std::size_t>(boxes.size(0)); ++n) {
    for (std::size_t i = 0; i < count; ++i) {
      const double* b = corners.data() + (n * count + i) * 4;
      all[i] = centred ? Box{b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2}
                       : Box{std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]),
                             std::max(b[0], b[2])};
    }
    for (std::size_t k = 0; k < classes; ++k) {
      const double* s = score.data() + (n * classes + k) * count;
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < count; ++i)
        if (bounded ? s[i] > lowest : !std::isnan(s[i])) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return s[a] > s[b]; });
      std::vector<std::size_t> kept;
      for (const std::size_t i : order) {
        if (static_cast<std::int64_t>(kept.size()) >= most) break;
        if (std::any_of(kept.begin(), kept.end(),
                        [&](std::size_t j) { return overlap(all[i], all[j], threshold); }))
          continue;
        kept.push_back(i);
        for (const std::size_t part : {n, k, i}) out.push_back(static_cast<std::int64_t>(part));
      }
    }
  }
  return {Tensor::from<std::int64_t>({static_cast<std::int64_t>(out.size() / 3), 3}, out)};
}

// Where samples of regions read: four elements each, as rows of [n height width, channels].
struct Samples {
  std::vector<std::int64_t> bins;  // the result's row of each sample
  std::array<std::vector<std::int64_t>, 4> rows;
  std::array<std::vector<float>, 4> weights;
};

// One coordinate between two elements; nothing beyond one element outside.
struct Between2 {
  std::int64_t low = 0, high = 0;
  double share = 0;  // of `high`
  bool inside = false;
};
Between2 between(double x, std::int64_t size) {
  if (!(x >= -1 && x <= static_cast<double>(size))) return {};
  x = std::max(x, 0.0);
  const auto low = static_cast<std::int64_t>(x);
  if (low >= size - 1) return {size - 1, size - 1, 0, true};
  return {low, low + 1, x - static_cast<double>(low), true};
}

struct RoiOptions {
  std::int64_t height, width, bins_high, bins_wide, sampling;
  double scale;
  bool half_pixel;
};

// Adds the samples of one region, in the order of its bins; returns how many each bin has.
std::int64_t add_samples(const Call& c, const RoiOptions& o, const double* roi, std::int64_t picture,
                         std::int64_t first_bin, Samples& to) {
  const double offset = o.half_pixel ? 0.5 : 0;
  const double x = roi[0] * o.scale - offset, y = roi[1] * o.scale - offset;
  double wide = roi[2] * o.scale - offset - x, high = roi[3] * o.scale - offset - y;
  if (!o.half_pixel) {
    wide = std::max(wide, 1.0);
    high = std::max(high, 1.0);
  }
  const double bin_wide = wide / static_cast<double>(o.bins_wide),
               bin_high = high / static_cast<double>(o.bins_high);
  const auto grid = [&](double bin) {
    if (o.sampling > 0) return o.sampling;
    if (!(bin < 65536)) c.fail("a region is larger than any picture");
    return static_cast<std::int64_t>(std::ceil(std::max(bin, 0.0)));
  };
  const std::int64_t down = grid(bin_high), across = grid(bin_wide);
  if (down * across * o.bins_high * o.bins_wide > std::int64_t{1} << 24)
    c.fail("a region would take more than 2^24 samples");
  for (std::int64_t bin = 0; bin < o.bins_high * o.bins_wide; ++bin) {
    const auto row = static_cast<double>(bin / o.bins_wide), column = static_cast<double>(bin % o.bins_wide);
    for (std::int64_t s = 0; s < down * across; ++s) {
      const auto part = [](std::int64_t at, std::int64_t of) {
        return (static_cast<double>(at) + 0.5) / static_cast<double>(of);
      };
      const Between2 v = between(y + (row + part(s / across, down)) * bin_high, o.height),
                     h = between(x + (column + part(s % across, across)) * bin_wide, o.width);
      const bool inside = v.inside && h.inside;
      to.bins.push_back(first_bin + bin);
      for (std::size_t k = 0; k < 4; ++k) {
        const bool lower = k >= 2, right = k % 2 == 1;
        to.rows[k].push_back((picture * o.height + (lower ? v.high : v.low)) * o.width +
                             (right ? h.high : h.low));
        to.weights[k].push_back(
            inside ? static_cast<float>((lower ? v.share : 1 - v.share) * (right ? h.share : 1 - h.share))
                   : 0.0F);
      }
    }
  }
  return down * across;
}

// The parts of each sample, weighted: [samples, channels].
Tensor weighted(const Samples& s, std::size_t k, const Tensor& rows) {
  const Tensor weight =
      Tensor::from<float>({static_cast<std::int64_t>(s.bins.size()), 1}, s.weights[k], rows.device());
  return mul(index_select(rows, 0, list_of(s.rows[k], rows.device())), to(weight, rows.dtype()));
}

// Bilinear samples of regions, pooled in bins (He et al. 2017).
Values roi_align(const Call& c) {
  const Tensor &x = c.tensor(0), &rois = c.tensor(1);
  const std::vector<std::int64_t> pictures = c.integers(2);
  if (x.rank() != 4 || rois.rank() != 2 || rois.size(1) != 4 ||
      static_cast<std::int64_t>(pictures.size()) != rois.size(0))
    c.fail(str("its input is ", x.shape(), ", its regions ", rois.shape()));
  if (x.size(2) < 1 || x.size(3) < 1) c.fail("its pictures have no pixels");
  const std::string corner = c.text("coordinate_transformation_mode",
                                    c.opset() < 16 ? "output_half_pixel" : "half_pixel"),
                    mode = c.text("mode", "avg");
  const RoiOptions o{x.size(2),
                     x.size(3),
                     c.integer("output_height", 1),
                     c.integer("output_width", 1),
                     c.integer("sampling_ratio", 0),
                     c.real("spatial_scale", 1),
                     corner == "half_pixel"};
  if (o.bins_high < 1 || o.bins_wide < 1 || o.bins_high > 4096 || o.bins_wide > 4096 || o.sampling > 4096)
    c.fail(str("its result is to be ", o.bins_high, " by ", o.bins_wide));
  if (mode != "avg" && mode != "max") c.fail("its mode is \"" + mode + "\", which ONNX does not have");
  const std::int64_t channels = x.size(1), bins = o.bins_high * o.bins_wide, count = rois.size(0);
  check_size(c, {count, channels, o.bins_high, o.bins_wide});
  const std::vector<double> regions = host<double>(rois);
  const Tensor rows = reshape(permute(x, {0, 2, 3, 1}), {x.size(0) * x.size(2) * x.size(3), channels});
  std::vector<Tensor> out;
  Samples samples;
  std::vector<float> shares;
  std::int64_t first = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t picture = pictures[static_cast<std::size_t>(r)];
    if (picture < 0 || picture >= x.size(0))
      c.fail(str("a region is of picture ", picture, " of ", x.size(0)));
    const std::int64_t each = add_samples(c, o, regions.data() + 4 * r, picture, (r - first) * bins, samples);
    shares.insert(shares.end(), static_cast<std::size_t>(bins),
                  each > 0 ? 1.0F / static_cast<float>(each) : 0.0F);
    const bool full = samples.bins.size() > std::size_t{1} << 16;
    if (mode == "max") {
      std::vector<Tensor> parts;
      for (std::size_t k = 0; k < 4; ++k) parts.push_back(weighted(samples, k, rows));
      out.push_back(each > 0 ? max(reshape(stack(parts, 1), {bins, each * 4, channels}), {1})
                             : zeros({bins, channels}, x.dtype(), x.device()));
    } else if (full || r + 1 == count) {
      const std::int64_t results = (r + 1 - first) * bins;
      Tensor sums = zeros({results, channels}, x.dtype(), x.device());
      for (std::size_t k = 0; k < 4 && !samples.bins.empty(); ++k)
        sums = index_add(sums, 0, list_of(samples.bins, x.device()), weighted(samples, k, rows));
      out.push_back(mul(sums, to(Tensor::from<float>({results, 1}, shares, x.device()), x.dtype())));
    } else {
      continue;
    }
    samples = {};
    shares.clear();
    first = r + 1;
  }
  const Tensor all = out.empty() ? zeros({0, channels}, x.dtype(), x.device()) : cat(out, 0);
  return {contiguous(permute(reshape(all, {count, o.bins_high, o.bins_wide, channels}), {0, 3, 1, 2}))};
}

// The largest element of each bin of regions (Girshick 2015).
Values max_roi_pool(const Call& c) {
  const Tensor &x = c.tensor(0), &rois = c.tensor(1);
  const std::vector<std::int64_t> bins = c.integers("pooled_shape");
  if (x.rank() != 4 || rois.rank() != 2 || rois.size(1) != 5 || bins.size() != 2 || bins[0] < 1 ||
      bins[1] < 1)
    c.fail(str("its input is ", x.shape(), ", its regions ", rois.shape()));
  const Shape shape{rois.size(0), x.size(1), bins[0], bins[1]};
  check_size(c, shape);
  const std::vector<double> regions = host<double>(rois);
  const double scale = c.real("spatial_scale", 1);
  const auto rounded = [&](double v) {
    const double r = std::round(v * scale);
    if (!(std::fabs(r) < 1e9)) c.fail("a region is larger than any picture");
    return static_cast<std::int64_t>(r);
  };
  std::vector<Tensor> out;
  for (std::int64_t r = 0; r < rois.size(0); ++r) {
    const double* roi = regions.data() + 5 * r;
    if (!(roi[0] >= 0 && roi[0] < static_cast<double>(x.size(0))))
      c.fail(str("a region is of picture ", roi[0]));
    const Tensor picture = select(x, 0, static_cast<std::int64_t>(roi[0]));
    const auto ends = [&](int d, std::int64_t bin) {  // of one bin along one dimension
      const std::int64_t begin = rounded(roi[d == 0 ? 2 : 1]), end = rounded(roi[d == 0 ? 4 : 3]);
      const double each = static_cast<double>(std::max<std::int64_t>(end - begin + 1, 1)) /
                          static_cast<double>(bins[static_cast<std::size_t>(d)]);
      const auto at = [&](double v) {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(v) + begin, 0, x.size(d + 2));
      };
      const auto i = static_cast<double>(bin);
      return std::pair(at(std::floor(i * each)), at(std::ceil((i + 1) * each)));
    };
    for (std::int64_t i = 0; i < bins[0]; ++i)
      for (std::int64_t j = 0; j < bins[1]; ++j) {
        const auto [top, bottom] = ends(0, i);
        const auto [left, right] = ends(1, j);
        out.push_back(bottom > top && right > left
                          ? max(narrow(narrow(picture, 1, top, bottom - top), 2, left, right - left), {1, 2})
                          : zeros({x.size(1)}, x.dtype(), x.device()));
      }
  }
  if (out.empty()) return {zeros(shape, x.dtype(), x.device())};
  return {
      contiguous(permute(reshape(stack(out, 0), {rois.size(0), bins[0], bins[1], x.size(1)}), {0, 3, 1, 2}))};
}

}  // namespace

void add_detection(OperatorTable& t) {
  t.add("NonMaxSuppression", non_max_suppression);
  t.add("RoiAlign", roi_align, 1);
  t.add("MaxRoiPool", max_roi_pool, 1);
}

}  // namespace veldt::onnx
