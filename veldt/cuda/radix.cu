// A radix sort in three kernels a digit: each warp counts the digits of its part of the keys, blocks add up
// for a few digits each how many go before each warp's, and each warp moves its keys there, in order.
#include "veldt/cuda/radix.h"

#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

using Index = std::int64_t;
using Key = std::uint64_t;

constexpr int kBits = 8, kDigits = 1 << kBits;
constexpr int kColumns = 8;  // digits of a block that adds up
constexpr int kWarps = 4;    // of a block that counts or moves
constexpr Index kMostParts = 1024;
constexpr Index kLeastPart = 256;

struct Part {
  int lane, warp;
  Index index, begin, end;
};
__device__ inline Part own_part(Index count, Index part) {
  Part p;
  p.lane = static_cast<int>(threadIdx.x) % 32;
  p.warp = static_cast<int>(threadIdx.x) / 32;
  p.index = Index{blockIdx.x} * kWarps + p.warp;
  p.begin = p.index * part;
  p.end = p.begin + part < count ? p.begin + part : count;
  return p;
}
__device__ inline unsigned digit_of(Key key, int shift) {
  return static_cast<unsigned>(key >> shift) % kDigits;
}

// counts[part][digit]
__global__ void __launch_bounds__(32 * kWarps)
    count_kernel(const Key* keys, Index count, Index part, Index parts, int shift, Index* counts) {
  GPU_SHARED(unsigned, counters, kWarps* kDigits);
  const Part p = own_part(count, part);
  unsigned* const own = counters + p.warp * kDigits;
  for (int d = p.lane; d < kDigits; d += 32) own[d] = 0;
  __syncwarp();
  for (Index i = p.begin + p.lane; i < p.end; i += 32) atomicAdd(own + digit_of(keys[i], shift), 1u);
  __syncwarp();
  if (p.index < parts)
    for (int d = p.lane; d < kDigits; d += 32) counts[p.index * kDigits + d] = own[d];
}

// Each count becomes how many parts before it have of its digit; after them, in a row of their own, how many
// all have. A block has kColumns digits, a thread a stretch of the parts.
__global__ void __launch_bounds__(kThreads) sum_up_kernel(Index* counts, Index parts) {
  GPU_SHARED(Index, sums, kThreads);
  constexpr int kStretches = static_cast<int>(kThreads) / kColumns;
  const int column = static_cast<int>(threadIdx.x) % kColumns, own = static_cast<int>(threadIdx.x) / kColumns;
  Index* const from = counts + blockIdx.x * kColumns + column;
  const Index stretch = (parts + kStretches - 1) / kStretches, begin = own * stretch;
  const Index end = begin + stretch < parts ? begin + stretch : parts;
  Index sum = 0;
  for (Index i = begin; i < end; ++i) sum += from[i * kDigits];
  sums[threadIdx.x] = sum;
  __syncthreads();
  Index before = 0, all = 0;
  for (int s = 0; s < kStretches; ++s) {
    if (s == own) before = all;
    all += sums[s * kColumns + column];
  }
  for (Index i = begin; i < end; ++i) {
    const Index count = from[i * kDigits];
    from[i * kDigits] = before;
    before += count;
  }
  if (own == 0) from[parts * kDigits] = all;
}

// `positions` null: the keys are still where they were written.
__global__ void __launch_bounds__(32 * kWarps)
    move_kernel(const Key* keys, const Index* positions, Index count, Index part, Index parts, int shift,
                const Index* starts, Key* to_keys, Index* to_positions) {
  GPU_SHARED(Index, next, kWarps * kDigits);
  const Part p = own_part(count, part);
  Index* const own = next + p.warp * kDigits;
  // Where a digit begins: behind all smaller ones, of which the lanes take turns, and its own of parts
  // before.
  Index before_all = 0;
  for (int d = parts > p.index ? p.lane : kDigits; d < kDigits; d += 32) {
    const Index all = starts[parts * kDigits + d];
    Index up_to = all;
    for (int apart = 1; apart < 32; apart *= 2) {
      const Index below = __shfl_up_sync(gpu::kWholeWarp, up_to, static_cast<unsigned>(apart));
      if (p.lane >= apart) up_to += below;
    }
    own[d] = before_all + up_to - all + starts[p.index * kDigits + d];
    before_all += __shfl_sync(gpu::kWholeWarp, up_to, 31);
  }
  __syncwarp();
  for (Index first = p.begin; first < p.end; first += 32) {
    const Index i = first + p.lane;
    const bool there = i < p.end;
    const Key key = there ? keys[i] : 0;
    const unsigned digit = there ? digit_of(key, shift) : kDigits;
    const unsigned same = __match_any_sync(gpu::kWholeWarp, digit);
    const int before = __popc(same & ((1u << p.lane) - 1));
    const Index to = there ? own[digit] + before : 0;
    __syncwarp();
    if (there && before == 0) own[digit] += __popc(same);
    __syncwarp();
    if (!there) continue;
    to_keys[to] = key;
    to_positions[to] = positions != nullptr ? positions[i] : i;
  }
}

int passes_for(Key largest) {
  int passes = 1;  // also where all are the same: it writes the positions
  while (passes * kBits < 64 && largest >> (passes * kBits) != 0) ++passes;
  return passes;
}
Index part_for(Index count) {
  const Index parts = std::clamp<Index>(count / kLeastPart, 1, kMostParts);
  return ((count + parts - 1) / parts + 31) / 32 * 32;
}

}  // namespace

// The memory: keys twice, positions twice, the counts.
Sorted::Sorted(std::int64_t count, std::uint64_t largest)
    : count_(count),
      passes_(passes_for(largest)),
      part_(part_for(count)),
      parts_((count + part_ - 1) / part_),
      memory_(static_cast<std::size_t>(4 * count + kDigits * (parts_ + 1)) * 8) {}

std::uint64_t* Sorted::keys() const { return memory_.as<Key>() + now_ * count_; }
const std::int64_t* Sorted::positions() const { return memory_.as<Index>() + (2 + now_) * count_; }

void Sorted::sort() {
  Index* const counts = memory_.as<Index>() + 4 * count_;
  const dim3 blocks(static_cast<unsigned>((parts_ + kWarps - 1) / kWarps));
  for (int pass = 0; pass < passes_; ++pass) {
    const int shift = pass * kBits, other = 1 - now_;
    launch(count_kernel, blocks, 32 * kWarps, 0, keys(), count_, part_, parts_, shift, counts);
    launch(sum_up_kernel, kDigits / kColumns, kThreads, 0, counts, parts_);
    launch(move_kernel, blocks, 32 * kWarps, 0, keys(), pass == 0 ? nullptr : positions(), count_, part_,
           parts_, shift, counts, memory_.as<Key>() + other * count_,
           memory_.as<Index>() + (2 + other) * count_);
    now_ = other;
  }
}

}  // namespace veldt::cuda
