// The stable order of the elements of each line, or the first ones of it. Elements become integers in the
// same order (kernels/order_key.h), which are partitioned by their highest digits until few are left in each
// part (radix sort, Knuth, Sorting and Searching, 1973), with their positions as lower digits: so no two are
// equal, and any method gives the stable order.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"
#include "veldt/cpu/room.h"
#include "veldt/cpu/topk_filter.h"
#include "veldt/kernels/order_key.h"

namespace veldt::cpu {
namespace {

constexpr int kMostBits = 11;         // bits of a digit: a cache line for each part should fit into the cache
constexpr int kBitsBeyond = 8;        // the same where the parts lie in as many pages
constexpr std::int64_t kFew = 16;     // elements that are sorted faster by comparing them
constexpr std::int64_t kShort = 192;  // a line whose first ones are not looked for without the others
constexpr std::int64_t kSpare = 32;   // space for candidates of the first ones
constexpr std::int64_t kPiece = 1 << 16;  // elements from which threads split the work
constexpr std::int64_t kMostPieces = 32;
constexpr std::int64_t kMostPacked = std::int64_t{1} << 32;  // elements whose positions fit into 32 bits

// A key of up to 32 bits above the position in its line.
struct Packed {
  std::uint64_t bits;
  Packed() = default;
  Packed(std::uint64_t key, std::int64_t at) : bits(key << 32 | static_cast<std::uint64_t>(at)) {}
  std::int64_t position() const { return static_cast<std::int64_t>(bits & 0xffffffffu); }
  std::uint64_t key() const { return bits >> 32; }
  friend bool operator<(Packed a, Packed b) { return a.bits < b.bits; }
};

struct Wide {
  std::uint64_t bits;
  std::int64_t at;
  Wide() = default;
  Wide(std::uint64_t key, std::int64_t i) : bits(key), at(i) {}
  std::int64_t position() const { return at; }
  std::uint64_t key() const { return bits; }
  friend bool operator<(const Wide& a, const Wide& b) {
    return a.bits < b.bits || (a.bits == b.bits && a.at < b.at);
  }
};

// A line of x: item(i) is its element i.
template <class T, class Item> struct Line {
  const T* from;
  std::int64_t stride;
  std::uint64_t flip;  // of the keys' bits: all if the order falls
  TopkFilter filter;   // null unless the elements are neighbours

  std::uint64_t key(std::int64_t i) const {
    constexpr auto kBits = std::numeric_limits<std::uint64_t>::max() >> (64 - 8 * sizeof(T));
    return (order_key(from[i * stride]) ^ flip) & kBits;
  }
  Item item(std::int64_t i) const { return {key(i), i}; }
};

// Moves the items into `to` by the digit from bit `shift` on, those of one digit in the order they have, and
// says where each digit's end; false if all have the same. Each piece counts its digits, then moves its items
// after those of the pieces before it, so the result does not depend on how they are cut.
template <class Item>
bool part_by(const Item* from, Item* to, std::int64_t n, int shift, std::vector<std::int64_t>& ends) {
  const std::size_t digits = ends.size();
  const std::int64_t grain = std::max(even_grain(n, n, 1), std::max(kPiece, n / (kMostPieces - 1)));
  const auto pieces = static_cast<std::size_t>((n + grain - 1) / grain);
  std::vector<std::int64_t> counts(pieces * digits);
  const auto digit = [&](const Item& item) { return item.key() >> shift & (digits - 1); };
  const auto of_piece = [&](std::int64_t begin) {
    return counts.data() + static_cast<std::size_t>(begin / grain) * digits;
  };
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* const own = of_piece(begin);
    for (std::int64_t i = begin; i < end; ++i) ++own[digit(from[i])];
  });
  std::int64_t before = 0;
  for (std::size_t d = 0; d < digits; ++d) {
    const std::int64_t start = before;
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::int64_t count = counts[p * digits + d];
      counts[p * digits + d] = before;
      before += count;
    }
    if (before - start == n) return false;
    ends[d] = before;
  }
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* const next = of_piece(begin);
    for (std::int64_t i = begin; i < end; ++i) to[next[digit(from[i])]++] = from[i];
  });
  return true;
}

// By insertion: for items that are all near their places.
template <class Item> void sort_near(Item* items, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i) {
    const Item item = items[i];
    std::int64_t at = i;
    for (; at > 0 && item < items[at - 1]; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

// Sorts n items whose positions rise and whose keys differ in their lowest `bits` bits alone; `other` has
// room for as many, and is where they end up if `into_other`. Parts of a few items are left to one insertion,
// which moves none out of its part.
template <class Item> void sort_items(Item* items, Item* other, std::int64_t n, int bits, bool into_other) {
  Item* const target = into_other ? other : items;
  if (n <= kFew || bits == 0) {
    if (into_other) std::copy_n(items, n, other);
    if (bits > 0) sort_near(target, n);
    return;
  }
  const int few = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 2;
  const int width = std::min({bits, few, n > kPiece ? kBitsBeyond : kMostBits}), shift = bits - width;
  std::vector<std::int64_t> ends(std::size_t{1} << width);
  if (!part_by(items, other, n, shift, ends)) return sort_items(items, other, n, shift, into_other);
  parallel_for(std::ssize(ends), std::max<std::int64_t>(1, std::ssize(ends) / 64),
               [&](std::int64_t first, std::int64_t last) {
                 std::int64_t begin = first > 0 ? ends[static_cast<std::size_t>(first - 1)] : 0, near = begin;
                 const auto settle = [&](std::int64_t end) {
                   if (!into_other) std::copy(other + near, other + end, items + near);
                   sort_near(target + near, end - near);
                 };
                 for (std::int64_t d = first; d < last; ++d) {
                   const std::int64_t end = ends[static_cast<std::size_t>(d)];
                   if (end - begin > kFew) {
                     settle(begin);
                     sort_items(other + begin, items + begin, end - begin, shift, !into_other);
                     near = end;
                   }
                   begin = end;
                 }
                 settle(begin);
               });
}

// The k smallest of a line, unordered: elements below the largest of the k smallest so far are collected
// after them until the space is full, and then they are partitioned again.
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
  for (std::int64_t i = std::min(n, size); i < n;) {
    if (line.filter) i = line.filter(line.from, i, n, bound.position(), line.flip != 0);
    for (const std::int64_t end = std::min(n, i + kFiltered); i < end; ++i) {
      const Item item = line.item(i);
      if (!(item < bound)) continue;
      room[held++] = item;
      if (held == size) bound = part();
    }
  }
  part();
}

template <class Item> Room<Item>& room_of_items() {
  thread_local Room<Item> room;
  return room;
}

// The order of a whole line of up to kMostPacked elements. Keys of 64 bits are replaced by the first 32 that
// differ, so that half the memory is moved; those that are equal in them are sorted by the others.
template <class T, class Item> const Packed* sort_packed(const Line<T, Item>& line, std::int64_t n) {
  Packed* const items = room_of_items<Packed>().of(2 * n, "sorting");
  std::uint64_t differing = sizeof(T) < 8 ? ~std::uint64_t{0} >> (64 - 8 * sizeof(T)) : 0;
  for (std::int64_t i = 1; sizeof(T) == 8 && i < n; ++i) differing |= line.key(i) ^ line.key(0);
  const int bits = static_cast<int>(std::bit_width(differing)), shift = std::max(0, bits - 32);
  for (std::int64_t i = 0; i < n; ++i) items[i] = {line.key(i) >> shift & 0xffffffffu, i};
  sort_items(items, items + n, n, bits - shift, false);
  for (std::int64_t begin = 0, end = 1; shift > 0 && begin < n; begin = end++) {
    while (end < n && items[end].key() == items[begin].key()) ++end;
    if (end - begin < 2) continue;
    const std::uint64_t rest = (std::uint64_t{1} << shift) - 1;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = items[i].position();
      items[i] = {line.key(at) & rest, at};
    }
    sort_items(items + begin, items + n + begin, end - begin, shift, false);
  }
  return items;
}

template <class T, class Item> const Wide* sort_wide(const Line<T, Item>& line, std::int64_t n) {
  Wide* const items = room_of_items<Wide>().of(2 * n, "sorting");
  for (std::int64_t i = 0; i < n; ++i) items[i] = {line.key(i), i};
  sort_items(items, items + n, n, 8 * static_cast<int>(sizeof(T)), false);
  return items;
}

template <class T, class Item>
const Item* select_of(const Line<T, Item>& line, std::int64_t n, std::int64_t k) {
  const std::int64_t size = std::min(n, 2 * k + kSpare);
  Item* const items = room_of_items<Item>().of(size, "sorting");
  select(line, n, k, items, size);
  std::sort(items, items + k);
  return items;
}

template <class T, class Item>
void order_line(const Line<T, Item>& line, std::int64_t n, std::int64_t* to, std::int64_t stride,
                std::int64_t k) {
  const auto give = [&](const auto* sorted) {
    for (std::int64_t i = 0; i < k; ++i) to[i * stride] = sorted[i].position();
    room_of_items<std::remove_cvref_t<decltype(*sorted)>>().trim();
  };
  if (n > kShort && k < n / 16) return give(select_of(line, n, k));
  n <= kMostPacked ? give(sort_packed(line, n)) : give(sort_wide(line, n));
}

template <class T, class Item> void order_lines(const View& x, int dim, bool descending, const View& out) {
  const std::uint64_t flip = descending ? ~std::uint64_t{0} : 0;
  const TopkFilter filter = x.strides[dim] == 1 ? topk_filter(x.dtype) : nullptr;
  for_each_line<2>({&x, &out}, dim, [&](const std::array<std::int64_t, 2>& at) {
    const Line<T, Item> line{x.as<const T>() + at[0], x.strides[dim], flip, filter};
    order_line(line, x.shape[dim], out.as<std::int64_t>() + at[1], out.strides[dim], out.shape[dim]);
  });
}

}  // namespace

void argsort(const View& x, int dim, bool descending, const View& out) {
  if (numel(out.shape) == 0) return;
  const bool packs = x.shape[dim] <= kMostPacked;
  scalar::with_type(x.dtype, [&](auto type) {
    using T = std::conditional_t<std::is_same_v<decltype(type), bool>, std::uint8_t, decltype(type)>;
    if constexpr (sizeof(T) <= 4)
      if (packs) return order_lines<T, Packed>(x, dim, descending, out);
    order_lines<T, Wide>(x, dim, descending, out);
  });
}

}  // namespace veldt::cpu
