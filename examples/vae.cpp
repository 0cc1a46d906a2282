// A variational autoencoder (Kingma & Welling 2014): a network with three outputs learns small pictures of
// disks and rings as points of a plane, and draws new ones. Its loss changes while it learns: the weight of
// one part rises over the first steps, which C++ decides anew at each. Draws vae.png.
#include <algorithm>
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kSide = 16, kPixels = kSide * kSide, kLatent = 2;

// A disk or a ring of some size in the middle: [256].
Tensor drawing(std::int64_t i) {
  Rng rng(static_cast<std::uint64_t>(i));
  const std::vector<float> p = rand({2}, rng).values<float>();
  const Tensor axis = square(arange(kSide, DType::f32) - (kSide - 1) / 2.0);
  const Tensor far = sqrt(unsqueeze(axis, 0) + unsqueeze(axis, 1));
  const double size = 3 + 4 * p[0], hole = p[1] < 0.5 ? 0 : size * (p[1] - 0.3);
  return flatten(sigmoid(2 * (size - far)) * sigmoid(2 * (far - hole)));
}

// {pictures [n, 256]} -> {logits [n, 256], mean [n, 2], log_variance [n, 2]}
struct Vae : nn::Module {
  mutable Rng noise{9};
  nn::Sequential encoder{nn::Linear(kPixels, 64), nn::ReLU()};
  nn::Linear mean{64, kLatent}, log_variance{64, kLatent};
  nn::Sequential decoder{nn::Linear(kLatent, 64), nn::ReLU(), nn::Linear(64, kPixels)};

  TensorList forward_list(const TensorList& in) const override {
    const Tensor h = encoder(in[0]), m = mean(h), v = log_variance(h);
    const Tensor drawn = training() ? m + exp(0.5 * v) * randn(m.shape(), noise) : m;
    return {decoder(drawn), m, v};
  }
  void fields(nn::Fields& f) override {
    f("encoder", encoder)("mean", mean)("log_variance", log_variance)("decoder", decoder);
  }
};

int main() try {
  nn::seed(3);
  Vae model;
  optim::Adam adam(model.named_parameters(), {.lr = 2e-3});
  data::Loader train(data::from_function(512, [](std::int64_t i) { return data::Example{drawing(i)}; }),
                     {.batch = 64, .shuffle = true});
  data::Loader held(data::from_function(128, [](std::int64_t i) { return data::Example{drawing(1000 + i)}; }),
                    {.batch = 128});
  double weight = 0;  // of the second part, which keeps the points of all pictures near the middle
  train::Events events;
  events.on_step = [&](std::int64_t step, double) {
    weight = std::min(1.0, static_cast<double>(step) / 400);
  };
  const train::Loss loss = [&weight](const TensorList& out, const data::Batch& batch) {
    const Tensor drawn = binary_cross_entropy_with_logits(out[0], batch[0], {.reduction = Reduction::sum});
    const Tensor apart = -0.5 * sum(1 + out[2] - square(out[1]) - exp(out[2]));
    return (drawn + weight * apart) / static_cast<double>(batch[0].size(0));
  };
  const train::Forward all = [](const nn::Module& m, const data::Batch& b) { return m(TensorList{b[0]}); };
  train::Trainer trainer(model, adam, {.forward = all, .loss = loss});
  const train::FitResult result = trainer.fit(
      train, &held, {.epochs = 120, .evaluate_every = 240, .restore_best = false}, events,
      [](const train::Evaluation& now) {
        std::printf("epoch %3.0f: %.1f nats a picture\n", now.epoch, train::score(now.scores, "loss"));
      });
  // What the plane looks like: a drawing for each of 8 x 8 points.
  model.eval();
  const NoGrad drawing_only;
  std::vector<Tensor> rows;
  for (int y = 0; y < 8; ++y) {
    std::vector<Tensor> row;
    for (int x = 0; x < 8; ++x) {
      const Tensor point = Tensor::of({1, kLatent}, {(x - 3.5) / 1.75, (y - 3.5) / 1.75});
      row.push_back(reshape(sigmoid(model.decoder(point)), {kSide, kSide, 1}));
    }
    rows.push_back(cat(row, 1));
  }
  io::write_image("vae.png", cat(rows, 0));
  const double first = train::score(result.evaluations.front().scores, "loss");
  const double last = train::score(result.evaluations.back().scores, "loss");
  return last < first ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "vae: %s\n", error.what());
  return 1;
}
