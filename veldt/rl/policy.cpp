// Builds the networks of agents from fused layers.
#include "veldt/rl/policy.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/nn/init.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::rl {
namespace {

constexpr double kLeastVariance = 1e-8, kMostDeviations = 10;

nn::MLP layers(std::int64_t in, std::int64_t out, const PolicyOptions& options, Rng& rng) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(options.depth) + 1, options.width);
  sizes.front() = in;
  sizes.push_back(out);
  return nn::MLP(sizes, {.activation = options.activation}, rng);
}

void make_orthogonal(const nn::MLP& network, double last_gain, Rng& rng) {
  for (const nn::Linear& layer : network.layers()) {
    const bool is_last = &layer == &network.layers().back();
    nn::init::orthogonal(layer.weight(), is_last ? last_gain : std::sqrt(2.0), rng);
    nn::init::constant(layer.bias(), 0);
  }
}

std::int64_t choices_of(const EnvironmentSpec& spec) {
  if (!spec.is_discrete())
    throw ConfigError(str("DQN cannot act in ", spec.name),
                      "its action is continuous, and DQN tells choices apart", "use PPO");
  return spec.choices;
}

}  // namespace

Moments::Moments(std::int64_t size)
    : mean_(zeros({size}, DType::f64)), variance_(ones({size}, DType::f64)), count_(zeros({}, DType::f64)) {}

Tensor Moments::forward(const Tensor& x) const {
  const Tensor scale = reciprocal(sqrt(veldt::to(variance_, DType::f32) + kLeastVariance));
  return clamp((x - veldt::to(mean_, DType::f32)) * scale, -kMostDeviations, kMostDeviations);
}

void Moments::add(std::span<const float> rows) {
  // On the host, where they are unless the network is on another device.
  const bool is_elsewhere = mean_.device().kind != DeviceKind::cpu;
  const Tensor means = veldt::to(mean_, Device{}), variances = veldt::to(variance_, Device{}),
               counts = veldt::to(count_, Device{});
  double *mean = means.data<double>(), *variance = variances.data<double>(), &count = *counts.data<double>();
  const auto size = static_cast<std::size_t>(means.numel());
  const auto n = static_cast<double>(rows.size() / size);
  if (n == 0) return;
  const double before = std::exchange(count, count + n);
  for (std::size_t k = 0; k < size; ++k) {
    double sum = 0, squares = 0;
    for (std::size_t i = k; i < rows.size(); i += size) sum += rows[i];
    const double own = sum / n;
    for (std::size_t i = k; i < rows.size(); i += size) squares += (rows[i] - own) * (rows[i] - own);
    const double apart = own - mean[k];
    variance[k] = (variance[k] * before + squares + apart * apart * before * n / count) / count;
    mean[k] += apart * n / count;
  }
  if (is_elsewhere) mean_.assign(means), variance_.assign(variances), count_.assign(counts);
}

Policy::Policy(const EnvironmentSpec& spec, const PolicyOptions& options)
    : observation_size_(spec.observation_size()),
      action_size_(spec.action_size()),
      is_discrete_(spec.is_discrete()) {
  if (options.width < 1 || options.depth < 1)
    throw ConfigError(str("a policy cannot have ", options.depth, " layers of ", options.width),
                      "it has one hidden layer or more", "give 1 or more");
  if (options.normalize) moments_.emplace(spec.observation_size());
}

void Policy::check_fits(const EnvironmentSpec& spec) const {
  if (observation_size_ == spec.observation_size() && action_size_ == spec.action_size() &&
      is_discrete_ == spec.is_discrete())
    return;
  const auto form = [](std::int64_t observation, std::int64_t action, bool discrete) {
    return str(observation, " numbers to ", action, discrete ? " choices" : " numbers of an action");
  };
  throw ConfigError(
      str("the network cannot act in ", spec.name),
      str("it goes from ", form(observation_size_, action_size_, is_discrete_), ", and the environment from ",
          form(spec.observation_size(), spec.action_size(), spec.is_discrete())),
      "make it from the environment's spec()");
}

ActorCritic::ActorCritic(const EnvironmentSpec& spec, const PolicyOptions& options, Rng& rng)
    : Policy(spec, options),
      actor_(layers(spec.observation_size(), spec.action_size(), options, rng)),
      critic_(layers(spec.observation_size(), 1, options, rng)) {
  make_orthogonal(actor_, 0.01, rng);
  make_orthogonal(critic_, 1, rng);
  if (!spec.is_discrete()) log_deviation_ = nn::parameter(zeros({spec.action_size()}));
}

TensorList ActorCritic::act_and_judge(const Tensor& x) const {
  const Tensor seen = normalized(x);
  return {actor_(seen), squeeze(critic_(seen), 1)};
}

void ActorCritic::fields(nn::Fields& f) {
  f("moments", moments_)("actor", actor_)("critic", critic_)("log_deviation", log_deviation_);
}

QNetwork::QNetwork(const EnvironmentSpec& spec, const PolicyOptions& options, bool dueling, Rng& rng)
    : Policy(spec, options),
      layers_(layers(spec.observation_size(), choices_of(spec) + (dueling ? 1 : 0), options, rng)),
      dueling_(dueling) {}

Tensor QNetwork::forward(const Tensor& x) const {
  const Tensor out = layers_(normalized(x));
  if (!dueling_) return out;
  const Tensor value = slice(out, 1, 0, 1), advantage = slice(out, 1, 1, out.size(1));
  return value + advantage - mean(advantage, {1}, true);
}

}  // namespace veldt::rl
