// A round of DQN: some steps in all copies, then batches from what is remembered.
#include "veldt/rl/dqn.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "veldt/core/error.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::rl {
namespace {

void check_dqn(const DqnOptions& o) {
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw ConfigError("DQN cannot work like this: " + what, why, "give another number");
  };
  for (const auto& [name, value] :
       {std::pair("start", o.start), std::pair("rollout", o.rollout), std::pair("updates", o.updates),
        std::pair("batch", o.batch), std::pair("target_every", o.target_every),
        std::pair("explore", o.explore), std::pair("steps", o.steps)})
    if (value < 1) refuse(str(name, " = ", value), "it is 1 or more");
  for (const auto& [name, value] :
       {std::pair("gamma", o.gamma), std::pair("epsilon", o.epsilon), std::pair("beta", o.beta)})
    if (!(value >= 0 && value <= 1)) refuse(str(name, " = ", value), "it is from 0 to 1");
}

}  // namespace

Dqn::Dqn(VectorEnvironment& world, QNetwork& network, optim::Optimizer& optimizer, DqnOptions options)
    : Agent(world, optimizer, options.seed, {{"epsilon", 1}, {"q", 0}}),
      network_(network),
      options_((network.check_fits(world.spec()), check_dqn(options), options)),
      copies_(world.copies()),
      target_(nn::clone(network)),
      from_(network.state_dict()),
      to_(target_.state_dict()),
      replay_(world.spec().observation_size(), options.replay),
      look_(world.copies(), world.spec().observation_size(), device(),
            [&](const Tensor& x) { return TensorList{network(x)}; }),
      observations_({options.batch, world.spec().observation_size()}, DType::f32, device()),
      nexts_({options.batch, world.spec().observation_size()}, DType::f32, device()),
      rewards_({options.batch}, DType::f32, device()),
      discounts_({options.batch}, DType::f32, device()),
      weights_({options.batch}, DType::f32, device()),
      choices_({options.batch, 1}, DType::i64, device()),
      drawn_weights_(static_cast<std::size_t>(options.batch)),
      chosen_(static_cast<std::size_t>(world.copies())),
      rows_(static_cast<std::size_t>(options.batch)) {}

double Dqn::epsilon() const {
  const double share = std::min(1.0, static_cast<double>(steps_) / static_cast<double>(options_.explore));
  return std::lerp(1.0, options_.epsilon, share);
}

double Dqn::update() {
  begin_round();
  for (std::int64_t i = 0; i < options_.rollout; ++i) collect();
  measure(0) = epsilon();
  return steps_ >= options_.start ? learn() : 0;
}

// A step in each copy.
void Dqn::collect() {
  const auto width = static_cast<std::size_t>(world().spec().observation_size());
  const std::int64_t choices = world().spec().choices;
  const std::span<const float> now = world().observations();
  before_.assign(now.begin(), now.end());
  bool any_best = false;
  for (std::int64_t& choice : chosen_) {
    const bool at_random = uniform(rng(), 0, 1) < epsilon();
    choice =
        at_random ? static_cast<std::int64_t>(rng().next_below(static_cast<std::uint64_t>(choices))) : -1;
    any_best |= !at_random;
  }
  if (any_best) {
    look_(now);
    fetch(look_.output(), outputs_);
    check_outputs(outputs_);
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      if (chosen_[i] < 0)
        chosen_[i] = best_choice(
            {outputs_.data() + i * static_cast<std::size_t>(choices), static_cast<std::size_t>(choices)});
  }
  act(chosen_);
  const std::span<const float> after = world().final_observations();
  if (Moments* moments = network_.moments()) moments->add(after);
  for (std::size_t i = 0; i < chosen_.size(); ++i)
    replay_.add(std::span(before_).subspan(i * width, width), chosen_[i], world().rewards()[i],
                after.subspan(i * width, width), world().terminated()[i] != 0);
  const std::int64_t steps_before = std::exchange(steps_, steps_ + copies_);
  if (steps_ / options_.target_every != steps_before / options_.target_every) update_target();
}

void Dqn::update_target() {
  for (std::size_t i = 0; i < to_.size(); ++i) to_[i].tensor.assign(from_[i].tensor.detach());
}

double Dqn::learn() {
  double loss = 0, mean_q = 0;
  for (std::int64_t i = 0; i < options_.updates; ++i) {
    fill();
    if (!plan_) plan_.emplace([&] { return step_of_batch(); });
    plan_->replay();
    loss += plan_->output(0).item();
    mean_q += plan_->output(2).item();
    if (options_.replay.prioritized) {
      fetch(plan_->output(1), errors_);
      replay_.learned(rows_, errors_);
    }
  }
  measure(1) = mean_q / static_cast<double>(options_.updates);
  return loss / static_cast<double>(options_.updates);
}

void Dqn::fill() {
  const double share = std::min(1.0, static_cast<double>(steps_) / static_cast<double>(options_.steps));
  replay_.draw(rng(), std::lerp(options_.beta, 1.0, share), rows_, drawn_weights_);
  std::copy(drawn_weights_.begin(), drawn_weights_.end(), weights_.host());
  const std::int64_t width = world().spec().observation_size();
  for (std::int64_t i = 0; i < options_.batch; ++i) {
    const std::int64_t row = rows_[static_cast<std::size_t>(i)];
    std::copy_n(replay_.observation(row).begin(), width, observations_.host() + i * width);
    std::copy_n(replay_.next(row).begin(), width, nexts_.host() + i * width);
    choices_.host()[i] = replay_.choice(row);
    rewards_.host()[i] = replay_.reward(row);
    discounts_.host()[i] = replay_.terminated(row) ? 0.0f : static_cast<float>(options_.gamma);
  }
  observations_.send(), nexts_.send(), choices_.send(), rewards_.send(), discounts_.send(), weights_.send();
}

// The loss of a batch, its gradients, a step. Also gives the error of each row, and the mean Q.
TensorList Dqn::step_of_batch() {
  Tensor to_come;
  {
    const NoGrad none;
    const Tensor judged = target_(nexts_.tensor());
    to_come = options_.double_q ? squeeze(gather(judged, 1, argmax(network_(nexts_.tensor()), 1, true)), 1)
                                : max(judged, {1});
    to_come = rewards_.tensor() + discounts_.tensor() * to_come;
  }
  const Tensor q = squeeze(gather(network_(observations_.tensor()), 1, choices_.tensor()), 1);
  const Tensor loss = mean(weights_.tensor() * smooth_l1_loss(q, to_come, {.reduction = Reduction::none}));
  optimizer().zero_grad();
  loss.backward();
  optimizer().step();
  return {loss, (to_come - q).detach(), mean(q)};
}

NamedTensors Dqn::saved() {
  NamedTensors all = Agent::saved();
  for (const NamedTensor& one : replay_.saved()) all.push_back(one);
  for (const auto& [name, tensor] : to_) all.push_back({"target." + name, tensor});
  all.push_back({"steps", Tensor::from<std::int64_t>({}, std::vector{steps_})});
  return all;
}

void Dqn::load(const std::map<std::string, Tensor>& saved) {
  const auto steps = saved.at("steps").item<std::int64_t>();
  if (steps < 0)
    throw IoError(IoError::Kind::corrupt, "the saved agent holds numbers that no run has",
                  str("it has taken ", steps, " steps"), "start a new run");
  Agent::load(saved);
  replay_.load(saved);
  for (auto& [name, tensor] : to_) tensor.assign(saved.at("target." + name));
  steps_ = steps;
}

}  // namespace veldt::rl
