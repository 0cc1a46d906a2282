// Teaches LeNet (LeCun et al. 1998, with max pooling and ReLU) to read handwritten digits, and saves it.
//   example_mnist FOLDER [EPOCHS]
// FOLDER holds the four files of MNIST, compressed or not; six epochs, 99 % of the test set right, take under
// a minute on two cores. Writes lenet.safetensors.
#include <cstdio>
#include <cstdlib>

#include "veldt/veldt.h"

using namespace veldt;

nn::Sequential lenet(Rng& rng) {
  return nn::Sequential{nn::Conv2d(1, 6, 5, {.padding = 2}, rng),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Conv2d(6, 16, 5, rng),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Flatten(),  // [n, 16, 5, 5] to [n, 400]
                        nn::Linear(400, 120, rng),
                        nn::ReLU(),
                        nn::Linear(120, 84, rng),
                        nn::ReLU(),
                        nn::Linear(84, 10, rng)};
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "mnist";
  const std::int64_t epochs = argc > 2 ? std::atoll(argv[2]) : 6;

  // Batches are made by a thread beside the one that trains; the last one, which is not full, is left out.
  data::Loader digits(data::mnist(folder, data::Part::train),
                      {.batch = 64, .shuffle = true, .drop_last = true});
  data::Loader test(data::mnist(folder, data::Part::test), {.batch = 500});

  Rng rng(1);
  nn::Sequential model = lenet(rng);
  optim::Adam adam(model.named_parameters());
  train::Trainer trainer(model, adam, {.metrics = {train::accuracy()}});
  const optim::OneCycle rate{.lr_max = 4e-3, .steps = epochs * digits.batches()};
  trainer.fit(digits, &test, {.epochs = epochs, .schedule = rate, .record = true}, {},
              [](const train::Evaluation& now) {
                std::printf("epoch %.0f: loss %.4f, %.2f %% of the test set right, %.0f s\n", now.epoch,
                            now.train_loss, 100 * train::score(now.scores, "accuracy"), now.seconds);
              });
  io::write_safetensors("lenet.safetensors", model.state_dict());

  // A network of the same layers reads it again.
  nn::Sequential loaded = lenet(rng);
  loaded.load_state_dict(io::read_safetensors("lenet.safetensors").tensors);
  loaded.eval();
  const data::Batch batch = test.batch(0);
  const Tensor read = argmax(loaded(batch[0]), 1);
  std::printf("the first ten:  are");
  for (std::int64_t i = 0; i < 10; ++i) std::printf(" %.0f", select(batch[1], 0, i).item());
  std::printf("\n               read");
  for (std::int64_t i = 0; i < 10; ++i) std::printf(" %.0f", select(read, 0, i).item());
  const double right = train::score(trainer.evaluate(test), "accuracy");
  std::printf("\n%.2f %% of the test set right\n", 100 * right);
  return right > 0.95 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "mnist: %s\n", error.what());
  return 2;
}
