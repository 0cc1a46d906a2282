// One network with two answers: on which of three spiral arms a point lies (a class), and how far along the
// arm (a number). The heads share a body; the loss is the sum of both, and each is measured by itself.
#include <cmath>
#include <cstdio>
#include <numbers>

#include "veldt/veldt.h"

using namespace veldt;

// {where [2], arm, how far [1]}
data::Example point(std::int64_t i) {
  Rng rng(static_cast<std::uint64_t>(i));
  const double far = rand({1}, rng).item(), wobble = randn({1}, rng, 0, 0.1).item();
  const double angle = 5 * far + 2 * std::numbers::pi * static_cast<double>(i % 3) / 3 + wobble;
  const double radius = 0.2 + far;
  return {Tensor::of({2}, {radius * std::cos(angle), radius * std::sin(angle)}),
          Tensor::of({}, {static_cast<double>(i % 3)}, DType::i64), Tensor::of({1}, {far})};
}

int main() {
  nn::seed(2);
  nn::Sequential model{nn::Linear(2, 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU(),
                       nn::Parallel({nn::Linear(64, 3), nn::Linear(64, 1)})};
  optim::Adam adam(model.named_parameters(), {.lr = 3e-3});
  data::Loader train(data::from_function(1500, point), {.batch = 50, .shuffle = true});
  data::Loader held(data::from_function(600, [](std::int64_t i) { return point(3000 + i); }), {.batch = 200});

  // Both losses are near 1 at first with this factor; without it the number would hardly count.
  const auto loss = [](const TensorList& y, const data::Batch& b) {
    return cross_entropy(y[0], b[1]) + 10 * mse_loss(y[1], b[2]);
  };
  train::Trainer trainer(
      model, adam,
      {.forward = [](const nn::Module& m, const data::Batch& b) { return m(TensorList{b[0]}); },
       .loss = loss,
       // Output 0 against tensor 1 of the batch, output 1 against tensor 2.
       .metrics = {train::of_output(0, 1, train::accuracy()),
                   train::of_output(1, 2, train::mean_absolute_error())}});
  const optim::OneCycle rate{.lr_max = 1e-2, .steps = 40 * train.batches()};
  const train::FitResult result = trainer.fit(
      train, &held,
      {.epochs = 40,
       .schedule = rate,
       .evaluate_every = 5 * train.batches(),
       .watch = "loss",
       .record = true},
      {}, [](const train::Evaluation& now) {
        std::printf("epoch %2.0f: %.1f %% of the arms right, off by %.3f along them\n", now.epoch,
                    100 * train::score(now.scores, "accuracy_0"), train::score(now.scores, "mae_1"));
      });
  const train::Scores best = trainer.evaluate(held);
  std::printf("the best, after step %d: loss %.4f\n", static_cast<int>(result.best->step),
              train::score(best, "loss"));
  return train::score(best, "accuracy_0") > 0.95 && train::score(best, "mae_1") < 0.04 ? 0 : 1;
}
