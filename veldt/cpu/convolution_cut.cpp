// Chooses whether a convolution is split by examples, channels or rows, and defines each piece.
#include "veldt/cpu/convolution_cut.h"

#include <algorithm>

#include "veldt/core/threads.h"

namespace veldt::cpu {
namespace {

constexpr double kSmall = 1 << 18;          // operations that take about as long as waking a thread
constexpr std::int64_t kCache = 256 << 10;  // floats
constexpr std::int64_t kChannelBlock = 16;  // channels that oneDNN keeps together

std::int64_t shares(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

}  // namespace

ConvCut::ConvCut(const ConvSizes& whole, ConvPart part) : whole_(whole), part_(part) {
  while (row_ < 2 && whole.in[row_] == 1 && whole.out[row_] == 1) ++row_;
  const bool inside = threads_here() < num_threads();
  if (whole.flops() >= kSmall && !inside) choose_for(num_threads());
}

void ConvCut::choose(Along along, std::int64_t size, std::int64_t grain) {
  along_ = along;
  size_ = size;
  grain_ = grain;
}

// By examples, as many as stay in a thread's cache from one primitive to the next. By channels or rows if
// some threads would have no example, or if the time is dominated by the weights, which each piece has to
// reorder.
void ConvCut::choose_for(std::int64_t threads) {
  const ConvSizes& s = whole_;
  const std::int64_t example = s.groups * (s.c_in * s.inputs() + s.c_out * s.outputs());
  const std::int64_t weights = s.groups * s.c_out * s.depth();
  const bool sums = part_ == ConvPart::weight_gradient;
  std::int64_t count = shares(s.batch, sums ? threads : 4 * threads);
  if (!sums) count = std::min(count, std::max<std::int64_t>(1, kCache / example));
  if (s.batch >= threads && weights <= count * example / 2) return choose(Along::examples, s.batch, count);
  if (threads == 1) return;
  if (s.groups > 1)
    return s.groups >= threads ? choose(Along::groups, s.groups, shares(s.groups, threads)) : void();
  const std::int64_t channels = part_ == ConvPart::input_gradient ? s.c_in : s.c_out;
  const std::int64_t grain = shares(shares(channels, threads), kChannelBlock) * kChannelBlock;
  if (channels >= threads * kChannelBlock || !choose_rows(threads))
    choose(Along::channels, channels, std::min(channels, grain));
}

bool ConvCut::choose_rows(std::int64_t threads) {
  const std::int64_t rows = part_ == ConvPart::input_gradient ? whole_.in[row_] : whole_.out[row_];
  if (rows < 2 * threads) return false;
  choose(Along::rows, rows, shares(rows, threads));
  for (std::int64_t i = 0; i < count(); ++i) {
    const ConvSizes s = piece(i).sizes;
    if (s.in[row_] < 1 || s.out[row_] < 1 || s.padding[row_] < 0) {
      choose(Along::nothing, 1, 1);
      return false;
    }
  }
  return true;
}

bool ConvCut::sums() const {
  return part_ == ConvPart::weight_gradient && (along_ == Along::examples || along_ == Along::rows);
}

// Output row p reads the input rows p stride - padding + k dilation. Rows [begin, end) of the result, or of y
// if the result is w, with the corresponding rows of the other.
void ConvCut::set_rows(ConvPiece& p, std::int64_t begin, std::int64_t end) const {
  const int d = row_;
  const std::int64_t stride = whole_.stride[d], padding = whole_.padding[d];
  const std::int64_t reach = whole_.dilation[d] * (whole_.kernel[d] - 1) + 1;
  std::int64_t in_begin = begin, in_end = end, out_begin = begin, out_end = end;
  if (part_ == ConvPart::input_gradient) {
    const std::int64_t first = begin + padding - reach + 1;
    out_begin = first <= 0 ? 0 : shares(first, stride);
    out_end = std::min(whole_.out[d], (end - 1 + padding) / stride + 1);
  } else {
    in_begin = std::max<std::int64_t>(0, begin * stride - padding);
    in_end = std::min(whole_.in[d], (end - 1) * stride - padding + reach);
  }
  p.sizes.in[d] = in_end - in_begin;
  p.sizes.out[d] = out_end - out_begin;
  p.sizes.padding[d] = padding + in_begin - out_begin * stride;
  p.x = in_begin * p.steps.x_channel / whole_.in[d];
  p.y = out_begin * p.steps.y_channel / whole_.out[d];
}

ConvPiece ConvCut::piece(std::int64_t i) const {
  const ConvSizes& s = whole_;
  const std::int64_t begin = i * grain_, end = std::min(size_, begin + grain_), w_out = s.depth();
  ConvPiece p{
      s, {s.groups * s.c_in * s.inputs(), s.inputs(), s.groups * s.c_out * s.outputs(), s.outputs(), w_out}};
  switch (along_) {
    case Along::nothing: break;
    case Along::examples:
      p.sizes.batch = end - begin;
      p.x = begin * p.steps.x_example;
      p.y = begin * p.steps.y_example;
      break;
    case Along::groups:
      p.sizes.groups = end - begin;
      p.x = begin * s.c_in * s.inputs();
      p.y = begin * s.c_out * s.outputs();
      p.w = begin * s.c_out * w_out;
      p.bias = begin * s.c_out;
      break;
    case Along::channels:
      if (part_ == ConvPart::input_gradient) {
        p.sizes.c_in = end - begin;
        p.x = begin * s.inputs();
        p.w = begin * s.taps();
      } else {
        p.sizes.c_out = end - begin;
        p.y = begin * s.outputs();
        p.w = begin * w_out;
        p.bias = begin;
      }
      break;
    case Along::rows: set_rows(p, begin, end); break;
  }
  return p;
}

}  // namespace veldt::cpu
