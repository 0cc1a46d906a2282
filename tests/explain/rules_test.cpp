// Relevance is conserved, guided gradients are of one sign, and what has no rule is named.
#include "veldt/explain/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/explain/networks.h"
#include "veldt/core/error.h"
#include "veldt/explain/gradients.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/recompute.h"

namespace veldt::explain {
namespace {

using testing::HasSubstr;

TEST(ExplainRules, RelevanceOfANetworkWithoutBiasesAddsUpToItsOutput) {
  Rng rng(1);
  nn::Sequential net;
  net.add(nn::Conv2d(2, 4, 3, {.padding = 1, .bias = false}, rng));
  net.add(nn::Tanh());
  net.add(nn::Residual(nn::Sequential{nn::Conv2d(4, 4, 3, {.padding = 1, .bias = false}, rng), nn::ReLU()}));
  net.add(nn::AvgPool2d(2));
  net.add(nn::Lambda([](const Tensor& x) { return mean(relu(x), {2, 3}) * 3.0; }));  // called by no module
  net.add(nn::Linear(4, 3, {.bias = false}, rng));
  const Tensor x = randn({2, 2, 6, 6}, rng), relevance = lrp(net, x, {1});
  ASSERT_EQ(relevance.shape(), x.shape());
  const Tensor added = sum(reshape(relevance, {2, -1}), {1}), wanted = select(net(x), 1, 1).detach();
  EXPECT_LT(max(abs(added - wanted)).item(), 1e-4 * max(abs(wanted)).item());
  // With a tanh it is no longer the input times the gradient.
  EXPECT_GT(max(abs(relevance - input_x_gradient(net, x, {1}))).item(), 1e-3 * max(abs(relevance)).item());
  // A larger epsilon absorbs some.
  const Tensor less_of_it = lrp(net, x, {1}, {.epsilon = 10});
  EXPECT_LT(max(abs(less_of_it)).item(), max(abs(relevance)).item());
}

TEST(ExplainRules, EpsilonAndBiasesTakeTheirPart) {
  // z = 3 1 - 1 2 + 0.5 = 1.5, all of it relevance: x w 1.5 / (1.5 + 0.5).
  const nn::Linear layer(2, 1);
  Tensor(layer.weight()).detach().assign(Tensor::of({1, 2}, {1, -2}));
  Tensor(layer.bias()).detach().assign(Tensor::of({1}, {0.5}));
  const Tensor found = lrp(layer, Tensor::of({1, 2}, {3, 1}), {0}, {.epsilon = 0.5});
  EXPECT_NEAR(found(0, 0).item(), 2.25, 1e-6);
  EXPECT_NEAR(found(0, 1).item(), -1.5, 1e-6);
  // Below 0 epsilon is taken away: z = -2.5.
  Tensor(layer.bias()).detach().assign(Tensor::of({1}, {-3.5}));
  EXPECT_NEAR(lrp(layer, Tensor::of({1, 2}, {3, 1}), {0}, {.epsilon = 0.5})(0, 0).item(), 2.5, 1e-6);
}

TEST(ExplainRules, RelevancePassesADivisionByANumber) {
  const nn::Lambda halves([](const Tensor& x) { return sum(x / 2.0, {1}); });
  const Tensor relevance = lrp(halves, Tensor::of({1, 2}, {4, 6}), {0});
  EXPECT_NEAR(relevance(0, 0).item(), 2, 1e-5);
  EXPECT_NEAR(relevance(0, 1).item(), 3, 1e-5);
}

TEST(ExplainRules, GuidedGradientsPassNothingBelowZero) {
  // relu(x) - relu(2 x): the second branch speaks against the output, so nothing of it passes.
  const nn::Lambda net([](const Tensor& x) { return sum(relu(x) - relu(x * 2.0), {1}); });
  const Tensor x = Tensor::of({1, 3}, {1, -1, 2});
  EXPECT_EQ(guided_backprop(net, x).values<float>(), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(saliency(net, x, {}, {.absolute = false}).values<float>(), (std::vector<float>{-1, 0, -1}));
}

TEST(ExplainRules, NameWhatHasNoRule) {
  Rng rng(2);
  const nn::Sequential without{nn::Linear(3, 3, rng), nn::Tanh()};
  EXPECT_THROW(guided_backprop(without, ones({1, 3}), {0}), ConfigError);
  const nn::Lambda again([](const Tensor& x) {
    return checkpoint([](const TensorList& in) { return relu(in[0]); }, {relu(x)});
  });
  EXPECT_THROW(guided_backprop(again, ones({1, 3}), {0}), ConfigError);
  const auto refusal = [&](const nn::Module& net, const Tensor& x) -> std::string {
    try {
      lrp(net, x, {0});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  const nn::Lambda gate([](const Tensor& x) { return x * sigmoid(x); });
  EXPECT_THAT(refusal(gate, ones({1, 3})), HasSubstr("multiplies two activations"));
  const nn::Sequential attention{nn::MultiheadAttention(4, 2, {.batch_first = true}, rng),
                                 nn::Lambda([](const Tensor& x) { return select(x, 1, 0); })};
  EXPECT_THAT(refusal(attention, randn({1, 3, 4}, rng)), HasSubstr("self_attention"));
  const nn::Lambda inverse([](const Tensor& x) { return 1.0 / x; });
  EXPECT_THAT(refusal(inverse, ones({1, 3})), HasSubstr("LRP cannot go back through"));
  EXPECT_THROW(lrp(without, ones({1, 3}), {0}, {.epsilon = -1}), ConfigError);
}

}  // namespace
}  // namespace veldt::explain
