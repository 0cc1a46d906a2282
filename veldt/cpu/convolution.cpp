// Convolutions: oneDNN's where possible, else Veldt's own. Those are matrix products with panels of x: row
// (c, k) of one, column p, is the element of channel c that output p multiplies by tap k. A panel is built
// for a block of rows and columns at a time, so that it stays in the cache and memory is bounded.
#include "veldt/core/convolution.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/onednn.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/winograd.h"

namespace veldt::cpu {
namespace {

using Index = std::int64_t;

constexpr Index kRows = 1024;          // of a panel, at most
constexpr Index kPanel = 128 << 10;    // elements of a panel: half a megabyte of floats
constexpr Index kGrain = 1 << 16;      // multiplications that are worth a thread
constexpr Index kParts = 16;           // sums of a weight's gradient that are computed in parallel ..
constexpr Index kPartsRoom = 4 << 20;  // .. and the elements they may take

struct Range {
  Index begin, end;
  Index size() const { return end - begin; }
};

// Piece i of 0..n, cut into pieces of `size`.
Range piece(Index i, Index size, Index n) { return {i * size, std::min(n, (i + 1) * size)}; }
Index pieces(Index n, Index size) { return (n + size - 1) / size; }

// Calls each(row, column, count, from) for stretches of a panel's rows: from is the offset of the first of
// `count` elements from the group's first channel, the others follow stride[2] apart; -1 for zeros.
template <class Each> void for_each_stretch(const ConvSizes& s, Range rows, Range cols, const Each& each) {
  for (Index r = rows.begin; r < rows.end; ++r) {
    const Index channel = r / s.taps(), tap = r % s.taps();
    const Index k[3] = {tap / s.kernel[2] / s.kernel[1], tap / s.kernel[2] % s.kernel[1], tap % s.kernel[2]};
    for (Index p = cols.begin, count; p < cols.end; p += count) {
      const Index line = p / s.out[2], first = p % s.out[2];
      count = std::min(s.out[2] - first, cols.end - p);
      const Index o[3] = {line / s.out[1], line % s.out[1], first};
      Index i[3];
      for (int d = 0; d < 3; ++d) i[d] = o[d] * s.stride[d] - s.padding[d] + k[d] * s.dilation[d];
      if (i[0] < 0 || i[0] >= s.in[0] || i[1] < 0 || i[1] >= s.in[1]) {
        each(r, p, count, Index{-1});
        continue;
      }
      // Elements low .. high of the stretch are within x.
      const Index low = i[2] < 0 ? std::min(count, pieces(-i[2], s.stride[2])) : 0;
      const Index high = i[2] >= s.in[2] ? low : std::min(count, pieces(s.in[2] - i[2], s.stride[2]));
      const Index from = ((channel * s.in[0] + i[0]) * s.in[1] + i[1]) * s.in[2] + i[2];
      if (low > 0) each(r, p, low, Index{-1});
      if (high > low) each(r, p + low, high - low, from + low * s.stride[2]);
      if (count > std::max(low, high))
        each(r, p + std::max(low, high), count - std::max(low, high), Index{-1});
    }
  }
}

template <class T>
void multiply(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool add) {
  if (!gemm_skinny(m, n, k, a, b, c, add)) gemm(m, n, k, a, b, c, add);
}

template <class T> T* room(Index count) {
  thread_local Room<T> held;
  return held.of(count, "a convolution");
}

template <class T> class Convolution {
 public:
  Convolution(const ConvSizes& s, const ConvViews& v, const View* bias)
      : s_(s),
        x_(v.x.as<T>()),
        w_(v.w.as<T>()),
        bias_(bias ? bias->as<const T>() : nullptr),
        y_(v.y.as<T>()),
        panels_are_x_(s.taps() == 1 && s.outputs() == s.inputs() &&
                      std::all_of(s.stride, s.stride + 3, [](Index n) { return n == 1; }) &&
                      std::all_of(s.padding, s.padding + 3, [](Index n) { return n == 0; })),
        rows_(std::min(kRows, std::max<Index>(1, s.depth()))),
        cols_(std::min(std::max<Index>(1, s.outputs()), kPanel / rows_)) {}

  void output() const {
    const Index blocks = pieces(s_.outputs(), cols_);
    for_each_task(s_.batch * s_.groups * blocks, [&](Index task) {
      const Index member = task / blocks;  // the group of an example
      const Range cols = piece(task % blocks, cols_, s_.outputs());
      const Matrix<T> y = y_of(member, cols);
      for (Index o = 0; o < s_.c_out; ++o)
        std::fill_n(&y.at(o, 0), cols.size(), bias_ ? bias_[member % s_.groups * s_.c_out + o] : T(0));
      for (Index i = 0; i < pieces(s_.depth(), rows_); ++i) {
        const Range rows = piece(i, rows_, s_.depth());
        multiply<T>(s_.c_out, cols.size(), rows.size(), constant(w_of(member, rows)),
                    panel(member, rows, cols), y, true);
      }
    });
  }

  void input_gradient() const {
    // A task has its own channels, because it adds to them.
    const Index channels = std::max<Index>(1, kRows / s_.taps()), blocks = pieces(s_.c_in, channels);
    for_each_task(s_.batch * s_.groups * blocks, [&](Index task) {
      const Index member = task / blocks;
      const Range mine = piece(task % blocks, channels, s_.c_in);
      T* const x = x_of(member);
      std::fill_n(x + mine.begin * s_.inputs(), mine.size() * s_.inputs(), T(0));
      const Range all = {mine.begin * s_.taps(), mine.end * s_.taps()};
      for (Index r = all.begin; r < all.end; r += rows_)
        for (Index p = 0; p < s_.outputs(); p += cols_)
          add_to_x(x, member, {r, std::min(all.end, r + rows_)}, {p, std::min(s_.outputs(), p + cols_)});
    });
  }

  void weight_gradient() const {
    const Index size = s_.groups * s_.c_out * s_.depth(), blocks = pieces(s_.outputs(), cols_);
    const Index terms = s_.batch * blocks, row_blocks = pieces(s_.depth(), rows_);
    const Index parts = std::clamp<Index>(std::min(terms, kPartsRoom / size), 1, kParts);
    std::vector<T> sums(static_cast<std::size_t>(parts > 1 ? parts * size : 0));
    for_each_task(s_.groups * row_blocks * parts, [&](Index task) {
      const Index part = task % parts, group = task / parts / row_blocks;
      const Range rows = piece(task / parts % row_blocks, rows_, s_.depth());
      T* const base = parts > 1 ? sums.data() + part * size : w_;
      const Matrix<T> sum = {base + group * s_.c_out * s_.depth() + rows.begin, s_.depth(), 1};
      for (Index o = 0; o < s_.c_out; ++o) std::fill_n(&sum.at(o, 0), rows.size(), T(0));
      for (Index term = terms * part / parts; term < terms * (part + 1) / parts; ++term) {
        const Index member = term / blocks * s_.groups + group;
        const Range cols = piece(term % blocks, cols_, s_.outputs());
        multiply<T>(s_.c_out, rows.size(), cols.size(), constant(y_of(member, cols)),
                    panel(member, rows, cols).transposed(), sum, true);
      }
    });
    if (parts == 1) return;
    parallel_for(size, kRows, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        T total = 0;
        for (Index part = 0; part < parts; ++part) total += sums[static_cast<std::size_t>(part * size + i)];
        w_[i] = total;
      }
    });
  }

 private:
  // Distributes equal tasks over the threads, several at a time if they are small.
  template <class Each> void for_each_task(Index tasks, const Each& each) const {
    const double work = s_.flops() / 2 / static_cast<double>(tasks);
    parallel_for(tasks, static_cast<Index>(kGrain / std::max(1.0, work)) + 1, [&](Index begin, Index end) {
      for (Index task = begin; task < end; ++task) each(task);
    });
  }

  static Matrix<const T> constant(Matrix<T> m) { return {m.data, m.row, m.col}; }

  // The parts of a group of an example: its channels of x, its columns of y [c_out, outputs], and its rows of
  // w [c_out, depth].
  T* x_of(Index member) const { return x_ + member * s_.c_in * s_.inputs(); }
  Matrix<T> y_of(Index member, Range cols) const {
    return {y_ + member * s_.c_out * s_.outputs() + cols.begin, s_.outputs(), 1};
  }
  Matrix<T> w_of(Index member, Range rows) const {
    return {w_ + member % s_.groups * s_.c_out * s_.depth() + rows.begin, s_.depth(), 1};
  }

  Matrix<const T> panel(Index member, Range rows, Range cols) const {
    const T* const x = x_of(member);
    if (panels_are_x_) return {x + rows.begin * s_.inputs() + cols.begin, s_.inputs(), 1};
    T* const to = room<T>(rows.size() * cols.size());
    for_each_stretch(s_, rows, cols, [&](Index row, Index col, Index count, Index from) {
      T* const out = to + (row - rows.begin) * cols.size() + col - cols.begin;
      if (from < 0)
        std::fill_n(out, count, T(0));
      else if (s_.stride[2] == 1)
        std::copy_n(x + from, count, out);
      else
        for (Index i = 0; i < count; ++i) out[i] = x[from + i * s_.stride[2]];
    });
    return {to, cols.size(), 1};
  }

  void add_to_x(T* x, Index member, Range rows, Range cols) const {
    const Matrix<const T> w = constant(w_of(member, rows)).transposed(), y = constant(y_of(member, cols));
    if (panels_are_x_)
      return multiply<T>(rows.size(), cols.size(), s_.c_out, w, y,
                         {x + rows.begin * s_.inputs() + cols.begin, s_.inputs(), 1}, true);
    T* const panel = room<T>(rows.size() * cols.size());
    multiply<T>(rows.size(), cols.size(), s_.c_out, w, y, {panel, cols.size(), 1}, false);
    for_each_stretch(s_, rows, cols, [&](Index row, Index col, Index count, Index from) {
      const T* const in = panel + (row - rows.begin) * cols.size() + col - cols.begin;
      for (Index i = 0; from >= 0 && i < count; ++i) x[from + i * s_.stride[2]] += in[i];
    });
  }

  ConvSizes s_;
  T* x_;
  T* w_;
  const T* bias_;
  T* y_;
  bool panels_are_x_;  // 1x1: x itself is the panel
  Index rows_, cols_;  // of a panel
};

template <class T>
void run(const ConvLayout& layout, ConvPart part, const ConvViews& views, const View* bias) {
  const ConvSizes sizes(layout, views);
  if constexpr (sizeof(T) == sizeof(float)) {
    T *const x = views.x.as<T>(), *const w = views.w.as<T>(), *const y = views.y.as<T>();
    const T* const added = bias ? bias->as<const T>() : nullptr;
    if (layout.coarse && winograd_convolve(sizes, part, x, w, added, y)) return;
    if (onednn_convolve(sizes, part, x, w, added, y)) return;
  }
  const Convolution<T> convolution(sizes, views, bias);
  switch (part) {
    case ConvPart::output: return convolution.output();
    case ConvPart::input_gradient: return convolution.input_gradient();
    case ConvPart::weight_gradient: return convolution.weight_gradient();
  }
}

}  // namespace

void convolve(const ConvLayout& layout, ConvPart part, const View& a, const View& b, const View* bias,
              const View& out) {
  if (numel(out.shape) == 0) return;
  if (out.dtype == DType::f32) return run<float>(layout, part, ConvViews(part, a, b, out), bias);
  run<double>(layout, part, ConvViews(part, a, b, out), bias);
}

}  // namespace veldt::cpu
