// Convolutions as matrix products whose second factor is never made: a block computes a tile of the result,
// and gathers what it needs of that factor into shared memory, a panel of a few terms at a time.
//   output:          y [c_out, (n, p)]   = sum over (c, k) of w [c_out, (c, k)]  x [(c, k), (n, p)]
//   input gradient:  x [c_in, (n, i)]    = sum over (o, k) of w [c_in, (o, k)]   y [(o, k), (n, i)]
//   weight gradient: w [c_out, (c, k)]   = sum over (n, p) of y [c_out, (n, p)]  x [(n, p), (c, k)]
// Where the tiles are few and the terms many, the sum is cut, and a second kernel adds the parts in their
// order. How it is cut follows from the sizes alone, so the bits do too.
#include "veldt/core/convolution.h"

#include "veldt/cuda/kernels.h"
#include "veldt/cuda/runtime.h"
#include "veldt/cuda/scratch.h"

namespace veldt::cuda {
namespace {

using Index = std::int64_t;

constexpr Index kEnoughTiles = 256;  // two for every multiprocessor of the devices of today
constexpr Index kLeastTerms = 256;   // of a part, for fewer are not worth a second kernel
constexpr Index kFewRows = 16;       // of the tile for results with few
constexpr int kSide = 4;             // of a thread's own tile

template <class T> constexpr int kTerms = 64 / static_cast<int>(sizeof(T));  // of a panel

struct Problem {
  ConvSizes s;
  Index rows, cols, terms;  // of the product of one group
  Index tile_rows = 1, tile_cols = 1, splits = 1, split_terms = 0;

  __host__ __device__ Index tiles() const { return tile_rows * tile_cols * splits * s.groups; }
};

// What a term, or a column, brings to where the elements of the factors lie. A gathered element is at the sum
// of both: `at` along each dimension, `base` for the example and the channel.
struct Place {
  Index plain;  // in the factor that is not gathered (of a term), or in the result (of a column)
  Index base;
  Index at[3];
};

__device__ inline void set_position(Place& place, Index flat, const Index (&sizes)[3]) {
  place.at[2] = flat % sizes[2];
  flat /= sizes[2];
  place.at[1] = flat % sizes[1];
  place.at[0] = flat / sizes[1];
}

// at = at * scale + shift, dimension by dimension
__device__ inline void transform(Place& place, const Index (&scale)[3], const Index (&shift)[3], int sign) {
  for (int d = 0; d < 3; ++d) place.at[d] = place.at[d] * scale[d] + sign * shift[d];
}

// Example n, output p of `group`, with where its first tap lies in x.
__device__ inline Place output_place(const ConvSizes& s, Index group, Index i) {
  Place place;
  const Index n = i / s.outputs(), p = i - n * s.outputs();
  set_position(place, p, s.out);
  transform(place, s.stride, s.padding, -1);
  place.plain = (n * s.groups + group) * s.c_out * s.outputs() + p;
  place.base = (n * s.groups + group) * s.c_in * s.inputs();
  return place;
}

// Channel c, tap k, as steps in x.
__device__ inline Place tap_place(const ConvSizes& s, Index i) {
  Place place;
  const Index c = i / s.taps();
  set_position(place, i - c * s.taps(), s.kernel);
  for (int d = 0; d < 3; ++d) place.at[d] *= s.dilation[d];
  place.plain = i;
  place.base = c * s.inputs();
  return place;
}

template <ConvPart kPart> __device__ inline Place column(const ConvSizes& s, Index group, Index i) {
  if constexpr (kPart == ConvPart::output) return output_place(s, group, i);
  if constexpr (kPart == ConvPart::weight_gradient) return tap_place(s, i);
  Place place;  // example n, input p; in y it is read at (at - tap) / stride
  const Index n = i / s.inputs(), p = i - n * s.inputs();
  set_position(place, p, s.in);
  for (int d = 0; d < 3; ++d) place.at[d] += s.padding[d];
  place.plain = (n * s.groups + group) * s.c_in * s.inputs() + p;
  place.base = (n * s.groups + group) * s.c_out * s.outputs();
  return place;
}

template <ConvPart kPart> __device__ inline Place term(const ConvSizes& s, Index group, Index i) {
  if constexpr (kPart == ConvPart::output) return tap_place(s, i);
  if constexpr (kPart == ConvPart::weight_gradient) return output_place(s, group, i);
  Place place = tap_place(s, i);  // of output channel o
  const Index o = i / s.taps();
  for (int d = 0; d < 3; ++d) place.at[d] = -place.at[d];
  place.plain = o * s.depth() + i - o * s.taps();
  place.base = o * s.outputs();
  return place;
}

// How far rows of the plain factor lie apart, and those of the result; the places say the rest.
template <ConvPart kPart> __device__ inline Index factor_step(const ConvSizes& s) {
  return kPart == ConvPart::output ? s.depth() : kPart == ConvPart::input_gradient ? s.taps() : s.outputs();
}
template <ConvPart kPart> __device__ inline Index result_step(const ConvSizes& s) {
  return kPart == ConvPart::output ? s.outputs() : kPart == ConvPart::input_gradient ? s.inputs() : s.depth();
}
// Where a group's weights begin; x and y have the group in their places.
__device__ inline Index weights_of(const ConvSizes& s, Index group) { return group * s.c_out * s.depth(); }

// The element of the gathered factor, 0 in the padding (and between what a stride reads).
template <ConvPart kPart, class T>
__device__ inline T gathered(const ConvSizes& s, const T* from, const Place& a, const Place& b) {
  Index flat = 0;
  GPU_UNROLLED
  for (int d = 0; d < 3; ++d) {
    Index at = a.at[d] + b.at[d];
    if constexpr (kPart == ConvPart::input_gradient) {
      if (at < 0 || at > (s.out[d] - 1) * s.stride[d]) return T(0);
      const auto whole = static_cast<std::uint32_t>(at), step = static_cast<std::uint32_t>(s.stride[d]);
      if (whole % step != 0) return T(0);
      flat = flat * s.out[d] + whole / step;
    } else {
      if (at < 0 || at >= s.in[d]) return T(0);
      flat = flat * s.in[d] + at;
    }
  }
  return from[a.base + b.base + flat];
}

// Tiles of kRows x kCols, 4 x 4 of them each thread's.
template <class T, ConvPart kPart, int kRows, int kCols>
__global__ void __launch_bounds__(kThreads, 2)
    tile_kernel(Problem problem, const T* plain, const T* gather, T* out, Index split_step) {
  static_assert(kRows / kSide * (kCols / kSide) == static_cast<int>(kThreads));
  constexpr int kDeep = kTerms<T>, kPitchA = kRows + kSide, kPitchB = kCols + kSide;
  GPU_SHARED(T, shared_a, kDeep * kPitchA);
  GPU_SHARED(T, shared_b, kDeep * kPitchB);
  GPU_SHARED(Place, places, kDeep);
  GPU_SHARED(Place, columns, kCols);
  const ConvSizes& s = problem.s;
  const int thread = static_cast<int>(threadIdx.x);
  const int left = thread % (kCols / kSide) * kSide, top = thread / (kCols / kSide) * kSide;
  for (Index tile = blockIdx.x; tile < problem.tiles(); tile += gridDim.x) {
    Index rest = tile;
    const Index col = rest % problem.tile_cols * kCols;
    rest /= problem.tile_cols;
    const Index row = rest % problem.tile_rows * kRows;
    rest /= problem.tile_rows;
    const Index split = rest % problem.splits, group = rest / problem.splits;
    const Index weights = weights_of(s, group);
    const T* const factor = plain + (kPart == ConvPart::weight_gradient ? 0 : weights);
    for (int i = thread; i < kCols; i += static_cast<int>(kThreads))
      if (col + i < problem.cols) columns[i] = column<kPart>(s, group, col + i);
    T sum[kSide][kSide] = {};
    const Index begin = split * problem.split_terms;
    const Index end =
        begin + problem.split_terms < problem.terms ? begin + problem.split_terms : problem.terms;
    for (Index k = begin; k < end; k += kDeep) {
      const int count = end - k < kDeep ? static_cast<int>(end - k) : kDeep;
      if (thread < count) places[thread] = term<kPart>(s, group, k + thread);
      __syncthreads();  // and nobody reads the last panels any more
      for (int i = thread; i < kDeep * kRows; i += static_cast<int>(kThreads)) {
        const int deep = i % kDeep, r = i / kDeep;
        shared_a[deep * kPitchA + r] = deep < count && row + r < problem.rows
                                           ? factor[(row + r) * factor_step<kPart>(s) + places[deep].plain]
                                           : T(0);
      }
      for (int i = thread; i < kDeep * kCols; i += static_cast<int>(kThreads)) {
        // Neighbouring threads read neighbours in memory.
        constexpr bool kAlongTerms = kPart == ConvPart::weight_gradient;
        const int deep = kAlongTerms ? i % kDeep : i / kCols, c = kAlongTerms ? i / kDeep : i % kCols;
        shared_b[deep * kPitchB + c] = deep < count && col + c < problem.cols
                                           ? gathered<kPart>(s, gather, places[deep], columns[c])
                                           : T(0);
      }
      __syncthreads();
      GPU_UNROLLED
      for (int deep = 0; deep < kDeep; ++deep) {
        T a[kSide], b[kSide];
        GPU_UNROLLED
        for (int i = 0; i < kSide; ++i) {
          a[i] = shared_a[deep * kPitchA + top + i];
          b[i] = shared_b[deep * kPitchB + left + i];
        }
        GPU_UNROLLED
        for (int i = 0; i < kSide; ++i) GPU_UNROLLED
        for (int j = 0; j < kSide; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();  // columns, where there were no terms
    T* const result = out + split * split_step + (kPart == ConvPart::weight_gradient ? weights : 0);
    GPU_UNROLLED
    for (int i = 0; i < kSide; ++i) GPU_UNROLLED
    for (int j = 0; j < kSide; ++j)
      if (row + top + i < problem.rows && col + left + j < problem.cols)
        result[(row + top + i) * result_step<kPart>(s) + columns[left + j].plain] = sum[i][j];
    __syncthreads();  // before the next tile's columns
  }
}

// out[i] = the sum of its parts, and the bias of its channel; each channel has `size` elements. One part may
// be out itself.
template <class T>
__global__ void __launch_bounds__(kThreads) join_kernel(Index count, const T* parts, Index splits,
                                                        const T* bias, Index channels, Index size, T* out) {
  for (Index i = first_element(); i < count; i += element_step()) {
    T sum = parts[i];
    for (Index s = 1; s < splits; ++s) sum += parts[s * count + i];
    if (bias != nullptr) sum += bias[i / size % channels];
    out[i] = sum;
  }
}

template <class T, ConvPart kPart, int kRows, int kCols>
void run_tiles(Problem p, const T* plain, const T* gather, const T* bias, const View& out) {
  p.tile_rows = (p.rows + kRows - 1) / kRows;
  p.tile_cols = (p.cols + kCols - 1) / kCols;
  const Index tiles = p.s.groups * p.tile_rows * p.tile_cols, count = numel(out.shape);
  const Index wanted = std::max<Index>(1, std::min(kEnoughTiles / tiles, p.terms / kLeastTerms));
  p.split_terms = (p.terms + wanted - 1) / wanted;
  p.splits = p.terms == 0 ? 1 : (p.terms + p.split_terms - 1) / p.split_terms;
  const Scratch parts(p.splits > 1 ? static_cast<std::size_t>(p.splits * count) * sizeof(T) : 0);
  T* const to = p.splits > 1 ? parts.as<T>() : out.as<T>();
  launch(tile_kernel<T, kPart, kRows, kCols>,
         dim3(static_cast<unsigned>(std::min<Index>(p.tiles(), Index{1} << 30))), kThreads, 0, p, plain,
         gather, to, count);
  if (p.splits > 1 || bias != nullptr)
    launch(join_kernel<T>, blocks_for(count), kThreads, 0, count, static_cast<const T*>(to), p.splits, bias,
           p.s.groups * p.s.c_out, p.s.outputs(), out.as<T>());
}

template <class T, ConvPart kPart>
void run(const ConvSizes& s, const View& plain, const View& gather, const View* bias, const View& out) {
  Problem p{.s = s, .rows = s.c_out, .cols = s.depth(), .terms = s.batch * s.outputs()};
  if constexpr (kPart == ConvPart::output) std::swap(p.cols, p.terms);
  if constexpr (kPart == ConvPart::input_gradient)
    p.rows = s.c_in, p.cols = s.batch * s.inputs(), p.terms = s.c_out * s.taps();
  const T* const added = bias != nullptr ? bias->as<const T>() : nullptr;
  if (p.rows <= kFewRows)
    return run_tiles<T, kPart, kFewRows, 256>(p, plain.as<const T>(), gather.as<const T>(), added, out);
  run_tiles<T, kPart, 64, 64>(p, plain.as<const T>(), gather.as<const T>(), added, out);
}

template <class T> void run(const ConvLayout& layout, ConvPart part, const ConvViews& v, const View* bias) {
  const ConvSizes s(layout, v);
  switch (part) {
    case ConvPart::output: return run<T, ConvPart::output>(s, v.w, v.x, bias, v.y);
    case ConvPart::input_gradient: return run<T, ConvPart::input_gradient>(s, v.w, v.y, nullptr, v.x);
    case ConvPart::weight_gradient: return run<T, ConvPart::weight_gradient>(s, v.y, v.x, nullptr, v.w);
  }
}

}  // namespace

void convolve(const ConvLayout& layout, ConvPart part, const View& a, const View& b, const View* bias,
              const View& out) {
  if (numel(out.shape) == 0) return;
  if (out.dtype == DType::f32) return run<float>(layout, part, ConvViews(part, a, b, out), bias);
  run<double>(layout, part, ConvViews(part, a, b, out), bias);
}

}  // namespace veldt::cuda
