// The way from latents to pixels and back with floats: twice the size, the two layers, the two convolutions.
#include <algorithm>
#include <cstring>

#include "veldt/codec/upsampling.h"
#include "veldt/pack/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/pack/synthesis_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/pack/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::pack::HWY_NAMESPACE {
namespace {

using codec::kColours;
using codec::kDetail;
using codec::kHidden;
using codec::kLevels;
using codec::kTaps;
using codec::kUpsampling;
using Network = codec::Synthesis<float>;

constexpr float kUnit = 1.0f / (1 << codec::kUpsamplingBits);
constexpr float kFar = kUnit * kUpsampling[0], kNear = kUnit * kUpsampling[1], kHere = kUnit * kUpsampling[2],
                kOther = kUnit * kUpsampling[3];

HWY_INLINE V weighed(V far, V near, V here, V other) {
  return hn::MulAdd(far, set(kFar),
                    hn::MulAdd(near, set(kNear), hn::MulAdd(here, set(kHere), hn::Mul(other, set(kOther)))));
}

void upsample(const Plane& coarse, std::int64_t y, float* line, Plane& fine) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const std::int64_t i = y >> 1, side = y % 2 == 0 ? -1 : 1, width = coarse.width();
  const auto row = [&](std::int64_t at) {
    return coarse.row(std::clamp<std::int64_t>(at, 0, coarse.height() - 1));
  };
  const float *far = row(i + 2 * side), *near = row(i + side), *here = row(i), *other = row(i - side);
  for (std::int64_t x = 0; x < width; x += lanes)
    store(weighed(load(far + x), load(near + x), load(here + x), load(other + x)), line + x);
  for (std::int64_t k = 1; k <= 2; ++k) {
    line[-k] = line[0];
    line[width - 1 + k] = line[width - 1];
  }
  float* to = fine.row(y);
  for (std::int64_t x = 0; x < width; x += lanes) {
    const V even = weighed(load(line + x - 2), load(line + x - 1), load(line + x), load(line + x + 1));
    const V odd = weighed(load(line + x + 2), load(line + x + 1), load(line + x), load(line + x - 1));
    hn::StoreInterleaved2(even, odd, D(), to + 2 * x);
  }
  // Beyond the end there must be zeros again: kernels read whole blocks.
  std::fill(to + fine.width(), to + 2 * ((width + lanes - 1) / lanes * lanes), 0.0f);
}

// Columns: what each value of a row of the wide plane, of half the columns, gave to the fine row.
void adjoint_of_columns(const Plane& d_fine, std::int64_t y, std::vector<float>& lines, Plane& d_wide) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const std::int64_t width = d_wide.width(), room = d_wide.stride();
  lines.assign(static_cast<std::size_t>(2 * room), 0.0f);
  float *even = lines.data() + Plane::kBlock, *odd = even + room;
  const float* from = d_fine.row(y);
  for (std::int64_t x = 0; x < width; x += lanes) {
    V e, o;
    hn::LoadInterleaved2(D(), from + 2 * x, e, o);
    store(e, even + x);
    store(o, odd + x);
  }
  if (d_fine.width() % 2 == 1) odd[width - 1] = 0;
  std::fill(even + width, even + room - Plane::kBlock, 0.0f);
  std::fill(odd + width, odd + room - Plane::kBlock, 0.0f);
  float* to = d_wide.row(y);
  for (std::int64_t x = 0; x < width; x += lanes)
    store(hn::Add(weighed(load(even + x + 2), load(even + x + 1), load(even + x), load(even + x - 1)),
                  weighed(load(odd + x - 2), load(odd + x - 1), load(odd + x), load(odd + x + 1))),
          to + x);
  // What was read beyond an edge was the edge.
  to[0] += even[0] * (kFar + kNear) + even[1] * kFar + odd[0] * kOther;
  to[width - 1] +=
      odd[width - 1] * (kFar + kNear) + (width > 1 ? odd[width - 2] * kFar : 0) + even[width - 1] * kOther;
  std::fill(to + width, to + (width + lanes - 1) / lanes * lanes, 0.0f);
}

// Rows of the wide plane, which are as many as the fine one's; adds to the coarse row.
void adjoint_of_rows(const Plane& d_wide, std::int64_t fine_height, std::int64_t y, Plane& d_coarse) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  float* to = d_coarse.row(y);
  const auto add = [&](std::int64_t row, float weight) {
    if (row < 0 || row >= fine_height) return;
    const float* from = d_wide.row(row);
    for (std::int64_t x = 0; x < d_coarse.width(); x += lanes)
      store(hn::MulAdd(load(from + x), set(weight), load(to + x)), to + x);
  };
  const std::int64_t last = d_coarse.height() - 1;
  add(2 * y, kHere);
  add(2 * (y + 1), kNear);
  add(2 * (y + 2), kFar);
  add(2 * (y - 1), kOther);
  add(2 * y + 1, kHere);
  add(2 * (y - 1) + 1, kNear);
  add(2 * (y - 2) + 1, kFar);
  add(2 * (y + 1) + 1, kOther);
  if (y == 0) {
    add(0, kFar + kNear);
    add(2, kFar);
    add(1, kOther);
  }
  if (y == last) {
    add(2 * last + 1, kFar + kNear);
    if (last > 0) add(2 * (last - 1) + 1, kFar);
    add(2 * last, kOther);
  }
}

void colours(const std::vector<Plane>& features, std::int64_t y0, std::int64_t y1, const Network& n,
             std::vector<Plane>& out) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t y = y0; y < y1; ++y)
    for (std::int64_t x = 0; x < out[0].width(); x += lanes) {
      V f[kLevels], sums[kColours];
      for (std::size_t l = 0; l < kLevels; ++l) f[l] = load(features[l].row(y) + x);
      for (int c = 0; c < kColours; ++c) {
        sums[c] = set(n.colour_bias[c]);
        for (int l = 0; l < kLevels; ++l) sums[c] = hn::MulAdd(f[l], set(n.skip[c][l]), sums[c]);
      }
      for (int h = 0; h < kHidden; ++h) {
        V unit = set(n.hidden_bias[h]);
        for (int l = 0; l < kLevels; ++l) unit = hn::MulAdd(f[l], set(n.hidden[h][l]), unit);
        unit = hn::Max(unit, set(0));
        for (int c = 0; c < kColours; ++c) sums[c] = hn::MulAdd(unit, set(n.colour[c][h]), sums[c]);
      }
      for (int c = 0; c < kColours; ++c) store(sums[c], out[static_cast<std::size_t>(c)].row(y) + x);
    }
}

// The numbers of the synthesis, one a lane; at() finds the place of a member.
class NetworkSums {
 public:
  explicit NetworkSums(const Network& like)
      : like_(like), sums_(sizeof(Network) / sizeof(float) * Plane::kBlock, 0.0f) {}

  float* at(const float* member) {
    return sums_.data() + (member - reinterpret_cast<const float*>(&like_)) * Plane::kBlock;
  }
  HWY_INLINE void add(const float* member, V v) {
    float* sum = at(member);
    store(hn::Add(load(sum), v), sum);
  }
  HWY_INLINE void add_product(const float* member, V a, V b) {
    float* sum = at(member);
    store(hn::MulAdd(a, b, load(sum)), sum);
  }
  void add_to(Network& gradient) const {
    auto* to = reinterpret_cast<float*>(&gradient);
    for (std::size_t i = 0; i < sizeof(Network) / sizeof(float); ++i)
      to[i] += total_of(load(sums_.data() + i * Plane::kBlock));
  }

 private:
  const Network& like_;
  std::vector<float> sums_;
};

// Where latents alone learn.
struct NoSums {
  HWY_INLINE void add(const float*, V) {}
  HWY_INLINE void add_product(const float*, V, V) {}
};

// rows(sums) over rows, whose sums are added to the gradient if there is one.
template <class Rows> HWY_INLINE void with_sums(const Network& n, Network* gradient, Rows&& rows) {
  if (gradient == nullptr) {
    NoSums none;
    rows(none);
    return;
  }
  NetworkSums sums(n);
  rows(sums);
  sums.add_to(*gradient);
}

void colour_gradients(const std::vector<Plane>& features, std::int64_t y0, std::int64_t y1, const Network& n,
                      const std::vector<Plane>& d_colours, std::vector<Plane>& d_features,
                      Network* gradient) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  with_sums(n, gradient, [&](auto& sums) {
    for (std::int64_t y = y0; y < y1; ++y)
      for (std::int64_t x = 0; x < features[0].width(); x += lanes) {
        V f[kLevels], d[kColours], d_f[kLevels];
        for (std::size_t l = 0; l < kLevels; ++l) {
          f[l] = load(features[l].row(y) + x);
          d_f[l] = set(0);
        }
        for (int c = 0; c < kColours; ++c) {
          d[c] = load(d_colours[static_cast<std::size_t>(c)].row(y) + x);
          sums.add(&n.colour_bias[c], d[c]);
          for (int l = 0; l < kLevels; ++l) {
            sums.add_product(&n.skip[c][l], d[c], f[l]);
            d_f[l] = hn::MulAdd(d[c], set(n.skip[c][l]), d_f[l]);
          }
        }
        for (int h = 0; h < kHidden; ++h) {
          V unit = set(n.hidden_bias[h]);
          for (int l = 0; l < kLevels; ++l) unit = hn::MulAdd(f[l], set(n.hidden[h][l]), unit);
          const V used = hn::Max(unit, set(0));
          V d_unit = set(0);
          for (int c = 0; c < kColours; ++c) {
            sums.add_product(&n.colour[c][h], d[c], used);
            d_unit = hn::MulAdd(d[c], set(n.colour[c][h]), d_unit);
          }
          d_unit = hn::IfThenElseZero(hn::Gt(unit, set(0)), d_unit);
          sums.add(&n.hidden_bias[h], d_unit);
          for (int l = 0; l < kLevels; ++l) {
            sums.add_product(&n.hidden[h][l], d_unit, f[l]);
            d_f[l] = hn::MulAdd(d_unit, set(n.hidden[h][l]), d_f[l]);
          }
        }
        for (std::size_t l = 0; l < kLevels; ++l) store(d_f[l], d_features[l].row(y) + x);
      }
  });
}

template <int kIn, int kOut>
HWY_INLINE void convolved(const std::vector<Plane>& in, std::int64_t x, std::int64_t y,
                          const float (&weights)[kOut][kIn][kTaps], V (&sums)[kOut]) {
  for (int i = 0; i < kIn; ++i)
    for (int t = 0; t < kTaps; ++t) {
      const V v = load(in[static_cast<std::size_t>(i)].row(y + t / 3 - 1) + x + t % 3 - 1);
      for (int o = 0; o < kOut; ++o) sums[o] = hn::MulAdd(v, set(weights[o][i][t]), sums[o]);
    }
}

void details(const std::vector<Plane>& colours, std::int64_t y0, std::int64_t y1, const Network& n,
             std::vector<Plane>& out) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t y = y0; y < y1; ++y)
    for (std::int64_t x = 0; x < out[0].width(); x += lanes) {
      V sums[kDetail];
      for (int d = 0; d < kDetail; ++d) sums[d] = set(n.detail_bias[d]);
      convolved<kColours, kDetail>(colours, x, y, n.detail, sums);
      for (int d = 0; d < kDetail; ++d)
        store(hn::Max(sums[d], set(0)), out[static_cast<std::size_t>(d)].row(y) + x);
    }
}

void close(const std::vector<Plane>& colours, const std::vector<Plane>& detail, std::int64_t y0,
           std::int64_t y1, const Network& n, std::vector<Plane>& out) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t y = y0; y < y1; ++y)
    for (std::int64_t x = 0; x < out[0].width(); x += lanes) {
      V sums[kColours];
      for (int c = 0; c < kColours; ++c)
        sums[c] = hn::Add(load(colours[static_cast<std::size_t>(c)].row(y) + x), set(n.close_bias[c]));
      convolved<kDetail, kColours>(detail, x, y, n.close, sums);
      for (int c = 0; c < kColours; ++c) store(sums[c], out[static_cast<std::size_t>(c)].row(y) + x);
    }
}

// Of a convolution: the gradients of its weights, and in d_in those of its inputs at one block.
template <int kIn, int kOut, class Sums>
HWY_INLINE void convolution_gradient(const std::vector<Plane>& in, const std::vector<Plane>& d_out,
                                     std::int64_t x, std::int64_t y, const float (&weights)[kOut][kIn][kTaps],
                                     const float (&bias)[kOut], Sums& sums, V (&d_in)[kIn]) {
  V d[kOut];
  for (int o = 0; o < kOut; ++o) {
    d[o] = load(d_out[static_cast<std::size_t>(o)].row(y) + x);
    sums.add(&bias[o], d[o]);
  }
  for (int i = 0; i < kIn; ++i)
    for (int t = 0; t < kTaps; ++t) {
      const V v = load(in[static_cast<std::size_t>(i)].row(y + t / 3 - 1) + x + t % 3 - 1);
      for (int o = 0; o < kOut; ++o) sums.add_product(&weights[o][i][t], v, d[o]);
    }
  for (int o = 0; o < kOut; ++o)
    for (int t = 0; t < kTaps; ++t) {
      const V v = load(d_out[static_cast<std::size_t>(o)].row(y - (t / 3 - 1)) + x - (t % 3 - 1));
      for (int i = 0; i < kIn; ++i) d_in[i] = hn::MulAdd(v, set(weights[o][i][t]), d_in[i]);
    }
}

// What the edges that were repeated around a row of the inputs gave, add(x, i, gradient): a pixel of an edge
// was read in place of those beside it.
template <int kIn, int kOut, class Add>
void gradients_of_repeated(const std::vector<Plane>& d_out, std::int64_t y,
                           const float (&weights)[kOut][kIn][kTaps], Add&& add) {
  const std::int64_t width = d_out[0].width(), height = d_out[0].height();
  // Of a place beside the picture.
  const auto give = [&](std::int64_t px, std::int64_t py, std::int64_t x) {
    for (int i = 0; i < kIn; ++i) {
      float sum = 0;
      for (int t = 0; t < kTaps; ++t) {
        const std::int64_t ox = px - (t % 3 - 1), oy = py - (t / 3 - 1);
        if (ox < 0 || ox >= width || oy < 0 || oy >= height) continue;
        for (int o = 0; o < kOut; ++o)
          sum += weights[o][i][t] * d_out[static_cast<std::size_t>(o)].row(oy)[ox];
      }
      add(x, i, sum);
    }
  };
  for (std::int64_t py = y - 1; py <= y + 1; ++py) {
    if (std::clamp<std::int64_t>(py, 0, height - 1) != y) continue;
    give(-1, py, 0);
    give(width, py, width - 1);
    for (std::int64_t x = 0; py != y && x < width; ++x) give(x, py, x);
  }
}

void close_gradients(const std::vector<Plane>& detail, const std::vector<Plane>& d_out, std::int64_t y0,
                     std::int64_t y1, const Network& n, std::vector<Plane>& d_detail, Network* gradient) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const std::int64_t width = detail[0].width();
  with_sums(n, gradient, [&](auto& sums) {
    for (std::int64_t y = y0; y < y1; ++y)
      for (std::int64_t x = 0; x < width; x += lanes) {
        V d[kDetail];
        for (V& v : d) v = set(0);
        convolution_gradient<kDetail, kColours>(detail, d_out, x, y, n.close, n.close_bias, sums, d);
        const auto inside = hn::FirstN(D(), static_cast<std::size_t>(width - x));
        for (std::size_t i = 0; i < kDetail; ++i)
          store(hn::IfThenElseZero(hn::And(inside, hn::Gt(load(detail[i].row(y) + x), set(0))), d[i]),
                d_detail[i].row(y) + x);
      }
    for (std::int64_t y = y0; y < y1; ++y)
      gradients_of_repeated<kDetail, kColours>(d_out, y, n.close, [&](std::int64_t x, int i, float d) {
        const auto channel = static_cast<std::size_t>(i);
        if (detail[channel].row(y)[x] > 0) d_detail[channel].row(y)[x] += d;
      });
  });
}

void detail_gradients(const std::vector<Plane>& colours, const std::vector<Plane>& d_detail,
                      const std::vector<Plane>& d_out, std::int64_t y0, std::int64_t y1, const Network& n,
                      std::vector<Plane>& d_colours, Network* gradient) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const std::int64_t width = colours[0].width();
  with_sums(n, gradient, [&](auto& sums) {
    for (std::int64_t y = y0; y < y1; ++y)
      for (std::int64_t x = 0; x < width; x += lanes) {
        V d[kColours];
        for (std::size_t c = 0; c < kColours; ++c) d[c] = load(d_out[c].row(y) + x);
        convolution_gradient<kColours, kDetail>(colours, d_detail, x, y, n.detail, n.detail_bias, sums, d);
        const auto inside = hn::FirstN(D(), static_cast<std::size_t>(width - x));
        for (std::size_t c = 0; c < kColours; ++c)
          store(hn::IfThenElseZero(inside, d[c]), d_colours[c].row(y) + x);
      }
    for (std::int64_t y = y0; y < y1; ++y)
      gradients_of_repeated<kColours, kDetail>(d_detail, y, n.detail, [&](std::int64_t x, int i, float d) {
        d_colours[static_cast<std::size_t>(i)].row(y)[x] += d;
      });
  });
}

double differences(const float* out, const float* target, float* d_out, std::int64_t count, float scale) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  V sum = set(0);
  for (std::int64_t x = 0; x < count; x += lanes) {
    const V d = hn::IfThenElseZero(hn::FirstN(D(), static_cast<std::size_t>(count - x)),
                                   hn::Sub(load(out + x), load(target + x)));
    sum = hn::MulAdd(d, d, sum);
    store(hn::Mul(d, set(2 * scale)), d_out + x);
  }
  return static_cast<double>(total_of(sum));
}

}  // namespace
}  // namespace veldt::pack::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::pack {
namespace {
VELDT_EXPORT(upsample);
VELDT_EXPORT(adjoint_of_columns);
VELDT_EXPORT(adjoint_of_rows);
VELDT_EXPORT(colours);
VELDT_EXPORT(colour_gradients);
VELDT_EXPORT(details);
VELDT_EXPORT(close);
VELDT_EXPORT(close_gradients);
VELDT_EXPORT(detail_gradients);
VELDT_EXPORT(differences);
}  // namespace

void upsample_row(const Plane& coarse, std::int64_t y, float* line, Plane& fine) {
  VELDT_DISPATCH(upsample)(coarse, y, line, fine);
}
void upsample_adjoint_row(const Plane& d_fine, std::int64_t y, std::vector<float>& lines, Plane& d_wide) {
  VELDT_DISPATCH(adjoint_of_columns)(d_fine, y, lines, d_wide);
}
void upsample_adjoint_column(const Plane& d_wide, std::int64_t fine_height, std::int64_t y, Plane& d_coarse) {
  VELDT_DISPATCH(adjoint_of_rows)(d_wide, fine_height, y, d_coarse);
}

void colour_rows(const std::vector<Plane>& features, std::int64_t y0, std::int64_t y1,
                 const codec::Synthesis<float>& network, std::vector<Plane>& out) {
  VELDT_DISPATCH(colours)(features, y0, y1, network, out);
}
void colour_gradient_rows(const std::vector<Plane>& features, std::int64_t y0, std::int64_t y1,
                          const codec::Synthesis<float>& network, const std::vector<Plane>& d_colours,
                          std::vector<Plane>& d_features, codec::Synthesis<float>* gradient) {
  VELDT_DISPATCH(colour_gradients)(features, y0, y1, network, d_colours, d_features, gradient);
}

void repeat_edges(std::vector<Plane>& planes) {
  for (Plane& p : planes) {
    for (std::int64_t y = 0; y < p.height(); ++y) {
      float* row = p.row(y);
      row[-1] = row[0];
      row[p.width()] = row[p.width() - 1];
    }
    std::copy_n(p.row(0) - Plane::kBlock, p.stride(), p.row(-1) - Plane::kBlock);
    std::copy_n(p.row(p.height() - 1) - Plane::kBlock, p.stride(), p.row(p.height()) - Plane::kBlock);
  }
}

void detail_rows(const std::vector<Plane>& colours, std::int64_t y0, std::int64_t y1,
                 const codec::Synthesis<float>& network, std::vector<Plane>& detail) {
  VELDT_DISPATCH(details)(colours, y0, y1, network, detail);
}
void close_rows(const std::vector<Plane>& colours, const std::vector<Plane>& detail, std::int64_t y0,
                std::int64_t y1, const codec::Synthesis<float>& network, std::vector<Plane>& out) {
  VELDT_DISPATCH(close)(colours, detail, y0, y1, network, out);
}
void close_gradient_rows(const std::vector<Plane>& detail, const std::vector<Plane>& d_out, std::int64_t y0,
                         std::int64_t y1, const codec::Synthesis<float>& network,
                         std::vector<Plane>& d_detail, codec::Synthesis<float>* gradient) {
  VELDT_DISPATCH(close_gradients)(detail, d_out, y0, y1, network, d_detail, gradient);
}
void detail_gradient_rows(const std::vector<Plane>& colours, const std::vector<Plane>& d_detail,
                          const std::vector<Plane>& d_out, std::int64_t y0, std::int64_t y1,
                          const codec::Synthesis<float>& network, std::vector<Plane>& d_colours,
                          codec::Synthesis<float>* gradient) {
  VELDT_DISPATCH(detail_gradients)(colours, d_detail, d_out, y0, y1, network, d_colours, gradient);
}

double difference_row(const float* out, const float* target, float* d_out, std::int64_t count, float scale) {
  return VELDT_DISPATCH(differences)(out, target, d_out, count, scale);
}

}  // namespace veldt::pack
#endif
