// Models of several inputs and outputs, and which losses their targets get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/train/trainer.h"

namespace veldt::train {
namespace {

using test::error_of;
using testing::HasSubstr;

// Where a point lies, and how far from the middle.
TEST(TrainerOutputs, LearnsTwoOutputsOfTwoInputs) {
  Rng rng(5);
  const Tensor x = rand({320, 1}, rng, -1, 1), y = rand({320, 1}, rng, -1, 1);
  const Tensor squares = square(x) + square(y);
  const data::DatasetPtr points =
      data::from_tensors({x, y, squares, to(less(squeeze(squares, 1), full({}, 0.5)), DType::i64)});
  nn::Sequential model{nn::Lambda([](const TensorList& in) {
                         return TensorList{cat({in[0], in[1]}, 1)};
                       }),
                       nn::Linear(2, 32, rng),
                       nn::Tanh(),
                       nn::Linear(32, 32, rng),
                       nn::Tanh(),
                       nn::Parallel({nn::Linear(32, 1, rng), nn::Linear(32, 2, rng)})};
  optim::Adam adam(model.named_parameters(), {.lr = 0.01});
  data::Loader train(points, {.batch = 32, .shuffle = true}), test(points, {.batch = 64});
  Trainer trainer(
      model, adam,
      {.forward =
           [](const nn::Module& m, const data::Batch& b) {
             return m({b[0], b[1]});
           },
       .loss = [](const TensorList& out,
                  const data::Batch& b) { return mse_loss(out[0], b[2]) + cross_entropy(out[1], b[3]); },
       .metrics = {of_output(1, 3, accuracy()), of_output(0, 2, root_mean_squared_error())}});
  const FitResult result = trainer.fit(train, &test, {.epochs = 20, .record = true});
  EXPECT_GT(score(result.best->scores, "accuracy_1"), 0.93);
  EXPECT_LT(score(result.best->scores, "rmse_0"), 0.2);  // of numbers from 0 to 2
  EXPECT_EQ(trainer.predict(test).shape(), (Shape{320, 1}));
  Trainer wrong(model, adam,
                {.forward =
                     [](const nn::Module& m, const data::Batch& b) {
                       return m({b[0], b[1]});
                     },
                 .loss = [](const Tensor& y0, const data::Batch& b) { return mse_loss(y0, b[2]); },
                 .metrics = {of_output(2, 3, accuracy())}});
  EXPECT_THAT(error_of<ConfigError>([&] { wrong.evaluate(test); }), HasSubstr("output 2 of 2"));
}

// Whose list is of query, key and value.
TEST(TrainerOutputs, CallsALayerOfSeveralInputsWithTheOneItHas) {
  Rng rng(5);
  nn::Sequential model{nn::MultiheadAttention(4, 2, {.batch_first = true}, rng), nn::LastStep(),
                       nn::Linear(4, 2, rng)};
  optim::Adam adam(model.named_parameters());
  data::Loader loader(data::from_tensors({rand({16, 3, 4}, rng), zeros({16}, DType::i64)}), {.batch = 8});
  Trainer trainer(model, adam);
  EXPECT_EQ(trainer.fit(loader, &loader, {.epochs = 2}).run.steps, 4);
}

TEST(TrainerOutputs, AsksForTheLossOfNumbers) {
  Rng rng(5);
  nn::Sequential model{nn::Linear(2, 1, rng)};
  optim::Adam adam(model.named_parameters());
  data::Loader numbers(data::from_tensors({rand({64, 2}, rng), rand({64, 1}, rng)}), {.batch = 8});
  Trainer none(model, adam);
  EXPECT_THAT(error_of<ConfigError>([&] { none.fit(numbers, nullptr, {.epochs = 1}); }),
              testing::AllOf(HasSubstr("no loss for targets f32 [8, 1]"), HasSubstr("TrainerOptions::loss")));
  Trainer empty(model, adam,
                {.forward = std::function<Tensor(const nn::Module&, const data::Batch&)>(),
                 .loss = std::function<Tensor(const Tensor&, const data::Batch&)>()});
  EXPECT_THAT(error_of<ConfigError>([&] { empty.fit(numbers, nullptr, {.epochs = 1}); }),
              HasSubstr("no loss for targets"));
  Trainer wrong(model, adam,
                {.loss = [](const Tensor& y, const data::Batch& b) { return cross_entropy(y, b.back()); }});
  EXPECT_THAT(error_of<ShapeError>([&] { wrong.fit(numbers, nullptr, {.epochs = 1}); }),
              HasSubstr("cannot learn one class"));
  Trainer right(model, adam,
                {.loss = [](const Tensor& y, const data::Batch& b) { return mse_loss(y, b.back()); }});
  right.fit(numbers, nullptr, {.epochs = 1});
}

}  // namespace
}  // namespace veldt::train
