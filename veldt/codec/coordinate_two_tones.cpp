// Two tones: six contexts of the pixels above and to the left, from 4 to 22 of them as JBIG has one of 10
// (ITU-T T.82), and the network, mixed. A context that is new begins with what the smaller one says.
#include <array>
#include <bit>
#include <vector>

#include "veldt/codec/coordinate_models.h"

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
const std::array<std::span<const Place>, 6> kContexts{kNearest, kRound7, kRound10, kRound16, kRound22, kTall};

constexpr std::int64_t kSide = 8, kAbove = 6;  // the farthest that anything looks
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

}  // namespace

void code_two_tones(BitCoder& coder, std::span<std::uint8_t> pixels, Size size, Expected expected) {
  Canvas canvas(size);
  std::vector<Contexts> contexts;
  for (const auto& places : kContexts) contexts.emplace_back(places.size(), size.width * size.height);
  Contexts with_network(12, size.width * size.height);
  const std::size_t n = contexts.size();
  BitMixer mixer(n + 3, 16, 16000, 6);
  std::array<BitCount*, 7> counts{};
  for (std::int64_t y = 0; y < size.height; ++y) {
    canvas.begin_row(y);
    for (std::int64_t x = 0; x < size.width; ++x) {
      std::uint8_t* const here = canvas.at(x, y);
      std::uint16_t said = 1 << 15;
      for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t context = 0;
        for (const Place p : kContexts[i]) context = context * 2 + here[p.down * canvas.stride() + p.right];
        BitCount& count = contexts[i][context];
        if (count.times == 0) count.one = said;
        said = count.one;
        counts[i] = &count;
        mixer.guess(i, logit_of(count.one) * (count.times + 1) / (count.times + 3));
      }
      const std::size_t at = static_cast<std::size_t>(y * size.width + x);
      const std::uint32_t near = here[-1] * 8u + here[-canvas.stride()] * 4u +
                                 here[-canvas.stride() - 1] * 2u + here[-canvas.stride() + 1];
      counts[n] = nullptr;
      if (!expected.empty()) {
        const std::int32_t level = std::clamp(expected[at], -(1 << 17), (1 << 17) - 1);
        // 16 steps, finer around the edge; beside them the nearest pixels.
        const std::uint32_t step = static_cast<std::uint32_t>((level + (1 << 17)) >> 10);
        counts[n] = &with_network[(step << 4) | near];
        mixer.guess(n, logit_of(counts[n]->one) * (counts[n]->times + 1) / (counts[n]->times + 3));
        mixer.guess(n + 1, level >> 6);
      }
      mixer.guess(n + 2, 256);
      const std::uint32_t one = mixer.mix(near);
      const bool bit = coder.code(pixels[at] != 0, one);
      mixer.learn(bit);
      for (BitCount* const count : counts)
        if (count != nullptr) count->see(bit, kMostTimes);
      pixels[at] = *here = bit ? 1 : 0;
    }
    canvas.end_row(y);
  }
}

}  // namespace veldt::codec
