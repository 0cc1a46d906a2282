// The stable order of the elements of each line, or the first of it. Segments of a line that fit a block are
// sorted there by a bitonic network (Batcher 1968), whose numbers of position make it stable; then
// neighbouring runs are merged until a line is one, each element counting those of the other run before it.
#include <bit>

#include "veldt/cuda/axes.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/scratch.h"
#include "veldt/kernels/order_key.h"

namespace veldt::cuda {
namespace {

constexpr int kTile = 1024;  // elements of a block

struct Sorting {
  Axes lines;  // of x and out
  std::int64_t length, from_stride, to_stride;
  std::int64_t kept;  // positions of a line that out takes
  DType dtype;
  bool descending;
  std::int64_t segments;  // of a line
  int size;               // of a segment: a power of two

  std::int64_t count() const { return lines.count * length; }
};

// What is sorted, line after line: keys, and where they come from in their line.
struct Pairs {
  std::uint64_t* keys;
  std::int64_t* positions;
};

template <class T> __device__ std::uint64_t key_as(const void* x, std::int64_t at) {
  return order_key(static_cast<const T*>(x)[at]);
}
__device__ std::uint64_t key_of(const Sorting& s, const void* x, std::int64_t at) {
  std::uint64_t key;
  switch (s.dtype) {
    case DType::f32: key = key_as<float>(x, at); break;
    case DType::f64: key = key_as<double>(x, at); break;
    case DType::bf16: key = key_as<scalar::BFloat16>(x, at); break;
    case DType::f16: key = key_as<scalar::Float16>(x, at); break;
    case DType::i64: key = key_as<std::int64_t>(x, at); break;
    case DType::i32: key = key_as<std::int32_t>(x, at); break;
    case DType::i8: key = key_as<std::int8_t>(x, at); break;
    default: key = key_as<std::uint8_t>(x, at);
  }
  return s.descending ? ~key : key;
}

// Sorts every `size` neighbours; a pair is ordered by its key, then by its place.
__device__ void sort_tile(std::uint64_t* keys, int* places, int size) {
  for (int run = 2; run <= size; run *= 2)
    for (int apart = run / 2; apart > 0; apart /= 2) {
      for (int pair = static_cast<int>(threadIdx.x); pair < kTile / 2; pair += static_cast<int>(kThreads)) {
        const int i = (pair & ~(apart - 1)) << 1 | (pair & (apart - 1)), j = i | apart;
        const bool falling = (i & run & (size - 1)) != 0;
        const bool wrong = keys[i] > keys[j] || (keys[i] == keys[j] && places[i] > places[j]);
        if (wrong == falling) continue;
        const std::uint64_t key = keys[i];
        const int place = places[i];
        keys[i] = keys[j];
        places[i] = places[j];
        keys[j] = key;
        places[j] = place;
      }
      __syncthreads();
    }
}

// Where element i of a block comes from, and goes to: position `at` of a line. Not all exist.
struct Spot {
  std::int64_t line, begin, at;  // begin: of the segment
  bool exists;
  __device__ Spot(const Sorting& s, std::int64_t tile, int i) {
    const std::int64_t segment = (tile * kTile + i) / s.size;
    line = segment / s.segments;
    begin = (segment - line * s.segments) * s.size;
    at = begin + (i & (s.size - 1));
    exists = line < s.lines.count && at < s.length;
  }
};

// Sorted segments go to `to`; if a line is one segment, the positions go to `out`.
__global__ void __launch_bounds__(kThreads)
    segment_kernel(Sorting s, std::int64_t tiles, const void* x, Pairs to, std::int64_t* out) {
  GPU_SHARED(std::uint64_t, keys, kTile);
  GPU_SHARED(int, places, kTile);
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for (int i = static_cast<int>(threadIdx.x); i < kTile; i += static_cast<int>(kThreads)) {
      const Spot spot(s, tile, i);
      std::int64_t at[1] = {0};
      if (spot.exists) offsets_of(s.lines, spot.line, at);
      // What is not there comes behind all that is, for its place is behind theirs.
      keys[i] = spot.exists ? key_of(s, x, at[0] + spot.at * s.from_stride) : ~std::uint64_t{0};
      places[i] = i & (s.size - 1);
    }
    __syncthreads();
    sort_tile(keys, places, s.size);
    for (int i = static_cast<int>(threadIdx.x); i < kTile; i += static_cast<int>(kThreads)) {
      const Spot spot(s, tile, i);
      if (!spot.exists) continue;
      std::int64_t at[2];
      offsets_of(s.lines, spot.line, at);
      const std::int64_t e = spot.line * s.length + spot.at;
      if (s.segments > 1) {
        to.keys[e] = keys[i];
        to.positions[e] = spot.begin + places[i];
      } else if (spot.at < s.kept) {
        out[at[1] + spot.at * s.to_stride] = places[i];
      }
    }
    __syncthreads();
  }
}

// How many of the sorted keys begin..end are less than `key`, or `or_equal`.
__device__ std::int64_t count_before(const std::uint64_t* keys, std::int64_t begin, std::int64_t end,
                                     std::uint64_t key, bool or_equal) {
  const std::int64_t first = begin;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (keys[middle] < key || (or_equal && keys[middle] == key))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin - first;
}

// Merges runs of `run` elements two by two. The last merge of a line writes `out`.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(Sorting s, std::int64_t run, Pairs from, Pairs to, std::int64_t* out) {
  const std::int64_t n = s.length;
  for (std::int64_t e = first_element(); e < s.lines.count * n; e += element_step()) {
    const std::int64_t line = e / n, r = e - line * n, base = r / (2 * run) * (2 * run);
    const std::int64_t middle = base + run < n ? base + run : n, end = middle + run < n ? middle + run : n;
    const std::uint64_t* const keys = from.keys + line * n;
    // Equal ones keep their order: the first run's come before the second's.
    const std::int64_t place = r < middle
                                   ? r + count_before(keys, middle, end, keys[r], false)
                                   : r - (middle - base) + count_before(keys, base, middle, keys[r], true);
    if (2 * run < n) {
      to.keys[line * n + place] = keys[r];
      to.positions[line * n + place] = from.positions[e];
    } else if (place < s.kept) {
      std::int64_t at[2];
      offsets_of(s.lines, line, at);
      out[at[1] + place * s.to_stride] = from.positions[e];
    }
  }
}

}  // namespace

void argsort(const View& x, int dim, bool descending, const View& out) {
  if (numel(out.shape) == 0) return;
  Sorting s{axes_of({&x, &out}, ~(1u << dim)),
            x.shape[dim],
            x.strides[dim],
            out.strides[dim],
            out.shape[dim],
            x.dtype,
            descending,
            1,
            1};
  s.size = s.length >= kTile ? kTile : static_cast<int>(std::bit_ceil(static_cast<unsigned>(s.length)));
  s.segments = (s.length + s.size - 1) / s.size;
  const std::int64_t tiles = (s.lines.count * s.segments * s.size + kTile - 1) / kTile, n = s.count();
  const bool merges = s.segments > 1;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(std::int64_t);
  const Scratch memory(merges ? 4 * bytes : 0);
  Pairs from{memory.as<std::uint64_t>(), memory.as<std::int64_t>(bytes)};
  Pairs to{memory.as<std::uint64_t>(2 * bytes), memory.as<std::int64_t>(3 * bytes)};
  auto* const order = out.as<std::int64_t>();
  launch(segment_kernel, blocks_for(tiles * kThreads), kThreads, 0, s, tiles, x.data, from, order);
  for (std::int64_t run = kTile; run < s.length; run *= 2, std::swap(from, to))
    launch(merge_kernel, blocks_for(n), kThreads, 0, s, run, from, to, order);
}

}  // namespace veldt::cuda
