// Turns views into lines along one dimension.
#include "veldt/cuda/lines.h"

#include <algorithm>
#include <bit>

namespace veldt::cuda {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kEnoughBlocks = 512;   // for a large device; below it, lines are cut
constexpr std::int64_t kMostBlocks = 1024;    // that lines are cut for
constexpr std::int64_t kElementsOfLane = 16;  // at least, of a piece
constexpr std::int64_t kFewestChunks = 4;     // less is not worth a second kernel
constexpr std::int64_t kPackBytes = 16;

bool is_packed(const Lines& l, const View& x) {
  const auto size = static_cast<std::int64_t>(size_of(x.dtype));
  bool fits = l.rows && l.along.rank == 1 && l.along.inner(0) == 1 &&
              reinterpret_cast<std::uintptr_t>(x.data) % kPackBytes == 0;
  for (int d = 0; d < l.kept.rank; ++d)
    fits = fits && (l.kept.sizes[d] <= 1 || l.kept.strides[0][d] * size % kPackBytes == 0);
  return fits;
}

// Enough lanes to keep a line's loads together, and no more than it has elements for.
int lane_bits_of(const Lines& l, std::int64_t element_bytes) {
  const auto bits = [](std::int64_t n) -> int {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1) - 1)));
  };
  const std::int64_t length = l.along.count;
  if (l.rows) {
    const std::int64_t at_once = std::max<std::int64_t>(1, kPackBytes / element_bytes);
    if (length > 8 * kWarp * at_once) return kThreadBits;
    return bits(std::clamp<std::int64_t>(length / at_once, 1, kWarp));
  }
  // A warp across the lines, or all of them if they are fewer.
  const int across = bits(std::min(l.kept.count, kWarp));
  return std::min(kThreadBits - across, bits(length));
}

void cut_lines(Lines& l) {
  const std::int64_t tiles = std::max<std::int64_t>(1, l.tiles()), length = l.along.count;
  if (tiles >= kEnoughBlocks) return;
  const std::int64_t wanted = kMostBlocks / tiles, least = kElementsOfLane << l.lane_bits;
  const std::int64_t chunk = std::max(least, (length + wanted - 1) / wanted);
  const std::int64_t whole_packs = (chunk + kPackBytes - 1) / kPackBytes * kPackBytes;
  const std::int64_t chunks = (length + whole_packs - 1) / whole_packs;
  if (chunks < kFewestChunks) return;
  l.chunk = whole_packs;
  l.chunks = chunks;
}

}  // namespace

Lines lines_of(const View& x, const View& out, unsigned along, bool cut) {
  Lines l;
  l.kept = axes_of({&x, &out}, ~along);
  l.along = axes_of({&x, &out}, along);
  const std::int64_t across = l.kept.inner(0);
  l.rows = across == 0 || width_of(l.along.inner(0)) <= width_of(across);
  l.packed = is_packed(l, x);
  l.lane_bits = lane_bits_of(l, static_cast<std::int64_t>(size_of(x.dtype)));
  l.chunk = l.along.count;
  if (cut) cut_lines(l);
  return l;
}

Lines lines_of_partials(const Lines& l) {
  Lines p;
  p.kept = l.kept;
  std::int64_t step = 1;
  for (int d = p.kept.rank - 1; d >= 0; step *= p.kept.sizes[d--]) p.kept.strides[0][d] = step;
  p.along.rank = 1;
  p.along.count = p.along.sizes[0] = l.chunks;
  p.along.strides[0][0] = l.kept.count;
  p.rows = l.kept.count == 1;
  p.lane_bits = lane_bits_of(p, kPackBytes);
  p.chunk = l.chunks;
  return p;
}

}  // namespace veldt::cuda
