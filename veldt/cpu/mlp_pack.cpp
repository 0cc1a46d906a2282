// Converts weights, inputs and gradients of any strides to panels of columns, and back.
#include "veldt/cpu/mlp_pack.h"

#include <algorithm>
#include <cstdint>

#include "veldt/core/threads.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kPanel = MlpKernels::kPanel, kBlock = Bf16Kernels::kBlock;

// Row-major [rows, columns].
struct Matrix {
  const float* data;
  std::int64_t rows, columns;
  float at(std::int64_t r, std::int64_t c) const { return data[r * columns + c]; }
};

// to [m.columns][kPanel] = rows first.. of m, transposed, zeros beyond the last.
void transpose_panel(const Matrix& m, std::int64_t first, float* to) {
  const std::int64_t n = std::min(kPanel, m.rows - first);
  constexpr std::int64_t kStep = 16;  // columns whose cache lines stay cached while all rows are processed
  for (std::int64_t c0 = 0; c0 < m.columns; c0 += kStep) {
    const std::int64_t c1 = std::min(m.columns, c0 + kStep);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t c = c0; c < c1; ++c) to[c * kPanel + j] = m.at(first + j, c);
    for (std::int64_t c = c0; c < c1; ++c) std::fill(to + c * kPanel + n, to + (c + 1) * kPanel, 0.0f);
  }
}

// to [m.rows][kPanel] = columns first.. of m, zeros beyond the last.
void copy_panel(const Matrix& m, std::int64_t first, float* to) {
  const std::int64_t n = std::min(kPanel, m.columns - first);
  for (std::int64_t r = 0; r < m.rows; ++r, to += kPanel) {
    std::copy_n(m.data + r * m.columns + first, n, to);
    std::fill(to + n, to + kPanel, 0.0f);
  }
}

// The block of m at (row, column), zeros beyond its ends.
void copy_block(const Matrix& m, std::int64_t row, std::int64_t column, float* to) {
  const std::int64_t rows = std::min(kBlock, m.rows - row), columns = std::min(kBlock, m.columns - column);
  for (std::int64_t r = 0; r < kBlock; ++r, to += kBlock) {
    const std::int64_t n = r < rows ? columns : 0;
    if (n > 0) std::copy_n(m.data + (row + r) * m.columns + column, n, to);
    std::fill(to + n, to + kBlock, 0.0f);
  }
}

// W [out, in] as the right sides of x W^T and of dz W, for one block of its rows.
void pack_half(const Bf16Kernels& k, const Matrix& w, std::int64_t out_block, const PackedLayer& to) {
  const std::int64_t ins = MlpShape::blocks(w.columns), outs = MlpShape::blocks(w.rows);
  alignas(64) float block[kBlock * kBlock];
  alignas(64) std::uint32_t rows[kBlock * kBlock / 2];  // pairs of neighbouring inputs
  for (std::int64_t i = 0; i < ins; ++i) {
    copy_block(w, out_block * kBlock, i * kBlock, block);
    Bf16* const back = to.wt16 ? to.wt16 + (i * outs + out_block) * kBlock * kBlock : nullptr;
    k.pack(block, kBlock, reinterpret_cast<Bf16*>(rows), back, nullptr, 0);
    auto* const forth = reinterpret_cast<std::uint32_t*>(to.w16 + (out_block * ins + i) * kBlock * kBlock);
    for (std::int64_t n = 0; n < kBlock; ++n)
      for (std::int64_t pair = 0; pair < kBlock / 2; ++pair)
        forth[pair * kBlock + n] = rows[n * kBlock / 2 + pair];
  }
}

// dw [out, in] = the sum of the parts' gradients of layer l.
void unpack_weight(const MlpShape& shape, std::size_t l, const MlpArea* areas, float* dw) {
  const std::int64_t in = shape.layer(l).in, out = shape.layer(l).out;
  if (l == 0 && shape.thin_input) {
    const std::int64_t padded = round_up(in, 2);
    for (std::int64_t n = 0; n < out; ++n)
      for (std::int64_t k = 0; k < in; ++k) {
        const std::int64_t at = (n / kPanel * padded + k) * kPanel + n % kPanel;
        float sum = 0;
        for (std::int64_t p = 0; p < shape.parts; ++p) sum += areas[p].dw[l][at];
        dw[n * in + k] = sum;
      }
    return;
  }
  // [panels of in][height][width]
  const bool half = shape.half(l);
  const std::int64_t width = half ? kBlock : kPanel;
  const std::int64_t height = shape.thin_last(l) ? MlpStep::kThinOutput
                              : half             ? MlpShape::blocks(out) * kBlock
                                                 : MlpShape::panels(out) * kPanel;
  parallel_for(out, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      for (std::int64_t k = 0; k < in; k += width) {
        const std::int64_t at = (k / width * height + n) * width, count = std::min(width, in - k);
        float* const to = dw + n * in + k;
        std::copy_n(areas[0].dw[l] + at, count, to);
        for (std::int64_t p = 1; p < shape.parts; ++p)
          for (std::int64_t i = 0; i < count; ++i) to[i] += areas[p].dw[l][at + i];
      }
  });
}

}  // namespace

void pack_weights(const MlpShape& shape, const View* arrays, const PackedWeights& to) {
  std::fill_n(to.zeros, kPanel, 0.0f);
  for (std::size_t l = 0; l < shape.depth; ++l) {
    const std::int64_t in = shape.layer(l).in, out = shape.layer(l).out;
    const Matrix w{arrays[MlpStep::layer_array(l, MlpStep::w)].as<float>(), out, in};
    const PackedLayer& layer = to.layer[l];
    const float* bias = arrays[MlpStep::layer_array(l, MlpStep::b)].as<float>();
    std::fill_n(layer.bias, MlpShape::panels(out) * kPanel, 0.0f);
    if (bias) std::copy_n(bias, out, layer.bias);
    if (shape.thin_last(l)) {
      for (std::int64_t p = 0; p < MlpShape::panels(in); ++p)
        copy_panel(w, p * kPanel, layer.w + p * out * kPanel);
    } else if (shape.half(l)) {
      parallel_for(MlpShape::blocks(out), 1,
                   [&](std::int64_t b, std::int64_t) { pack_half(*bf16_kernels(), w, b, layer); });
    } else {
      const std::int64_t there = MlpShape::panels(out), back = layer.wt ? MlpShape::panels(in) : 0;
      parallel_for(there + back, 1, [&](std::int64_t p, std::int64_t) {
        if (p < there)
          transpose_panel(w, p * kPanel, layer.w + p * in * kPanel);
        else
          copy_panel(w, (p - there) * kPanel, layer.wt + (p - there) * out * kPanel);
      });
    }
  }
}

void unpack_gradients(const MlpShape& shape, const MlpArea* areas, const View* arrays) {
  for (std::size_t l = 0; l < shape.depth; ++l) {
    if (float* const dw = arrays[MlpStep::layer_array(l, MlpStep::dw)].as<float>())
      unpack_weight(shape, l, areas, dw);
    float* const db = arrays[MlpStep::layer_array(l, MlpStep::db)].as<float>();
    for (std::int64_t n = 0; db && n < shape.layer(l).out; ++n) {
      db[n] = 0;
      for (std::int64_t p = 0; p < shape.parts; ++p) db[n] += areas[p].db[l][n];
    }
  }
}

void pack_input(const MlpShape& shape, const float* x, std::int64_t rows, std::int64_t padded,
                const MlpArea& to) {
  const std::int64_t in = shape.layer(0).in;
  const auto row_part = [&](std::int64_t r, std::int64_t first, std::int64_t width, float* at) {
    const std::int64_t n = r < rows ? std::clamp<std::int64_t>(in - first, 0, width) : 0;
    std::copy_n(x + r * in + first, n, at);
    std::fill(at + n, at + width, 0.0f);
  };
  if (!shape.half(0)) {
    for (std::int64_t p = 0; p < MlpShape::panels(in); ++p) {
      const std::int64_t width = std::min(kPanel, round_up(in - p * kPanel, MlpKernels::kColumns));
      for (std::int64_t r = 0; r < padded; ++r)
        row_part(r, p * kPanel, width, to.x + (p * shape.tile_rows + r) * kPanel);
    }
    return;
  }
  const Bf16Kernels& k = *bf16_kernels();
  alignas(64) float block[kBlock * kBlock];
  for (std::int64_t b = 0; b < MlpShape::blocks(in); ++b)
    for (std::int64_t r = 0; r < padded; r += kBlock) {
      for (std::int64_t i = 0; i < kBlock; ++i) row_part(r + i, b * kBlock, kBlock, block + i * kBlock);
      const std::int64_t at = (b * shape.tile_rows + r) * kBlock;
      k.pack(block, kBlock, to.x16.rows + at, to.x16.pairs ? to.x16.pairs + at : nullptr, nullptr, 0);
    }
}

}  // namespace veldt::cpu
