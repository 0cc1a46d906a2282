// Numbers of one rank are sent side by side.
#include "veldt/dist/optimizer_share.h"

#include <algorithm>
#include <utility>

#include "veldt/dist/sum_tree.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/graph.h"

namespace veldt::dist {
namespace {

using optim::Slab;

std::int64_t count_of(const std::vector<Slab::Range>& ranges) {
  std::int64_t count = 0;
  for (const Slab::Range range : ranges) count += range.end - range.begin;
  return count;
}

// Numbers of the ranges of a slab, side by side; and back.
Tensor side_by_side(const Tensor& slab, const std::vector<Slab::Range>& ranges) {
  const Tensor part = empty({count_of(ranges)}, slab);
  std::int64_t at = 0;
  for (const Slab::Range range : ranges) {
    const std::int64_t count = range.end - range.begin;
    kernels(part).copy(Slab::view(slab, range), Slab::view(part, {at, at + count}));
    at += count;
  }
  return part;
}
void put_back(const Tensor& part, const std::vector<Slab::Range>& ranges, const Tensor& slab) {
  std::int64_t at = 0;
  for (const Slab::Range range : ranges) {
    const std::int64_t count = range.end - range.begin;
    kernels(part).copy(Slab::view(part, {at, at + count}), Slab::view(slab, range));
    at += count;
  }
}

}  // namespace

OptimizerShare::OptimizerShare(Communicator& ranks, std::vector<Slab::Range> pieces)
    : ranks_(ranks), pieces_(std::move(pieces)) {
  std::sort(pieces_.begin(), pieces_.end(), [](Slab::Range a, Slab::Range b) { return a.begin < b.begin; });
  size_ = pieces_.back().end;
  own_ = ranges_of(ranks.rank());
}

std::vector<Slab::Range> OptimizerShare::ranges_of(int rank) const {
  std::vector<Slab::Range> ranges;
  for (const Slab::Range piece : pieces_) {
    const Numbers share = share_of_numbers(piece.end - piece.begin, rank, ranks_.size());
    if (share.size() > 0) ranges.push_back({piece.begin + share.begin, piece.begin + share.end});
  }
  return ranges;
}

void OptimizerShare::gather(const Tensor& slab) const {
  const Timeline::Waiting now(ranks_.timeline(), "parameters of other ranks");
  const NoGrad off;
  std::vector<View> lists;
  for (const Slab::Range piece : pieces_) lists.push_back(Slab::view(slab, piece));
  ranks_.begin_gather(lists, slab.device()).wait();
}

Tensor OptimizerShare::collect(const Tensor& part) const {
  if (ranks_.rank() > 0) {
    ranks_.send(part, 0);
    return {};
  }
  const Tensor slab = empty({size_}, part);
  put_back(part, own_, slab);
  for (int r = 1; r < ranks_.size(); ++r) {
    const std::vector<Slab::Range> ranges = ranges_of(r);
    const Tensor other = empty({count_of(ranges)}, part);
    ranks_.receive(other, r);
    put_back(other, ranges, slab);
  }
  return slab;
}

Tensor OptimizerShare::deal(const Tensor& slab, const Tensor& like) const {
  if (ranks_.broadcast(std::string(slab.defined() ? "there" : "")).empty()) return {};
  if (ranks_.rank() > 0) {
    const Tensor part = empty({count_of(own_)}, like);
    ranks_.receive(part, 0);
    return part;
  }
  for (int r = 1; r < ranks_.size(); ++r) ranks_.send(side_by_side(slab, ranges_of(r)), r);
  return side_by_side(slab, own_);
}

}  // namespace veldt::dist
