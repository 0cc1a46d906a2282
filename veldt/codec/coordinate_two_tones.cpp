// Two tones: six contexts of the pixels above and to the left, from 4 to 22 of them as JBIG has one of 10
// (ITU-T T.82), and what drawings look like in general, mixed. A context that is new begins with what the
// smaller one says.
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "veldt/codec/coordinate_models.h"
#include "veldt/codec/coordinate_prior.h"

namespace veldt::codec {
namespace {

struct Place {
  int right, down;
};

// The pixels that a context looks at; the nearest are in all of them.
constexpr std::array<Place, 4> kNearest{{{-1, 0}, {0, -1}, {-1, -1}, {1, -1}}};
constexpr std::array<Place, 7> kRound7{{{-1, 0}, {0, -1}, {-1, -1}, {1, -1}, {-2, 0}, {0, -2}, {2, -1}}};
constexpr std::array<Place, 10> kRound10{
    {{-1, 0}, {0, -1}, {-1, -1}, {1, -1}, {-2, 0}, {2, -1}, {-2, -1}, {-1, -2}, {0, -2}, {1, -2}}};
constexpr std::array<Place, 16> kRound16{{{-1, 0},
                                          {0, -1},
                                          {-1, -1},
                                          {1, -1},
                                          {-2, 0},
                                          {2, -1},
                                          {-2, -1},
                                          {-1, -2},
                                          {0, -2},
                                          {1, -2},
                                          {-3, 0},
                                          {-4, 0},
                                          {3, -1},
                                          {-3, -1},
                                          {2, -2},
                                          {-2, -2}}};
constexpr std::array<Place, 22> kRound22{{{-1, 0},  {0, -1},  {-1, -1}, {1, -1},  {-2, 0}, {2, -1},
                                          {-2, -1}, {-1, -2}, {0, -2},  {1, -2},  {-3, 0}, {3, -1},
                                          {-3, -1}, {2, -2},  {-2, -2}, {-1, -3}, {0, -3}, {1, -3},
                                          {3, -2},  {-3, -2}, {4, -1},  {2, -3}}};
constexpr std::array<Place, 15> kTall{{{-1, 0},
                                       {0, -1},
                                       {-1, -1},
                                       {1, -1},
                                       {-2, 0},
                                       {2, -1},
                                       {0, -2},
                                       {1, -2},
                                       {0, -3},
                                       {1, -3},
                                       {2, -3},
                                       {-1, -3},
                                       {0, -4},
                                       {1, -4},
                                       {-1, -4}}};
const std::array<std::span<const Place>, 6> kSeenPlaces{kNearest, kRound7,  kRound10,
                                                        kRound16, kRound22, kTall};

constexpr std::int64_t kSide = 8, kAbove = 7;  // the farthest that anything looks
constexpr int kMostTimes = 60;

// The pixels so far with a margin: white above, beside them what is nearest of what is known.
class Canvas {
 public:
  explicit Canvas(Size size)
      : size_(size),
        stride_(size.width + 2 * kSide),
        pixels_(static_cast<std::size_t>(stride_ * (size.height + kAbove))) {}

  void begin_row(std::int64_t y) {
    std::uint8_t* const row = at(0, y);
    std::fill(row - kSide, row, row[-stride_]);
  }
  void end_row(std::int64_t y) {
    std::uint8_t* const end = at(size_.width, y);
    std::fill(end, end + kSide, end[-1]);
  }
  std::uint8_t* at(std::int64_t x, std::int64_t y) {
    return pixels_.data() + (y + kAbove) * stride_ + x + kSide;
  }
  std::int64_t stride() const { return stride_; }

 private:
  Size size_;
  std::int64_t stride_;
  std::vector<std::uint8_t> pixels_;
};

// A table of counts, indexed by a hash of the context where the picture has too few pixels to fill it.
class Contexts {
 public:
  Contexts(std::size_t places, std::int64_t pixels)
      : bits_(std::min<int>(static_cast<int>(places),
                            std::clamp<int>(std::bit_width(static_cast<std::uint64_t>(pixels)) + 2, 10, 22))),
        hashed_(bits_ < static_cast<int>(places)),
        counts_(std::size_t{1} << bits_) {}
  BitCount& operator[](std::uint32_t context) {
    return counts_[hashed_ ? (context * 0x9e3779b1u) >> (32 - bits_) : context];
  }

 private:
  int bits_;
  bool hashed_;
  std::vector<BitCount> counts_;
};

// The guesses of a pixel, and how they are mixed.
class TonePixels {
 public:
  TonePixels(BitCoder& coder, Size size)
      : coder_(coder),
        size_(size),
        canvas_(size),
        taught_(std::size_t{1} << (kTaughtBits + 1)),
        mixer_(kGuesses, 32, 4000, 3) {
    for (const auto& places : kSeenPlaces) contexts_.emplace_back(places.size(), size.width * size.height);
    mixer_.set(kPrior, 25000);
    mixer_.set(kTaught, 20000);
  }

  void code(std::span<std::uint8_t> pixels, FunctionRef<void(double)> heard) {
    std::size_t at = 0;
    for (std::int64_t y = 0; y < size_.height; ++y) {
      canvas_.begin_row(y);
      for (std::int64_t x = 0; x < size_.width; ++x, ++at) {
        std::uint8_t* const here = canvas_.at(x, y);
        const std::size_t choice = guess(here);
        const bool bit = coder_.code(pixels[at] != 0, mixer_.mix(choice));
        mixer_.learn(bit);
        for (std::size_t i = 0; i < asked_; ++i) counts_[i]->see(bit, kMostTimes);
        pixels[at] = *here = bit ? 1 : 0;
      }
      canvas_.end_row(y);
      heard(static_cast<double>(y + 1) / static_cast<double>(size_.height));
    }
  }

 private:
  // The guesses by number: those of the contexts, of the prior, of the prior as it has proved so far, and
  // always 1.
  static constexpr std::size_t kPrior = 6, kTaught = 7, kAlways = 8, kGuesses = 9;
  static constexpr int kTaughtBits = 5;
  // Of a pixel around which all are alike.
  static constexpr std::int32_t kAlike = 1500;

  // Returns the set of the mixer's weights: which of the nearest pixels are 1, and whether there are others.
  std::size_t guess(const std::uint8_t* here) {
    const std::ptrdiff_t stride = canvas_.stride();
    std::uint16_t said = 1 << 15;
    asked_ = 0;
    for (const auto& places : kSeenPlaces) {
      std::uint32_t context = 0;
      for (const Place p : places) context = context * 2 + here[p.down * stride + p.right];
      BitCount& count = contexts_[asked_][context];
      if (count.times == 0) count.one = said;
      said = count.one;
      guess_by(count, asked_);
    }
    const std::uint32_t near =
        here[-1] * 8u + here[-stride] * 4u + here[-stride - 1] * 2u + here[-stride + 1];
    const std::optional<std::int32_t> prior = prior_logit(here, stride);
    const std::int32_t logit = prior.value_or(near != 0 ? kAlike : -kAlike);
    mixer_.guess(kPrior, logit);
    const std::int32_t cell = (std::clamp(logit, -2047, 2047) + 2048) >> (12 - kTaughtBits);
    BitCount& taught = taught_[static_cast<std::size_t>(2 * cell + (prior ? 1 : 0))];
    if (taught.times == 0) taught.one = static_cast<std::uint16_t>(std::min(probability_of(logit), 65535u));
    mixer_.guess(kTaught, logit_of(taught.one));
    counts_[asked_++] = &taught;
    mixer_.guess(kAlways, 256);
    return near + (prior ? 16 : 0);
  }

  // A count says more, the more it has seen.
  void guess_by(BitCount& count, std::size_t number) {
    mixer_.guess(number, logit_of(count.one) * (count.times + 1) / (count.times + 3));
    counts_[asked_++] = &count;
  }

  BitCoder& coder_;
  Size size_;
  Canvas canvas_;
  std::vector<Contexts> contexts_;
  std::vector<BitCount> taught_;
  BitMixer mixer_;
  std::array<BitCount*, 8> counts_{};
  std::size_t asked_ = 0;
};

}  // namespace

void code_two_tones(BitCoder& coder, std::span<std::uint8_t> pixels, Size size,
                    FunctionRef<void(double)> heard) {
  TonePixels(coder, size).code(pixels, heard);
}

}  // namespace veldt::codec
