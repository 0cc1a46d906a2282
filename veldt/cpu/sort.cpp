// The stable order of the elements of each line, or the first ones of it. Elements become whole numbers in
// the same order (kernels/order_key.h), which are sorted by their bytes from the lowest on (radix sort,
// Knuth, Sorting and Searching, 1973), with their positions behind them: so no two are equal, and any method
// gives the stable order.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"
#include "veldt/cpu/room.h"
#include "veldt/kernels/order_key.h"

namespace veldt::cpu {
namespace {

constexpr int kDigits = 256;
constexpr std::int64_t kShort = 192;      // elements that are sorted sooner by comparing them
constexpr std::int64_t kPiece = 1 << 16;  // elements of which a thread takes a share
constexpr std::int64_t kMostPieces = 32;

// A key of up to 32 bits above the position in its line.
struct Packed {
  std::uint64_t bits;
  Packed() = default;
  Packed(std::uint64_t key, std::int64_t at) : bits(key << 32 | static_cast<std::uint64_t>(at)) {}
  std::int64_t position() const { return static_cast<std::int64_t>(bits & 0xffffffffu); }
  unsigned digit(int byte) const { return static_cast<unsigned>(bits >> (32 + 8 * byte)) % kDigits; }
  friend bool operator<(Packed a, Packed b) { return a.bits < b.bits; }
};

struct Wide {
  std::uint64_t key;
  std::int64_t at;
  Wide() = default;
  Wide(std::uint64_t k, std::int64_t i) : key(k), at(i) {}
  std::int64_t position() const { return at; }
  unsigned digit(int byte) const { return static_cast<unsigned>(key >> 8 * byte) % kDigits; }
  friend bool operator<(const Wide& a, const Wide& b) {
    return a.key < b.key || (a.key == b.key && a.at < b.at);
  }
};

// A line of x: item(i) is its element i.
template <class T, class Item> struct Line {
  const T* from;
  std::int64_t stride;
  std::uint64_t flip;  // of the keys' bits: all if the order falls

  Item item(std::int64_t i) const {
    constexpr auto kBits = std::numeric_limits<std::uint64_t>::max() >> (64 - 8 * sizeof(T));
    return {(order_key(from[i * stride]) ^ flip) & kBits, i};
  }
};

// Moves the items into `to` in the order of one of their bytes, equal ones in the order they have; false if
// that is how they are. Each piece counts its digits, then moves its items behind those of the pieces before
// it, so how the line is cut leaves no trace.
template <class Item> bool sort_by(const Item* from, Item* to, std::int64_t n, int byte) {
  using Counts = std::array<std::int64_t, kDigits>;
  std::array<Counts, kMostPieces> counts;
  const std::int64_t grain = std::max(even_grain(n, n, 1), std::max(kPiece, n / (kMostPieces - 1)));
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    Counts& own = counts[static_cast<std::size_t>(begin / grain)];
    own.fill(0);
    for (std::int64_t i = begin; i < end; ++i) ++own[from[i].digit(byte)];
  });
  const auto pieces = static_cast<std::size_t>((n + grain - 1) / grain);
  std::int64_t before = 0;
  for (std::size_t digit = 0; digit < kDigits; ++digit) {
    const std::int64_t start = before;
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::int64_t count = counts[p][digit];
      counts[p][digit] = before;
      before += count;
    }
    if (before - start == n) return false;
  }
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    Counts& next = counts[static_cast<std::size_t>(begin / grain)];
    for (std::int64_t i = begin; i < end; ++i) to[next[from[i].digit(byte)]++] = from[i];
  });
  return true;
}

// Sorts n items by keys of `bytes` bytes, whose positions rise; `other` has room for as many. Returns where
// they end up.
template <class Item> const Item* sort_items(Item* items, Item* other, std::int64_t n, int bytes) {
  if (n <= kShort) {
    std::sort(items, items + n);
    return items;
  }
  for (int byte = 0; byte < bytes; ++byte)
    if (sort_by(items, other, n, byte)) std::swap(items, other);
  return items;
}

// The k smallest of a line, in no order: those below the largest of the k smallest so far wait in the room
// behind them, until it is full and they are parted again.
template <class T, class Item>
void select(const Line<T, Item>& line, std::int64_t n, std::int64_t k, Item* room, std::int64_t size) {
  std::int64_t held = std::min(n, size);
  for (std::int64_t i = 0; i < held; ++i) room[i] = line.item(i);
  const auto part = [&] {
    std::nth_element(room, room + k - 1, room + held);
    held = k;
    return room[k - 1];
  };
  Item bound = part();
  for (std::int64_t i = std::min(n, size); i < n; ++i) {
    const Item item = line.item(i);
    if (!(item < bound)) continue;
    room[held++] = item;
    if (held == size) bound = part();
  }
  part();
}

template <class T, class Item>
void order_line(const Line<T, Item>& line, std::int64_t n, std::int64_t* to, std::int64_t stride,
                std::int64_t k) {
  thread_local Room<Item> room;
  const bool selects = n > kShort && k < n / 16;
  const std::int64_t size = selects ? std::min(n, 2 * k + kShort) : n;
  Item* const items = room.of(2 * size, "sorting");
  const Item* sorted = items;
  if (selects) {
    select(line, n, k, items, size);
    // Their positions do not rise, so bytes of their keys alone would not keep the order of equal ones.
    std::sort(items, items + k);
  } else {
    for (std::int64_t i = 0; i < n; ++i) items[i] = line.item(i);
    sorted = sort_items(items, items + size, n, sizeof(T));
  }
  for (std::int64_t i = 0; i < k; ++i) to[i * stride] = sorted[i].position();
}

template <class T, class Item> void order_lines(const View& x, int dim, bool descending, const View& out) {
  const std::uint64_t flip = descending ? ~std::uint64_t{0} : 0;
  for_each_line<2>({&x, &out}, dim, [&](const std::array<std::int64_t, 2>& at) {
    const Line<T, Item> line{x.as<const T>() + at[0], x.strides[dim], flip};
    order_line(line, x.shape[dim], out.as<std::int64_t>() + at[1], out.strides[dim], out.shape[dim]);
  });
}

}  // namespace

void argsort(const View& x, int dim, bool descending, const View& out, Stream) {
  if (numel(out.shape) == 0) return;
  const bool packs = x.shape[dim] <= std::int64_t{1} << 32;
  scalar::with_type(x.dtype, [&](auto type) {
    using T = std::conditional_t<std::is_same_v<decltype(type), bool>, std::uint8_t, decltype(type)>;
    if constexpr (sizeof(T) <= 4)
      if (packs) return order_lines<T, Packed>(x, dim, descending, out);
    order_lines<T, Wide>(x, dim, descending, out);
  });
}

}  // namespace veldt::cpu
