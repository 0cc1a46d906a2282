// The networks of agents: names, running moments, dueling values, first weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/rl/environments.h"
#include "veldt/rl/fit.h"
#include "veldt/rl/vector_environment.h"
#include "veldt/rl/policy.h"

namespace veldt::rl {
namespace {

TEST(Moments, AreThoseOfAllRows) {
  Moments moments(2);
  EXPECT_EQ(moments(Tensor::of({1, 2}, {3, -4})).values<float>(), (std::vector<float>{3, -4}));
  std::vector<float> rows;
  Rng rng(1);
  for (int i = 0; i < 30; ++i)
    rows.push_back(5 + rng.next_uniform()), rows.push_back(100 * rng.next_uniform());
  const std::span<const float> all(rows);
  moments.add(all.subspan(0, 2)), moments.add(all.subspan(2, 14)), moments.add(all.subspan(16));
  const Tensor x = Tensor::from<float>({30, 2}, rows);
  const std::vector<float> scaled = moments(x).values<float>();
  for (const int column : {0, 1}) {
    double mean = 0, square = 0;
    for (std::size_t i = static_cast<std::size_t>(column); i < scaled.size(); i += 2)
      mean += scaled[i] / 30, square += scaled[i] * scaled[i] / 30;
    EXPECT_NEAR(mean, 0, 1e-5);
    EXPECT_NEAR(square, 1, 1e-4);
  }
  EXPECT_EQ(moments(Tensor::of({1, 2}, {1e6, -1e6})).values<float>(), (std::vector<float>{10, -10}));
}

TEST(Policies, HaveTheNamesThatFilesHave) {
  Rng rng(1);
  const auto names = [](const nn::Module& module) {
    std::vector<std::string> all;
    for (const auto& [name, tensor] : module.state_dict()) all.push_back(name);
    return all;
  };
  const EnvironmentPtr cart = make_environment("CartPole-v1"), pendulum = make_environment("Pendulum-v1");
  EXPECT_THAT(names(ActorCritic(pendulum->spec(), {.depth = 1, .normalize = true}, rng)),
              ::testing::ElementsAre("moments.mean", "moments.variance", "moments.count",
                                     "actor.layers.0.weight", "actor.layers.0.bias", "actor.layers.1.weight",
                                     "actor.layers.1.bias", "critic.layers.0.weight", "critic.layers.0.bias",
                                     "critic.layers.1.weight", "critic.layers.1.bias", "log_deviation"));
  EXPECT_THAT(names(QNetwork(cart->spec(), {.depth = 1}, true, rng)),
              ::testing::ElementsAre("values.layers.0.weight", "values.layers.0.bias",
                                     "values.layers.1.weight", "values.layers.1.bias"));
  EXPECT_THAT(test::error_of<ConfigError>([&] { ActorCritic(cart->spec(), {.width = 0}, rng); }),
              ::testing::HasSubstr("2 layers of 0"));
}

// The mean of all choices' Q is the value alone.
TEST(Policies, ADuelingNetworkHasItsValueForMean) {
  Rng rng(1), again(1);
  const EnvironmentPtr cart = make_environment("CartPole-v1");
  const QNetwork dueling(cart->spec(), {.width = 8, .depth = 1}, true, rng);
  const nn::MLP same({4, 8, 3}, {.activation = MlpActivation::tanh}, again);
  const Tensor x = Tensor::of({2, 4}, {0.1, -2, 3, 0.4, 1, 1, -1, 0.5});
  const std::vector<float> q = dueling(x).values<float>(), out = same(x).values<float>();
  for (const std::size_t row : {0u, 1u}) {
    EXPECT_NEAR((q[2 * row] + q[2 * row + 1]) / 2, out[3 * row], 1e-6);
    EXPECT_NEAR(q[2 * row] - q[2 * row + 1], out[3 * row + 1] - out[3 * row + 2], 1e-6);
  }
}

TEST(Policies, AnActorStartsUndecided) {
  Rng rng(1);
  const EnvironmentPtr cart = make_environment("CartPole-v1");
  const ActorCritic network(cart->spec(), {}, rng);
  for (const float logit : network(Tensor::of({1, 4}, {1, 2, -3, 1})).values<float>())
    EXPECT_LT(std::abs(logit), 0.05);
  const Tensor weight = network.named_parameters().at(2).tensor;  // [64, 64] within
  const std::vector<float> product = matmul(weight, transpose(weight, 0, 1)).values<float>();
  for (std::size_t i = 0; i < product.size(); ++i) EXPECT_NEAR(product[i], i % 65 == 0 ? 2 : 0, 1e-4);
}

// Numbers of another environment's rows must not be read.
TEST(Policies, ANetworkForAnotherEnvironmentIsRefused) {
  const EnvironmentPtr cart = make_environment("CartPole-v1"), acrobot = make_environment("Acrobot-v1"),
                       pendulum = make_environment("Pendulum-v1");
  Rng rng(1);
  const ActorCritic network(acrobot->spec(), {}, rng);
  EXPECT_THAT(
      test::error_of<ConfigError>([&] { play(network, cart, {.episodes = 1}); }),
      ::testing::HasSubstr("from 6 numbers to 3 choices, and the environment from 4 numbers to 2 choices"));
  EnvironmentSpec other = cart->spec();
  other.choices = 0, other.action_low = {-1, -1}, other.action_high = {1, 1};
  EXPECT_THAT(test::error_of<ConfigError>([&] { ActorCritic(other, {}, rng).check_fits(cart->spec()); }),
              ::testing::HasSubstr("2 numbers of an action"));
  ActorCritic(cart->spec(), {}, rng).check_fits(cart->spec());
  EXPECT_THROW(VectorEnvironment(nullptr, 1, 1), ConfigError);
}

}  // namespace
}  // namespace veldt::rl
