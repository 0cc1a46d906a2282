// Every rank sends to each other the part of its numbers that the other adds up, and gets back sums.
#include "veldt/dist/sums.h"

#include <deque>
#include <memory>
#include <optional>

#include "veldt/dist/sum_tree.h"
#include "veldt/tensor/backends.h"

namespace veldt::dist {
namespace {

// Below, one message more takes longer than the same sums on every rank.
constexpr std::size_t kShort = 16 << 10;  // bytes

class RankSum {
 public:
  RankSum(Wire& wire, const View& out, std::int64_t leaves, bool halves)
      : wire_(wire),
        out_(out),
        leaves_(leaves),
        count_(numel(out.shape)),
        halves_(halves && out.dtype == DType::f32),
        sent_as_(halves_ ? DType::bf16 : out.dtype),
        is_short_(static_cast<std::size_t>(count_) * size_of(out.dtype) <= kShort) {
    for (int r = 0; r < wire.size(); ++r)
      nodes_.push_back(nodes_within(leaves, share_of_leaves(leaves, r, wire.size())));
  }

  void go(const std::vector<View>& mine) {
    const Part own = part_of_rank(wire_.rank());
    exchange(mine, own);
    const View sum = value_of({0, leaves_});
    if (is_short_ && !halves_) return copy(sum, out_);
    // The sums as they are sent: in `out`, or as halves, which are what this rank keeps of its own too.
    List sent(halves_ ? count_ : 0, sent_as_);
    const View all = halves_ ? sent.view() : out_;
    copy(sum, part_of(as_list(all), own.begin, own.count));
    if (!is_short_) {
      for (int next = 1; next < wire_.size(); ++next) {
        const int r = after_own(next);
        send(r, as_list(all), own);
        receive(r, as_list(all), part_of_rank(r));
      }
      wire_.finish();
    }
    if (halves_) copy(all, as_list(out_));
  }

 private:
  struct Part {
    std::int64_t begin = 0, count = 0;  // numbers
  };
  struct Known {
    Leaves node;
    View value;
  };
  // Numbers in memory of its own.
  class List {
   public:
    List(std::int64_t count, DType dtype)
        : bytes_(static_cast<std::size_t>(count) * size_of(dtype)), count_(count), dtype_(dtype) {}
    View view() { return {bytes_.data(), dtype_, {count_}, {1}}; }

   private:
    std::vector<char> bytes_;
    std::int64_t count_;
    DType dtype_;
  };

  // Brings this rank's part of all nodes of all ranks together.
  void exchange(const std::vector<View>& mine, const Part& own) {
    std::int64_t values = 0;
    for (const auto& nodes : nodes_) values += std::ssize(nodes);
    received_.emplace(values * own.count, sent_as_);
    std::deque<List> halves;  // of what is sent
    std::vector<View> sent;
    for (const View& node : mine) {
      sent.push_back(as_list(node));
      if (!halves_) continue;
      halves.emplace_back(count_, sent_as_);
      copy(sent.back(), halves.back().view());
      sent.back() = halves.back().view();
    }
    for (int next = 0; next < wire_.size(); ++next) {
      const int r = after_own(next);
      const auto rank = static_cast<std::size_t>(r);
      for (std::size_t i = 0; i < nodes_[rank].size(); ++i) {
        const Part place{std::ssize(known_) * own.count, own.count};
        known_.push_back({nodes_[rank][i], part_of(received_->view(), place.begin, place.count)});
        if (r == wire_.rank())
          copy(part_of(sent[i], own.begin, own.count), known_.back().value);
        else
          receive(r, received_->view(), place);
      }
      if (r == wire_.rank()) continue;
      for (const View& node : sent) send(r, node, part_of_rank(r));
    }
    wire_.finish();
    if (!halves_) return;
    widened_.emplace(values * own.count, out_.dtype);
    copy(received_->view(), widened_->view());
    for (std::size_t i = 0; i < known_.size(); ++i)
      known_[i].value = part_of(widened_->view(), static_cast<std::int64_t>(i) * own.count, own.count);
  }

  // Each rank begins with another one: messages of all to one rank at a time would wait for its link.
  int after_own(int next) const { return (wire_.rank() + next) % wire_.size(); }
  void send(int to, const View& list, const Part& part) {
    wire_.send(to, part_of(list, part.begin, part.count).data, bytes_of(part));
  }
  void receive(int from, const View& list, const Part& part) {
    wire_.receive(from, part_of(list, part.begin, part.count).data, bytes_of(part));
  }
  std::size_t bytes_of(const Part& part) const {
    return static_cast<std::size_t>(part.count) * size_of(sent_as_);
  }
  static View as_list(const View& v) { return {v.data, v.dtype, {numel(v.shape)}, {1}}; }
  static void copy(const View& from, const View& to) {
    if (numel(from.shape) > 0) backend(Device{}).copy(as_list(from), as_list(to));
  }

  // What a rank adds up: parts begin on a line of the cache.
  Part part_of_rank(int rank) const {
    if (is_short_) return {0, count_};
    constexpr std::int64_t kLine = 16;  // numbers
    const auto begin_of = [&](std::int64_t r) {
      return r == wire_.size() ? count_ : count_ * r / wire_.size() / kLine * kLine;
    };
    return {begin_of(rank), begin_of(rank + 1) - begin_of(rank)};
  }

  // The sum over a node, in memory of this sum's own.
  View value_of(Leaves node) {
    for (const Known& known : known_)
      if (known.node == node) return known.value;
    const View left = value_of(node.left()), right = value_of(node.right());
    if (numel(left.shape) > 0) backend(Device{}).accumulate(right, left);
    return left;
  }

  Wire& wire_;
  View out_;
  std::int64_t leaves_, count_;
  bool halves_;
  DType sent_as_;
  bool is_short_;
  std::vector<std::vector<Leaves>> nodes_;  // of each rank
  std::optional<List> received_, widened_;
  std::vector<Known> known_;
};

}  // namespace

void sum_over_ranks(Wire& wire, const std::vector<View>& mine, const View& out, std::int64_t leaves,
                    bool halves) {
  const auto sum = std::make_shared<RankSum>(wire, out, leaves, halves);
  try {
    sum->go(mine);
  } catch (...) {
    wire.keep(sum);  // what is on its way may still arrive in its memory
    throw;
  }
}

}  // namespace veldt::dist
