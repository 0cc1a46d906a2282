// Matrix products of views of any strides. A block computes a tile of the result: it brings panels of both
// operands into shared memory, the next while it multiplies the last, and each thread keeps a small tile in
// registers. Products with few tiles and many terms (gradients of weights) are cut along k; a second kernel
// adds the parts in their order. How a product is cut follows from its sizes alone, so its bits do too. Large
// products go to cublasLt where there is one (matmul_lt.h).
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/matmul_lt.h"
#include "veldt/cuda/runtime.h"
#include "veldt/cuda/scratch.h"

namespace veldt::cuda {
namespace {

using Index = std::int64_t;

constexpr Index kEnoughTiles = 256;  // two for every multiprocessor of the devices of today
constexpr Index kLeastDepth = 256;   // terms of a part, for fewer are not worth a second kernel
constexpr Index kNarrow = 16;        // columns of the tile for products with few

// What one load or store moves.
template <class T> struct alignas(16) Group {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T v[kSize];
};
template <class T> constexpr int kGroup = Group<T>::kSize;
template <class T> constexpr int kDepth = 64 / static_cast<int>(sizeof(T));  // of a panel

// An operand, [outer, depth] for each product of the batch: `outer` are the rows of a, the columns of b.
template <class T> struct Panel {
  const T* data;
  Index batch, outer, depth;  // strides
  bool along_depth;           // neighbours in memory are neighbours in depth
  bool wide;                  // and they can be loaded as groups
};

template <class T> struct Result {
  T* data;
  Index batch, split, row, col;
  bool wide;
};

template <class T> struct Bias {
  const T* data;  // null, or element (0, 0, 0) of [batch, m, n] with these strides:
  Index batch, row, col;
};

template <class T> struct Product {
  Index m, n, k, batch;
  Panel<T> a, b;
  Result<T> out;
  Bias<T> bias;
  Index tile_rows, tile_cols, splits, split_depth;

  __host__ __device__ Index tiles() const { return tile_rows * tile_cols * splits * batch; }
};

// `step`: between the elements. Those from `valid` on are not there and read as 0.
template <class T> __device__ inline Group<T> load_group(const T* from, Index step, Index valid, bool wide) {
  if (wide && valid >= kGroup<T>) return *reinterpret_cast<const Group<T>*>(from);
  Group<T> group;
  GPU_UNROLLED
  for (int i = 0; i < kGroup<T>; ++i) group.v[i] = i < valid ? from[i * step] : T(0);
  return group;
}

// The part of a panel that a tile of kOuter rows (of a) or columns (of b) needs at a time. In shared memory
// it lies as [depth][outer], with a gap behind each line against bank conflicts.
template <class T, int kOuter> struct Slab {
  static constexpr int kGroups = kOuter * kDepth<T> / kGroup<T>;
  static constexpr int kLoads = (kGroups + static_cast<int>(kThreads) - 1) / static_cast<int>(kThreads);
  static constexpr int kPitch = kOuter + kGroup<T>;
  static constexpr int kSize = kDepth<T> * kPitch;

  Group<T> held[kLoads];

  // Where this thread's load `j` belongs; beyond the slab if there is nothing left for it.
  struct Place {
    int outer, depth;
  };
  static __device__ Place place(bool along_depth, int j) {
    const int group = static_cast<int>(threadIdx.x) + j * static_cast<int>(kThreads);
    constexpr int kAcross = kDepth<T> / kGroup<T>, kDown = kOuter / kGroup<T>;
    if (along_depth) return {group / kAcross, group % kAcross * kGroup<T>};
    return {group % kDown * kGroup<T>, group / kDown};
  }

  // `from`: the slab's first element; it has `outers` times `depths` in the matrix.
  __device__ void fetch(const Panel<T>& p, const T* from, Index outers, Index depths) {
    GPU_UNROLLED
    for (int j = 0; j < kLoads; ++j) {
      const Place at = place(p.along_depth, j);
      const bool there = at.outer < outers && at.depth < depths && at.outer < kOuter && at.depth < kDepth<T>;
      const Index valid = !there ? 0 : p.along_depth ? depths - at.depth : outers - at.outer;
      held[j] = load_group(from + at.outer * p.outer + at.depth * p.depth, p.along_depth ? p.depth : p.outer,
                           valid, p.wide);
    }
  }

  __device__ void store(bool along_depth, T* to) const {
    GPU_UNROLLED
    for (int j = 0; j < kLoads; ++j) {
      const Place at = place(along_depth, j);
      if (at.outer >= kOuter || at.depth >= kDepth<T>) continue;
      if (!along_depth) {
        *reinterpret_cast<Group<T>*>(to + at.depth * kPitch + at.outer) = held[j];
      } else {
        GPU_UNROLLED
        for (int i = 0; i < kGroup<T>; ++i) to[(at.depth + i) * kPitch + at.outer] = held[j].v[i];
      }
    }
  }
};

// kCount neighbours from shared memory.
template <int kCount, class T> __device__ inline void read(const T* from, T* to) {
  GPU_UNROLLED
  for (int i = 0; i < kCount; i += kGroup<T>) {
    const Group<T> group = *reinterpret_cast<const Group<T>*>(from + i);
    GPU_UNROLLED
    for (int j = 0; j < kGroup<T>; ++j) to[i + j] = group.v[j];
  }
}

// One row of a thread's tile.
template <int kCount, class T>
__device__ inline void write(const Product<T>& p, Index batch, Index split, Index row, Index col,
                             const T* sum) {
  T* to = p.out.data + batch * p.out.batch + split * p.out.split + row * p.out.row + col * p.out.col;
  const T* bias = p.bias.data;
  if (bias != nullptr) bias += batch * p.bias.batch + row * p.bias.row + col * p.bias.col;
  GPU_UNROLLED
  for (int i = 0; i < kCount; i += kGroup<T>) {
    Group<T> group;
    GPU_UNROLLED
    for (int j = 0; j < kGroup<T>; ++j) {
      group.v[j] = sum[i + j];
      if (bias != nullptr && col + i + j < p.n) group.v[j] += bias[(i + j) * p.bias.col];
    }
    if (p.out.wide && col + i + kGroup<T> <= p.n) {
      *reinterpret_cast<Group<T>*>(to + i) = group;
    } else {
      GPU_UNROLLED
      for (int j = 0; j < kGroup<T>; ++j)
        if (col + i + j < p.n) to[(i + j) * p.out.col] = group.v[j];
    }
  }
}

// Tiles of kRows x kCols; kHeight x kWidth of each are a thread's.
template <class T, int kRows, int kCols, int kHeight, int kWidth>
__global__ void __launch_bounds__(kThreads, 2) tile_kernel(Product<T> p) {
  static_assert(kRows / kHeight * (kCols / kWidth) == static_cast<int>(kThreads));
  using SlabA = Slab<T, kRows>;
  using SlabB = Slab<T, kCols>;
  GPU_SHARED(Group<T>, shared_a, 2 * SlabA::kSize / kGroup<T>);
  GPU_SHARED(Group<T>, shared_b, 2 * SlabB::kSize / kGroup<T>);
  const int left = static_cast<int>(threadIdx.x) % (kCols / kWidth) * kWidth;
  const int top = static_cast<int>(threadIdx.x) / (kCols / kWidth) * kHeight;
  int stage = 0;  // the half of shared memory that is written while others may still read the other half
  for (Index tile = blockIdx.x; tile < p.tiles(); tile += gridDim.x) {
    Index rest = tile;
    const Index col = rest % p.tile_cols * kCols;
    rest /= p.tile_cols;
    const Index row = rest % p.tile_rows * kRows;
    rest /= p.tile_rows;
    const Index split = rest % p.splits, batch = rest / p.splits;
    Index k = split * p.split_depth;
    const Index end = k + p.split_depth < p.k ? k + p.split_depth : p.k;
    const T* a = p.a.data + batch * p.a.batch + row * p.a.outer + k * p.a.depth;
    const T* b = p.b.data + batch * p.b.batch + col * p.b.outer + k * p.b.depth;
    SlabA next_a;
    SlabB next_b;
    T sum[kHeight][kWidth] = {};
    next_a.fetch(p.a, a, p.m - row, end - k);
    next_b.fetch(p.b, b, p.n - col, end - k);
    for (; k < end; k += kDepth<T>, stage ^= 1) {
      T* const panel_a = shared_a[0].v + stage * SlabA::kSize;
      T* const panel_b = shared_b[0].v + stage * SlabB::kSize;
      next_a.store(p.a.along_depth, panel_a);
      next_b.store(p.b.along_depth, panel_b);
      __syncthreads();
      const Index left_over = end - k - kDepth<T>;
      if (left_over > 0) {
        next_a.fetch(p.a, a += kDepth<T> * p.a.depth, p.m - row, left_over);
        next_b.fetch(p.b, b += kDepth<T> * p.b.depth, p.n - col, left_over);
      }
      GPU_UNROLLED
      for (int d = 0; d < kDepth<T>; ++d) {
        if (d % 4 == 0 && k + d >= end) break;  // zeros
        T column[kHeight], line[kWidth];
        read<kHeight>(panel_a + d * SlabA::kPitch + top, column);
        read<kWidth>(panel_b + d * SlabB::kPitch + left, line);
        GPU_UNROLLED
        for (int i = 0; i < kHeight; ++i) GPU_UNROLLED
        for (int j = 0; j < kWidth; ++j) sum[i][j] += column[i] * line[j];
      }
    }
    GPU_UNROLLED
    for (int i = 0; i < kHeight; ++i)
      if (row + top + i < p.m) write<kWidth>(p, batch, split, row + top + i, col + left, sum[i]);
  }
}

// The parts of a product that was cut along k, [split, batch, m, n], and the bias.
template <class T> __global__ void __launch_bounds__(kThreads) join_kernel(Product<T> p, const T* parts) {
  const Index count = p.batch * p.m * p.n;
  for (Index i = first_element(); i < count; i += element_step()) {
    T sum = parts[i];
    for (Index s = 1; s < p.splits; ++s) sum += parts[s * count + i];
    const Index rest = i / p.n, col = i - rest * p.n, batch = rest / p.m, row = rest - batch * p.m;
    if (p.bias.data != nullptr)
      sum += p.bias.data[batch * p.bias.batch + row * p.bias.row + col * p.bias.col];
    p.out.data[batch * p.out.batch + row * p.out.row + col * p.out.col] = sum;
  }
}

// Whether groups along a dimension are neighbours, and aligned whatever the others count.
template <class T> bool in_groups(const void* data, Index step, Index other, Index batch) {
  return step == 1 && other % kGroup<T> == 0 && batch % kGroup<T> == 0 &&
         reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

template <class T> Panel<T> panel(const View& v, int outer_dim, int depth_dim) {
  const Index batch = v.strides[0], outer = v.strides[outer_dim], depth = v.strides[depth_dim];
  const bool along_depth = depth == 1 || (outer != 1 && depth < outer);
  return {
      v.as<const T>(), batch,
      outer,           depth,
      along_depth,     in_groups<T>(v.data, along_depth ? depth : outer, along_depth ? outer : depth, batch)};
}

// c^T = b^T a^T, so that a result of few rows becomes one of few columns.
template <class T> void transpose(Product<T>& p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.out.row, p.out.col);
  std::swap(p.bias.row, p.bias.col);
}

template <class T> Product<T> product(const View& a, const View& b, const View* bias, const View& out) {
  Product<T> p{};
  p.batch = out.shape[0], p.m = out.shape[1], p.n = out.shape[2], p.k = a.shape[2];
  p.a = panel<T>(a, 1, 2);
  p.b = panel<T>(b, 2, 1);
  p.out = {out.as<T>(), out.strides[0], 0, out.strides[1], out.strides[2], false};
  if (bias != nullptr) p.bias = {bias->as<const T>(), bias->strides[0], bias->strides[1], bias->strides[2]};
  return p;
}

template <class T, int kRows, int kCols, int kHeight, int kWidth> void run_tiles(Product<T> p) {
  p.tile_rows = (p.m + kRows - 1) / kRows;
  p.tile_cols = (p.n + kCols - 1) / kCols;
  const Index tiles = p.batch * p.tile_rows * p.tile_cols;
  const Index wanted = std::max<Index>(1, std::min(kEnoughTiles / tiles, p.k / kLeastDepth));
  p.split_depth = ((p.k + wanted - 1) / wanted + kDepth<T> - 1) / kDepth<T> * kDepth<T>;
  p.splits = p.k == 0 ? 1 : (p.k + p.split_depth - 1) / p.split_depth;
  const auto start = [](const Product<T>& q) {
    const Index blocks = std::min<Index>(q.tiles(), Index{1} << 30);
    launch(tile_kernel<T, kRows, kCols, kHeight, kWidth>, dim3(static_cast<unsigned>(blocks)), kThreads, 0,
           q);
  };
  if (p.splits == 1) {
    p.out.wide = in_groups<T>(p.out.data, p.out.col, p.out.row, p.out.batch);
    return start(p);
  }
  const Index count = p.batch * p.m * p.n;
  const Scratch parts(static_cast<std::size_t>(p.splits * count) * sizeof(T));
  Product<T> part = p;
  part.bias.data = nullptr;
  part.out = {parts.as<T>(), p.m * p.n, count, p.n, 1, p.n % kGroup<T> == 0};
  start(part);
  launch(join_kernel<T>, blocks_for(count), kThreads, 0, p, parts.as<const T>());
}

template <class T> void run(Product<T> p) {
  if (p.m <= kNarrow && p.n > p.m) transpose(p);
  if (p.n <= kNarrow) return run_tiles<T, 256, kNarrow, 4, 4>(p);
  constexpr int kRows = 512 / static_cast<int>(sizeof(T));
  run_tiles<T, kRows, 64, kRows / 16, 4>(p);
}

// A batch that shares b and lies in memory like one tall matrix is one product.
struct Views {
  View a, b, bias, out;  // no data: no bias
};
Views fold_batch(const View& a, const View& b, const View* bias, const View& out) {
  Views v{a, b, bias != nullptr ? *bias : View{}, out};
  const auto stacks = [&](const View& x) { return x.strides[0] == out.shape[1] * x.strides[1]; };
  if (out.shape[0] == 1 || b.strides[0] != 0 || !stacks(a) || !stacks(out) ||
      (bias != nullptr && !stacks(*bias)))
    return v;
  for (View* x : {&v.a, &v.bias, &v.out})
    if (x->data != nullptr) x->shape = {1, out.shape[0] * out.shape[1], x->shape[2]};
  v.b.shape[0] = 1;
  return v;
}

}  // namespace

void matmul(const View& a, const View& b, const View* bias, const View& out) {
  if (numel(out.shape) == 0) return;
  const Views v = fold_batch(a, b, bias, out);
  const View* const folded_bias = bias != nullptr ? &v.bias : nullptr;
  if (lt_matmul(v.a, v.b, folded_bias, v.out)) return;
  if (a.dtype == DType::f32) return run(product<float>(v.a, v.b, folded_bias, v.out));
  if (a.dtype == DType::f64) return run(product<double>(v.a, v.b, folded_bias, v.out));
  refuse_dtype(kName, "matmul without cublasLt", a.dtype, kF32F64);
}

bool multiplies(DType dtype, std::int64_t, std::int64_t) {
  return dtype == DType::f32 || dtype == DType::f64 || lt_multiplies(dtype);
}

}  // namespace veldt::cuda
