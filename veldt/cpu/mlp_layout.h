// The layout of the workspace of a fused stack of layers: first the weights, packed once per call, then an
// area for each part of the work; each thread takes one at a time.
// Tests: tests/ops/mlp_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "veldt/core/carver.h"
#include "veldt/core/mlp.h"
#include "veldt/cpu/mlp_bf16.h"
#include "veldt/cpu/mlp_kernels.h"

namespace veldt::cpu {

using CacheLines = Carver<64>;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

struct MlpShape {
  MlpShape(const MlpStep& step, std::int64_t n, bool wants_dx);

  const MlpStep* step;
  std::int64_t n;  // rows of the call
  std::size_t depth;
  bool bf16, gradients, wants_dx;
  bool thin_input;         // the first layer is always f32
  bool thin_output;        // the last one is f32 vectors rather than panels
  std::int64_t tile_rows;  // that go through all layers together
  std::int64_t parts;      // of the tiles: each sums its own gradients

  MlpTiles tiles() const {
    return {n, static_cast<int>(tile_rows), step->pass == MlpPass::loss ? step->loss : MlpLoss{}};
  }
  const MlpLayer& layer(std::size_t l) const { return step->layers[l]; }
  // Whether the product of layer l is of bf16 numbers.
  bool half(std::size_t l) const { return bf16 && step->is_product(l); }
  bool thin_last(std::size_t l) const { return thin_output && l + 1 == depth; }
  // f32 panels that hold n columns, as numbers of kPanel.
  static std::int64_t panels(std::int64_t columns) {
    return (columns + MlpKernels::kPanel - 1) / MlpKernels::kPanel;
  }
  static std::int64_t blocks(std::int64_t columns) {
    return (columns + Bf16Kernels::kBlock - 1) / Bf16Kernels::kBlock;
  }
  // The columns of panel p that a layer of n of them has, rounded up to what kernels compute.
  std::int64_t columns_in(std::int64_t p, std::int64_t columns) const {
    const std::int64_t rest = columns - p * MlpKernels::kPanel;
    return rest >= MlpKernels::kPanel ? MlpKernels::kPanel
                                      : round_up(rest, bf16 ? Bf16Kernels::kBlock : MlpKernels::kColumns);
  }
  // Numbers of layer l's gradient as it is summed, only its weight's.
  std::int64_t dw_size(std::size_t l) const;
};

// The packed weights of a layer. w: for the product with its input; wt: for that with its gradient.
struct PackedLayer {
  float *w = nullptr, *wt = nullptr, *bias = nullptr;
  Bf16 *w16 = nullptr, *wt16 = nullptr;
};

struct PackedWeights {
  PackedWeights(const MlpShape& shape, CacheLines& from);
  std::array<PackedLayer, MlpStep::kMaxLayers> layer = {};
  float* zeros;  // kPanel of them: the bias of layers without one
};

struct HalfMatrix {
  Bf16 *rows = nullptr, *pairs = nullptr, *columns = nullptr;
};

// The working memory of one part.
struct MlpArea {
  MlpArea(const MlpShape& shape, CacheLines& from);
  float* x = nullptr;  // f32 panels of the input
  HalfMatrix x16;
  std::array<float*, MlpStep::kMaxLayers> act = {};  // f32 panels; with bf16 only of the last hidden layer
  std::array<float*, MlpStep::kMaxLayers> slope = {};
  std::array<HalfMatrix, MlpStep::kMaxLayers> act16 = {};
  std::array<Bf16*, MlpStep::kMaxLayers> slope16 = {};
  std::array<float*, 2> delta = {};  // f32 panels of two layers' gradients; with bf16 only of the first
  std::array<HalfMatrix, 2> delta16 = {};
  float *z = nullptr, *slope_block = nullptr;  // a block before conversion to bf16
  float *out = nullptr, *dy = nullptr;         // [tile_rows][outputs]
  // For each layer: dw as [panels of in][rows of out][kPanel] (bf16: kBlock), with a thin input [in][out] in
  // panels of out; db [panels of out][kPanel].
  std::array<float*, MlpStep::kMaxLayers> dw = {}, db = {};
  float *gradients = nullptr, *gradients_end = nullptr;
  double* loss = nullptr;
};

}  // namespace veldt::cpu
