// A fused stack of layers: a tile of rows goes through all of them and back while its results are still in
// the cache. Each thread sums its own weights' gradients; a final pass adds them.
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <memory>

#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/mlp_bf16_finish.h"
#include "veldt/cpu/mlp_layout.h"
#include "veldt/cpu/mlp_loss.h"
#include "veldt/cpu/mlp_pack.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kPanel = MlpKernels::kPanel, kBlock = Bf16Kernels::kBlock;

// Rows between a product and its activation: their data must stay in the L1 cache.
constexpr std::int64_t kF32Chunk = 24;

// One part's walk through its tiles.
class LayerWalk {
 public:
  LayerWalk(const MlpShape& shape, const PackedWeights& weights, const MlpArea& area)
      : shape_(shape),
        weights_(weights),
        area_(area),
        kernels_(mlp_kernels()),
        half_(shape.bf16 ? bf16_kernels() : nullptr),
        finish_(shape.bf16 ? bf16_finish() : nullptr),
        chunk_(shape.bf16 ? kBlock : kF32Chunk),
        rows_(shape.tile_rows) {}

  // x [rows, in] to area.out.
  void forward(const float* x, std::int64_t rows) {
    padded_ = round_up(rows, shape_.bf16 ? kBlock : MlpKernels::kRows);
    pack_input(shape_, x, rows, padded_, area_);
    for (std::size_t l = 0; l < shape_.depth; ++l)
      if (shape_.thin_last(l))
        thin_forward(l, rows);
      else
        layer_forward(l);
    if (!shape_.thin_last(shape_.depth - 1)) take_output(rows);
  }

  // From area.dy; dx [rows, in] may be null.
  void backward(std::int64_t rows, float* dx) {
    std::size_t l = shape_.depth - 1;
    if (shape_.thin_last(l))
      thin_backward(l--, rows);
    else
      give_output_gradient(l, rows);
    for (;; --l) {
      weight_gradient(l);
      if (l > 0)
        input_gradient(l, nullptr, 0);
      else if (dx)
        input_gradient(l, dx, rows);
      if (l == 0) return;
      now_ = 1 - now_;
    }
  }

 private:
  std::int64_t columns_in(std::int64_t panel, std::int64_t columns) const {
    return shape_.columns_in(panel, columns);
  }
  const float* f32_input(std::size_t l) const { return l == 0 ? area_.x : area_.act[l - 1]; }
  const HalfMatrix& half_input(std::size_t l) const { return l == 0 ? area_.x16 : area_.act16[l - 1]; }
  bool has_slope(std::size_t l) const { return shape_.layer(l).activation != MlpActivation::identity; }
  // The rows of a chunk that begins at r.
  std::int64_t chunk_rows(std::int64_t r) const { return std::min(chunk_, padded_ - r); }

  // Neighbouring columns of a panel that one walk over the rows computes: few enough for their weights to
  // stay in the L1 cache.
  struct Strip {
    std::int64_t panel, first, columns;
    std::int64_t block() const { return (panel * kPanel + first) / kBlock; }
  };
  template <class Fn> void each_strip(std::int64_t columns, Fn fn) const {
    const std::int64_t width = shape_.bf16 ? kBlock : kPanel;
    for (std::int64_t p = 0; p < MlpShape::panels(columns); ++p)
      for (std::int64_t c = 0; c < columns_in(p, columns); c += width)
        fn(Strip{p, c, std::min(width, columns_in(p, columns) - c)});
  }
  // The offset of the strip's first column of row r in f32 panels, and in bf16 blocks.
  std::int64_t place(const Strip& s, std::int64_t r) const {
    return (s.panel * rows_ + r) * kPanel + s.first;
  }
  std::int64_t place16(const Strip& s, std::int64_t r) const { return (s.block() * rows_ + r) * kBlock; }

  // z = rows r.. of a matrix times a strip of weights, in f32 or bf16; see MlpKernels and Bf16Kernels.
  void product(bool half, const float* a, const Bf16* a16, std::int64_t steps, const float* w,
               const Bf16* w16, const Strip& s, const float* bias, std::int64_t r, float* z) const {
    const std::int64_t blocks = MlpShape::blocks(steps);
    if (half)
      half_->product(a16 + r * kBlock, rows_ * kBlock, blocks, w16 + s.block() * blocks * kBlock * kBlock,
                     bias, z, kPanel);
    else
      kernels_.product(a + r * kPanel, rows_ * kPanel, steps, w + s.panel * steps * kPanel + s.first, bias, z,
                       round_up(chunk_rows(r), MlpKernels::kRows), s.columns);
  }

  void layer_forward(std::size_t l) {
    each_strip(shape_.layer(l).out, [&](const Strip& s) {
      for (std::int64_t r = 0; r < padded_; r += chunk_) strip_forward(l, s, r);
    });
  }

  void strip_forward(std::size_t l, const Strip& s, std::int64_t r) {
    const MlpLayer& layer = shape_.layer(l);
    const PackedLayer& w = weights_.layer[l];
    const HalfMatrix& kept = area_.act16[l];
    const std::int64_t rows = chunk_rows(r), to = place16(s, r);
    float* const z = area_.act[l] ? area_.act[l] + place(s, r) : area_.z;
    product(shape_.half(l), f32_input(l), half_input(l).rows, layer.in, w.w, w.w16, s,
            w.bias + s.panel * kPanel + s.first, r, z);
    const bool wants_slope = shape_.gradients && has_slope(l);
    if (kept.rows)
      return finish_->activate(layer, z, kPanel, kept.rows + to, kept.pairs ? kept.pairs + to : nullptr,
                               wants_slope ? area_.slope16[l] + to : nullptr);
    if (!has_slope(l)) return;
    float* const slope = !wants_slope  ? nullptr
                         : shape_.bf16 ? area_.slope_block
                                       : area_.slope[l] + place(s, r);
    kernels_.activate(layer, z, slope, rows, s.columns);
    if (shape_.bf16 && slope) half_->pack(slope, kPanel, area_.slope16[l] + to, nullptr, nullptr, 0);
  }

  void thin_forward(std::size_t l, std::int64_t rows) {
    const std::int64_t in = shape_.layer(l).in, out = shape_.layer(l).out;
    const PackedLayer& w = weights_.layer[l];
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(w.bias, out, area_.out + r * out);
    const std::int64_t last = MlpShape::panels(in) - 1;
    kernels_.thin_forward(area_.act[l - 1], rows_ * kPanel, rows, last * kPanel + columns_in(last, in), w.w,
                          out, area_.out);
  }

  void take_output(std::int64_t rows) {
    const std::int64_t out = shape_.layer(shape_.depth - 1).out;
    const float* const from = area_.act[shape_.depth - 1];
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < out; ++j)
        area_.out[r * out + j] = from[(j / kPanel * rows_ + r) * kPanel + j % kPanel];
  }

  // Rows r.. of a strip of d loss / d f(z) of layer l become its d loss / d z, ready for the next products.
  void finish_delta(std::size_t l, const Strip& s, std::int64_t r, float* d) {
    const std::int64_t rows = chunk_rows(r), at = place16(s, r);
    float* const db = area_.db[l] + s.panel * kPanel + s.first;
    if (!shape_.half(l)) {
      if (shape_.bf16 && has_slope(l))
        kernels_.scale_and_sum16(d, area_.slope16[l] + at, rows, s.columns, db);
      else
        kernels_.scale_and_sum(d, has_slope(l) ? area_.slope[l] + place(s, r) : nullptr, rows, s.columns, db);
      return;
    }
    const HalfMatrix& to = area_.delta16[now_];
    finish_->scale(d, kPanel, has_slope(l) ? area_.slope16[l] + at : nullptr, db, to.rows + at,
                   to.pairs ? to.pairs + at : nullptr);
    if (to.columns)
      half_->pack(d, kPanel, nullptr, nullptr, to.columns + s.block() * rows_ * kBlock + r, rows_);
  }

  float* f32_delta() const { return area_.delta[shape_.bf16 ? 0 : now_]; }

  void thin_backward(std::size_t l, std::int64_t rows) {
    const std::int64_t in = shape_.layer(l).in, out = shape_.layer(l).out;
    const float* const dy = area_.dy;
    std::fill(area_.dy + rows * out, area_.dy + padded_ * out, 0.0f);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < out; ++j) area_.db[l][j] += dy[r * out + j];
    for (std::int64_t p = 0; p < MlpShape::panels(in); ++p) {
      const std::int64_t columns = columns_in(p, in);
      const float* const a = area_.act[l - 1] + p * rows_ * kPanel;
      kernels_.outer_thin(dy, out, a, rows, out, columns, area_.dw[l] + p * MlpStep::kThinOutput * kPanel);
    }
    each_strip(in, [&](const Strip& s) {
      const float* const w = weights_.layer[l].w + s.panel * out * kPanel + s.first;
      for (std::int64_t r = 0; r < padded_; r += chunk_) {
        float* const d = f32_delta() + place(s, r);
        kernels_.thin_backward(dy + r * out, chunk_rows(r), s.columns, w, out, d);
        finish_delta(l - 1, s, r, d);
      }
    });
  }

  void give_output_gradient(std::size_t l, std::int64_t rows) {
    const std::int64_t out = shape_.layer(l).out;
    each_strip(out, [&](const Strip& s) {
      const std::int64_t first = s.panel * kPanel + s.first, there = std::min(s.columns, out - first);
      for (std::int64_t r = 0; r < padded_; r += chunk_) {
        float* const d = f32_delta() + place(s, r);
        for (std::int64_t i = 0; i < chunk_rows(r); ++i) {
          const std::int64_t n = r + i < rows ? there : 0;
          std::copy_n(area_.dy + (r + i) * out + first, n, d + i * kPanel);
          std::fill(d + i * kPanel + n, d + i * kPanel + s.columns, 0.0f);
        }
        finish_delta(l, s, r, d);
      }
    });
  }

  void weight_gradient(std::size_t l) {
    const std::int64_t in = shape_.layer(l).in, out = shape_.layer(l).out;
    if (l == 0 && shape_.thin_input) {
      for (std::int64_t p = 0; p < MlpShape::panels(out); ++p)
        kernels_.outer_thin(area_.x, kPanel, f32_delta() + p * rows_ * kPanel, padded_, in,
                            columns_in(p, out), area_.dw[l] + p * round_up(in, 2) * kPanel);
    } else if (shape_.half(l)) {
      const HalfMatrix& d = area_.delta16[now_];
      const Bf16* const left = half_->by_columns ? d.columns : d.pairs;
      const std::int64_t outs = MlpShape::blocks(out), panel = rows_ * kBlock;
      for (std::int64_t i = 0; i < MlpShape::blocks(in); ++i)
        for (std::int64_t o = 0; o < outs; ++o)
          half_->outer(left + o * panel, rows_, half_input(l).pairs + i * panel, padded_,
                       area_.dw[l] + (i * outs + o) * kBlock * kBlock);
    } else {
      const std::int64_t outs = MlpShape::panels(out), panel = rows_ * kPanel;
      for (std::int64_t i = 0; i < MlpShape::panels(in); ++i)
        for (std::int64_t o = 0; o < outs; ++o)
          kernels_.outer(f32_delta() + o * panel, f32_input(l) + i * panel, padded_, columns_in(o, out),
                         columns_in(i, in), area_.dw[l] + (i * outs + o) * kPanel * kPanel);
    }
  }

  // d loss / d input of layer l: the next delta, or dx.
  void input_gradient(std::size_t l, float* dx, std::int64_t dx_rows) {
    const std::int64_t in = shape_.layer(l).in, out = shape_.layer(l).out;
    const PackedLayer& w = weights_.layer[l];
    const float* const delta = f32_delta();
    const Bf16* const delta16 = area_.delta16[now_].rows;
    now_ = 1 - now_;
    // A bf16 delta passes through a block; others are written to their final place.
    const bool in_place = dx == nullptr && !(shape_.bf16 && shape_.half(l - 1));
    each_strip(in, [&](const Strip& s) {
      const std::int64_t first = s.panel * kPanel + s.first, there = std::min(s.columns, in - first);
      for (std::int64_t r = 0; r < padded_; r += chunk_) {
        float* const z = in_place ? f32_delta() + place(s, r) : shape_.bf16 ? area_.z : area_.delta[now_];
        product(shape_.half(l), delta, delta16, out, w.wt, w.wt16, s, weights_.zeros, r, z);
        if (!dx) {
          finish_delta(l - 1, s, r, z);
          continue;
        }
        for (std::int64_t i = 0; i < std::min(chunk_rows(r), dx_rows - r); ++i)
          std::copy_n(z + i * kPanel, there, dx + (r + i) * in + first);
      }
    });
    now_ = 1 - now_;
  }

  const MlpShape& shape_;
  const PackedWeights& weights_;
  const MlpArea& area_;
  const MlpKernels& kernels_;
  const Bf16Kernels* const half_;
  const Bf16Finish* const finish_;
  const std::int64_t chunk_, rows_;
  std::int64_t padded_ = 0;  // rows of the tile that are computed
  int now_ = 0;              // which of the two deltas is the current one
};

// Slopes and gradients become denormal, for which a processor is a hundred times slower; while one of these
// exists, denormals count as 0.
class FlushToZero {
 public:
#if defined(__SSE2__)
  FlushToZero() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | 0x8040);
  }  // flush to zero, denormals are zero
  ~FlushToZero() { _mm_setcsr(before_); }

 private:
  unsigned before_;

 public:
#else
  FlushToZero() {}
  ~FlushToZero() {}
#endif
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;
};

void run_part(const MlpShape& shape, const PackedWeights& weights, const MlpArea& area, const View* arrays,
              std::int64_t part) {
  const MlpStep& step = *shape.step;
  const std::int64_t in = step.layers[0].in, out = step.layers[step.depth - 1].out;
  const MlpTiles tiles = shape.tiles();
  const std::int64_t begin = part * tiles.count() / shape.parts,
                     end = (part + 1) * tiles.count() / shape.parts;
  const float *x = arrays[MlpStep::x].as<float>(), *given = arrays[MlpStep::given].as<float>();
  const float* weight = arrays[MlpStep::weight].as<float>();
  float *to = arrays[MlpStep::out].as<float>(), *dx = arrays[MlpStep::dx].as<float>();
  const float scale = 1 / static_cast<float>(std::max<std::int64_t>(1, step.loss.targets(shape.n) * out));
  if (shape.gradients) std::fill(area.gradients, area.gradients_end, 0.0f);
  *area.loss = 0;
  LayerWalk walk(shape, weights, area);
  for (std::int64_t i = begin; i < end; ++i) {
    const MlpTiles::Tile t = tiles[i];
    walk.forward(x + t.row * in, t.rows);
    if (to) std::copy_n(area.out, t.rows * out, to + t.row * out);
    if (step.pass == MlpPass::forward) continue;
    if (step.pass == MlpPass::backward)
      std::copy_n(given + t.row * out, t.rows * out, area.dy);
    else
      *area.loss += mlp_loss(step.loss, area.out, t.rows, out, t.group, given + t.target * out,
                             weight ? weight + t.target : nullptr, scale, area.dy);
    walk.backward(t.rows, dx ? dx + t.row * in : nullptr);
  }
}

}  // namespace

std::size_t mlp_workspace(const MlpStep& step, std::int64_t n, bool wants_dx) {
  const bool there =
      step.precision == Precision::f32 || (step.precision == Precision::bf16 && bf16_kernels());
  if (!there) return 0;
  const MlpShape shape(step, n, wants_dx);
  CacheLines counter;
  const PackedWeights weights(shape, counter);
  counter.take<MlpArea>(shape.parts);
  const std::uintptr_t before = counter.at();
  const MlpArea area(shape, counter);
  return before + static_cast<std::size_t>(shape.parts) * (counter.at() - before);
}

void mlp(const MlpStep& step, const View* arrays, int) {
  const MlpShape shape(step, arrays[MlpStep::x].shape[0], arrays[MlpStep::dx].data != nullptr);
  CacheLines carver(arrays[MlpStep::workspace].data);
  const PackedWeights weights(shape, carver);
  MlpArea* const areas = carver.take<MlpArea>(shape.parts);
  for (std::int64_t p = 0; p < shape.parts; ++p) std::construct_at(areas + p, shape, carver);
  pack_weights(shape, arrays, weights);
  parallel_for(shape.parts, 1, [&](std::int64_t part, std::int64_t) {
    const FlushToZero flush;
    if (shape.bf16) bf16_kernels()->begin();
    run_part(shape, weights, areas[part], arrays, part);
    if (shape.bf16) bf16_kernels()->end();
  });
  if (shape.gradients) unpack_gradients(shape, areas, arrays);
  if (step.pass != MlpPass::loss) return;
  double sum = 0;
  for (std::int64_t p = 0; p < shape.parts; ++p) sum += *areas[p].loss;
  const std::int64_t numbers = step.loss.targets(shape.n) * step.layers[step.depth - 1].out;
  *arrays[MlpStep::value].as<float>() = static_cast<float>(sum / static_cast<double>(numbers));
}

}  // namespace veldt::cpu
