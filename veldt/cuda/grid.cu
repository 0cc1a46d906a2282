// The multiresolution grid. A thread has one level, and of that one feature, or two that are neighbours: the
// threads of a block are the columns of the encoding, for several points, so that what they write lies
// together.
//
// The gradient of the table is summed in whole numbers, which have no order: every float that is added is
// rounded to a multiple of a power of two, and added by 64-bit atomics. The power is chosen for each column
// of g by its largest number, so that not even all points in one entry overflow. With n points an addition is
// then off by less than n 2^-61 times that number (for derivatives: times the largest weight), which for a
// million points is 2^-41 of it; the sums are exact. A column of g with a number that is not finite, or a
// point that is NaN, makes that column of the table, or all, NaN.
#include <cstring>
#include <limits>

#include "veldt/core/grid.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"
#include "veldt/cuda/scratch.h"
#include "veldt/kernels/grid-inl.h"

namespace veldt::cuda {
namespace {

using Index = std::int64_t;

constexpr int kMaxDims = GridLayout::kMaxDims;
constexpr int kNotFinite = std::numeric_limits<int>::max();
constexpr int kLowest = std::numeric_limits<int>::min();
template <class T> constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

struct Level {
  int cells;
  bool hashed;
  std::uint32_t mask;  // of a hash
  std::uint32_t
      step[kMaxDims];  // what a step along an axis adds to a vertex's number, or multiplies into its hash
  Index first, entries;
  int headroom;  // the sum of n weights is below 2^headroom
};

struct Grid {
  Index n;
  int features, columns;
  bool smooth;
  int order[kMaxDims];
  Level level[GridLayout::kMaxLevels];
};

// Of the table: a feature, or two of them as one.
template <class V> struct Unit {
  using Number = V;
  static constexpr int kCount = 1;
  static __device__ V scaled(V weight, V v, V sum) { return sum + weight * v; }
};
template <> struct Unit<float2> {
  using Number = float;
  static constexpr int kCount = 2;
  static __device__ float2 scaled(float weight, float2 v, float2 sum) {
    return {sum.x + weight * v.x, sum.y + weight * v.y};
  }
};

// Calls each(entry, weight) for the vertices of the cell that a point lies in.
template <int D, class T, class Each>
__device__ inline void each_corner(const Grid& grid, const Level& level, const T* x, Each each) {
  std::uint32_t place[D];
  T weight[D][2];
  GPU_UNROLLED
  for (int k = 0; k < D; ++k) {
    const auto axis = scalar::grid_axis(x[k], level.cells, grid.smooth, grid.order[k]);
    place[k] = static_cast<std::uint32_t>(axis.cell) * level.step[k];
    weight[k][0] = axis.low;
    weight[k][1] = axis.high;
  }
  GPU_UNROLLED
  for (int c = 0; c < 1 << D; ++c) {
    std::uint32_t entry = 0;
    T w = 1;
    GPU_UNROLLED
    for (int k = 0; k < D; ++k) {
      const std::uint32_t at = place[k] + ((c >> k & 1) != 0 ? level.step[k] : 0);
      entry = level.hashed ? entry ^ at : entry + at;
      w *= weight[k][c >> k & 1];
    }
    each(level.hashed ? entry & level.mask : entry, w);
  }
}

// What a thread works on: blockDim is (units of a row, points).
template <int kCount> struct Share {
  int column, feature;
  Index point, step;
  __device__ explicit Share(const Grid& grid)
      : column(static_cast<int>(threadIdx.x) * kCount),
        feature(column % grid.features),
        point(Index{blockIdx.x} * blockDim.y + threadIdx.y),
        step(Index{gridDim.x} * blockDim.y) {}
};

template <class V, int D>
__global__ void __launch_bounds__(kThreads)
    encode_kernel(Grid grid, const typename Unit<V>::Number* x, const typename Unit<V>::Number* table,
                  typename Unit<V>::Number* out) {
  using T = typename Unit<V>::Number;
  const Share<Unit<V>::kCount> own(grid);
  const Level level = grid.level[own.column / grid.features];
  const T* const features = table + level.first * grid.features + own.feature;
  for (Index i = own.point; i < grid.n; i += own.step) {
    V sum{};
    each_corner<D>(grid, level, x + i * D, [&](std::uint32_t entry, T weight) {
      const V v = *reinterpret_cast<const V*>(features + Index{entry} * grid.features);
      sum = Unit<V>::scaled(weight, v, sum);
    });
    *reinterpret_cast<V*>(out + i * grid.columns + own.column) = sum;
  }
}

// The exponent of the largest number of each column of g: of a block first, since all would wait for the few
// places in memory.
template <class T>
__global__ void __launch_bounds__(kThreads)
    exponents_kernel(Grid grid, int dims, const T* x, const T* g, int* exponents) {
  GPU_SHARED(int, most, GridLayout::kMaxLevels* GridLayout::kMaxFeatures);
  const Share<1> own(grid);
  if (threadIdx.y == 0) most[own.column] = kLowest;
  __syncthreads();
  T largest = 0;
  bool finite = true, points = true;
  for (Index i = own.point; i < grid.n; i += own.step) {
    const T v = scalar::abs(g[i * grid.columns + own.column]);
    if (v > largest) largest = v;
    finite = finite && v - v == T(0);
    if (own.column == 0)
      for (int k = 0; k < dims; ++k) points = points && x[i * dims + k] == x[i * dims + k];
  }
  if (!finite)
    atomicMax(most + own.column, kNotFinite);
  else if (largest > 0)
    atomicMax(most + own.column, ::ilogb(static_cast<double>(largest)));
  if (!points)
    for (int c = 0; c < grid.columns; ++c) atomicMax(most + c, kNotFinite);
  __syncthreads();
  if (threadIdx.y == 0) atomicMax(exponents + own.column, most[own.column]);
}

// The power of two that the numbers of a column count: 2^62 of it are more than their sum. Kept where it and
// its inverse are doubles.
__device__ inline int unit_exponent(int exponent, const Level& level) {
  const int wanted = (exponent < -900 ? -900 : exponent) + 1 + level.headroom - 62;
  return wanted > 1000 ? 1000 : wanted;
}
__device__ inline double power_of_two(int exponent) {
  const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

// Two blocks: left to itself ptxas aims at so few registers that it spills.
template <int D, class T>
__global__ void __launch_bounds__(kThreads, 2)
    add_kernel(Grid grid, const T* x, const T* g, const int* exponents, unsigned long long* sums) {
  const Share<1> own(grid);
  const Level level = grid.level[own.column / grid.features];
  const int exponent = exponents[own.column];
  if (exponent == kNotFinite) return;
  const double scale = power_of_two(-unit_exponent(exponent, level));
  unsigned long long* const to = sums + level.first * grid.features + own.feature;
  for (Index i = own.point; i < grid.n; i += own.step) {
    const double v = static_cast<double>(g[i * grid.columns + own.column]) * scale;
    if (v == 0) continue;
    each_corner<D>(grid, level, x + i * D, [&](std::uint32_t entry, T weight) {
      const long long rounded = ::llrint(static_cast<double>(weight) * v);
      if (rounded != 0)
        atomicAdd(to + Index{entry} * grid.features, static_cast<unsigned long long>(rounded));
    });
  }
}

// blockIdx.y: the level.
template <class T>
__global__ void __launch_bounds__(kThreads)
    table_kernel(Grid grid, const int* exponents, const unsigned long long* sums, T* table) {
  const Level level = grid.level[blockIdx.y];
  for (int f = 0; f < grid.features; ++f) {
    const int exponent = exponents[static_cast<int>(blockIdx.y) * grid.features + f];
    const double unit = power_of_two(unit_exponent(exponent == kNotFinite ? 0 : exponent, level));
    for (Index i = first_element(); i < level.entries; i += element_step()) {
      const Index at = (level.first + i) * grid.features + f;
      const auto sum = static_cast<double>(static_cast<long long>(sums[at]));
      table[at] = exponent == kNotFinite ? kNan<T> : static_cast<T>(sum * unit);
    }
  }
}

// The logarithm of the largest sum of n weights' sizes, rounded up: they sum to 1, unless differentiated.
int headroom_of(const GridLayout& grid, const GridDerivative& derivative, int l, Index n) {
  double most = static_cast<double>(std::max<Index>(n, 1));
  for (int k = 0; k < grid.dims; ++k) {
    const int order = derivative.order[static_cast<std::size_t>(k)];
    if (order > 0) most *= grid.smooth ? 24 : 2;  // two ends, times at most 12 or 1
    for (int i = 0; i < order && i < 4; ++i) most *= grid.level[static_cast<std::size_t>(l)].cells;
  }
  return static_cast<int>(std::ceil(std::log2(most)));
}

Grid grid_of(const GridLayout& layout, const GridDerivative& derivative, Index n) {
  Grid grid{};
  grid.n = n;
  grid.features = layout.features;
  grid.columns = layout.levels * layout.features;
  grid.smooth = layout.smooth;
  for (int k = 0; k < layout.dims; ++k) grid.order[k] = derivative.order[static_cast<std::size_t>(k)];
  for (int l = 0; l < layout.levels; ++l) {
    const GridLayout::Level& from = layout.level[static_cast<std::size_t>(l)];
    const Index entries = layout.entries_of(l);
    Level& to = grid.level[l];
    to = {from.cells, from.hashed, static_cast<std::uint32_t>(entries) - 1, {},
          from.first, entries,     headroom_of(layout, derivative, l, n)};
    for (int k = 0; k < layout.dims; ++k) to.step[k] = from.step_along(k);
  }
  return grid;
}

// Blocks of threads for each unit of a row, and as many points as there is room for.
struct Threads {
  dim3 blocks, of_block;
};
Threads threads_for(const Grid& grid, int unit) {
  const unsigned units = static_cast<unsigned>(grid.columns / unit);
  const dim3 of_block(units, std::max(1u, kThreads / units));
  const Index wanted = (grid.n + of_block.y - 1) / of_block.y;
  return {dim3(static_cast<unsigned>(std::clamp<Index>(wanted, 1, std::int64_t{16} * multiprocessors()))),
          of_block};
}

// run(the number of axes as a constant)
template <class Run> void with_dims(int dims, Run run) {
  using std::integral_constant;
  if (dims == 1) return run(integral_constant<int, 1>());
  if (dims == 2) return run(integral_constant<int, 2>());
  if (dims == 3) return run(integral_constant<int, 3>());
  run(integral_constant<int, 4>());
}

template <class V, class T>
void encode(const Grid& grid, int dims, const View& x, const View& table, T* out) {
  const Threads threads = threads_for(grid, Unit<V>::kCount);
  with_dims(dims, [&](auto d) {
    launch(encode_kernel<V, decltype(d)::value>, threads.blocks, threads.of_block, 0, grid, x.as<const T>(),
           table.as<const T>(), out);
  });
}

template <class T>
void scatter_into(const Grid& grid, int dims, const View& x, const View& g, Index entries, T* table) {
  const std::size_t bytes = static_cast<std::size_t>(entries * grid.features) * sizeof(unsigned long long);
  const std::size_t exponent_bytes = static_cast<std::size_t>(grid.columns) * sizeof(int);
  const Scratch memory(bytes + exponent_bytes);
  auto* const sums = memory.as<unsigned long long>();
  int* const exponents = memory.as<int>(bytes);
  {
    const Turn turn = take_turn();
    check(cudaMemsetAsync(sums, 0, bytes, compute_stream()), "clear memory on the GPU");
    check(cudaMemsetAsync(exponents, 0x80, exponent_bytes, compute_stream()),  // the lowest
          "clear memory on the GPU");
  }
  const Threads threads = threads_for(grid, 1);
  if (grid.n > 0) {
    launch(exponents_kernel<T>, threads.blocks, threads.of_block, 0, grid, dims, x.as<const T>(),
           g.as<const T>(), exponents);
    with_dims(dims, [&](auto d) {
      launch(add_kernel<decltype(d)::value, T>, threads.blocks, threads.of_block, 0, grid, x.as<const T>(),
             g.as<const T>(), exponents, sums);
    });
  }
  const int levels = grid.columns / grid.features;
  const dim3 blocks(blocks_for(entries).x, static_cast<unsigned>(levels));
  launch(table_kernel<T>, blocks, kThreads, 0, grid, exponents, sums, table);
}

}  // namespace

void grid_encode(const GridLayout& layout, const GridDerivative& derivative, const View& x, const View& table,
                 const View& out) {
  const Grid grid = grid_of(layout, derivative, x.shape[0]);
  if (grid.n == 0) return;
  if (x.dtype == DType::f64) return encode<double>(grid, layout.dims, x, table, out.as<double>());
  const auto address =
      reinterpret_cast<std::uintptr_t>(table.data) | reinterpret_cast<std::uintptr_t>(out.data);
  if (layout.features % 2 == 0 && address % sizeof(float2) == 0)
    return encode<float2>(grid, layout.dims, x, table, out.as<float>());
  encode<float>(grid, layout.dims, x, table, out.as<float>());
}

void grid_scatter(const GridLayout& layout, const GridDerivative& derivative, const View& x, const View& g,
                  const View& table) {
  const Grid grid = grid_of(layout, derivative, x.shape[0]);
  if (x.dtype == DType::f32)
    return scatter_into(grid, layout.dims, x, g, layout.entries(), table.as<float>());
  scatter_into(grid, layout.dims, x, g, layout.entries(), table.as<double>());
}

}  // namespace veldt::cuda
