// Covers a picture window by window.
#include "veldt/explain/occlusion.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"

namespace veldt::explain {
namespace {

struct Window {
  std::int64_t top, bottom, left, right;  // the last row and column are not in it
};

// The last of each row and column hangs over the edge.
std::vector<Window> windows_of(std::int64_t height, std::int64_t width, std::int64_t size,
                               std::int64_t stride) {
  const auto steps = [&](std::int64_t length) { return (length - size + stride - 1) / stride + 1; };
  std::vector<Window> windows;
  for (std::int64_t y = 0; y < steps(height); ++y)
    for (std::int64_t x = 0; x < steps(width); ++x)
      windows.push_back(
          {y * stride, std::min(y * stride + size, height), x * stride, std::min(x * stride + size, width)});
  return windows;
}

}  // namespace

Tensor occlusion(const nn::Module& model, const Tensor& x, const Targets& given, const OcclusionOptions& o) {
  if (x.rank() != 4 || !is_float(x.dtype()))
    throw ShapeError(str("cannot cover parts of ", x.dtype(), ' ', x.shape()),
                     "pictures are floats [n, channels, height, width]", "give a batch of pictures");
  const std::int64_t n = x.size(0), height = x.size(2), width = x.size(3), shorter = std::min(height, width);
  const std::int64_t size = o.window > 0 ? o.window : std::max<std::int64_t>(1, shorter / 8);
  const std::int64_t stride = o.stride > 0 ? o.stride : std::max<std::int64_t>(1, size / 2);
  if (o.window < 0 || o.stride < 0 || size > shorter || stride > size)
    throw ConfigError(str("cannot cover windows of ", o.window, " every ", o.stride, " pixels"),
                      str("the picture is ", width, " x ", height,
                          ", and a stride beyond the window would leave pixels out"),
                      str("give a window of 1 .. ", shorter, " pixels, and a stride of 1 .. the window"));
  const nn::Evaluating evaluating(model);
  const NoGrad off;
  const Tensor plain = x.detach(),
               cover = o.cover.defined() ? expand(o.cover.detach(), x.shape()) : zeros_like(plain);
  const Targets targets = given.empty() ? largest_outputs(model, x) : given;
  const Tensor whole = scores_of(model(plain), targets);
  const std::vector<Window> windows = windows_of(height, width, size, stride);
  const Tensor losses = zeros({n, 1, height, width}, x.dtype(), x.device()), counts = zeros_like(losses);
  const auto some = static_cast<std::size_t>(std::max<std::int64_t>(1, o.at_once / n));
  const auto part = [](const Tensor& t, const Window& w) {
    return narrow(narrow(t, 2, w.top, w.bottom - w.top), 3, w.left, w.right - w.left);
  };
  for (std::size_t begin = 0; begin < windows.size(); begin += some) {
    if (o.heard && !o.heard(static_cast<std::int64_t>(begin), std::ssize(windows))) return {};
    const std::size_t end = std::min(begin + some, windows.size());
    std::vector<Tensor> covered;
    Targets each;
    for (std::size_t i = begin; i < end; ++i) {
      covered.push_back(clone(plain));
      Tensor(part(covered.back(), windows[i])).assign(part(cover, windows[i]));
      if (targets.size() > 1) each.insert(each.end(), targets.begin(), targets.end());
    }
    const Tensor scores = scores_of(model(cat(covered, 0)), targets.size() > 1 ? each : targets);
    for (std::size_t i = begin; i < end; ++i) {
      const Tensor loss = whole - narrow(scores, 0, static_cast<std::int64_t>(i - begin) * n, n);
      const Tensor there = part(losses, windows[i]), count = part(counts, windows[i]);
      Tensor(there).assign(there + reshape(loss, {n, 1, 1, 1}));
      Tensor(count).assign(count + 1.0);
    }
  }
  return losses / counts;
}

}  // namespace veldt::explain
