// A radix sort in three kernels a digit: each warp counts the digits of its part of the keys, one block adds
// up how many go before each warp's, and each warp moves its keys there, in order.
#include "veldt/cuda/radix.h"

#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

using Index = std::int64_t;
using Key = std::uint64_t;

constexpr int kBits = 8, kDigits = 1 << kBits;
constexpr int kWarps = 4;  // of a block that counts or moves
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

// counts[digit][part]
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
    for (int d = p.lane; d < kDigits; d += 32) counts[d * parts + p.index] = own[d];
}

// Each number becomes the sum of those before it. One block, a stretch of numbers for each thread.
__global__ void __launch_bounds__(kThreads) sum_up_kernel(Index* counts, Index count) {
  GPU_SHARED(Index, sums, kThreads);
  const Index stretch = (count + kThreads - 1) / kThreads, begin = threadIdx.x * stretch;
  const Index end = begin + stretch < count ? begin + stretch : count;
  Index sum = 0;
  for (Index i = begin; i < end; ++i) sum += counts[i];
  sums[threadIdx.x] = sum;
  for (unsigned distance = 1; distance < kThreads; distance *= 2) {
    __syncthreads();
    const Index below = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += below;
  }
  Index before = sums[threadIdx.x] - sum;
  for (Index i = begin; i < end; ++i) {
    const Index own = counts[i];
    counts[i] = before;
    before += own;
  }
}

// `positions` null: the keys are still where they were written.
__global__ void __launch_bounds__(32 * kWarps)
    move_kernel(const Key* keys, const Index* positions, Index count, Index part, Index parts, int shift,
                const Index* starts, Key* to_keys, Index* to_positions) {
  GPU_SHARED(Index, next, kWarps * kDigits);
  const Part p = own_part(count, part);
  Index* const own = next + p.warp * kDigits;
  if (p.index < parts)
    for (int d = p.lane; d < kDigits; d += 32) own[d] = starts[d * parts + p.index];
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
      memory_(static_cast<std::size_t>(4 * count + kDigits * parts_) * 8) {}

std::uint64_t* Sorted::keys() const { return memory_.as<Key>() + now_ * count_; }
const std::int64_t* Sorted::positions() const { return memory_.as<Index>() + (2 + now_) * count_; }

void Sorted::sort() {
  Index* const counts = memory_.as<Index>() + 4 * count_;
  const dim3 blocks(static_cast<unsigned>((parts_ + kWarps - 1) / kWarps));
  for (int pass = 0; pass < passes_; ++pass) {
    const int shift = pass * kBits, other = 1 - now_;
    launch(count_kernel, blocks, 32 * kWarps, 0, keys(), count_, part_, parts_, shift, counts);
    launch(sum_up_kernel, 1, kThreads, 0, counts, kDigits * parts_);
    launch(move_kernel, blocks, 32 * kWarps, 0, keys(), pass == 0 ? nullptr : positions(), count_, part_,
           parts_, shift, counts, memory_.as<Key>() + other * count_,
           memory_.as<Index>() + (2 + other) * count_);
    now_ = other;
  }
}

}  // namespace veldt::cuda
