// A round of PPO: collect a rollout, estimate advantages, learn from it in batches.
#include "veldt/rl/ppo.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "veldt/core/error.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"

namespace veldt::rl {
namespace {

constexpr std::int64_t kLargestRollout = 1 << 24;  // of all copies together
const double kHalfLogTwoPi = 0.5 * std::log(2 * 3.14159265358979323846);

// One of the choices by the probabilities that logits mean, and the logarithm of its probability.
std::pair<std::int64_t, float> drawn_choice(std::span<const float> logits, Rng& rng) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - most));
  double left = uniform(rng, 0, sum);
  std::size_t choice = 0;
  for (; choice + 1 < logits.size(); ++choice)
    if ((left -= std::exp(static_cast<double>(logits[choice] - most))) < 0) break;
  return {static_cast<std::int64_t>(choice), logits[choice] - most - static_cast<float>(std::log(sum))};
}

// Box & Muller 1958.
double normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(rng, 0, 1)));
  return radius * std::cos(2 * 3.14159265358979323846 * uniform(rng, 0, 1));
}

void check(const PpoOptions& o, std::int64_t copies) {
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw ConfigError("PPO cannot work like this: " + what, why, "give another number");
  };
  if (o.rollout < 1 || o.batch < 2 || o.epochs < 1)
    refuse(str("rollout ", o.rollout, ", batch ", o.batch, ", epochs ", o.epochs),
           "there are steps, two of them or more in a batch, and an epoch");
  if (o.rollout > kLargestRollout / copies)
    refuse(str("a rollout of ", o.rollout, " steps in ", copies, " copies"),
           str("it is kept whole, and has at most ", kLargestRollout, " steps"));
  if (o.rollout * copies % o.batch != 0)
    refuse(str("a batch of ", o.batch), str("it does not divide the ", o.rollout * copies,
                                            " steps of a rollout (", o.rollout, " in ", copies, " copies)"));
  for (const auto& [name, value, most] :
       {std::tuple("gamma", o.gamma, 1.0), std::tuple("lambda", o.lambda, 1.0),
        std::tuple("clip", o.clip, 1e9), std::tuple("entropy", o.entropy, 1e9),
        std::tuple("value", o.value, 1e9)})
    if (!(value >= 0 && value <= most)) refuse(str(name, " = ", value), str("it is from 0 to ", most));
}

Shape rows_of(std::int64_t rows, std::int64_t columns) { return {rows, columns}; }

}  // namespace

Ppo::Ppo(VectorEnvironment& world, ActorCritic& network, optim::Optimizer& optimizer, PpoOptions options)
    : Agent(world, optimizer, options.seed, {{"entropy", 0}, {"divergence", 0}}),
      network_(network),
      options_((network.check_fits(world.spec()), check(options, world.copies()), options)),
      copies_(world.copies()),
      look_(world.copies(), world.spec().observation_size(), device(),
            [&](const Tensor& x) { return network.act_and_judge(x); }),
      observations_(rows_of(options.batch, world.spec().observation_size()), DType::f32, device()),
      actions_(rows_of(options.batch, world.spec().action_size()), DType::f32, device()),
      chances_({options.batch}, DType::f32, device()),
      advantages_({options.batch}, DType::f32, device()),
      returns_({options.batch}, DType::f32, device()),
      choices_(rows_of(options.batch, 1), DType::i64, device()) {
  const auto n = static_cast<std::size_t>(steps_per_update());
  seen_.observations.resize(n * static_cast<std::size_t>(world.spec().observation_size()));
  for (std::vector<float>* one :
       {&seen_.chances, &seen_.rewards, &seen_.values, &seen_.advantages, &seen_.returns})
    one->resize(n);
  seen_.ends.resize(n);
  const auto width = static_cast<std::size_t>(world.spec().action_size());
  if (world.spec().is_discrete())
    seen_.choices.resize(n);
  else
    seen_.actions.resize(n * width);
  chosen_.resize(static_cast<std::size_t>(world.copies()));
  now_.resize(static_cast<std::size_t>(world.copies()) * width);
  running_.assign(static_cast<std::size_t>(world.copies()) + 3, 0);
}

double Ppo::update() {
  begin_round();
  collect();
  judge();
  const double loss = learn();
  // Only now, so that a round's ratios of probabilities start at 1.
  if (Moments* moments = network_.moments()) moments->add(seen_.observations);
  return loss;
}

void Ppo::collect() {
  const auto width = world().spec().observation_size() * world().copies();
  if (!world().spec().is_discrete()) fetch(network_.log_deviation(), log_deviation_);
  for (std::int64_t step = 0; step < options_.rollout; ++step) {
    const std::span<const float> now = world().observations();
    std::copy(now.begin(), now.end(), seen_.observations.begin() + step * width);
    look_(now);
    fetch(look_.output(0), outputs_);
    fetch(look_.output(1), values_);
    check_outputs(outputs_);
    std::copy(values_.begin(), values_.end(), seen_.values.begin() + step * world().copies());
    choose(step);
    reward(step);
  }
  look_(world().observations());
  fetch(look_.output(1), last_values_);
}

void Ppo::choose(std::int64_t step) {
  const std::int64_t copies = world().copies(), width = world().spec().action_size();
  const bool is_discrete = world().spec().is_discrete();
  for (std::int64_t i = 0; i < copies; ++i) {
    const auto at = static_cast<std::size_t>(step * copies + i);
    const std::span<const float> row(outputs_.data() + i * width, static_cast<std::size_t>(width));
    if (is_discrete) {
      const auto [choice, chance] = drawn_choice(row, rng());
      chosen_[static_cast<std::size_t>(i)] = seen_.choices[at] = choice;
      seen_.chances[at] = chance;
      continue;
    }
    double chance = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const double z = normal(rng());
      const auto action = static_cast<float>(row[k] + std::exp(static_cast<double>(log_deviation_[k])) * z);
      now_[static_cast<std::size_t>(i * width) + k] = action;
      seen_.actions[at * row.size() + k] = action;
      chance -= z * z / 2 + log_deviation_[k] + kHalfLogTwoPi;
    }
    seen_.chances[at] = static_cast<float>(chance);
  }
  if (is_discrete)
    act(chosen_);
  else
    act(now_);
}

// Notes rewards and ends. What an episode that was cut off would still have got is part of its last reward.
void Ppo::reward(std::int64_t step) {
  const std::int64_t copies = world().copies();
  rewards_.assign(world().rewards().begin(), world().rewards().end());
  if (options_.scale_rewards) scale();
  const auto cut = [&](std::size_t i) { return world().truncated()[i] != 0 && world().terminated()[i] == 0; };
  bool any_cut = false;
  for (std::size_t i = 0; i < rewards_.size(); ++i) any_cut |= cut(i);
  if (any_cut) {
    look_(world().final_observations());
    fetch(look_.output(1), last_values_);
  }
  for (std::size_t i = 0; i < rewards_.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(step * copies) + i;
    seen_.ends[at] = world().ended(static_cast<std::int64_t>(i));
    seen_.rewards[at] = rewards_[i] + (cut(i) ? static_cast<float>(options_.gamma) * last_values_[i] : 0.0f);
  }
}

// By the deviation of the discounted sum of rewards so far, over all copies and steps (Welford 1962).
void Ppo::scale() {
  const std::size_t copies = rewards_.size();
  double &count = running_[copies], &mean = running_[copies + 1], &squares = running_[copies + 2];
  for (std::size_t i = 0; i < copies; ++i) {
    running_[i] = options_.gamma * running_[i] + static_cast<double>(rewards_[i]);
    const double apart = running_[i] - mean;
    mean += apart / ++count;
    squares += apart * (running_[i] - mean);
    if (world().ended(static_cast<std::int64_t>(i))) running_[i] = 0;
  }
  const double deviation = count > 1 ? std::sqrt(squares / count + 1e-8) : 1;
  for (float& reward : rewards_)
    reward = static_cast<float>(std::clamp(static_cast<double>(reward) / deviation, -10.0, 10.0));
}

// From the last step to the first: A = delta + gamma lambda A', delta = r + gamma V' - V.
void Ppo::judge() {
  const std::int64_t copies = world().copies();
  for (std::int64_t i = 0; i < copies; ++i) {
    double advantage = 0, next = last_values_[static_cast<std::size_t>(i)];
    for (std::int64_t step = options_.rollout - 1; step >= 0; --step) {
      const auto at = static_cast<std::size_t>(step * copies + i);
      const double goes_on = seen_.ends[at] != 0 ? 0 : options_.gamma;
      const double delta = seen_.rewards[at] + goes_on * next - seen_.values[at];
      advantage = delta + goes_on * options_.lambda * advantage;
      next = seen_.values[at];
      seen_.advantages[at] = static_cast<float>(advantage);
      seen_.returns[at] = static_cast<float>(advantage + next);
    }
  }
}

double Ppo::learn() {
  const std::int64_t n = steps_per_update(), batches = n / options_.batch;
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  double loss = 0, entropy = 0, divergence = 0;
  for (std::int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng().next_below(i + 1)]);
    for (std::int64_t b = 0; b < batches; ++b) {
      fill(order.data() + b * options_.batch);
      if (!plan_) plan_.emplace([&] { return step_of_batch(); });
      plan_->replay();
      loss += plan_->output(0).item();
      entropy += plan_->output(1).item();
      divergence += plan_->output(2).item();
    }
  }
  const auto steps = static_cast<double>(options_.epochs * batches);
  measure(0) = entropy / steps, measure(1) = divergence / steps;
  return loss / steps;
}

// Gathers the rows of a batch, their advantages with mean 0 and deviation 1.
void Ppo::fill(const std::int64_t* rows) {
  const std::int64_t seen = world().spec().observation_size(), width = world().spec().action_size();
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < options_.batch; ++i)
    sum += seen_.advantages[static_cast<std::size_t>(rows[i])];
  const double mean = sum / static_cast<double>(options_.batch);
  for (std::int64_t i = 0; i < options_.batch; ++i) {
    const double apart = seen_.advantages[static_cast<std::size_t>(rows[i])] - mean;
    squares += apart * apart;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(options_.batch - 1)) + 1e-8;
  for (std::int64_t i = 0; i < options_.batch; ++i) {
    const auto at = static_cast<std::size_t>(rows[i]);
    std::copy_n(seen_.observations.begin() + rows[i] * seen, seen, observations_.host() + i * seen);
    if (world().spec().is_discrete())
      choices_.host()[i] = seen_.choices[at];
    else
      std::copy_n(seen_.actions.begin() + rows[i] * width, width, actions_.host() + i * width);
    chances_.host()[i] = seen_.chances[at];
    returns_.host()[i] = seen_.returns[at];
    advantages_.host()[i] = static_cast<float>((seen_.advantages[at] - mean) / deviation);
  }
  observations_.send(), choices_.send(), actions_.send();
  chances_.send(), returns_.send(), advantages_.send();
}

// The loss of a batch, its gradients, a step. Also gives the entropy, and the divergence from the policy that
// acted, as the mean of (ratio - 1) - log ratio (Schulman 2020, "Approximating KL divergence").
TensorList Ppo::step_of_batch() {
  const TensorList out = network_.act_and_judge(observations_.tensor());
  Tensor chance, entropy;
  if (world().spec().is_discrete()) {
    const Tensor logs = log_softmax(out[0], 1);
    chance = squeeze(gather(logs, 1, choices_.tensor()), 1);
    entropy = neg(mean(sum(exp(logs) * logs, {1})));
  } else {
    const Tensor& log_deviation = network_.log_deviation();
    const Tensor z = (actions_.tensor() - out[0]) * exp(neg(log_deviation));
    chance = neg(sum(square(z) * 0.5 + log_deviation + kHalfLogTwoPi, {1}));
    entropy = sum(log_deviation + (0.5 + kHalfLogTwoPi));
  }
  const Tensor log_ratio = chance - chances_.tensor(), ratio = exp(log_ratio);
  const Tensor clipped = clamp(ratio, 1 - options_.clip, 1 + options_.clip);
  const Tensor gain = mean(minimum(ratio * advantages_.tensor(), clipped * advantages_.tensor()));
  const Tensor loss =
      mse_loss(out[1], returns_.tensor()) * options_.value - gain - entropy * options_.entropy;
  optimizer().zero_grad();
  loss.backward();
  optimizer().step();
  return {loss, entropy, mean(ratio - 1 - log_ratio)};
}

NamedTensors Ppo::saved() {
  NamedTensors all = Agent::saved();
  all.push_back({"returns", Tensor::from<double>({std::ssize(running_)}, running_)});
  return all;
}

void Ppo::load(const std::map<std::string, Tensor>& saved) {
  const std::vector<double> running = saved.at("returns").values<double>();
  if (!std::all_of(running.begin(), running.end(), [](double x) { return std::isfinite(x); }))
    throw IoError(IoError::Kind::corrupt, "the saved agent holds numbers that no run has",
                  "a running return is not finite", "start a new run");
  Agent::load(saved);
  running_ = running;
}

}  // namespace veldt::rl
