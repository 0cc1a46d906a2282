// Winograd's convolutions: how the work is cut into blocks of tiles, and each block's transforms and
// products. Matrices lie in strips of two registers of columns, one strip after the other: [strips][rows][2
// registers].
#include "veldt/cpu/winograd.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/winograd.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/register_tile-inl.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/winograd_tile-inl.h"

#ifndef VELDT_CPU_WINOGRAD_TASK
#define VELDT_CPU_WINOGRAD_TASK
namespace veldt::cpu {
namespace {

constexpr std::int64_t kWinogradTiles = 64;  // of a block, at most: of 4x4 outputs
constexpr std::int64_t kWinogradPoints = 36;

std::int64_t winograd_shares(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// A convolution of 3x3 in the form of a forward one; the gradient by the input is one too.
struct WinogradForm {
  std::int64_t batch, in, out;           // channels
  std::int64_t in_size[2], out_size[2];  // height, width
  std::int64_t padding[2];
  std::int64_t weight_in, weight_out;         // elements from one channel's weights to the next's
  bool flipped;                               // the weights' rows and columns
  std::int64_t tiles[2], span, spans, group;  // tiles; those of a span of a row; spans of a row, of a block

  WinogradForm(const ConvSizes& s, bool reverse)
      : batch(s.batch), in(reverse ? s.c_out : s.c_in), out(reverse ? s.c_in : s.c_out), flipped(reverse) {
    for (int d = 0; d < 2; ++d) {
      in_size[d] = reverse ? s.out[d + 1] : s.in[d + 1];
      out_size[d] = reverse ? s.in[d + 1] : s.out[d + 1];
      padding[d] = reverse ? 2 - s.padding[d + 1] : s.padding[d + 1];
      tiles[d] = winograd_shares(out_size[d], 4);
    }
    weight_in = reverse ? 9 * s.c_in : 9;
    weight_out = reverse ? 9 : 9 * s.c_in;
    span = std::min(tiles[1], kWinogradTiles);
    spans = winograd_shares(tiles[1], span);
    group = kWinogradTiles / span;
  }

  std::int64_t all_spans() const { return batch * tiles[0] * spans; }
  std::int64_t all_tiles() const { return batch * tiles[0] * tiles[1]; }
  std::int64_t blocks() const { return winograd_shares(all_spans(), group); }

  // Calls each(example, row of tiles, first tile of it, count, tiles of the block before it).
  template <class Each> std::int64_t for_each_span(std::int64_t block, const Each& each) const {
    std::int64_t before = 0;
    for (std::int64_t s = block * group; s < std::min(all_spans(), (block + 1) * group); ++s) {
      const std::int64_t row = s / spans, first = s % spans * span, count = std::min(span, tiles[1] - first);
      each(row / tiles[0], row % tiles[0], first, count, before);
      before += count;
    }
    return before;
  }
};

// What all blocks of a call read and write. The gradient by the weights reads x and y.
struct WinogradCall {
  WinogradForm form;
  const float *x, *bias, *w;
  float* y;
  float* weights;  // transformed, or the sums of their gradients; [36][strips of out][in][2 registers]
};

struct WinogradRooms {
  Room<float> staged, half, input, output;
};
WinogradRooms& winograd_rooms() {
  thread_local WinogradRooms rooms;
  return rooms;
}

}  // namespace
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {

constexpr std::int64_t kStrip = 2 * kWinogradLanes;
// Rows of a tile of sums: 16 registers of 32, or 12 of 16.
constexpr int kWinogradRows = HWY_TARGET <= HWY_AVX3 ? 8 : 6;

std::int64_t winograd_strip() { return kStrip; }

// Weights of input channel c for a strip of output channels, transformed: task i is a strip and a c.
void winograd_transform_weights(const WinogradCall& call, std::int64_t begin, std::int64_t end) {
  const WinogradForm& f = call.form;
  const std::int64_t strips = winograd_shares(f.out, kStrip), step = strips * f.in * kStrip;
  HWY_ALIGN float taps[9 * kWinogradLanes], rows[18 * kWinogradLanes];
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t half = 0; half < kStrip; half += kWinogradLanes) {
      const std::int64_t c = i % f.in, first = i / f.in * kStrip + half;
      for (std::int64_t lane = 0; lane < kWinogradLanes; ++lane)
        for (std::int64_t tap = 0; tap < 9; ++tap) {
          const std::int64_t at = f.flipped ? 8 - tap : tap, o = first + lane;
          taps[tap * kWinogradLanes + lane] = o < f.out ? call.w[c * f.weight_in + o * f.weight_out + at] : 0;
        }
      for (std::int64_t column = 0; column < 3; ++column)
        winograd_of_weights(taps + column * kWinogradLanes, 3 * kWinogradLanes,
                            rows + column * kWinogradLanes, 3 * kWinogradLanes);
      for (std::int64_t row = 0; row < 6; ++row)
        winograd_of_weights(rows + 3 * row * kWinogradLanes, kWinogradLanes,
                            call.weights + 6 * row * step + i * kStrip + half, step);
    }
}

template <bool kGradient>
HWY_INLINE void winograd_of_pixels(const float* from, std::int64_t step, float* to, std::int64_t to_step) {
  if constexpr (kGradient)
    winograd_of_gradient(from, step, to, to_step);
  else
    winograd_of_input(from, step, to, to_step);
}

// The transformed windows of a strip of channels: [36][.., point apart][tiles][strip], from `to` on.
template <bool kGradient>
void winograd_transform_pixels(const WinogradForm& f, const float* planes, const float* end,
                               std::int64_t channels, const std::int64_t (&size)[2], std::int64_t strip,
                               std::int64_t block, std::int64_t point, float* to) {
  constexpr std::int64_t kRows = kGradient ? 4 : 6, kLanes = kWinogradLanes;
  const std::int64_t width = 4 * f.span + (kGradient ? 0 : 2), row_size = (width + kLanes) * kLanes;
  float* const staged = winograd_rooms().staged.of(kRows * row_size, "a convolution");
  float* const half = winograd_rooms().half.of(6 * width * kLanes, "a convolution");
  for (std::int64_t c = strip * kStrip, lane = 0; lane < kStrip; c += kLanes, lane += kLanes)
    f.for_each_span(block, [&](std::int64_t n, std::int64_t ty, std::int64_t tx, std::int64_t count,
                               std::int64_t before) HWY_ATTR {
      const WinogradPlanes from = {planes + (n * channels + std::min(c, channels)) * size[0] * size[1], end,
                                   std::max<std::int64_t>(0, channels - c), size[0], size[1]};
      const std::int64_t cols = 4 * count + (kGradient ? 0 : 2);
      for (std::int64_t r = 0; r < kRows; ++r)
        winograd_stage_row(from, 4 * ty + r - (kGradient ? 0 : f.padding[0]),
                           4 * tx - (kGradient ? 0 : f.padding[1]), cols, staged + r * row_size);
      for (std::int64_t p = 0; p < cols; ++p)
        winograd_of_pixels<kGradient>(staged + p * kLanes, row_size, half + p * kLanes, width * kLanes);
      for (std::int64_t t = 0; t < count; ++t)
        for (std::int64_t r = 0; r < 6; ++r)
          winograd_of_pixels<kGradient>(half + (r * width + 4 * t) * kLanes, kLanes,
                                        to + 6 * r * point + (before + t) * kStrip + lane, point);
    });
}

// Rows [row, row + kRows) of sums over all channels of tiles times weights: both in strips of a point.
template <int kRows>
HWY_INLINE void winograd_product_rows(const float* tiles, std::int64_t count, const float* weights,
                                      std::int64_t in, std::int64_t row, float* to) {
  RegisterTile<float, kRows, 2> sum;
  for (std::int64_t c = 0; c < in; c += kStrip, tiles += count * kStrip)
    for (std::int64_t i = 0, n = std::min(kStrip, in - c); i < n; ++i, weights += kStrip)
      sum.add_outer(tiles + row * kStrip + i, kStrip, RegisterRow<float, 2>(weights));
  sum.store(to + row * kStrip, kStrip);
}

void winograd_product(const float* tiles, std::int64_t count, const float* weights, std::int64_t in,
                      float* to) {
  std::int64_t row = 0;
  for (; row + kWinogradRows <= count; row += kWinogradRows)
    winograd_product_rows<kWinogradRows>(tiles, count, weights, in, row, to);
  for (; row + 4 <= count; row += 4) winograd_product_rows<4>(tiles, count, weights, in, row, to);
  for (; row < count; ++row) winograd_product_rows<1>(tiles, count, weights, in, row, to);
}

// A strip of the outputs of a block, from its sums [36][tiles][strip].
void winograd_finish_outputs(const WinogradCall& call, std::int64_t strip, std::int64_t block,
                             const float* sums, std::int64_t tiles) {
  const WinogradForm& f = call.form;
  constexpr std::int64_t kLanes = kWinogradLanes;
  const std::int64_t plane = f.out_size[0] * f.out_size[1];
  HWY_ALIGN float half[24 * kLanes], offset[kLanes];
  for (std::int64_t o = strip * kStrip, lane = 0; lane < kStrip && o < f.out; o += kLanes, lane += kLanes) {
    const std::int64_t channels = std::min(kLanes, f.out - o);
    for (std::int64_t i = 0; i < kLanes; ++i)
      offset[i] = call.bias != nullptr && i < channels ? call.bias[o + i] : 0;
    const WinogradVec bias = winograd_load(offset);
    const auto tile = [&](const float* m, float* to, std::int64_t rows, std::int64_t cols) HWY_ATTR {
      for (std::int64_t column = 0; column < 6; ++column) {
        const WinogradFour y = winograd_outputs(m + column * tiles * kStrip, 6 * tiles * kStrip);
        winograd_put(y.y0, half + column * kLanes);
        winograd_put(y.y1, half + (6 + column) * kLanes);
        winograd_put(y.y2, half + (12 + column) * kLanes);
        winograd_put(y.y3, half + (18 + column) * kLanes);
      }
      for (std::int64_t r = 0; r < rows; ++r, to += f.out_size[1]) {
        const WinogradFour y = winograd_outputs(half + 6 * r * kLanes, kLanes);
        const WinogradFour t = winograd_transposed(
            {hn::Add(y.y0, bias), hn::Add(y.y1, bias), hn::Add(y.y2, bias), hn::Add(y.y3, bias)});
        const auto store = [&](std::int64_t i, WinogradVec v) HWY_ATTR {
          if (i < channels)
            winograd_store_blocks(WinogradTag(), v, to + i * plane, 4 * plane, (channels - i + 3) / 4, cols);
        };
        store(0, t.y0), store(1, t.y1), store(2, t.y2), store(3, t.y3);
      }
    };
    f.for_each_span(block, [&](std::int64_t n, std::int64_t ty, std::int64_t tx, std::int64_t count,
                               std::int64_t before) HWY_ATTR {
      for (std::int64_t t = 0; t < count; ++t)
        tile(sums + (before + t) * kStrip + lane,
             call.y + (n * f.out + o) * plane + 4 * ty * f.out_size[1] + 4 * (tx + t),
             std::min<std::int64_t>(4, f.out_size[0] - 4 * ty),
             std::min<std::int64_t>(4, f.out_size[1] - 4 * (tx + t)));
    });
  }
}

void winograd_outputs_of_block(const WinogradCall& call, std::int64_t block) {
  const WinogradForm& f = call.form;
  const std::int64_t tiles = f.for_each_span(block, [](auto...) {});
  const std::int64_t in_strips = winograd_shares(f.in, kStrip), out_strips = winograd_shares(f.out, kStrip);
  const std::int64_t point = in_strips * tiles * kStrip;
  float* const input = winograd_rooms().input.of(kWinogradPoints * point, "a convolution");
  float* const output = winograd_rooms().output.of(kWinogradPoints * tiles * kStrip, "a convolution");
  const float* const end = call.x + f.batch * f.in * f.in_size[0] * f.in_size[1];
  for (std::int64_t strip = 0; strip < in_strips; ++strip)
    winograd_transform_pixels<false>(f, call.x, end, f.in, f.in_size, strip, block, point,
                                     input + strip * tiles * kStrip);
  for (std::int64_t strip = 0; strip < out_strips; ++strip) {
    for (std::int64_t k = 0; k < kWinogradPoints; ++k)
      winograd_product(input + k * point, tiles, call.weights + (k * out_strips + strip) * f.in * kStrip,
                       f.in, output + k * tiles * kStrip);
    winograd_finish_outputs(call, strip, block, output, tiles);
  }
}

// Sums over tiles of channels of x times channels of the gradients, each a strip of a point; rows are
// channels of x.
template <int kRows>
HWY_INLINE void winograd_sum_rows(const float* x, const float* y, std::int64_t tiles, float* to) {
  RegisterTile<float, kRows, 2> sum;
  for (std::int64_t t = 0; t < tiles; ++t)
    sum.add_outer(x + t * kStrip, 1, RegisterRow<float, 2>(y + t * kStrip));
  sum.add_to(to, kStrip);
}

void winograd_sums(const float* x, const float* y, std::int64_t tiles, std::int64_t rows, float* to) {
  std::int64_t row = 0;
  for (; row + kWinogradRows <= rows; row += kWinogradRows)
    winograd_sum_rows<kWinogradRows>(x + row, y, tiles, to + row * kStrip);
  for (; row + 4 <= rows; row += 4) winograd_sum_rows<4>(x + row, y, tiles, to + row * kStrip);
  for (; row < rows; ++row) winograd_sum_rows<1>(x + row, y, tiles, to + row * kStrip);
}

// Adds what a block gives to the sums [36][strips of out][in][strip], of the strips [begin, end) of x.
void winograd_gradients_of_block(const WinogradCall& call, std::int64_t block, std::int64_t begin,
                                 std::int64_t end, float* sums) {
  const WinogradForm& f = call.form;
  const std::int64_t tiles = f.for_each_span(block, [](auto...) {});
  const std::int64_t out_strips = winograd_shares(f.out, kStrip);
  const std::int64_t x_point = (end - begin) * tiles * kStrip, y_point = out_strips * tiles * kStrip;
  float* const x = winograd_rooms().input.of(kWinogradPoints * x_point, "a convolution");
  float* const y = winograd_rooms().output.of(kWinogradPoints * y_point, "a convolution");
  const float* const x_end = call.x + f.batch * f.in * f.in_size[0] * f.in_size[1];
  const float* const y_end = call.y + f.batch * f.out * f.out_size[0] * f.out_size[1];
  for (std::int64_t strip = begin; strip < end; ++strip)
    winograd_transform_pixels<false>(f, call.x, x_end, f.in, f.in_size, strip, block, x_point,
                                     x + (strip - begin) * tiles * kStrip);
  for (std::int64_t strip = 0; strip < out_strips; ++strip)
    winograd_transform_pixels<true>(f, call.y, y_end, f.out, f.out_size, strip, block, y_point,
                                    y + strip * tiles * kStrip);
  for (std::int64_t k = 0; k < kWinogradPoints; ++k)
    for (std::int64_t o = 0; o < out_strips; ++o)
      for (std::int64_t strip = begin; strip < end; ++strip)
        winograd_sums(x + k * x_point + (strip - begin) * tiles * kStrip,
                      y + k * y_point + o * tiles * kStrip, tiles, std::min(kStrip, f.in - strip * kStrip),
                      sums + ((k * out_strips + o) * f.in + strip * kStrip) * kStrip);
}

// The gradients by the weights, of the sum of `parts` sums; tasks as in winograd_transform_weights().
void winograd_finish_gradients(const WinogradCall& call, std::int64_t parts, float* w, std::int64_t begin,
                               std::int64_t end) {
  const WinogradForm& f = call.form;
  constexpr std::int64_t kLanes = kWinogradLanes;
  const std::int64_t step = winograd_shares(f.out, kStrip) * f.in * kStrip;
  HWY_ALIGN float all[kWinogradPoints * kLanes], rows[18 * kLanes], taps[9 * kLanes];
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t half = 0; half < kStrip; half += kLanes) {
      for (std::int64_t k = 0; k < kWinogradPoints; ++k) {
        const float* const from = call.weights + k * step + i * kStrip + half;
        WinogradVec sum = winograd_load(from);
        for (std::int64_t p = 1; p < parts; ++p)
          sum = hn::Add(sum, winograd_load(from + p * kWinogradPoints * step));
        winograd_put(sum, all + k * kLanes);
      }
      for (std::int64_t column = 0; column < 6; ++column)
        winograd_weights(all + column * kLanes, 6 * kLanes, rows + column * kLanes, 6 * kLanes);
      for (std::int64_t row = 0; row < 3; ++row)
        winograd_weights(rows + 6 * row * kLanes, kLanes, taps + 3 * row * kLanes, kLanes);
      const std::int64_t c = i % f.in, first = i / f.in * kStrip + half;
      for (std::int64_t lane = 0; lane < std::min(kLanes, f.out - first); ++lane)
        for (std::int64_t tap = 0; tap < 9; ++tap)
          w[c * f.weight_in + (first + lane) * f.weight_out + tap] = taps[tap * kLanes + lane];
    }
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {

VELDT_EXPORT(winograd_strip);
VELDT_EXPORT(winograd_transform_weights);
VELDT_EXPORT(winograd_outputs_of_block);
VELDT_EXPORT(winograd_gradients_of_block);
VELDT_EXPORT(winograd_finish_gradients);

constexpr std::int64_t kLeastChannels = 16, kLeastTiles = 64;
constexpr std::int64_t kMostWeights = 64 << 20;  // transformed, elements
constexpr std::int64_t kWeightTasks = 16;  // a strip's input channels that a thread transforms at a time
constexpr std::int64_t kNear = 1 << 20;    // sums, elements, that one task adds to
constexpr std::int64_t kGradientTasks = 8;

bool winograd_serves(const ConvSizes& s) {
  if (s.groups != 1 || s.in[0] != 1 || s.out[0] != 1 || s.kernel[0] != 1 || s.padding[0] != 0) return false;
  for (int d = 1; d < 3; ++d)
    if (s.kernel[d] != 3 || s.stride[d] != 1 || s.dilation[d] != 1 || s.padding[d] < 0 || s.padding[d] > 2 ||
        s.in[d] < 1 || s.out[d] < 1)
      return false;
  return std::min(s.c_in, s.c_out) >= kLeastChannels && s.c_in * s.c_out <= kMostWeights / kWinogradPoints;
}

// The gradient by the weights. Parts of the blocks have sums of their own; channels of x are shared out where
// the sums are large.
void winograd_weight_gradient(WinogradCall call, float* w) {
  const WinogradForm& f = call.form;
  const std::int64_t strip = VELDT_DISPATCH(winograd_strip)();
  const std::int64_t strips = winograd_shares(f.in, strip), out_strips = winograd_shares(f.out, strip);
  const std::int64_t size = kWinogradPoints * out_strips * strip * f.in;
  const std::int64_t cuts = std::min(strips, winograd_shares(size, kNear)),
                     width = winograd_shares(strips, cuts);
  const std::int64_t parts = std::clamp<std::int64_t>(
      kGradientTasks / cuts, 1, std::min(f.blocks(), std::max<std::int64_t>(1, kMostWeights / 4 / size)));
  static thread_local Room<float> room;
  call.weights = room.of(parts * size, "a convolution");
  parallel_for(parts * cuts, 1, [&](std::int64_t task, std::int64_t) {
    const std::int64_t part = task % parts, begin = task / parts * width,
                       end = std::min(strips, begin + width);
    if (begin >= end) return;
    float* const sums = call.weights + part * size;
    for (std::int64_t k = 0; k < kWinogradPoints * out_strips; ++k)
      std::fill_n(sums + (k * f.in + begin * strip) * strip,
                  (std::min(f.in, end * strip) - begin * strip) * strip, 0.0f);
    for (std::int64_t block = f.blocks() * part / parts; block < f.blocks() * (part + 1) / parts; ++block)
      VELDT_DISPATCH(winograd_gradients_of_block)(call, block, begin, end, sums);
  });
  parallel_for(out_strips * f.in, kWeightTasks, [&](std::int64_t begin, std::int64_t end) {
    VELDT_DISPATCH(winograd_finish_gradients)(call, parts, w, begin, end);
  });
  room.trim();
}

}  // namespace

bool winograd_convolve(const ConvSizes& sizes, ConvPart part, float* x, float* w, const float* bias,
                       float* y) {
  if (!winograd_serves(sizes)) return false;
  const bool reverse = part == ConvPart::input_gradient;
  WinogradCall call{WinogradForm(sizes, reverse), reverse ? y : x, bias, w, reverse ? x : y, nullptr};
  const WinogradForm& f = call.form;
  if (f.all_tiles() < kLeastTiles) return false;
  if (part == ConvPart::weight_gradient) return winograd_weight_gradient(call, w), true;
  const std::int64_t strip = VELDT_DISPATCH(winograd_strip)(), out_strips = winograd_shares(f.out, strip);
  static thread_local Room<float> room;
  call.weights = room.of(kWinogradPoints * out_strips * strip * f.in, "a convolution");
  parallel_for(out_strips * f.in, kWeightTasks, [&](std::int64_t begin, std::int64_t end) {
    VELDT_DISPATCH(winograd_transform_weights)(call, begin, end);
  });
  parallel_for(f.blocks(), 1, [&](std::int64_t block, std::int64_t) {
    VELDT_DISPATCH(winograd_outputs_of_block)(call, block);
  });
  room.trim();
  return true;
}

}  // namespace veldt::cpu
#endif
