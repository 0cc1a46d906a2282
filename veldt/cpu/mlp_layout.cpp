// Computes the sizes of packed weights and of a tile's area, and divides the workspace among them.
#include "veldt/cpu/mlp_layout.h"

#include <algorithm>

namespace veldt::cpu {
namespace {

constexpr std::int64_t kPanel = MlpKernels::kPanel, kBlock = Bf16Kernels::kBlock;

// Rows that f32 kernels may touch beyond a tile's last one when they take a bf16 block in sixes.
constexpr std::int64_t kSpareRows = 4;

}  // namespace

MlpShape::MlpShape(const MlpStep& s, std::int64_t rows, bool dx)
    : step(&s),
      n(rows),
      depth(s.depth),
      bf16(s.precision == Precision::bf16),
      gradients(s.pass != MlpPass::forward),
      wants_dx(dx),
      thin_input(s.thin_input()),
      thin_output(s.thin_output()) {
  // The gradients of all weights go through the cache once per tile, so more rows are better, as long as
  // their stored data stays in it too (2 MB, of which weights and gradients need a part).
  std::int64_t bytes_a_row = 0;
  for (std::size_t l = 0; l < depth; ++l) bytes_a_row += layer(l).out * (gradients ? (bf16 ? 6 : 8) : 4);
  tile_rows = bytes_a_row * 192 <= (std::int64_t{1} << 20) ? 192 : 96;
  const std::int64_t tiles = std::max<std::int64_t>(1, (n + tile_rows - 1) / tile_rows);
  parts = std::min<std::int64_t>(s.threads, tiles);
}

std::int64_t MlpShape::dw_size(std::size_t l) const {
  const std::int64_t in = layer(l).in, out = layer(l).out;
  if (l == 0 && thin_input) return panels(out) * round_up(in, 2) * kPanel;
  if (thin_last(l)) return panels(in) * MlpStep::kThinOutput * kPanel;
  if (half(l)) return blocks(in) * blocks(out) * kBlock * kBlock;
  return panels(in) * panels(out) * kPanel * kPanel;
}

PackedWeights::PackedWeights(const MlpShape& shape, CacheLines& from) {
  zeros = from.take<float>(kPanel);
  for (std::size_t l = 0; l < shape.depth; ++l) {
    PackedLayer& to = layer[l];
    const std::int64_t in = shape.layer(l).in, out = shape.layer(l).out;
    to.bias = from.take<float>(MlpShape::panels(out) * kPanel);
    const bool back = shape.gradients && (l > 0 || shape.wants_dx);
    if (shape.thin_last(l)) {
      to.w = from.take<float>(MlpShape::panels(in) * MlpStep::kThinOutput * kPanel);
    } else if (shape.half(l)) {
      to.w16 = from.take<Bf16>(MlpShape::blocks(in) * MlpShape::blocks(out) * kBlock * kBlock);
      if (back) to.wt16 = from.take<Bf16>(MlpShape::blocks(in) * MlpShape::blocks(out) * kBlock * kBlock);
    } else {
      to.w = from.take<float>(MlpShape::panels(out) * in * kPanel);
      if (back) to.wt = from.take<float>(MlpShape::panels(in) * out * kPanel);
    }
  }
}

MlpArea::MlpArea(const MlpShape& shape, CacheLines& from) {
  const std::int64_t rows = shape.tile_rows;
  const auto panels_of = [&](std::int64_t columns) {
    return from.take<float>((MlpShape::panels(columns) * rows + kSpareRows) * kPanel);
  };
  const auto half_of = [&](std::int64_t columns, bool left, bool right, bool gradient) {
    const std::int64_t n = MlpShape::blocks(columns) * rows * kBlock;
    HalfMatrix m;
    if (left) m.rows = from.take<Bf16>(n);
    const bool by_columns = bf16_kernels() && bf16_kernels()->by_columns;
    if (right || (gradient && !by_columns)) m.pairs = from.take<Bf16>(n);
    if (gradient && by_columns) m.columns = from.take<Bf16>(n);
    return m;
  };
  const std::int64_t in = shape.layer(0).in, last = shape.layer(shape.depth - 1).out;
  if (shape.half(0))
    x16 = half_of(in, true, shape.gradients, false);
  else
    x = panels_of(in);
  std::int64_t widest = in;
  for (std::size_t l = 0; l < shape.depth; ++l) {
    const std::int64_t width = shape.layer(l).out;
    widest = std::max(widest, width);
    if (shape.thin_last(l)) break;
    if (!shape.bf16) {
      act[l] = panels_of(width);
      if (shape.gradients) slope[l] = panels_of(width);
      continue;
    }
    if (l + 1 == shape.depth || !shape.half(l + 1)) act[l] = panels_of(width);
    if (l + 1 < shape.depth && shape.half(l + 1)) act16[l] = half_of(width, true, shape.gradients, false);
    if (shape.gradients) slope16[l] = from.take<Bf16>(MlpShape::panels(width) * rows * kPanel);
  }
  if (shape.bf16) {
    z = from.take<float>((kBlock + kSpareRows) * kPanel);
    slope_block = from.take<float>((kBlock + kSpareRows) * kPanel);
  }
  if (shape.gradients) {
    for (int i = 0; i < 2; ++i) {
      if (!shape.bf16 || i == 0) delta[i] = panels_of(widest);
      if (shape.bf16) delta16[i] = half_of(widest, true, false, true);
    }
    gradients = from.take<float>(0);
    for (std::size_t l = 0; l < shape.depth; ++l) {
      dw[l] = from.take<float>(shape.dw_size(l));
      db[l] = from.take<float>(MlpShape::panels(shape.layer(l).out) * kPanel);
    }
    gradients_end = from.take<float>(0);
    dy = from.take<float>(rows * last);
  }
  out = from.take<float>(rows * last);
  loss = from.take<double>(1);
}

}  // namespace veldt::cpu
