// Leaves one after the other: streams of chance by their place, statistics from where the step began.
#include "veldt/train/together.h"

#include <cmath>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"
#include "veldt/train/copies.h"

namespace veldt::train {
namespace {

// Draws of a part of a step, of one stream, before they would meet those of the next.
constexpr int kDrawBits = 32;

std::string last_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// All of them after each other: f64 [n], on the CPU.
Tensor flat(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> lists;
  for (const Tensor& t : tensors)
    lists.push_back(to(to(reshape(t.detach(), {t.numel()}), Device{}), DType::f64));
  return cat(lists, 0);
}

std::vector<Tensor> copies_of_all(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& t : tensors) copies.push_back(copy_of(t.detach()));
  return copies;
}

void assign_all(const std::vector<Tensor>& tensors, const std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].detach().assign(values[i]);
}

data::Parts parts_of(const dist::Communicator& ranks, std::int64_t parts) {
  if (parts == 0) return {ranks.rank(), ranks.rank() + 1, ranks.size()};
  if (parts < ranks.size())
    throw ConfigError(str("a batch of ", parts, " parts is too small for ", ranks.size(), " ranks"),
                      "each computes one part at least", "use fewer ranks, or more parts");
  const dist::Leaves own = dist::share_of_leaves(parts, ranks.rank(), ranks.size());
  return {own.begin, own.end, parts};
}

}  // namespace

Together::Together(dist::Communicator* ranks, const nn::Module& model, const Players& players,
                   TogetherOptions options)
    : ranks_(ranks != nullptr ? *ranks : alone_),
      players_(players),
      options_(options),
      parts_(parts_of(ranks_, options.parts)) {
  for (std::size_t i = 0; i < players.size(); ++i) {
    sums_.emplace_back(ranks_, players[i].optimizer,
                       dist::GradientSumOptions{.leaves = parts_.of, .halves = options.halves});
    on_host_ = on_host_ && players[i].optimizer.slab().values().device().kind == DeviceKind::cpu;
  }
  for (const auto& [name, tensor] : model.named_buffers()) {
    const std::string last = last_of(name);
    if (last == "rng") streams_.push_back(tensor);
    if (last.starts_with("running_") || last == "num_batches_tracked") running_.push_back(tensor);
  }
  totals_.resize(players.turns());
  if (!options.sync_batch_norm || ranks_.alone()) return;
  synced_.emplace(model, ranks_);
  parts_.never_empty = true;
}

bool Together::share_optimizer() {
  if (!options_.share_optimizer || ranks_.alone()) return false;
  if (players_.size() > 1)
    throw ConfigError(str("the optimizers of ", players_.size(), " players cannot be shared out"),
                      "their states are saved with the players', each by itself",
                      "leave FitOptions::share_optimizer out");
  sums_.front().share_optimizer();
  return true;
}

void Together::begin(std::int64_t step, std::vector<double> shares) {
  if (ranks_.timeline() != nullptr) ranks_.timeline()->begin_step();
  step_ = step;
  shares_ = std::move(shares);
}

// Each part of each step draws from a place of its own.
void Together::seek_streams(std::int64_t place) const {
  for (const Tensor& stream : streams_)
    host_work(
        "place of a stream", {stream.view()},
        [this, place](std::span<const View> views) {
          const auto all = static_cast<std::uint64_t>(parts_.of * options_.batches);
          views[0].as<std::int64_t>()[1] = static_cast<std::int64_t>(
              (static_cast<std::uint64_t>(step_) * all + static_cast<std::uint64_t>(place)) << kDrawBits);
        },
        CallKind::numbers);
}

Tensor Together::gradients(std::size_t turn, const std::function<Tensor(std::size_t, double)>& backward) {
  const Tensor like = players_[turn].optimizer.slab().values();
  const std::vector<Tensor> running = copies_of_all(running_);
  dist::NodeSums losses(parts_.of, own_leaves()), changes(parts_.of, own_leaves());
  Tensor loss;
  for (std::int64_t part = parts_.first; part < parts_.end; ++part) {
    if (part > parts_.first) assign_all(running_, running);  // each begins where the step did
    double share = 0;
    loss = loss_of_part(turn, part, backward, share);
    if (!loss.defined()) loss = zeros({}, like.dtype(), like.device());
    if (computes_leaves()) {
      losses.push(copy_of(to(loss, Device{})));
      for_each_sum(turn, [](dist::GradientSum& sum) { sum.end_leaf(); });
    }
    const NoGrad off;
    if (!running_.empty()) changes.push((flat(running_) - flat(running)) * share);
  }
  seek_streams(parts_.of * options_.batches);  // where the next step begins, on every rank
  for_each_sum(turn, [](dist::GradientSum& sum) { sum.finish(); });
  share_running(running, changes);
  return loss_of_all(turn, loss, losses);
}

// Of one part of each batch, one after the other.
Tensor Together::loss_of_part(std::size_t turn, std::int64_t part,
                              const std::function<Tensor(std::size_t, double)>& backward, double& share) {
  Tensor sum;
  for (std::int64_t batch = 0; batch < options_.batches; ++batch) {
    const auto number = static_cast<std::size_t>(batch * parts_.count() + part - parts_.first);
    const double its = shares_.at(number) / static_cast<double>(options_.batches);
    share += its;
    if (synced_) synced_->set_counts(its > 0);
    seek_streams(part * options_.batches + batch);
    std::deque<dist::GradientSum::Sending> sending;
    // Of several that share a loss the order would be another one on a rank without examples.
    if (!computes_leaves() && batch + 1 == options_.batches && (players_.in_turn() || sums_.size() == 1))
      for_each_sum(turn, [&](dist::GradientSum& one) { sending.emplace_back(one); });
    const Tensor loss = backward(number, its);
    if (loss.defined()) sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

Tensor Together::loss_of_all(std::size_t turn, const Tensor& own, const dist::NodeSums& sums) {
  Tensor& total = totals_[turn];
  if (!total.defined()) total = zeros({}, own.dtype());
  const Tensor here = to(own, Device{});
  const std::vector<View> nodes = computes_leaves() ? sums.views() : std::vector<View>();
  host_work("loss of all ranks", {here.view(), total.view()}, [this, nodes](std::span<const View> views) {
    own_loss_ = views[0].dtype == DType::f64 ? *views[0].as<double>() : *views[0].as<float>();
    const dist::Timeline::Waiting now(ranks_.timeline(), "the loss");
    ranks_.begin_sum(nodes.empty() ? std::vector<View>{views[0]} : nodes, views[1], parts_.of).wait();
  });
  mark_changed(total);
  return total;
}

// The statistics of a step are those of all its parts, weighed by their examples.
void Together::share_running(const std::vector<Tensor>& before, const dist::NodeSums& changes) {
  if (running_.empty()) return;
  const NoGrad off;
  const Tensor change = zeros({flat(before).numel()}, DType::f64);
  {
    const dist::Timeline::Waiting now(ranks_.timeline(), "statistics of batch norms");
    ranks_.begin_sum(changes.views(), change.view(), parts_.of).wait();
  }
  std::int64_t at = 0;
  for (std::size_t k = 0; k < running_.size(); ++k) {
    Tensor place = running_[k].detach();
    const Tensor own = reshape(narrow(change, 0, at, place.numel()), place.shape());
    at += place.numel();
    const Tensor sum = to(to(before[k], Device{}), DType::f64) + own;
    place.assign(is_float(place.dtype()) ? sum : round(sum));
  }
}

void Together::share_model(const nn::Module& model) const {
  for (const auto& [name, tensor] : model.state_dict()) {
    ranks_.broadcast(tensor);
    mark_changed(tensor);
  }
}

std::string Together::first_bad(const std::string& own) const {
  const std::vector<std::string> all = ranks_.all_gather(own);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (!all[r].empty()) return str(ranks_.name_of(static_cast<int>(r)), ": ", all[r]);
  std::vector<double> losses(all.size());
  ranks_.all_gather(&own_loss_, losses.data(), sizeof own_loss_);
  std::string bad;
  std::size_t count = 0;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (!std::isfinite(losses[r])) {
      bad += str(bad.empty() ? "it is not finite on " : ", ", ranks_.name_of(static_cast<int>(r)));
      ++count;
    }
  return count < all.size() ? bad : std::string();  // of all ranks it is no matter of one's data
}

}  // namespace veldt::train
