// Every rank sends to each other the part of its numbers that the other adds up, and gets back sums.
#include "veldt/dist/sums.h"

#include "veldt/dist/sum_tree.h"
#include "veldt/tensor/backends.h"

namespace veldt::dist {
namespace {

// Below, one message more takes longer than the same sums on every rank.
constexpr std::size_t kShort = 16 << 10;  // bytes

View numbers_of(const View& list, const Numbers& part) { return part_of(list, part.begin, part.size()); }

// Each rank begins with another one: messages of all to one rank at a time would wait for its link.
int rank_after(const Carrier& carrier, int next) { return (carrier.rank() + next) % carrier.size(); }

class RankSum {
 public:
  RankSum(Carrier& carrier, const View& out, std::int64_t leaves, const SumOptions& options)
      : carrier_(carrier),
        out_(out),
        leaves_(leaves),
        count_(numel(out.shape)),
        halves_(options.halves && out.dtype == DType::f32),
        scattered_(options.scattered),
        sent_as_(halves_ ? DType::bf16 : out.dtype),
        is_short_(static_cast<std::size_t>(count_) * size_of(out.dtype) <= kShort) {
    for (int r = 0; r < carrier.size(); ++r)
      nodes_.push_back(nodes_within(leaves, share_of_leaves(leaves, r, carrier.size())));
  }

  void go(const std::vector<View>& mine) {
    const Numbers own = part_of_rank(carrier_.rank());
    exchange(mine, own);
    const View sum = value_of({0, leaves_});
    if (is_short_ && !halves_) return copy(sum, out_);
    // The sums as they are sent: in `out`, or as halves, which are what this rank keeps of its own too.
    const View all = halves_ ? carrier_.take(count_, sent_as_) : out_;
    copy(sum, numbers_of(as_list(all), own));
    if (scattered_) {
      if (halves_) copy(numbers_of(as_list(all), own), numbers_of(as_list(out_), own));
      return;
    }
    if (!is_short_) gather_shares(carrier_, {as_list(all)});
    if (halves_) copy(all, as_list(out_));
  }

 private:
  struct Known {
    Leaves node;
    View value;
  };
  // Brings this rank's part of all nodes of all ranks together.
  void exchange(const std::vector<View>& mine, const Numbers& own) {
    std::int64_t values = 0;
    for (const auto& nodes : nodes_) values += std::ssize(nodes);
    const View received = carrier_.take(values * own.size(), sent_as_);
    std::vector<View> sent;
    for (const View& node : mine) {
      sent.push_back(as_list(node));
      if (!halves_) continue;
      const View half = carrier_.take(count_, sent_as_);
      copy(sent.back(), half);
      sent.back() = half;
    }
    for (int next = 0; next < carrier_.size(); ++next) {
      const int r = rank_after(carrier_, next);
      const auto rank = static_cast<std::size_t>(r);
      for (std::size_t i = 0; i < nodes_[rank].size(); ++i) {
        const auto known = std::ssize(known_);
        const Numbers place{known * own.size(), (known + 1) * own.size()};
        known_.push_back({nodes_[rank][i], numbers_of(received, place)});
        if (r == carrier_.rank())
          copy(numbers_of(sent[i], own), known_.back().value);
        else
          carrier_.receive(r, known_.back().value);
      }
      if (r == carrier_.rank()) continue;
      for (const View& node : sent) carrier_.send(r, numbers_of(node, part_of_rank(r)));
    }
    carrier_.finish();
    if (!halves_) return;
    const View widened = carrier_.take(values * own.size(), out_.dtype);
    copy(received, widened);
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const auto begin = static_cast<std::int64_t>(i) * own.size();
      known_[i].value = numbers_of(widened, {begin, begin + own.size()});
    }
  }

  static View as_list(const View& v) { return {v.data, v.dtype, {numel(v.shape)}, {1}}; }
  void copy(const View& from, const View& to) const {
    if (numel(from.shape) > 0) backend(carrier_.device()).copy(as_list(from), as_list(to));
  }

  // What a rank adds up.
  Numbers part_of_rank(int rank) const {
    return is_short_ ? Numbers{0, count_} : share_of_numbers(count_, rank, carrier_.size());
  }

  // The sum over a node, in memory of this sum's own.
  View value_of(Leaves node) {
    for (const Known& known : known_)
      if (known.node == node) return known.value;
    const View left = value_of(node.left()), right = value_of(node.right());
    if (numel(left.shape) > 0) backend(carrier_.device()).accumulate(right, left);
    return left;
  }

  Carrier& carrier_;
  View out_;
  std::int64_t leaves_, count_;
  bool halves_, scattered_;
  DType sent_as_;
  bool is_short_;
  std::vector<std::vector<Leaves>> nodes_;  // of each rank
  std::vector<Known> known_;
};

}  // namespace

void sum_over_ranks(Carrier& carrier, const std::vector<View>& mine, const View& out, std::int64_t leaves,
                    const SumOptions& options) {
  RankSum(carrier, out, leaves, options).go(mine);
}

void gather_shares(Carrier& carrier, const std::vector<View>& lists) {
  for (int next = 1; next < carrier.size(); ++next) {
    const int r = rank_after(carrier, next);
    for (const View& list : lists) {
      const std::int64_t count = numel(list.shape);
      carrier.send(r, numbers_of(list, share_of_numbers(count, carrier.rank(), carrier.size())));
      carrier.receive(r, numbers_of(list, share_of_numbers(count, r, carrier.size())));
    }
  }
  carrier.finish();
}

}  // namespace veldt::dist
