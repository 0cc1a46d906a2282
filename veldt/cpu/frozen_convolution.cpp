// Convolutions whose weights never change, with channels last: oneDNN's, or else convolve() on copies.
#include <memory>

#include "veldt/core/convolution.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/onednn.h"

namespace veldt::cpu {
namespace {

using Room = std::unique_ptr<float[]>;

View plain(float* data, const View& like) {
  return {data, DType::f32, like.shape, contiguous_strides(like.shape)};
}
Room room_for(const View& v) {
  return std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(numel(v.shape)));
}

// What oneDNN refuses: sizes beyond its own, rows that lie in the padding alone.
void convolve_copies(const FrozenConv& c, const View& x, const View& w, const View* bias, const View* added,
                     const View& out) {
  const Room x_room = room_for(x), y_room = room_for(out);
  const View plain_x = plain(x_room.get(), x), plain_y = plain(y_room.get(), out);
  copy(x, plain_x);
  convolve(c.layout, ConvPart::output, plain_x, w, bias, plain_y);
  copy(plain_y, out);
  const auto low = static_cast<float>(c.low), high = static_cast<float>(c.high);
  const float* const more = added ? added->as<const float>() : nullptr;
  float* const y = out.as<float>();
  constexpr std::int64_t kGrain = 1 << 14;
  parallel_for(numel(out.shape), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float value = more ? y[i] + more[i] : y[i];
      y[i] = value < low ? low : value > high ? high : value;
    }
  });
}

}  // namespace

bool freezes_convolutions() { return onednn_freezes(); }

void convolve_frozen(const FrozenConv& convolution, const View& x, const View& w, const View* bias,
                     const View* added, const View& out) {
  if (numel(out.shape) == 0) return;
  const ConvSizes sizes(convolution.layout, ConvViews(ConvPart::output, x, w, out));
  if (!onednn_freezes() ||
      !onednn_convolve_frozen(convolution, sizes, x.as<const float>(), w.as<const float>(),
                              bias ? bias->as<const float>() : nullptr,
                              added ? added->as<const float>() : nullptr, out.as<float>()))
    convolve_copies(convolution, x, w, bias, added, out);
}

}  // namespace veldt::cpu
