// Buckets of neighbours in the slab, sent in one order on every rank: from the last layers, whose gradients
// come first, to the first.
#include "veldt/dist/gradient_sum.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/dist/optimizer_share.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/plan.h"

namespace veldt::dist {

void NodeSums::push(const Tensor& value) {
  nodes_.push_back({{next_, next_ + 1}, value});
  ++next_;
  while (nodes_.size() > 1) {
    const auto& [left, sum] = nodes_[nodes_.size() - 2];
    const auto& [right, last] = nodes_.back();
    if (!are_halves(leaves_, left, right)) return;
    kernels(sum).accumulate(last.view(), sum.view());
    nodes_[nodes_.size() - 2].first.end = right.end;
    nodes_.pop_back();
  }
}

std::vector<View> NodeSums::views() const {
  std::vector<View> all;
  for (const auto& [leaves, sum] : nodes_) all.push_back(sum.view());
  return all;
}

GradientSum::GradientSum(Communicator& ranks, optim::Optimizer& optimizer, GradientSumOptions options)
    : ranks_(ranks), optimizer_(optimizer), options_(options) {
  if (options_.leaves == 0) options_.leaves = ranks.size();
  if (options_.leaves < ranks.size())
    throw ConfigError(str("a batch of ", options_.leaves, " parts is too small for ", ranks.size(), " ranks"),
                      "each computes one part at least", "use fewer ranks, or more parts");
  const optim::Slab& slab = optimizer.slab();
  const auto size = static_cast<std::int64_t>(size_of(slab.values().dtype()));
  if (options_.bucket_bytes == 0)
    options_.bucket_bytes = std::clamp<std::int64_t>(slab.values().numel() * size / 8, 64 << 10, 1 << 20);
  const std::int64_t least = std::max<std::int64_t>(1, options_.bucket_bytes / size);
  for (std::size_t i = slab.parameters().size(); i-- > 0;) {
    const optim::Slab::Range range = slab.range(i);
    if (buckets_.empty() || buckets_.back().range.end - buckets_.back().range.begin >= least)
      buckets_.push_back({.range = range, .parameters = {}, .pending = {}});
    buckets_.back().range.begin = range.begin;
    buckets_.back().parameters.push_back(i);
    bucket_of_[slab.parameters()[i].impl()] = buckets_.size() - 1;
  }
  present_.assign(slab.parameters().size(), 0);
}

GradientSum::~GradientSum() {
  for (Bucket& bucket : buckets_) try {
      bucket.pending.wait();
    } catch (const std::exception&) {  // whoever asks the communicator next is told
    }
  if (is_shared_) optimizer_.end_sharing(false);
}

void GradientSum::share_optimizer() {
  if (ranks_.alone() || is_shared_) return;
  std::vector<optim::Slab::Range> pieces;
  if (options_.leaves == ranks_.size())
    for (const Bucket& bucket : buckets_) pieces.push_back(bucket.range);
  else
    pieces.push_back({0, optimizer_.slab().values().numel()});
  optimizer_.share_state(std::make_shared<OptimizerShare>(ranks_, pieces));
  is_shared_ = true;
}

void GradientSum::unshare_optimizer() {
  if (std::exchange(is_shared_, false)) optimizer_.end_sharing(true);
}

GradientSum::Sending::Sending(GradientSum& sum) {
  sum.begin_sending();
  if (sum.options_.leaves == sum.ranks_.size())
    listener_.emplace([&sum](const Tensor& leaf) { sum.on_ready(leaf); });
}

void GradientSum::begin_sending() {
  // What is under way would be written while the next walk back writes it too.
  if (next_ > 0)
    throw Error("the gradients of this step have left already",
                "a walk back with sending() was not followed by a step",
                "use sending() for the last backward() of a step, and end each such step by step()");
  for (Bucket& bucket : buckets_) bucket.ready = 0;
}

// A bucket whose gradients are not where they are to be waits for finish().
void GradientSum::on_ready(const Tensor& leaf) {
  const auto found = bucket_of_.find(leaf.impl());
  if (found == bucket_of_.end()) return;  // of another optimizer
  ++buckets_[found->second].ready;
  const optim::Slab& slab = optimizer_.slab();
  while (next_ < buckets_.size() && buckets_[next_].ready == buckets_[next_].parameters.size()) {
    for (const std::size_t i : buckets_[next_].parameters) {
      const Tensor g = slab.parameters()[i].grad();
      if (!g.defined() || g.view().data != optim::Slab::view(slab.gradients(), slab.range(i)).data) return;
    }
    send(buckets_[next_++]);
  }
}

SumOptions GradientSum::sum_options() const {
  return {.halves = options_.halves, .scattered = is_shared_, .device = optimizer_.slab().values().device()};
}

void GradientSum::send(Bucket& bucket) {
  const View part = optim::Slab::view(optimizer_.slab().gradients(), bucket.range);
  host_work("gradients to other ranks", {part}, [this, &bucket](std::span<const View> views) {
    bucket.pending = ranks_.begin_sum({views[0]}, views[0], ranks_.size(), sum_options());
  });
}

void GradientSum::note_present() {
  const auto& parameters = optimizer_.slab().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].grad().defined()) present_[i] = 1;
}

void GradientSum::end_leaf() {
  optimizer_.collect_gradients();
  note_present();
  if (!sums_) sums_.emplace(options_.leaves, share_of_leaves(options_.leaves, ranks_.rank(), ranks_.size()));
  const Tensor& gradients = optimizer_.slab().gradients();
  const Tensor leaf = empty(gradients.shape(), gradients);
  kernels(leaf).copy(gradients.view(), leaf.view());
  sums_->push(leaf);
  optimizer_.zero_grad();
}

// What a rank has none of is a zero in its sum; the parameter has a gradient all the same if another has one.
void GradientSum::agree_on_present() {
  const std::size_t count = present_.size();
  std::vector<char> all(count * static_cast<std::size_t>(ranks_.size()));
  ranks_.all_gather(present_.data(), all.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    bool any = false;
    for (std::size_t at = i; at < all.size(); at += count) any = any || all[at] != 0;
    if (any && !optimizer_.slab().parameters()[i].grad().defined()) optimizer_.take_gradient(i);
  }
  std::fill(present_.begin(), present_.end(), 0);
}

void GradientSum::wait_for_buckets() {
  const Timeline::Waiting now(ranks_.timeline(), "sums of gradients");
  for (Bucket& bucket : buckets_) bucket.pending.wait();
}

void GradientSum::finish() {
  optimizer_.collect_gradients();
  const Tensor& gradients = optimizer_.slab().gradients();
  if (sums_ || options_.leaves != ranks_.size()) {
    const std::vector<View> nodes = sums_ ? sums_->views() : std::vector<View>();
    const Timeline::Waiting now(ranks_.timeline(), "sums of gradients");
    ranks_.begin_sum(nodes, gradients.view(), options_.leaves, sum_options()).wait();
    sums_.reset();
  } else {
    note_present();
    while (next_ < buckets_.size()) send(buckets_[next_++]);
    host_work("sums of gradients", {gradients.view()}, [this](auto) { wait_for_buckets(); });
    next_ = 0;
  }
  mark_changed(gradients);
  if (!recording()) agree_on_present();
}

}  // namespace veldt::dist
