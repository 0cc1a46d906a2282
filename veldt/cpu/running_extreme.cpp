// The place of the largest or smallest element up to each position of a line. Lines that are neighbours in
// memory are walked side by side, row by row.
#include <array>
#include <cstdint>

#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"
#include "veldt/kernels/order_key.h"

namespace veldt::cpu {
namespace {

struct Best {
  std::uint64_t key = 0;
  std::int64_t position = 0;

  // `key` of the element at position k, a later one than all before.
  std::int64_t join(std::uint64_t other, std::int64_t k) {
    position = other >= key ? k : position;
    key = other >= key ? other : key;
    return position;
  }
};

}  // namespace

void running_extreme(ReduceOp op, const View& x, int dim, const View& index) {
  const std::int64_t n = x.shape[dim], step = x.strides[dim], index_step = index.strides[dim];
  const bool largest = op == ReduceOp::max;
  scalar::with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_bundle(std::array{&x, &index}, dim, [&](const Bundle<2>& bundle) {
      const T* const from = x.as<const T>() + bundle.at[0];
      std::int64_t* const to = index.as<std::int64_t>() + bundle.at[1];
      if (bundle.dense) {
        std::array<Best, kMostLines> best;
        for (std::int64_t l = 0; l < bundle.count; ++l) best[static_cast<std::size_t>(l)] = {};
        for (std::int64_t k = 0; k < n; ++k)
          for (std::int64_t l = 0; l < bundle.count; ++l)
            to[k * index_step + l] =
                best[static_cast<std::size_t>(l)].join(rank_key(from[k * step + l], largest), k);
      } else {
        for (std::int64_t l = 0; l < bundle.count; ++l) {
          Best best;
          for (std::int64_t k = 0; k < n; ++k)
            to[l * bundle.apart[1] + k * index_step] =
                best.join(rank_key(from[l * bundle.apart[0] + k * step], largest), k);
        }
      }
    });
  });
}

}  // namespace veldt::cpu
