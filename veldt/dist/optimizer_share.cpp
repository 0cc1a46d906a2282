// Ranges go straight from the memory of one rank to that of another.
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

// What a rank keeps of a slab, range by range, in its own memory.
std::vector<View> lists_of(const Tensor& part, const std::vector<Slab::Range>& ranges) {
  std::vector<View> lists;
  std::int64_t at = 0;
  for (const Slab::Range range : ranges) {
    const std::int64_t count = range.end - range.begin;
    lists.push_back(Slab::view(part, {at, at + count}));
    at += count;
  }
  return lists;
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
  const NoGrad off;
  const Tensor own = to(part, Device{});
  const std::vector<View> lists = lists_of(own, own_);
  std::vector<Communicator::Message> out, in;
  Tensor slab;
  if (ranks_.rank() == 0) {
    slab = empty({size_}, own);
    for (std::size_t i = 0; i < own_.size(); ++i) kernels(own).copy(lists[i], Slab::view(slab, own_[i]));
    in = of_others(slab);
  } else {
    for (const View& list : lists) out.push_back({0, list});
  }
  ranks_.deliver(out, in);
  return slab.defined() ? to(slab, part.device()) : slab;
}

Tensor OptimizerShare::deal(const Tensor& slab, const Tensor& like) const {
  if (ranks_.broadcast(std::string(slab.defined() ? "there" : "")).empty()) return {};
  const NoGrad off;
  const Tensor part = empty({count_of(own_)}, like.dtype());
  const std::vector<View> lists = lists_of(part, own_);
  std::vector<Communicator::Message> out, in;
  Tensor whole;
  if (ranks_.rank() == 0) {
    whole = to(slab, Device{});
    for (std::size_t i = 0; i < own_.size(); ++i) kernels(part).copy(Slab::view(whole, own_[i]), lists[i]);
    out = of_others(whole);
  } else {
    for (const View& list : lists) in.push_back({0, list});
  }
  ranks_.deliver(out, in);
  return to(part, like.device());
}

// The ranges of a slab that the other ranks have.
std::vector<Communicator::Message> OptimizerShare::of_others(const Tensor& slab) const {
  std::vector<Communicator::Message> messages;
  for (int r = 1; r < ranks_.size(); ++r)
    for (const Slab::Range range : ranges_of(r)) messages.push_back({r, Slab::view(slab, range)});
  return messages;
}

}  // namespace veldt::dist
