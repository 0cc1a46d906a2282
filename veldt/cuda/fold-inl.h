// Device code of reductions: a thread joins the elements of its lane, then the lanes of a line are joined
// pair by pair. A fold says what is joined:
//   State                          what is known of some elements; the empty state joins to the other one
//   State start() const
//   State of(Element, int64 position) const   of one element, position counted along the line
//   State join(State, State) const
// Tests: tests/cuda/reduce_test.cpp
#pragma once

#include "veldt/cuda/lines.h"

namespace veldt::cuda {

// 16 bytes of elements, loaded at once.
template <class T> struct alignas(16) Pack {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T each[kSize];
};

// This thread's part in a block of lines.
struct Lane {
  int index, count;  // among the lanes of the line
  int step;          // threads from one lane to the next
  int line;          // among the lines of the block
  bool in_warp;      // all lanes of a line belong to one warp

  __device__ explicit Lane(const Lines& l) : count(1 << l.lane_bits) {
    const int thread = static_cast<int>(threadIdx.x), lines = static_cast<int>(kThreads) >> l.lane_bits;
    index = l.rows ? thread & (count - 1) : thread / lines;
    line = l.rows ? thread >> l.lane_bits : thread & (lines - 1);
    step = l.rows ? 1 : lines;
    in_warp = l.rows && l.lane_bits <= 5;
  }
  __device__ void wait() const {
    if (in_warp)
      __syncwarp();
    else
      __syncthreads();
  }
};

// Elements begin..end of a line that this lane has: every count-th, packs first, in four states at a time.
template <class Fold, class Element>
__device__ typename Fold::State fold_lane(const Fold& fold, const Lines& l, const Lane& lane,
                                          const Element* line, std::int64_t begin, std::int64_t end) {
  typename Fold::State states[4] = {fold.start(), fold.start(), fold.start(), fold.start()};
  if constexpr (sizeof(Element) <= 8)
    if (l.packed) {
      constexpr int kSize = Pack<Element>::kSize;
      const auto* const packs = reinterpret_cast<const Pack<Element>*>(line + begin);
      const std::int64_t whole = (end - begin) / kSize;
      for (std::int64_t p = lane.index; p < whole; p += lane.count) {
        const Pack<Element> pack = packs[p];
        for (int k = 0; k < kSize; ++k)
          states[k % 4] = fold.join(states[k % 4], fold.of(pack.each[k], begin + p * kSize + k));
      }
      begin += whole * kSize;
    }
  std::int64_t r = begin + lane.index;
  if (l.along.rank == 1) {
    const std::int64_t stride = l.along.strides[0][0];
    for (; r + 3 * lane.count < end; r += 4 * lane.count) {
      Element loaded[4];
      for (int k = 0; k < 4; ++k) loaded[k] = line[(r + k * lane.count) * stride];
      for (int k = 0; k < 4; ++k) states[k] = fold.join(states[k], fold.of(loaded[k], r + k * lane.count));
    }
  }
  for (; r < end; r += lane.count) {
    std::int64_t at[1];
    offsets_of(l.along, r, at);
    states[0] = fold.join(states[0], fold.of(line[at[0]], r));
  }
  return fold.join(fold.join(states[0], states[1]), fold.join(states[2], states[3]));
}

// How sums of lanes are joined.
struct Add {
  using State = double;
  __device__ double join(double a, double b) const { return a + b; }
};

// What all lanes of this thread's line make together; `shared` has kThreads states. All threads of the block
// take part.
template <class Fold>
__device__ typename Fold::State join_lanes(const Fold& fold, const Lane& lane, typename Fold::State own,
                                           typename Fold::State* shared) {
  const int thread = static_cast<int>(threadIdx.x);
  shared[thread] = own;
  for (int apart = lane.count / 2; apart > 0; apart /= 2) {
    lane.wait();
    if (lane.index < apart) shared[thread] = fold.join(shared[thread], shared[thread + apart * lane.step]);
  }
  lane.wait();
  const typename Fold::State all = shared[thread - lane.index * lane.step];
  lane.wait();
  return all;
}

// The work of a block: its lines, or pieces of them. Partial results go to partials [chunks, lines] if a line
// is in pieces; else finish(offset in out, state) stores the result.
template <class Fold, class Element, class Finish>
__device__ void fold_lines(const Fold& fold, const Lines& l, const Element* x, typename Fold::State* partials,
                           typename Fold::State* shared, const Finish& finish) {
  const Lane lane(l);
  const std::int64_t lines = std::int64_t{kThreads} >> l.lane_bits;
  const std::int64_t items = (l.kept.count + lines - 1) / lines * l.chunks;
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    // Where lines are in pieces, there are few of them.
    const std::int64_t tile =
        l.chunks == 1 ? item : static_cast<unsigned>(item) / static_cast<unsigned>(l.chunks);
    const std::int64_t chunk = item - tile * l.chunks;
    const std::int64_t line = tile * lines + lane.line;
    typename Fold::State state = fold.start();
    std::int64_t at[2] = {0, 0};
    if (line < l.kept.count) {
      offsets_of(l.kept, line, at);
      const std::int64_t begin = chunk * l.chunk;
      const std::int64_t end = begin + l.chunk < l.along.count ? begin + l.chunk : l.along.count;
      state = fold_lane(fold, l, lane, x + at[0], begin, end);
    }
    state = join_lanes(fold, lane, state, shared);
    if (line >= l.kept.count || lane.index != 0) continue;
    if (l.chunks > 1)
      partials[chunk * l.kept.count + line] = state;
    else
      finish(at[1], state);
  }
}

}  // namespace veldt::cuda
