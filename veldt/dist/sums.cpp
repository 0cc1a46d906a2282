// Every rank sends to each other the part of its numbers that the other adds up, and gets back sums.
#include "veldt/dist/sums.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "veldt/dist/sum_tree.h"
#include "veldt/tensor/backends.h"

namespace veldt::dist {
namespace {

// Below, one message more takes longer than the same sums on every rank.
constexpr std::size_t kShort = 16 << 10;  // bytes

class RankSum {
 public:
  RankSum(Wire& wire, const View& out, std::int64_t leaves)
      : wire_(wire),
        out_(out),
        leaves_(leaves),
        size_(size_of(out.dtype)),
        is_short_(static_cast<std::size_t>(numel(out.shape)) * size_ <= kShort) {
    for (int r = 0; r < wire.size(); ++r)
      nodes_.push_back(nodes_within(leaves, share_of_leaves(leaves, r, wire.size())));
  }

  void go(const std::vector<View>& mine) {
    const Part own = part_of_rank(wire_.rank());
    std::size_t values = 0;
    for (const auto& nodes : nodes_) values += nodes.size();
    scratch_.resize(values * own.bytes);
    for (int r = 0; r < wire_.size(); ++r) {
      const auto rank = static_cast<std::size_t>(r);
      const Part theirs = part_of_rank(r);
      for (std::size_t i = 0; i < nodes_[rank].size(); ++i) {
        char* const place = scratch_.data() + known_.size() * own.bytes;
        known_.push_back({nodes_[rank][i], place});
        if (r == wire_.rank() && own.bytes > 0)
          std::memcpy(place, static_cast<const char*>(mine[i].data) + own.begin, own.bytes);
        else if (r != wire_.rank())
          wire_.receive(r, place, own.bytes);
      }
      if (r == wire_.rank()) continue;
      for (const View& node : mine)
        wire_.send(r, static_cast<const char*>(node.data) + theirs.begin, theirs.bytes);
    }
    wire_.finish();
    char* const out = static_cast<char*>(out_.data);
    if (own.bytes > 0) {
      const char* const sum = value_of({0, leaves_}, own.bytes);
      std::memcpy(out + own.begin, sum, own.bytes);
    }
    if (is_short_) return;
    for (int r = 0; r < wire_.size(); ++r) {
      if (r == wire_.rank()) continue;
      const Part theirs = part_of_rank(r);
      wire_.send(r, out + own.begin, own.bytes);
      wire_.receive(r, out + theirs.begin, theirs.bytes);
    }
    wire_.finish();
  }

 private:
  struct Part {
    std::size_t begin = 0, bytes = 0;
  };
  struct Known {
    Leaves node;
    char* value;
  };

  // What a rank adds up: parts begin on a line of the cache.
  Part part_of_rank(int rank) const {
    const auto all = static_cast<std::size_t>(numel(out_.shape));
    if (is_short_) return {0, all * size_};
    constexpr std::size_t kLine = 16;  // numbers
    const auto begin_of = [&](int r) {
      return r == wire_.size()
                 ? all
                 : all * static_cast<std::size_t>(r) / static_cast<std::size_t>(wire_.size()) / kLine * kLine;
    };
    return {begin_of(rank) * size_, (begin_of(rank + 1) - begin_of(rank)) * size_};
  }

  // The sum over a node, in memory of the scratch.
  char* value_of(Leaves node, std::size_t bytes) {
    for (const Known& known : known_)
      if (known.node == node) return known.value;
    char* const left = value_of(node.left(), bytes);
    const char* const right = value_of(node.right(), bytes);
    const auto count = static_cast<std::int64_t>(bytes / size_);
    const auto view = [&](const char* data) {
      return View{const_cast<char*>(data), out_.dtype, {count}, {1}};
    };
    backend(Device{}).accumulate(view(right), view(left));
    return left;
  }

  Wire& wire_;
  View out_;
  std::int64_t leaves_;
  std::size_t size_;
  bool is_short_;
  std::vector<std::vector<Leaves>> nodes_;  // of each rank
  std::vector<char> scratch_;
  std::vector<Known> known_;
};

}  // namespace

void sum_over_ranks(Wire& wire, const std::vector<View>& mine, const View& out, std::int64_t leaves) {
  RankSum(wire, out, leaves).go(mine);
}

}  // namespace veldt::dist
