// A generative adversarial network (Goodfellow et al. 2014): a painter turns noise into points of the plane,
// and a critic learns to tell them from those of eight small clouds on a ring. Each has its optimizer, and in
// every step the critic learns first, then the painter. Draws gan.png: the points to be learned, and its own.
#include <cmath>
#include <cstdio>
#include <numbers>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kNoise = 8, kPoints = 2048, kSide = 240;  // pixels of each panel
constexpr double kSpread = 0.05;                                 // of a cloud, on a ring of radius 1

// Points [n, 2] as dots: [240, 240, 1].
Tensor drawing(const Tensor& points) {
  const Tensor panel = ones({kSide, kSide, 1});
  const std::vector<float> xy = points.values<float>();
  for (std::size_t i = 0; i < xy.size(); i += 2) {
    const auto u = std::lround((xy[i] + 1.5F) / 3 * kSide), v = std::lround((1.5F - xy[i + 1]) / 3 * kSide);
    if (u >= 0 && u < kSide && v >= 0 && v < kSide) panel.data<float>()[v * kSide + u] = 0;
  }
  return panel;
}

// {points [n, 2], noise [n, 8]} -> {painted [n, 2], the critic's opinion of them [n, 1], and of the points}
struct Gan : nn::Module {
  nn::Sequential painter{nn::Linear(kNoise, 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU(),
                         nn::Linear(64, 2)};
  nn::Sequential critic{nn::Linear(2, 64), nn::LeakyReLU(0.2), nn::Linear(64, 64), nn::LeakyReLU(0.2),
                        nn::Linear(64, 1)};

  TensorList forward_list(const TensorList& in) const override {
    const Tensor painted = painter(in[1]);
    return {painted, critic(painted), critic(in[0])};
  }
  void fields(nn::Fields& f) override { f("painter", painter)("critic", critic); }
};

Tensor all_are(double real, const Tensor& opinion) {
  return binary_cross_entropy_with_logits(opinion, full(opinion.shape(), real));
}

int main() {
  seed(1);
  const Tensor turn = 2 * std::numbers::pi / 8 * arange(8, DType::f32);
  const Tensor clouds = stack({cos(turn), sin(turn)}, 1);  // [8, 2]
  const Tensor points = repeat(clouds, {kPoints / 8, 1}) + kSpread * randn({kPoints, 2});

  Gan model;
  // A critic that learns faster than the painter keeps them from circling (Heusel et al. 2017).
  optim::Adam critic(model.critic.named_parameters(), {.lr = 2e-3, .beta1 = 0.5});
  optim::Adam painter(model.painter.named_parameters(), {.lr = 1e-3, .beta1 = 0.5});
  const auto noisy = [](data::Example e, Rng& own) { return data::Example{e[0], randn({kNoise}, own)}; };
  data::Loader loader(data::from_tensors({points}), {.batch = 256, .shuffle = true, .transform = noisy});

  const auto play = [](const nn::Module& m, const data::Batch& b) { return m(TensorList{b[0], b[1]}); };
  const auto judge = [](const TensorList& y, const data::Batch&) {
    return all_are(0, y[1]) + all_are(1, y[2]);
  };
  const auto deceive = [](const TensorList& y, const data::Batch&) { return all_are(1, y[1]); };
  train::Trainer trainer(model,
                         {{.name = "critic", .optimizer = critic, .loss = judge},
                          {.name = "painter", .optimizer = painter, .loss = deceive}},
                         {.forward = play});
  const auto tell = [](const train::Evaluation& now) {
    std::printf("epoch %3.0f: the critic's loss %.3f, the painter's %.3f\n", now.epoch,
                train::score(now.train_losses, "critic"), train::score(now.train_losses, "painter"));
  };
  trainer.fit(loader, nullptr, {.epochs = 400, .evaluate_every = 400, .record = true}, {}, tell);

  const Tensor painted = trainer.predict(loader);
  io::write_image("gan.png", cat({drawing(points), drawing(painted)}, 1));
  const Tensor apart = sqrt(sum(square(unsqueeze(painted, 1) - clouds), {2}));  // [n, 8]
  const Tensor inside = sum(to(less(apart, 3 * kSpread), DType::f32), {0});     // [8]
  const double share = sum(inside).item() / kPoints, hit = sum(to(greater(inside, 20), DType::f32)).item();
  std::printf("%.0f %% of what it paints lies in a cloud, in %.0f of 8 clouds\n", 100 * share, hit);
  return share > 0.6 && hit >= 7 ? 0 : 1;
}
