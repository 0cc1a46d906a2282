// Levels of 0 to 255: whether a number is the one that its neighbours suggest, and if not, its eight bits
// from the highest on. Each is mixed from a dozen contexts: what is beside it, above it, and in the other
// channels of the pixel.
#include <array>
#include <bit>
#include <cstdlib>
#include <vector>

#include "veldt/codec/coordinate_models.h"

namespace veldt::codec {
namespace {

constexpr std::size_t kContextsOfLevels = 13, kBells = 2;
constexpr int kMostSeen = 250;

std::uint32_t hash_of(std::uint32_t a, std::uint32_t b, std::uint32_t c = 0, std::uint32_t d = 0) {
  std::uint32_t h = a * 0x2c1b3c6du + b * 0x297a2d39u + c * 0x9e3779b1u + d * 0x85ebca6bu + 0x1b873593u;
  h ^= h >> 15;
  h *= 0x2c1b3c6du;
  return h ^ h >> 13;
}

// What the pixels around one number are, the number itself being at `here` of its channel. Outside of the
// picture is what is nearest inside.
class Neighbours {
 public:
  Neighbours(std::span<const std::uint8_t> levels, Size size, std::int64_t channels)
      : levels_(levels), size_(size), channels_(channels) {}

  void look(std::int64_t x, std::int64_t y, std::int64_t c) {
    x_ = x, y_ = y, c_ = c;
    north = y > 0 ? level(x, y - 1, c) : x > 0 ? level(x - 1, y, c) : 0;
    west = x > 0 ? level(x - 1, y, c) : north;
    north_west = x > 0 && y > 0 ? level(x - 1, y - 1, c) : y > 0 ? north : west;
    north_east = y > 0 && x + 1 < size_.width ? level(x + 1, y - 1, c) : north;
    west_west = x > 1 ? level(x - 2, y, c) : west;
    north_north = y > 1 ? level(x, y - 2, c) : north;
    north_north_east = y > 1 && x + 1 < size_.width ? level(x + 1, y - 2, c) : north_north;
    north_north_west = y > 1 && x > 0 ? level(x - 1, y - 2, c) : north_north;
    far_east = y > 0 && x + 2 < size_.width ? level(x + 2, y - 1, c) : north_east;
    far_west = y > 0 && x > 1 ? level(x - 2, y - 1, c) : north_west;
    before = c > 0 ? level(x, y, c - 1) : 0;
    first = c > 1 ? level(x, y, c - 2) : 0;
    // How much the channel before differs from its own pixels to the left and above.
    before_west = c > 0 && x > 0 ? level(x - 1, y, c - 1) : before;
    before_north = c > 0 && y > 0 ? level(x, y - 1, c - 1) : before;
    // The median of the two and of the plane through three (Weinberger 1996, LOCO-I).
    const int low = std::min(west, north), high = std::max(west, north);
    median = north_west >= high ? low : north_west <= low ? high : west + north - north_west;
  }

  int north = 0, west = 0, north_west = 0, north_east = 0, west_west = 0, north_north = 0, before = 0,
      first = 0, before_west = 0, before_north = 0, median = 0, north_north_east = 0, north_north_west = 0,
      far_east = 0, far_west = 0;

 private:
  int level(std::int64_t x, std::int64_t y, std::int64_t c) const {
    return levels_[static_cast<std::size_t>((y * size_.width + x) * channels_ + c)];
  }
  std::span<const std::uint8_t> levels_;
  Size size_;
  std::int64_t channels_, x_ = 0, y_ = 0, c_ = 0;
};

// A guess at a whole number: a logistic distribution around it, as wide as its errors were in such places.
class Bell {
 public:
  // `middle` in 1/256 of a level; `place`: how much changes around here, 0..kPlaces - 1.
  void stand(std::int32_t middle, std::size_t place) {
    middle_ = middle;
    place_ = place;
    // A logistic distribution's mean error is 2 ln 2 of its scale.
    slope_ = 355 * 256 / std::max<std::int32_t>(errors_[place], 24);
  }
  // That of [half, high), given that it is in [low, high).
  std::int32_t logit(std::int32_t low, std::int32_t half, std::int32_t high) const {
    const std::uint32_t from = below(low), to = below(high);
    return logit_of((2 * (to - below(half)) + 1) * std::uint64_t{32768} / (to - from + 1));
  }
  std::int32_t logit_of_one(std::int32_t level) const { return logit_of(below(level + 1) - below(level)); }
  void learn(std::int32_t level) {
    std::int32_t& error = errors_[place_];
    std::int32_t& times = times_[place_];
    error += (std::abs(level * 256 - middle_) - error) * 2 / (2 * times + 3);
    if (times < 40) ++times;
  }
  static constexpr std::size_t kPlaces = 9;

 private:
  // The probability of a level below this one.
  std::uint32_t below(std::int32_t level) const {
    if (level <= 0) return 0;
    if (level >= 256) return kWhole;
    const std::int64_t away = std::int64_t{level * 256 - 128 - middle_} * slope_ / 256;
    return probability_of(static_cast<std::int32_t>(std::clamp<std::int64_t>(away, -kMostLogit, kMostLogit)));
  }

  std::int32_t middle_ = 0, slope_ = 1;
  std::size_t place_ = 0;
  std::array<std::int32_t, kPlaces> errors_{64, 128, 256, 512, 1024, 2048, 4096, 6144, 8192},
      times_{2, 2, 2, 2, 2, 2, 2, 2, 2};
};

// 0 for no change, up to kPlaces - 1.
std::size_t place_of(int change) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(change))),
                               Bell::kPlaces - 1);
}

class LevelCoder {
 public:
  LevelCoder(BitCoder& coder, std::int64_t numbers)
      : coder_(coder),
        bits_(std::clamp<int>(std::bit_width(static_cast<std::uint64_t>(numbers)) + 2, 10, 18)),
        counts_(kContextsOfLevels << bits_),
        is_guess_(kGuesses, 16, 4000, 6),
        tree_(kGuesses, 4, 4000, 6) {}

  std::uint8_t code(std::uint8_t level, const Neighbours& n, std::uint32_t channel) {
    contexts_of(n, channel);
    stand(n, channel);
    // Often a number is as its neighbours suggest: one bit instead of eight.
    const int guess = n.median;
    const std::size_t flat =
        (n.west == n.north ? 1u : 0u) + (n.north == n.north_west ? 2u : 0u) +
        (n.north == n.north_east ? 4u : 0u) +
        (channel > 0 && n.before == n.before_west && n.before == n.before_north ? 8u : 0u);
    for (std::size_t i = 0; i < kBells; ++i)
      is_guess_.guess(kFirstBell + i, bells_[i][channel].logit_of_one(guess));
    if (bit(is_guess_, flat, level == guess, 0)) {
      for (auto& bell : bells_) bell[channel].learn(guess);
      return static_cast<std::uint8_t>(guess);
    }
    std::uint32_t node = 1;
    for (int i = 7; i >= 0; --i) {
      const auto low = static_cast<std::int32_t>((node << (i + 1)) & 255);
      for (std::size_t k = 0; k < kBells; ++k)
        tree_.guess(kFirstBell + k, bells_[k][channel].logit(low, low + (1 << i), low + (2 << i)));
      const bool one = bit(tree_, static_cast<std::size_t>(i / 2), (level >> i & 1) != 0, node);
      node = node * 2 + (one ? 1 : 0);
    }
    for (auto& bell : bells_) bell[channel].learn(static_cast<std::int32_t>(node & 255));
    return static_cast<std::uint8_t>(node & 255);
  }

 private:
  // Each context guesses twice; then comes a constant, then the bells.
  static constexpr std::size_t kAlways = 2 * kContextsOfLevels, kFirstBell = kAlways + 1,
                               kGuesses = kFirstBell + kBells;

  void stand(const Neighbours& n, std::uint32_t channel) {
    const std::size_t around = place_of(
        std::abs(n.west - n.north_west) + std::abs(n.north - n.north_west) +
        (channel > 0 ? std::abs(n.before - n.before_west) + std::abs(n.before - n.before_north) : 0));
    bells_[0][channel].stand(n.median * 256, around);
    // The change of the channel before is likely to be this one's.
    const std::int32_t mean = (n.west + n.north) * 128;
    bells_[1][channel].stand(mean + n.before * 256 - (n.before_west + n.before_north) * 128, around);
  }

  void contexts_of(const Neighbours& n, std::uint32_t channel) {
    const auto u = [](int v) { return static_cast<std::uint32_t>(v); };
    const auto within = [](int v) { return static_cast<std::uint32_t>(std::clamp(v, 0, 255)); };
    std::size_t i = 0;
    const auto put = [&](std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
      hashes_[i] = hash_of(a, b, c, static_cast<std::uint32_t>(i) * 8 + channel);
      ++i;
    };
    put(0);
    put(u(n.west), u(n.before));
    put(u(n.north), u(n.before));
    put(u(n.west), u(n.north), u(n.before - n.before_west) + 1000);
    put(u(n.west) << 8 | u(n.north), u(n.north_west) << 8 | u(n.north_east), u(n.before) << 8 | u(n.first));
    put(u(n.median), u(std::abs(n.west - n.north) / 8), u(n.before - n.before_north) + 1000);
    put(within((n.west + n.north) / 2 + n.before - (n.before_west + n.before_north) / 2));
    put(within(n.west + n.before - n.before_west), u(n.before));
    put(u(n.before), u(n.first));
    put(u(n.west) << 8 | u(n.west_west), u(n.north) << 8 | u(n.north_north));
    const std::uint32_t shape = u(n.west >> 6) << 14 | u(n.north >> 6) << 12 | u(n.north_west >> 6) << 10 |
                                u(n.north_east >> 6) << 8 | u(n.west_west >> 6) << 6 |
                                u(n.north_north >> 6) << 4 | u(n.far_east >> 6) << 2 | u(n.far_west >> 6);
    put(shape);
    put(shape, u(n.north_north_east >> 6) << 2 | u(n.north_north_west >> 6), u(n.before));
    put(u(n.west >> 4) << 12 | u(n.north >> 4) << 8 | u(n.north_west >> 4) << 4 | u(n.north_east >> 4));
  }

  bool bit(BitMixer& mixer, std::size_t choice, bool value, std::uint32_t node) {
    for (std::size_t i = 0; i < kContextsOfLevels; ++i) {
      const std::uint32_t at = (hashes_[i] + node * 0x9e3779b1u) * 0x2545f491u >> (32 - bits_);
      BitCount& count = counts_[(i << bits_) + at];
      found_[i] = &count;
      const std::int32_t logit = logit_of(count.one);
      mixer.guess(2 * i, count.times == 0 ? 0 : logit);
      // What was seen often and was always the same is worth more than its logit says.
      mixer.guess(2 * i + 1,
                  (static_cast<std::int32_t>(count.one) - 32768) * std::min<int>(count.times, 30) >> 11);
    }
    mixer.guess(kAlways, 256);
    const bool one = coder_.code(value, mixer.mix(choice));
    mixer.learn(one);
    for (std::size_t i = 0; i < kContextsOfLevels; ++i) found_[i]->see(one, kMostSeen);
    return one;
  }

  BitCoder& coder_;
  int bits_;
  std::vector<BitCount> counts_;
  std::array<std::array<Bell, 4>, kBells> bells_;  // each for every channel
  BitMixer is_guess_, tree_;
  std::array<std::uint32_t, kContextsOfLevels> hashes_{};
  std::array<BitCount*, kContextsOfLevels> found_{};
};

}  // namespace

void code_levels(BitCoder& coder, std::span<std::uint8_t> levels, Size size, std::int64_t channels,
                 FunctionRef<void(double)> heard) {
  LevelCoder code(coder, size.width * size.height * channels);
  Neighbours around(levels, size, channels);
  std::size_t at = 0;
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x)
      for (std::int64_t c = 0; c < channels; ++c, ++at) {
        around.look(x, y, c);
        levels[at] = code.code(levels[at], around, static_cast<std::uint32_t>(c));
      }
    heard(static_cast<double>(y + 1) / static_cast<double>(size.height));
  }
}

}  // namespace veldt::codec
