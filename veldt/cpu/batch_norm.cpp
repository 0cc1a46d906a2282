// Batch norms: one pass over x finds the moments of its channels and one writes the result; two find the
// gradient. Pieces of x, which depend on its sizes alone, are summed in parallel.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/batch_norm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "hwy/highway.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/stage.h"
#include "veldt/kernels/batch_norm.h"

#ifndef VELDT_CPU_BATCH_NORM_CHANNELS
#define VELDT_CPU_BATCH_NORM_CHANNELS
namespace veldt::cpu {
namespace {

// Channels of an example, `run` numbers each, all side by side.
struct Channels {
  std::int64_t count, run;
};

}  // namespace
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Registers of doubles, or one double.
using Wide = hn::ScalableTag<double>;
using One = hn::CappedTag<double, 1>;

template <class D, class T> HWY_INLINE auto as_doubles(D d, const T* x) {
  if constexpr (sizeof(T) == sizeof(double))
    return hn::LoadU(d, x);
  else
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), x));
}

// Calls each(tag, i, by, c) for all numbers i, a register or one at a time, which are of channel c, or of c
// and those after it; by: by[c] for each of them.
template <class D, class T, class Each>
HWY_INLINE void for_each(D d, const Channels& s, const T* by, const Each& each) {
  const hn::CappedTag<hn::TFromD<D>, 1> one;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  if (s.run == 1) {
    for (; c + lanes <= s.count; c += lanes) each(d, c, hn::LoadU(d, by + c), c);
    for (; c < s.count; ++c) each(one, c, hn::LoadU(one, by + c), c);
    return;
  }
  for (; c < s.count; ++c) {
    std::int64_t i = c * s.run;
    const std::int64_t end = i + s.run;
    for (; i + lanes <= end; i += lanes) each(d, i, hn::Set(d, by[c]), c);
    for (; i < end; ++i) each(one, i, hn::Set(one, by[c]), c);
  }
}

// Adds the sums of first(tag, i, by[c]) and of second(..) over the numbers i of each channel c.
template <class First, class Second>
HWY_INLINE void add_sums(const Channels& s, const double* by, const First& first, const Second& second,
                         double* firsts, double* seconds) {
  const Wide d;
  const One one;
  if (s.run == 1)
    return for_each(d, s, by, [&](auto tag, std::int64_t i, auto origin, std::int64_t c) {
      hn::StoreU(hn::Add(hn::LoadU(tag, firsts + c), first(tag, i, origin)), tag, firsts + c);
      hn::StoreU(hn::Add(hn::LoadU(tag, seconds + c), second(tag, i, origin)), tag, seconds + c);
    });
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t c = 0; c < s.count; ++c) {
    const auto origin = hn::Set(d, by[c]);
    auto a = hn::Zero(d), b = hn::Zero(d), more_a = hn::Zero(d), more_b = hn::Zero(d);
    std::int64_t i = c * s.run;
    const std::int64_t end = i + s.run;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      a = hn::Add(a, first(d, i, origin));
      b = hn::Add(b, second(d, i, origin));
      more_a = hn::Add(more_a, first(d, i + lanes, origin));
      more_b = hn::Add(more_b, second(d, i + lanes, origin));
    }
    for (; i < end; ++i) {
      firsts[c] += hn::GetLane(first(one, i, hn::Set(one, by[c])));
      seconds[c] += hn::GetLane(second(one, i, hn::Set(one, by[c])));
    }
    firsts[c] += hn::GetLane(hn::SumOfLanes(d, hn::Add(a, more_a)));
    seconds[c] += hn::GetLane(hn::SumOfLanes(d, hn::Add(b, more_b)));
  }
}

// Adds the distances of x from each channel's origin, and their squares.
template <class T>
void moments(const Channels& s, const T* x, const double* origins, double* distances, double* squares) {
  const auto off = [&](auto tag, std::int64_t i, auto origin) {
    return hn::Sub(as_doubles(tag, x + i), origin);
  };
  add_sums(
      s, origins, off,
      [&](auto tag, std::int64_t i, auto origin) {
        return hn::Mul(off(tag, i, origin), off(tag, i, origin));
      },
      distances, squares);
}

// Adds g, and g times the distance of x from each channel's mean.
template <class T>
void slope_sums(const Channels& s, const T* x, const T* g, const double* means, double* of_g,
                double* of_off) {
  add_sums(
      s, means, [&](auto tag, std::int64_t i, auto) { return as_doubles(tag, g + i); },
      [&](auto tag, std::int64_t i, auto mean) {
        return hn::Mul(as_doubles(tag, g + i), hn::Sub(as_doubles(tag, x + i), mean));
      },
      of_g, of_off);
}

// A channel's number for each lane: one for all, or one each.
template <class D, class T> HWY_INLINE auto of_channel(D d, const Channels& s, const T* all, std::int64_t c) {
  return s.run == 1 ? hn::LoadU(d, all + c) : hn::Set(d, all[c]);
}

// y = (x - mean) factor + shift
template <class T>
void apply(const Channels& s, const T* x, const T* means, const T* factors, const T* shifts, T* y) {
  for_each(hn::ScalableTag<T>(), s, means, [&](auto tag, std::int64_t i, auto mean, std::int64_t c) {
    const auto off = hn::Sub(hn::LoadU(tag, x + i), mean);
    hn::StoreU(hn::Add(hn::Mul(off, of_channel(tag, s, factors, c)), of_channel(tag, s, shifts, c)), tag,
               y + i);
  });
}

// dx = by_g g + by_off (x - mean) + shift
template <class T>
void slope(const Channels& s, const T* x, const T* g, const T* means, const T* by_g, const T* by_off,
           const T* shifts, T* dx) {
  for_each(hn::ScalableTag<T>(), s, means, [&](auto tag, std::int64_t i, auto mean, std::int64_t c) {
    const auto off = hn::Sub(hn::LoadU(tag, x + i), mean);
    const auto rest = hn::Add(hn::Mul(off, of_channel(tag, s, by_off, c)), of_channel(tag, s, shifts, c));
    hn::StoreU(hn::Add(hn::Mul(hn::LoadU(tag, g + i), of_channel(tag, s, by_g, c)), rest), tag, dx + i);
  });
}

void moments_f32(const Channels& s, const float* x, const double* origins, double* distances,
                 double* squares) {
  moments(s, x, origins, distances, squares);
}
void moments_f64(const Channels& s, const double* x, const double* origins, double* distances,
                 double* squares) {
  moments(s, x, origins, distances, squares);
}
void slope_sums_f32(const Channels& s, const float* x, const float* g, const double* means, double* of_g,
                    double* of_off) {
  slope_sums(s, x, g, means, of_g, of_off);
}
void slope_sums_f64(const Channels& s, const double* x, const double* g, const double* means, double* of_g,
                    double* of_off) {
  slope_sums(s, x, g, means, of_g, of_off);
}
void apply_f32(const Channels& s, const float* x, const float* means, const float* factors,
               const float* shifts, float* y) {
  apply(s, x, means, factors, shifts, y);
}
void apply_f64(const Channels& s, const double* x, const double* means, const double* factors,
               const double* shifts, double* y) {
  apply(s, x, means, factors, shifts, y);
}
void slope_f32(const Channels& s, const float* x, const float* g, const float* means, const float* by_g,
               const float* by_off, const float* shifts, float* dx) {
  slope(s, x, g, means, by_g, by_off, shifts, dx);
}
void slope_f64(const Channels& s, const double* x, const double* g, const double* means, const double* by_g,
               const double* by_off, const double* shifts, double* dx) {
  slope(s, x, g, means, by_g, by_off, shifts, dx);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(moments_f32);
VELDT_EXPORT(moments_f64);
VELDT_EXPORT(slope_sums_f32);
VELDT_EXPORT(slope_sums_f64);
VELDT_EXPORT(apply_f32);
VELDT_EXPORT(apply_f64);
VELDT_EXPORT(slope_f32);
VELDT_EXPORT(slope_f64);

auto moments_in(float) { return VELDT_DISPATCH(moments_f32); }
auto moments_in(double) { return VELDT_DISPATCH(moments_f64); }
auto slope_sums_in(float) { return VELDT_DISPATCH(slope_sums_f32); }
auto slope_sums_in(double) { return VELDT_DISPATCH(slope_sums_f64); }
auto apply_in(float) { return VELDT_DISPATCH(apply_f32); }
auto apply_in(double) { return VELDT_DISPATCH(apply_f64); }
auto slope_in(float) { return VELDT_DISPATCH(slope_f32); }
auto slope_in(double) { return VELDT_DISPATCH(slope_f64); }

constexpr std::int64_t kPiece = 1 << 15;  // elements of a piece
constexpr std::int64_t kLeast = 16;       // of each channel, lest there be more sums than elements

// A view [n, channels, run] in pieces: some channels of some examples.
class Pieces {
 public:
  explicit Pieces(const View& x) : n_(x.shape[0]), channels_(x.shape[1]), run_(x.shape[2]) {
    wide_ = std::clamp<std::int64_t>(kPiece / run_, 1, channels_);
    high_ = std::clamp<std::int64_t>(std::max(kPiece / (wide_ * run_), kLeast / run_), 1, n_);
  }

  double count() const { return static_cast<double>(n_ * run_); }  // numbers of a channel
  std::int64_t channels() const { return channels_; }
  std::int64_t down() const { return (n_ + high_ - 1) / high_; }
  std::int64_t across() const { return (channels_ + wide_ - 1) / wide_; }

  // Calls each(row of pieces, channel, channels, offset) for each example of each piece: so many channels
  // from the offset on, side by side. Pieces run in parallel.
  template <class Each> void for_each(const Each& each) const {
    parallel_for(down() * across(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t piece = begin; piece < end; ++piece) {
        const std::int64_t row = piece / across(), c = piece % across() * wide_;
        const std::int64_t count = std::min(wide_, channels_ - c);
        const std::int64_t part = std::min(run_, kPiece);
        for (std::int64_t i = row * high_; i < std::min(n_, (row + 1) * high_); ++i)
          for (std::int64_t at = 0; at < run_; at += part)
            each(row, c, Channels{count, std::min(part, run_ - at)}, (i * channels_ + c) * run_ + at);
      }
    });
  }

 private:
  std::int64_t n_, channels_, run_, wide_, high_;
};

// Two sums for each channel, of the numbers in each row of pieces.
class Sums {
 public:
  explicit Sums(const Pieces& p)
      : channels_(p.channels()), rows_(p.down()), all_(static_cast<std::size_t>(2 * channels_ * rows_)) {}
  double* first(std::int64_t row, std::int64_t c) { return all_.data() + 2 * row * channels_ + c; }
  double* second(std::int64_t row, std::int64_t c) { return first(row, c) + channels_; }
  void join() {
    for (std::int64_t row = 1; row < rows_; ++row)
      for (std::int64_t i = 0; i < 2 * channels_; ++i) *first(0, i) += *first(row, i);
  }

 private:
  std::int64_t channels_, rows_;
  std::vector<double> all_;
};

// Elements of a view: in place, or as floats in a thread's room if they are halves.
template <class T> class Numbers {
 public:
  explicit Numbers(const View& v) : data_(v.as<char>()), size_(static_cast<std::int64_t>(size_of(v.dtype))) {
    const Stage& s = stage();
    if (v.dtype == DType::bf16) widen_ = s.widen_bf16, narrow_ = s.narrow_bf16;
    if (v.dtype == DType::f16) widen_ = s.widen_f16, narrow_ = s.narrow_f16;
  }
  bool are_halves() const { return widen_ != nullptr; }
  T* in(std::int64_t offset, T* room) const { return widen_ ? room : reinterpret_cast<T*>(at(offset)); }
  const T* read(std::int64_t offset, std::int64_t count, T* room) const {
    if (widen_) widen_(at(offset), room, count);
    return in(offset, room);
  }
  void write(const T* from, std::int64_t offset, std::int64_t count) const {
    if (narrow_) narrow_(from, at(offset), count);
  }
  double operator[](std::int64_t i) const {
    T one;
    return static_cast<double>(*read(i, 1, &one));
  }

 private:
  char* at(std::int64_t offset) const { return data_ + offset * size_; }
  char* data_;
  std::int64_t size_;
  Stage::Convert widen_ = nullptr, narrow_ = nullptr;
};

// Room for `arrays` stretches of a piece, if they are of halves.
template <class T> T* room_for(const Numbers<T>& x, std::int64_t arrays, std::int64_t count) {
  thread_local Room<T> room;
  return x.are_halves() ? room.of(arrays * count, "a batch norm") : nullptr;
}

template <class T> double weight_of(const View* weight, std::int64_t c) {
  return weight ? static_cast<double>(weight->as<const T>()[c]) : 1;
}

template <class T>
void run(double eps, const View& x, const View* weight, const View* bias, const View& moments,
         const View& y) {
  const Pieces pieces(x);
  const Numbers<T> from(x), to(y);
  const std::int64_t channels = pieces.channels();
  Sums sums(pieces);
  std::vector<double> origins(static_cast<std::size_t>(channels));
  for (std::int64_t c = 0; c < channels; ++c) origins[static_cast<std::size_t>(c)] = from[c * x.shape[2]];
  pieces.for_each([&](std::int64_t row, std::int64_t c, const Channels& s, std::int64_t offset) {
    const std::int64_t count = s.count * s.run;
    moments_in(T())(s, from.read(offset, count, room_for(from, 1, count)), origins.data() + c,
                    sums.first(row, c), sums.second(row, c));
  });
  sums.join();
  T *const means = moments.as<T>(), *const variances = means + channels;
  std::vector<T> factors(static_cast<std::size_t>(channels)), shifts(factors.size());
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const scalar::ChannelMoments found(origins[i], *sums.first(0, c), *sums.second(0, c), pieces.count());
    means[c] = static_cast<T>(found.mean);
    variances[c] = static_cast<T>(found.variance);
    factors[i] = static_cast<T>(weight_of<T>(weight, c) / std::sqrt(static_cast<double>(variances[c]) + eps));
    shifts[i] = bias ? bias->as<const T>()[c] : T(0);
  }
  pieces.for_each([&](std::int64_t, std::int64_t c, const Channels& s, std::int64_t offset) {
    const std::int64_t count = s.count * s.run;
    T *const room = room_for(from, 1, count), *const out = to.in(offset, room);
    apply_in(T())(s, from.read(offset, count, room), means + c, factors.data() + c, shifts.data() + c, out);
    to.write(out, offset, count);
  });
}

template <class T>
void run_slope(double eps, const View& x, const View* weight, const View& moments, const View& g,
               const View& dx, const View* dweight, const View* dbias) {
  const Pieces pieces(x);
  const Numbers<T> from(x), by(g), to(dx);
  const std::int64_t channels = pieces.channels();
  const T *const means = moments.as<const T>(), *const variances = means + channels;
  const std::vector<double> origins(means, means + channels);
  Sums sums(pieces);
  pieces.for_each([&](std::int64_t row, std::int64_t c, const Channels& s, std::int64_t offset) {
    const std::int64_t count = s.count * s.run;
    T* const room = room_for(from, 2, count);
    slope_sums_in(T())(s, from.read(offset, count, room), by.read(offset, count, room + (room ? count : 0)),
                       origins.data() + c, sums.first(row, c), sums.second(row, c));
  });
  sums.join();
  std::vector<T> by_g(static_cast<std::size_t>(channels)), by_off(by_g.size()), shifts(by_g.size());
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const double of_g = *sums.first(0, c), of_off = *sums.second(0, c);
    const double scale = 1 / std::sqrt(static_cast<double>(variances[c]) + eps);
    const scalar::ChannelSlope<T> found(scale, weight_of<T>(weight, c), of_g, of_off, pieces.count());
    by_g[i] = found.by_g;
    by_off[i] = found.by_off;
    shifts[i] = found.shift;
    if (dweight) dweight->as<T>()[c] = static_cast<T>(of_off * scale);
    if (dbias) dbias->as<T>()[c] = static_cast<T>(of_g);
  }
  pieces.for_each([&](std::int64_t, std::int64_t c, const Channels& s, std::int64_t offset) {
    const std::int64_t count = s.count * s.run;
    T *const room = room_for(from, 2, count), *const out = to.in(offset, room);
    slope_in(T())(s, from.read(offset, count, room), by.read(offset, count, room + (room ? count : 0)),
                  means + c, by_g.data() + c, by_off.data() + c, shifts.data() + c, out);
    to.write(out, offset, count);
  });
}

}  // namespace

void batch_norm(double eps, const View& x, const View* weight, const View* bias, const View& moments,
                const View& y) {
  if (numel(x.shape) == 0) return fill(moments, std::numeric_limits<double>::quiet_NaN());
  if (x.dtype == DType::f64) return run<double>(eps, x, weight, bias, moments, y);
  run<float>(eps, x, weight, bias, moments, y);
}

void batch_norm_slope(double eps, const View& x, const View* weight, const View& moments, const View& g,
                      const View& dx, const View* dweight, const View* dbias) {
  if (numel(x.shape) == 0) {
    for (const View* total : {dweight, dbias})
      if (total) fill(*total, 0);
    return;
  }
  if (x.dtype == DType::f64) return run_slope<double>(eps, x, weight, moments, g, dx, dweight, dbias);
  run_slope<float>(eps, x, weight, moments, g, dx, dweight, dbias);
}

}  // namespace veldt::cpu
#endif
