// Lays pictures side by side on one sheet.
#include "veldt/data/picture_grid.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::data {
namespace {

constexpr std::int64_t kGap = 2;  // pixels around each cell
constexpr double kGround = 0.5;

}  // namespace

Tensor picture_grid(const std::vector<Tensor>& pictures, std::int64_t columns) {
  if (pictures.empty() || columns < 1)
    throw ConfigError(str("cannot draw ", pictures.size(), " pictures in ", columns, " columns"),
                      "a grid needs at least one picture and one column", "give more of both");
  std::int64_t channels = 1, height = 0, width = 0;
  for (const Tensor& p : pictures) {
    if (p.rank() != 3 || (p.size(0) != 1 && p.size(0) != 3) || !is_float(p.dtype()))
      throw ShapeError(str("cannot draw ", p.dtype(), ' ', p.shape()),
                       "a picture is [channels, height, width], of floats, with 1 or 3 channels",
                       "give the first tensor of an example");
    channels = std::max(channels, p.size(0));
    height = std::max(height, p.size(1));
    width = std::max(width, p.size(2));
  }
  const std::int64_t count = std::ssize(pictures), across = std::min(columns, count);
  const std::int64_t down = (count + across - 1) / across;
  const Tensor grid =
      full({kGap + down * (height + kGap), kGap + across * (width + kGap), channels}, kGround);
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor& p = pictures[static_cast<std::size_t>(i)];
    const std::int64_t top = kGap + i / across * (height + kGap), left = kGap + i % across * (width + kGap);
    Tensor cell = narrow(narrow(grid, 0, top, p.size(1)), 1, left, p.size(2));
    const Tensor here = permute(clamp(to(to(p.detach(), Device{}), DType::f32), 0, 1), {1, 2, 0});
    cell.assign(expand(here, cell.shape()));
  }
  return grid;
}

}  // namespace veldt::data
