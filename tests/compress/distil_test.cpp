// The losses of distillation, their gradients, hints by hooks, and a student that learns from its teacher.
#include "veldt/compress/distil.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "tests/support/gradients.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/close.h"
#include "veldt/ops/convolution.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/operators.h"
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

// Of segmentation: logits [n, classes, height, width], as cross_entropy() has them.
TEST(Distil, SoftTargetsOfPlacesAreThoseOfRows) {
  Rng rng(5);
  const Shape shape{2, 3, 4, 5};
  const Tensor student = randn(shape, rng), teacher = randn(shape, rng);
  const auto rows_of = [](const Tensor& x) { return reshape(transpose(x, 1, -1), {-1, 3}); };
  const Tensor counts = to(rand({2, 4, 5}, rng) > 0.4, DType::f32);
  EXPECT_NEAR(soft_target_loss(student, teacher, 3).item(),
              soft_target_loss(rows_of(student), rows_of(teacher), 3).item(), 1e-5);
  const Tensor as_rows = reshape(transpose(reshape(counts, {2, 1, 4, 5}), 1, -1), {-1});
  EXPECT_NEAR(soft_target_loss(student, teacher, 3, counts).item(),
              soft_target_loss(rows_of(student), rows_of(teacher), 3, as_rows).item(), 1e-5);
  EXPECT_THAT(error_of<ShapeError>([&] {
                soft_target_loss(student, teacher, 3, zeros({2, 3}));
              }),
              HasSubstr("counts"));
  const auto numbers = [&rng](const Shape& sizes) { return test::uniform(sizes, rng); };
  const test::GradientReport report =
      test::check_gradients([](const std::vector<Tensor>& x) { return soft_target_loss(x[0], x[1], 2); },
                            {{numbers({2, 3, 2, 2})}, {numbers({2, 3, 2, 2})}}, 1);
  EXPECT_TRUE(report.ok) << report.message;
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

TEST(Distil, PlacesWithoutALabelDoNotCount) {
  Rng rng(6);
  nn::Sequential student{nn::Conv2d(2, 3, 1, rng)};
  auto teacher = std::make_shared<nn::Sequential>(nn::Conv2d(2, 3, 1, rng));
  Tensor labels = zeros({2, 4, 4}, DType::i64);
  slice(labels, 1, 2, 4).assign(full({2, 2, 4}, -100, DType::i64));
  const data::Batch batch{randn({2, 2, 4, 4}, rng), labels};
  const Tensor y = student(batch[0]), wanted = (*teacher)(batch[0]);
  const Distiller distiller(student, teacher, {.temperature = 2, .weight = 1});
  EXPECT_NEAR(distiller(cross_entropy(y, labels), {y}, batch).item(),
              soft_target_loss(slice(y, 2, 0, 2), slice(wanted, 2, 0, 2), 2).item(), 1e-6);
}

TEST(Distil, PaddingThatDoesNotFitTheOutputsIsRefused) {
  const nn::Sequential student = small_net(4, 1);
  auto teacher = std::make_shared<nn::Sequential>(small_net(16, 2));
  Rng rng(3);
  const Tensor x = randn({2, 5, 2}, rng);  // gives [2, 5, 3]: 5 would be the classes
  const Distiller distiller(student, teacher);
  const auto loss = [&](const Tensor& labels) {
    return distiller(full({}, 0.0), {student(x)}, {x, labels}).item();
  };
  const Tensor labels = zeros({2, 5}, DType::i64);
  EXPECT_TRUE(std::isfinite(loss(labels)));
  EXPECT_THAT(error_of<ShapeError>([&] { loss(labels - 1); }), HasSubstr("do not fit"));
}

// FitNets: 4 channels beside 7, and 5 features beside 9.
class RegressedHints : public testing::Test {
 protected:
  static nn::Sequential net(std::int64_t channels, std::int64_t features, std::uint64_t seed,
                            DType dtype = DType::f32) {
    Rng rng(seed);
    nn::Sequential layers{nn::Conv2d(2, channels, 3, rng), nn::Tanh(), nn::Flatten()};
    layers.add(nn::Linear(channels * 4, features, rng));
    layers.add(nn::Linear(features, 3, rng));
    layers.to(dtype);
    return layers;
  }
  static DistilOptions options(DType dtype = DType::f32) {
    return {.weight = 0,
            .hints = {{"0", "0"}, {"3", "3"}},
            .hint_loss = HintLoss::features,
            .example = {zeros({1, 2, 4, 4}, dtype)},
            .seed = 8};
  }
  static data::Batch batch(DType dtype = DType::f32) {
    Rng rng(9);
    return {randn({3, 2, 4, 4}, rng, 0, 1, dtype), zeros({3}, DType::i64)};
  }
};

TEST_F(RegressedHints, MapTheStudentsChannelsAndFeatures) {
  const nn::Sequential student = net(4, 5, 1);
  auto teacher = std::make_shared<nn::Sequential>(net(7, 9, 2));
  const Distiller distiller(student, teacher, options());
  EXPECT_TRUE(student.training());
  const NamedTensors learned = distiller.named_parameters();
  ASSERT_EQ(learned.size(), 4U);
  EXPECT_EQ(learned[0].name, "hints.0.weight");
  EXPECT_EQ(learned[0].tensor.shape(), (Shape{7, 4}));
  EXPECT_EQ(learned[2].tensor.shape(), (Shape{9, 5}));
  const data::Batch b = batch();
  const Tensor y = student(b[0]), total = distiller(full({}, 0.0), {y}, b);
  // A 1 x 1 convolution, and a linear layer.
  const Tensor maps = student[0](b[0]);
  const Tensor channels = conv2d(maps, reshape(learned[0].tensor, {7, 4, 1, 1}), learned[1].tensor);
  const Tensor inside = student[3](student[2](tanh(maps)));
  const Tensor features = linear(inside, learned[2].tensor, learned[3].tensor);
  const Tensor other = (*teacher)[0](b[0]);
  const Tensor last = (*teacher)[3]((*teacher)[2](tanh(other)));
  EXPECT_NEAR(total.item(), (mse_loss(channels, other).item() + mse_loss(features, last).item()) / 2, 1e-5);
}

TEST_F(RegressedHints, HaveGradientsOfTheirOwn) {
  nn::Sequential student = net(4, 5, 1, DType::f64);
  auto teacher = std::make_shared<nn::Sequential>(net(7, 9, 2, DType::f64));
  const Distiller distiller(student, teacher, options(DType::f64));
  NamedTensors learned = student.named_parameters();
  for (const NamedTensor& one : distiller.named_parameters()) learned.push_back(one);
  const data::Batch b = batch(DType::f64);
  const auto loss = [&] { return distiller(full({}, 0.0, DType::f64), {student(b[0])}, b); };
  loss().backward();
  for (const auto& [name, tensor] : learned) {
    if (name.starts_with("4.")) continue;  // behind the hints
    ASSERT_TRUE(tensor.grad().defined()) << name;
    const std::vector<double> gradient = reshape(tensor.grad(), {-1}).values<double>();
    Tensor place = slice(reshape(tensor.detach(), {-1}), 0, 1, 2);
    const double before = place.item(), step = 1e-5;
    place.assign(full({1}, before + step, DType::f64));
    const double above = loss().item();
    place.assign(full({1}, before - step, DType::f64));
    const double below = loss().item();
    place.assign(full({1}, before, DType::f64));
    EXPECT_NEAR(gradient[1], (above - below) / (2 * step), 1e-8) << name;
  }
}

TEST_F(RegressedHints, LearnAndAreResumedWithTheSameBits) {
  const test::TempDir dir;
  Rng rng(3);
  const data::DatasetPtr set = data::from_tensors({randn({64, 2, 4, 4}, rng), zeros({64}, DType::i64)});
  auto teacher = std::make_shared<nn::Sequential>(net(7, 9, 2));
  const auto fit = [&](std::int64_t pause, bool resume, const std::string& out) {
    nn::Sequential student = net(4, 5, 1);
    const Distiller distiller(student, teacher, options());
    NamedTensors learned = student.named_parameters();
    for (const NamedTensor& one : distiller.named_parameters()) learned.push_back(one);
    optim::Adam adam(learned, {.lr = 0.01});
    data::Loader loader(set, {.batch = 16, .shuffle = true, .seed = 4});
    train::Trainer trainer(student, adam, {.instead = distiller});
    const train::FitResult result =
        trainer.fit(loader, nullptr, {.steps = 60, .pause = pause, .out = out, .resume = resume});
    return std::pair(result.run.loss, learned);
  };
  const auto [loss, whole] = fit(0, false, "");
  EXPECT_LT(loss, 0.5 * fit(1, false, "").first);
  fit(25, false, dir / "run");
  const NamedTensors parts = fit(0, true, dir / "run").second;
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_TRUE(array_equal(whole[i].tensor, parts[i].tensor)) << whole[i].name;
}

TEST_F(RegressedHints, ChangeTheWidthAlone) {
  const nn::Sequential student = net(4, 5, 1);
  auto teacher = std::make_shared<nn::Sequential>(net(7, 9, 2));
  DistilOptions other = options();
  other.hints = {{"0", "3"}};
  EXPECT_THAT(error_of<ShapeError>([&] { Distiller(student, teacher, other); }), HasSubstr("width alone"));
  EXPECT_TRUE(student.training());
}

// Steps of time are no width, though a linear layer could map one number of them to another.
TEST(RegressedSequences, MapFeaturesOrTheChannelsOfConvolutions) {
  Rng rng(4);
  const auto linear = [&](std::int64_t out) {
    return std::make_shared<nn::Sequential>(nn::Linear(6, out, rng), nn::Tanh());
  };
  const auto conv = [&](std::int64_t out, std::int64_t kernel) {
    return std::make_shared<nn::Sequential>(nn::Conv1d(6, out, kernel, rng), nn::Tanh());
  };
  // The student sees the first `steps` of the teacher's.
  const auto regressor = [](const nn::Sequential& student, const std::shared_ptr<nn::Sequential>& teacher,
                            const Shape& shape, std::int64_t steps) {
    const nn::Module* const small = &student;
    const Distiller distiller(student, teacher,
                              {.hints = {{"0", "0"}},
                               .hint_loss = HintLoss::features,
                               .example = {zeros(shape)},
                               .forward = [small, steps](const nn::Module& m, const data::Batch& batch) {
                                 return m(&m == small ? slice(batch[0], 1, 0, steps) : batch[0]);
                               }});
    const NamedTensors learned = distiller.named_parameters();
    return learned.empty() ? Shape{} : learned[0].tensor.shape();
  };
  EXPECT_EQ(regressor(*linear(8), linear(9), {2, 7, 6}, 7), (Shape{9, 8}));
  EXPECT_THAT(error_of<ShapeError>([&] {
                regressor(*linear(8), linear(8), {2, 7, 6}, 5);
              }),
              HasSubstr("[2, 5, 8]"));
  EXPECT_EQ(regressor(*conv(4, 3), conv(5, 3), {2, 6, 9}, 6), (Shape{5, 4}));
  EXPECT_THAT(error_of<ShapeError>([&] {
                regressor(*conv(4, 2), conv(4, 3), {2, 6, 9}, 6);
              }),
              HasSubstr("width alone"));
}

// What the teacher made of the example is no hint of a batch.
TEST_F(RegressedHints, TakeNothingFromTheExample) {
  const nn::Sequential student = net(4, 5, 1);
  auto teacher = std::make_shared<nn::Sequential>(net(7, 9, 2));
  DistilOptions o = options();
  bool whole = true;
  o.forward = [&whole](const nn::Module& m, const data::Batch& b) {
    return whole ? m(b[0]) : zeros({b[0].size(0), 3});
  };
  const Distiller distiller(student, teacher, o);
  whole = false;
  const data::Batch b = batch();
  EXPECT_THAT(error_of<Error>([&] { distiller(full({}, 0.0), {student(b[0])}, b); }),
              HasSubstr("heard nothing"));
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
