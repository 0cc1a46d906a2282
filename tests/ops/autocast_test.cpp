// Mixed precision: what is rounded to halves and what is not, and where gradients arrive.
#include "veldt/tensor/autocast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>

#include "tests/support/error_of.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/convolution.h"
#include "veldt/ops/create.h"
#include "veldt/ops/distance.h"
#include "veldt/ops/einsum.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/mlp.h"
#include "veldt/ops/norm.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/random.h"
#include "veldt/ops/recurrent.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using testing::HasSubstr;

using Inputs = std::vector<Tensor>;

struct Product {
  const char* name;
  std::vector<Shape> shapes;
  std::function<Tensor(const Inputs&)> run;
};

const std::vector<Product>& products() {
  static const std::vector<Product> all = {
      {"matmul", {{3, 40}, {40, 5}}, [](const Inputs& in) { return matmul(in[0], in[1]); }},
      {"linear", {{3, 40}, {5, 40}, {5}}, [](const Inputs& in) { return linear(in[0], in[1], in[2]); }},
      {"einsum", {{3, 40}, {40, 5}}, [](const Inputs& in) { return einsum("ij,jk->ki", in); }},
      {"conv2d",
       {{2, 3, 6, 6}, {4, 3, 3, 3}, {4}},
       [](const Inputs& in) { return conv2d(in[0], in[1], in[2], {.padding = 1}); }},
      {"conv_transpose1d",
       {{2, 3, 6}, {3, 4, 3}, {4}},
       [](const Inputs& in) { return conv_transpose1d(in[0], in[1], in[2]); }},
      {"attention",
       {{2, 5, 8}, {2, 6, 8}, {2, 6, 4}},
       [](const Inputs& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); }},
      {"attention_weights",
       {{2, 5, 8}, {2, 6, 8}},
       [](const Inputs& in) { return attention_weights(in[0], in[1]); }},
      {"lstm_steps",
       {{4, 2, 12}, {12, 3}, {2, 3}, {2, 3}},
       [](const Inputs& in) { return lstm_steps(in[0], in[1], in[2], in[3]); }},
  };
  return all;
}

Inputs leaves_of(const Product& p, DType dtype) {
  Rng rng(7);
  Inputs all;
  for (const Shape& shape : p.shapes) all.push_back(to(randn(shape, rng), dtype).set_requires_grad());
  return all;
}

std::vector<double> numbers_of(const Tensor& t) { return to(t.detach(), DType::f64).values<double>(); }

class AutocastTo : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, AutocastTo, testing::Values(DType::bf16, DType::f16),
                         [](const auto& at) { return std::string(name_of(at.param)); });

// By hand: each input rounded once, the product as halves have it, gradients through the roundings.
TEST_P(AutocastTo, RoundsWhatProductsAreGivenAndLeavesGradientsF32) {
  for (const Product& p : products()) {
    const Inputs leaves = leaves_of(p, DType::f32), same = leaves_of(p, DType::f32);
    Inputs rounded;
    for (const Tensor& t : same) rounded.push_back(to(t, GetParam()));
    const Tensor expected = p.run(rounded);
    Tensor y;
    {
      const Autocast now(GetParam());
      y = p.run(leaves);
    }
    EXPECT_EQ(y.dtype(), GetParam()) << p.name;
    EXPECT_EQ(numbers_of(y), numbers_of(expected)) << p.name;
    EXPECT_NE(numbers_of(y), numbers_of(p.run(leaves))) << p.name;  // f32 has more digits
    sum(square(to(y, DType::f32))).backward();
    sum(square(to(expected, DType::f32))).backward();
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_EQ(leaves[i].grad().dtype(), DType::f32) << p.name;
      EXPECT_EQ(leaves[i].grad().values<float>(), same[i].grad().values<float>()) << p.name << ' ' << i;
    }
  }
}

TEST_P(AutocastTo, GivesTheSameBitsWithinTheScopeBehindItAndInAPlan) {
  for (const Product& p : products()) {
    Inputs leaves = leaves_of(p, DType::f32);
    const auto loss = [&] {
      const Autocast now(GetParam());
      return mean(square(p.run(leaves)));
    };
    const auto gradients = [&] {
      std::vector<std::vector<float>> all;
      for (const Tensor& t : leaves) all.push_back(t.grad().values<float>());
      return all;
    };
    const auto forget = [&] {
      for (Tensor& t : leaves) t.zero_grad();
    };
    const Tensor behind = loss();
    EXPECT_EQ(behind.dtype(), DType::f32) << p.name;
    behind.backward();
    const auto expected = gradients();
    forget();
    {
      const Autocast now(GetParam());
      loss().backward();
    }
    EXPECT_EQ(gradients(), expected) << p.name;
    Plan plan([&] {
      const Tensor value = loss();
      forget();
      value.backward();
      return value;
    });
    forget();
    plan.replay();
    EXPECT_EQ(plan.output().item(), behind.item()) << p.name;
    EXPECT_EQ(gradients(), expected) << p.name;
  }
}

TEST_P(AutocastTo, DoesNotRoundWhatIsComputedInF32) {
  Rng rng(3);
  const Tensor x = to(randn({2, 4, 8}, rng), GetParam()), exact = to(x, DType::f32);
  const Tensor weight = randn({8}, rng);
  const std::array<std::function<Tensor(const Tensor&)>, 14> all = {
      [](const Tensor& t) { return sum(t, {1}); },
      [](const Tensor& t) { return mean(t); },
      [](const Tensor& t) { return norm(t); },
      [](const Tensor& t) { return variance(t, {1}); },
      [](const Tensor& t) { return stddev(t, {1}); },
      [](const Tensor& t) { return softmax(t, 1); },
      [](const Tensor& t) { return log_softmax(t, 1); },
      [](const Tensor& t) { return logsumexp(t, {1}); },
      [](const Tensor& t) { return avg_pool1d(t, 3); },
      [](const Tensor& t) { return adaptive_avg_pool1d(t, 3); },
      [&](const Tensor& t) { return layer_norm(t, {8}, weight, weight); },
      [](const Tensor& t) { return group_norm(t, 2); },
      [&](const Tensor& t) { return rms_norm(t, {8}, weight, 1e-6); },
      [](const Tensor& t) { return cosine_similarity(t, t + 1.0); },
  };
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const Tensor expected = all[i](exact);
    const Autocast now(GetParam());
    for (const Tensor& given : {x, exact}) {
      const Tensor y = all[i](given);
      EXPECT_EQ(y.dtype(), DType::f32) << i;
      EXPECT_EQ(numbers_of(y), numbers_of(expected)) << i;
    }
  }
  const Autocast now(GetParam());
  EXPECT_EQ(all.back()(x).dtype(), DType::f32);
}

TEST_P(AutocastTo, TakesActivationsOfHalvesIntoAStackOfLayers) {
  Rng rng(3);
  const DenseLayers layers = {{randn({4, 8}, rng), randn({4}, rng), MlpActivation::relu, 1},
                              {randn({2, 4}, rng), {}, MlpActivation::identity, 1}};
  const Tensor x = to(randn({3, 8}, rng), GetParam());
  const Tensor expected = mlp(to(x, DType::f32), layers, Precision::f32);
  const Autocast now(GetParam());
  EXPECT_EQ(numbers_of(mlp(x, layers, Precision::f32)), numbers_of(expected));
}

TEST_P(AutocastTo, TakesStacksThatAreOfHalvesThemselves) {
  Rng rng(3);
  const DenseLayers layers = {{to(randn({2, 8}, rng), GetParam()), {}, MlpActivation::identity, 1}};
  const Tensor x = to(randn({3, 8}, rng), GetParam()), target = to(randn({3, 2}, rng), GetParam());
  const Tensor expected = mlp(x, layers, Precision::f32);
  const Tensor loss = mlp_loss(x, layers, target, {}).loss;
  const Autocast now(GetParam());
  EXPECT_EQ(numbers_of(mlp(x, layers, Precision::f32)), numbers_of(expected));
  EXPECT_EQ(numbers_of(mlp_loss(x, layers, target, {}).loss), numbers_of(loss));
  const DenseLayers wide = {{to(layers[0].weight, DType::f32), {}, MlpActivation::identity, 1}};
  EXPECT_EQ(mlp_loss(x, wide, target, {}).loss.dtype(), DType::f32);
}

TEST(Autocast, LeavesWideAndWholeNumbersAlone) {
  const Autocast now(DType::bf16);
  EXPECT_EQ(matmul(ones({2, 2}, DType::f64), ones({2, 2}, DType::f64)).dtype(), DType::f64);
  EXPECT_EQ(matmul(ones({2, 2}, DType::i64), ones({2, 2}, DType::i64)).dtype(), DType::f32);
  EXPECT_EQ((ones({2}) + ones({2})).dtype(), DType::f32);
  // The other half counts as f32 does.
  EXPECT_EQ(matmul(ones({2, 2}, DType::f16), ones({2, 2})).dtype(), DType::bf16);
}

TEST(Autocast, EndsWithItsScopeAndIsItsThreadsAlone) {
  const Tensor x = ones({2, 2});
  {
    const Autocast now(DType::bf16);
    {
      const Autocast inner(DType::f16);
      EXPECT_EQ(matmul(x, x).dtype(), DType::f16);
      const Autocast off({});
      EXPECT_EQ(matmul(x, x).dtype(), DType::f32);
    }
    EXPECT_EQ(matmul(x, x).dtype(), DType::bf16);
    DType elsewhere = DType::bf16;
    std::thread([&] { elsewhere = matmul(x, x).dtype(); }).join();
    EXPECT_EQ(elsewhere, DType::f32);
  }
  EXPECT_EQ(matmul(x, x).dtype(), DType::f32);
  EXPECT_FALSE(autocast_dtype());
}

TEST(Autocast, IsForHalvesAlone) {
  EXPECT_THAT(test::error_of<ConfigError>([] { const Autocast none(DType::f32); }),
              HasSubstr("round to f32"));
  EXPECT_FALSE(autocast_dtype());
}

TEST(Autocast, CanBeDifferentiatedTwice) {
  Tensor x = full({1, 1}, 3).set_requires_grad();
  Tensor y;
  {
    const Autocast now(DType::bf16);
    y = sum(matmul(matmul(x, x), x));
  }
  const Tensor slope = grad(y, {x}, true)[0];
  EXPECT_EQ(slope.item(), 27);
  EXPECT_EQ(grad(sum(slope), {x})[0].item(), 18);
}

}  // namespace
}  // namespace veldt
