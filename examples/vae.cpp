// A variational autoencoder (Kingma & Welling 2014) on handwritten digits: a network of three outputs learns
// pictures as points, close ones for pictures that look alike, and draws new ones from points at random. Its
// loss changes while it learns: the weight of one part rises over the first steps, which C++ decides anew at
// each.
//   example_vae FOLDER [EPOCHS [SAMPLES.npy]]
// FOLDER holds the four files of MNIST. Draws vae.png (digits of the test set, the same as redrawn, new ones,
// and the way from one to another), and writes 10,000 digits [n, 28, 28] into SAMPLES.npy, for
// example_frechet. Twenty epochs take a minute and a half on two cores.
#include <algorithm>
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kPixels = 28 * 28, kHidden = 512, kLatent = 12;

// {pictures [n, 1, 28, 28]} -> {logits [n, 784], mean [n, 12], log_variance [n, 12]}
struct Vae : nn::Module {
  mutable Rng noise{9};
  nn::Sequential encoder{nn::Flatten(), nn::Linear(kPixels, kHidden), nn::ReLU(),
                         nn::Linear(kHidden, kHidden), nn::ReLU()};
  nn::Linear mean{kHidden, kLatent}, log_variance{kHidden, kLatent};
  nn::Sequential decoder{nn::Linear(kLatent, kHidden), nn::ReLU(), nn::Linear(kHidden, kHidden), nn::ReLU(),
                         nn::Linear(kHidden, kPixels)};

  TensorList forward_list(const TensorList& in) const override {
    const Tensor h = encoder(in[0]), m = mean(h), v = log_variance(h);
    const Tensor drawn = training() ? m + exp(0.5 * v) * randn(m.shape(), noise) : m;
    return {decoder(drawn), m, v};
  }
  void fields(nn::Fields& f) override {
    f("encoder", encoder)("mean", mean)("log_variance", log_variance)("decoder", decoder);
  }
  // Pictures [n, 1, 28, 28] of points.
  Tensor draw(const Tensor& points) const { return reshape(sigmoid(decoder(points)), {-1, 1, 28, 28}); }
};

// Pictures [rows columns, 1, 28, 28] of 0..1 beside and below each other.
Tensor sheet(const Tensor& pictures, std::int64_t columns) {
  return reshape(movedim(reshape(pictures, {-1, columns, 28, 28}), 2, 1), {-1, columns * 28, 1});
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "mnist";
  const std::int64_t epochs =
      argc > 2 ? io::count_from({"EPOCHS", "", false}, argv[2], {.least = 1, .most = 10'000}) : 20;
  // What is written at the end is not to fail there.
  for (const char* file : {"vae.safetensors", "vae.png"}) io::check_writable(file);
  if (argc > 3) io::check_writable(argv[3]);
  nn::seed(3);
  Vae model;
  optim::Adam adam(model.named_parameters());
  data::Loader digits(data::mnist(folder, data::Part::train),
                      {.batch = 128, .shuffle = true, .drop_last = true});
  data::Loader held(data::mnist(folder, data::Part::test), {.batch = 500});

  double weight = 0;  // of the second part, which keeps the points of all pictures near the middle
  train::Events events;
  events.on_step = [&](std::int64_t step, double) {
    weight = std::min(1.0, static_cast<double>(step) / 1000);
  };
  const train::Loss loss = [&weight](const TensorList& out, const data::Batch& batch) {
    const Tensor drawn =
        binary_cross_entropy_with_logits(out[0], flatten(batch[0], 1), {.reduction = Reduction::sum});
    const Tensor apart = -0.5 * sum(1 + out[2] - square(out[1]) - exp(out[2]));
    return (drawn + weight * apart) / static_cast<double>(batch[0].size(0));
  };
  const train::Forward all = [](const nn::Module& m, const data::Batch& b) { return m(TensorList{b[0]}); };
  train::Trainer trainer(model, adam, {.forward = all, .loss = loss, .ema_decay = 0.999});
  const optim::OneCycle rate{.lr_max = 2e-3, .steps = epochs * digits.batches()};
  const train::FitResult result =
      trainer.fit(digits, &held, {.epochs = epochs, .schedule = rate, .restore_best = false}, events,
                  [](const train::Evaluation& now) {
                    std::printf("epoch %2.0f: %.1f nats a picture of the test set, %.0f s\n", now.epoch,
                                train::score(now.scores, "loss"), now.seconds);
                    std::fflush(stdout);
                  });
  io::write_safetensors("vae.safetensors", model.state_dict());

  model.eval();
  const NoGrad drawing_only;
  Rng rng(4);
  const Tensor some = slice(held.batch(0)[0], 0, 0, 12), points = model(TensorList{some})[1];
  const Tensor way = unsqueeze(linspace(0, 1, 12), 1);
  const Tensor from_one_to_another = (1 - way) * slice(points, 0, 0, 1) + way * slice(points, 0, 1, 2);
  io::write_image("vae.png", sheet(cat({some, model.draw(points), model.draw(randn({72, kLatent}, rng)),
                                        model.draw(from_one_to_another)},
                                       0),
                                   12));
  if (argc > 3) {
    const Tensor drawn = model.draw(randn({10000, kLatent}, rng));
    io::write_npy(argv[3], reshape(to(round(drawn * 255), DType::u8), {-1, 28, 28}));
  }
  return train::score(result.evaluations.back().scores, "loss") < 140 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "vae: %s\n", error.what());
  return 2;
}
