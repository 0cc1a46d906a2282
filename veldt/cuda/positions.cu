// The positions at which a mask holds: how many there are in each piece, where each piece's begin, and the
// positions themselves.
#include "veldt/cuda/block_scan-inl.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/scratch.h"

namespace veldt::cuda {
namespace {

constexpr int kRun = 16;  // neighbours that a thread looks at

struct Sizes {
  int rank;
  std::int64_t of[kMaxRank];
};

// The coordinates of a row-major position.
__device__ inline void write_coordinates(const Sizes& sizes, std::int64_t position, std::int64_t* to) {
  GPU_ROLLED
  for (int d = sizes.rank - 1; d > 0; --d) {
    const std::int64_t rest = position / sizes.of[d];
    to[d] = position - rest * sizes.of[d];
    position = rest;
  }
  to[0] = position;
}

// ends: of the pieces' positions in the list; sizes: of the mask.
__global__ void __launch_bounds__(kThreads)
    positions_kernel(const bool* mask, std::int64_t n, std::int64_t chunk, const std::int64_t* ends,
                     std::int64_t* out, const __grid_constant__ Sizes sizes, std::int64_t most) {
  GPU_SHARED(int, shared, kWarps);
  for (std::int64_t piece = blockIdx.x; piece * chunk < n; piece += gridDim.x) {
    const std::int64_t end = piece * chunk + chunk < n ? piece * chunk + chunk : n;
    std::int64_t before = piece > 0 ? ends[piece - 1] : 0;
    for (std::int64_t first = piece * chunk; first < end && before < most; first += kRun * kThreads) {
      const std::int64_t begin = first + threadIdx.x * kRun;
      unsigned holds = 0;
      for (int k = 0; k < kRun; ++k)
        if (begin + k < end && mask[begin + k]) holds |= 1u << k;
      int total;
      std::int64_t to = before + scan_block(__popc(holds), shared, &total) - __popc(holds);
      for (int k = 0; k < kRun; ++k)
        if ((holds >> k & 1u) != 0 && to < most) write_coordinates(sizes, begin + k, out + to++ * sizes.rank);
      before += total;
    }
  }
}

}  // namespace

void positions(const View& mask, const View& out) {
  constexpr std::int64_t kPiece = kRun * std::int64_t{kThreads}, kMostPieces = 512;
  const std::int64_t n = numel(mask.shape), most = out.shape[0];
  if (n == 0 || most == 0) return;
  const std::int64_t tiles = (n + kPiece - 1) / kPiece;
  const std::int64_t chunk = (tiles + kMostPieces - 1) / kMostPieces * kPiece;
  const std::int64_t whole = n / chunk, pieces = (n + chunk - 1) / chunk, rest = n - whole * chunk;
  const Scratch memory(static_cast<std::size_t>(pieces) * sizeof(std::int64_t));
  auto* const ends = memory.as<std::int64_t>();
  if (whole > 0)
    reduce(ReduceOp::sum, {mask.data, DType::u8, {whole, chunk}, {chunk, 1}},
           {ends, DType::i64, {whole, 1}, {1, 1}});
  if (rest > 0)
    reduce(ReduceOp::sum, {mask.as<bool>() + whole * chunk, DType::u8, {rest}, {1}},
           {ends + whole, DType::i64, {1}, {1}});
  const View list{ends, DType::i64, {pieces}, {1}};
  recurrence(ReduceOp::sum, list, nullptr, 0, false, list);
  Sizes sizes{mask.shape.rank(), {}};
  for (int d = 0; d < sizes.rank; ++d) sizes.of[d] = mask.shape[d];
  launch(positions_kernel, blocks_for(pieces * kThreads), kThreads, 0, mask.as<const bool>(), n, chunk, ends,
         out.as<std::int64_t>(), sizes, most);
}

}  // namespace veldt::cuda
