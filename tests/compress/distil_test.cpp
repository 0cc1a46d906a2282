// The losses of distillation, their gradients, hints by hooks, and a student that learns from its teacher.
#include "veldt/compress/distil.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/close.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/train/trainer.h"

namespace veldt::compress {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(Distil, SoftTargetsAreTheScaledDivergenceOfSofterDistributions) {
  const Tensor student = Tensor::of({1, 2}, {0, 2}), teacher = Tensor::of({1, 2}, {4, 0});
  const double q = 1 / (1 + std::exp(1.0)), p = 1 / (1 + std::exp(-2.0));  // of the first class, at T = 2
  const double divergence = p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q));
  EXPECT_NEAR(soft_target_loss(student, teacher, 2).item(), 4 * divergence, 1e-5);
  EXPECT_NEAR(soft_target_loss(teacher, teacher, 2).item(), 0, 1e-7);
  // Rows that do not count are left out.
  const Tensor two = Tensor::of({2, 2}, {0, 2, 9, 9}), wanted = Tensor::of({2, 2}, {4, 0, 1, 0});
  EXPECT_NEAR(soft_target_loss(two, wanted, 2, Tensor::of({2}, {1, 0})).item(), 4 * divergence, 1e-5);
  EXPECT_EQ(soft_target_loss(two, wanted, 2, zeros({2})).item(), 0);
}

TEST(Distil, TheGradientIsTheDifferenceOfProbabilitiesTimesTheTemperature) {
  Rng rng(1);
  Tensor student = nn::parameter(randn({3, 4}, rng));
  const Tensor teacher = randn({3, 4}, rng);
  soft_target_loss(student, teacher, 5).backward();
  const Tensor wanted = (softmax(student.detach() / 5, 1) - softmax(teacher / 5, 1)) * (5.0 / 3);
  EXPECT_TRUE(allclose(student.grad(), wanted, 1e-4, 1e-6));
}

TEST(Distil, HintsCompareFeaturesMapsAndSimilarities) {
  Rng rng(2);
  const Tensor a = randn({4, 3, 5, 5}, rng), b = randn({4, 8, 5, 5}, rng), c = randn({4, 7}, rng);
  EXPECT_NEAR(hint_loss(a, a + 2, HintLoss::features).item(), 4, 1e-5);
  EXPECT_NEAR(hint_loss(a, a * 3, HintLoss::attention).item(), 0, 1e-6);
  EXPECT_NEAR(hint_loss(a, a * 3, HintLoss::similarity).item(), 0, 1e-6);
  EXPECT_GT(hint_loss(a, b, HintLoss::attention).item(), 1e-3);
  EXPECT_GT(hint_loss(a, c, HintLoss::similarity).item(), 1e-4);
  EXPECT_THAT(error_of<ShapeError>([&] { hint_loss(a, b, HintLoss::features); }),
              HasSubstr("number by number"));
  EXPECT_THAT(error_of<ShapeError>([&] { hint_loss(a, c, HintLoss::attention); }), HasSubstr("same places"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                hint_loss(a, randn({3, 7}, rng), HintLoss::similarity);
              }),
              HasSubstr("each example"));
}

nn::Sequential small_net(std::int64_t width, std::uint64_t seed) {
  Rng rng(seed);
  nn::Sequential net{nn::Linear(2, width, rng), nn::Tanh(), nn::Dropout(0.2, rng)};
  net.add(nn::Linear(width, 3, rng));
  return net;
}

TEST(Distil, TheTotalIsMadeOfLabelsTeacherAndHints) {
  const nn::Sequential student = small_net(4, 1);
  auto teacher = std::make_shared<nn::Sequential>(small_net(16, 2));
  Rng rng(3);
  const data::Batch batch{randn({6, 2}, rng),
                          Tensor::from<std::int64_t>({6}, std::vector<std::int64_t>{0, 1, 2, 0, 1, -100})};
  const Distiller distiller(
      student, teacher,
      {.temperature = 3, .weight = 0.25, .hints = {{"0", "0"}, {"1", "1"}}, .hint_weight = 2});
  EXPECT_FALSE(teacher->training());
  const Tensor y = student(batch[0]), loss = full({}, 5.0);
  const Tensor own = student[0](batch[0]), other = (*teacher)[0](batch[0]);
  student(batch[0]);
  const double total = distiller(loss, {y}, batch).item();
  const double soft =
      soft_target_loss(y, (*teacher)(batch[0]), 3, Tensor::of({6}, {1, 1, 1, 1, 1, 0})).item();
  const double hints = (hint_loss(own, other, HintLoss::similarity).item() +
                        hint_loss(tanh(own), tanh(other), HintLoss::similarity).item()) /
                       2;
  EXPECT_NEAR(total, 0.75 * 5 + 0.25 * soft + 2 * hints, 1e-4);
}

TEST(Distil, OnlyTheStudentLearns) {
  nn::Sequential student = small_net(4, 1);
  auto teacher = std::make_shared<nn::Sequential>(small_net(16, 2));
  Rng rng(3);
  const data::Batch batch{randn({6, 2}, rng), zeros({6}, DType::i64)};
  const Distiller distiller(student, teacher);
  const Tensor y = student(batch[0]);
  distiller(cross_entropy(y, batch[1]), {y}, batch).backward();
  for (const Tensor& parameter : student.parameters()) EXPECT_TRUE(parameter.grad().defined());
  for (const Tensor& parameter : teacher->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(Distil, AStudentBecomesLikeItsTeacherWithoutItsLabels) {
  nn::Sequential student = small_net(12, 1);
  auto teacher = std::make_shared<nn::Sequential>(small_net(16, 2));
  Rng rng(3);
  const Tensor x = randn({256, 2}, rng, 0, 2);
  const data::DatasetPtr set = data::from_tensors({x, zeros({256}, DType::i64)});
  data::Loader loader(set, {.batch = 32, .shuffle = true, .seed = 4});
  optim::Adam adam(student.named_parameters(), {.lr = 0.02});
  train::Trainer trainer(student, adam,
                         {.instead = Distiller(student, teacher, {.temperature = 2, .weight = 1})});
  trainer.fit(loader, nullptr, {.epochs = 60, .record = true});
  student.eval();
  const Tensor same = equal(argmax(student(x), 1), argmax((*teacher)(x), 1));
  EXPECT_GT(mean(to(same, DType::f32)).item(), 0.95);
}

TEST(Distil, WhatCannotBeIsRefused) {
  const nn::Sequential student = small_net(4, 1);
  auto teacher = std::make_shared<nn::Sequential>(small_net(16, 2));
  EXPECT_THAT(error_of<ConfigError>([&] { Distiller(student, teacher, {.temperature = 0}); }),
              HasSubstr("temperature"));
  EXPECT_THAT(error_of<ConfigError>([&] { Distiller(student, teacher, {.weight = 1.5}); }), HasSubstr("1.5"));
  EXPECT_THAT(error_of<ConfigError>([&] { Distiller(student, teacher, {.hint_weight = -1}); }),
              HasSubstr("hints"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                Distiller(student, teacher, {.hints = {{"9", "0"}}});
              }),
              HasSubstr("student has no layer 9"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                Distiller(student, teacher, {.hints = {{"0", "9"}}});
              }),
              HasSubstr("teacher has no layer 9"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                soft_target_loss(zeros({2, 3}), zeros({2, 4}), 1);
              }),
              HasSubstr("classes"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                soft_target_loss(zeros({2, 3}), zeros({2, 3}), -1);
              }),
              HasSubstr("-1"));
}

}  // namespace
}  // namespace veldt::compress
