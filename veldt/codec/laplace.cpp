// A symbol's probability is a difference of two values of a table of the tail, so that one table for each
// scale serves all means. A window around the mean has all of the probability but 2^-16, with which a value
// outside of it is announced.
#include "veldt/codec/laplace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace veldt::codec {
namespace {

constexpr int kUnit = 31;  // fractional bits of the table
constexpr std::uint64_t kOne = std::uint64_t{1} << kUnit;

std::uint64_t times(std::uint64_t a, std::uint64_t b) { return (a * b) >> kUnit; }

// 2^-(i/8) with 31 fractional bits, rounded.
constexpr std::array<std::uint64_t, 8> kEighths = {2147483648, 1969251188, 1805811301, 1655936265,
                                                   1518500250, 1392470869, 1276901417, 1170923762};

// exp(-x) for an x of at most 4 with 31 fractional bits.
std::uint64_t exp_minus(std::uint64_t x) {
  const std::uint64_t small = x >> 6;  // at most 1/16: seven terms of the series are exact to 31 bits
  std::uint64_t term = kOne, plus = kOne, minus = 0;
  for (std::uint64_t n = 1; n < 8; ++n) {
    term = times(term, small) / n;
    (n % 2 == 0 ? plus : minus) += term;
  }
  std::uint64_t value = plus - minus;
  for (int i = 0; i < 6; ++i) value = times(value, value);
  return value;
}

struct Scale {
  std::int32_t reach = 0;  // the window is the nearest integer to the mean, and this many to each side
  std::vector<std::uint32_t> tail;  // [n]: the probability of more than n/16 to one side, 31 fractional bits
};

std::vector<Scale> all_scales() {
  std::vector<Scale> scales(kScales);
  for (int s = 0; s < kScales; ++s) {
    Scale& scale = scales[static_cast<std::size_t>(s)];
    // 11 b, where e^-11 is left, and two more: b = 2^(s/8 - 6).
    const std::uint64_t eighth = kEighths[static_cast<std::size_t>((8 - s % 8) % 8)];
    const int octave = (s + 7) / 8;  // 2^(s/8) = 2^octave * eighth
    scale.reach = static_cast<std::int32_t>((((eighth * 11) << octave) >> (kUnit + 6)) + 3);
    // exp(-1 / 16 b): 1 / 16 b = 4 * 2^-(s/8).
    const std::uint64_t factor = exp_minus((kEighths[static_cast<std::size_t>(s % 8)] * 4) >> (s / 8));
    std::uint64_t left = kOne / 2;
    scale.tail.resize(static_cast<std::size_t>(16 * (scale.reach + 1) + 1));
    for (std::uint32_t& t : scale.tail) {
      t = static_cast<std::uint32_t>(left);
      left = times(left, factor);
    }
  }
  return scales;
}

const Scale& scale_at(int s) {
  static const std::vector<Scale> scales = all_scales();
  return scales[static_cast<std::size_t>(std::clamp(s, 0, kScales - 1))];
}

// The window of one distribution: where each of its values begins in the range.
class Window {
 public:
  explicit Window(Laplace d)
      : scale_(scale_at(d.scale)), middle_((d.mean16 + 8) >> 4), offset_(d.mean16 - 16 * middle_) {}

  std::int32_t reach() const { return scale_.reach; }
  std::int32_t middle() const { return middle_; }
  // Of the value middle + k, k from -reach to reach + 1, which is the end. The first number is the escape's.
  std::uint32_t start(std::int32_t k) const {
    if (k <= -scale_.reach) return 1;
    if (k > scale_.reach) return kWhole;
    const std::int32_t n = 16 * k - 8 - offset_;  // the lower border of the value, from the mean
    const std::uint64_t tail = scale_.tail[static_cast<std::size_t>(std::abs(n))];
    const std::uint64_t below = n < 0 ? tail : kOne - tail;
    const std::uint32_t shared = kWhole - static_cast<std::uint32_t>(2 * scale_.reach + 2);
    return 1 + static_cast<std::uint32_t>(k + scale_.reach) +
           static_cast<std::uint32_t>((below * shared) >> kUnit);
  }

 private:
  const Scale& scale_;
  std::int32_t middle_, offset_;
};

}  // namespace

void encode(RangeEncoder& out, Laplace distribution, std::int32_t value) {
  const Window window(distribution);
  const std::int64_t k = std::int64_t{value} - window.middle();
  if (std::abs(k) <= window.reach()) {
    const auto at = static_cast<std::int32_t>(k);
    const std::uint32_t start = window.start(at);
    out.encode(start, window.start(at + 1) - start);
    return;
  }
  out.encode(0, 1);
  out.bits(k < 0 ? 1 : 0, 1);
  out.golomb(static_cast<std::uint32_t>(std::abs(k) - window.reach() - 1));
}

std::int32_t decode(RangeDecoder& in, Laplace distribution) {
  const Window window(distribution);
  const std::uint32_t found = in.peek();
  if (found == 0) {
    in.take(0, 1);
    const bool negative = in.bits(1) == 1;
    const std::int64_t k = std::int64_t{in.golomb()} + window.reach() + 1;
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(window.middle() + (negative ? -k : k), INT32_MIN, INT32_MAX));
  }
  // The last value whose start is not beyond what was found.
  std::int32_t low = -window.reach(), high = window.reach();
  while (low < high) {
    const std::int32_t half = (low + high + 1) >> 1;
    if (window.start(half) <= found)
      low = half;
    else
      high = half - 1;
  }
  const std::uint32_t start = window.start(low);
  in.take(start, window.start(low + 1) - start);
  return window.middle() + low;
}

double bits_of(Laplace distribution, std::int32_t value) {
  const Window window(distribution);
  const std::int64_t k = std::int64_t{value} - window.middle();
  if (std::abs(k) <= window.reach()) {
    const auto at = static_cast<std::int32_t>(k);
    return kProbabilityBits - std::log2(static_cast<double>(window.start(at + 1) - window.start(at)));
  }
  return kProbabilityBits + 2 + 2 * std::floor(std::log2(static_cast<double>(std::abs(k) - window.reach())));
}

}  // namespace veldt::codec
