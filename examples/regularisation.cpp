// Overfitting and its remedies: a network sees 200 small noisy pictures of four shapes, plain, with dropout,
// with weight decay, with early stopping, and with pictures moved and rotated at random. Then initialisation:
// whether a network of 20 layers learns depends on its first weights. Draws regularisation.svg and
// initialisation.svg.
#include <cstdio>
#include <functional>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kSide = 12, kPixels = kSide * kSide;

// A disk, a square, a cross or a ring somewhere in the picture, in noise: [1, side, side], and which it is.
data::Example shape(std::int64_t i, std::uint64_t seed) {
  Rng rng(seed * 100'000 + static_cast<std::uint64_t>(i));
  const Tensor place = rand({3}, rng, -1, 1);
  const std::vector<float> p = place.values<float>();
  const Tensor axis = arange(kSide, DType::f32) - (kSide - 1) / 2.0;
  const Tensor x = expand(unsqueeze(axis - 1.2 * p[0], 0), {kSide, kSide}),
               y = expand(unsqueeze(axis - 1.2 * p[1], 1), {kSide, kSide});
  const double size = 2.8 + 0.7 * p[2];
  const Tensor far = maximum(abs(x), abs(y)), round = sqrt(x * x + y * y), near = minimum(abs(x), abs(y));
  const Tensor inside[] = {less_equal(round, size), less_equal(far, 0.9 * size),
                           logical_and(less(near, 0.8), less_equal(far, size)),
                           logical_and(less_equal(round, size), greater(round, 0.55 * size))};
  const Tensor picture = to(inside[i % 4], DType::f32) + randn({kSide, kSide}, rng, 0, 0.25);
  return {unsqueeze(picture, 0), full({}, static_cast<double>(i % 4), DType::i64)};
}

struct Remedy {
  const char* name;
  double dropout = 0, decay = 0;
  std::int64_t patience = 0;
  data::Transform augment = {};
};

// Its accuracy on 1,000 unseen pictures; draws its validation loss.
train::Scores teach(const Remedy& remedy, io::Chart& chart) {
  Rng rng(1);
  nn::Sequential model{nn::Flatten(),
                       nn::Linear(kPixels, 128, rng),
                       nn::ReLU(),
                       nn::Dropout(remedy.dropout, rng),
                       nn::Linear(128, 128, rng),
                       nn::ReLU(),
                       nn::Dropout(remedy.dropout, rng),
                       nn::Linear(128, 4, rng)};
  for (const auto& [name, weight] : model.named_parameters())
    if (weight.rank() == 2) nn::init::kaiming_normal(weight, 0, rng);
  optim::AdamW adam(model.named_parameters(), {.lr = 1e-3, .weight_decay = remedy.decay});
  data::Loader train(data::from_function(200, [](std::int64_t i) { return shape(i, 1); }),
                     {.batch = 40, .shuffle = true, .transform = remedy.augment});
  data::Loader held(data::from_function(400, [](std::int64_t i) { return shape(i, 2); }), {.batch = 400});
  data::Loader test(data::from_function(1000, [](std::int64_t i) { return shape(i, 3); }), {.batch = 500});
  train::Trainer trainer(model, adam, {.metrics = {train::accuracy()}});
  io::ChartLine losses{remedy.name, {}, {}};
  trainer.fit(train, &held,
              {.epochs = 120,
               .evaluate_every = 10,
               .watch = "loss",
               .patience = remedy.patience,
               .restore_best = remedy.patience > 0,
               .record = true},
              {}, [&](const train::Evaluation& now) {
                losses.x.push_back(static_cast<double>(now.step));
                losses.y.push_back(train::score(now.scores, "loss"));
              });
  chart.lines.push_back(std::move(losses));
  return trainer.evaluate(test);
}

// The loss after 60 steps of a network of 20 layers of 64 whose weights begin so.
double begin(const char* name, const std::function<void(Tensor, Rng&)>& fill, io::Chart& chart) {
  Rng rng(2);
  nn::Sequential model{nn::Flatten(), nn::Linear(kPixels, 64, rng), nn::ReLU()};
  for (int i = 0; i < 18; ++i) model.add(nn::Linear(64, 64, rng)).add(nn::ReLU());
  model.add(nn::Linear(64, 4, rng));
  for (const auto& [path, parameter] : model.named_parameters())
    parameter.rank() == 2 ? fill(parameter, rng) : nn::init::constant(parameter, 0);
  optim::Adam adam(model.named_parameters(), {.lr = 5e-4});
  data::Loader train(data::from_function(200, [](std::int64_t i) { return shape(i, 1); }),
                     {.batch = 40, .shuffle = true});
  io::ChartLine line{name, {}, {}};
  for (std::int64_t step = 0; step < 60; ++step) {
    const data::Batch batch = train.batch(step);
    const Tensor loss = cross_entropy(model(batch[0]), batch[1]);
    adam.zero_grad();
    loss.backward();
    adam.step();
    line.x.push_back(static_cast<double>(step));
    line.y.push_back(loss.item());
  }
  const double last = line.y.back();
  chart.lines.push_back(std::move(line));
  return last;
}

int main() try {
  io::Chart held{.title = "loss on unseen pictures", .x = "step", .y = "cross entropy", .log_y = true};
  const data::Transform moved = data::random_affine({.degrees = 20, .translate = 0.15, .scale = {0.9, 1.1}});
  const Remedy remedies[] = {{"plain"},
                             {"dropout", 0.5},
                             {"weight decay", 0, 8},
                             {"early stopping", 0, 0, 5},
                             {"augmentation", 0, 0, 0, data::sequence({moved, data::gaussian_noise(0.2)})}};
  double plain = 0, best = 0;
  for (const Remedy& remedy : remedies) {
    const train::Scores scores = teach(remedy, held);
    const double right = train::score(scores, "accuracy");
    std::printf("%-16s %4.1f %% of 1000 unseen pictures right, loss %.2f\n", remedy.name, 100 * right,
                train::score(scores, "loss"));
    plain = plain == 0 ? right : plain;
    best = std::max(best, right);
  }
  io::write_chart("regularisation.svg", held);

  io::Chart starts{.title = "20 layers, by their first weights", .x = "step", .y = "cross entropy"};
  const double small = begin(
      "N(0, 0.01)", [](Tensor w, Rng& r) { nn::init::normal(w, 0, 0.01, r); }, starts);
  begin(
      "Xavier", [](Tensor w, Rng& r) { nn::init::xavier_normal(w, 1, r); }, starts);
  const double kaiming = begin(
      "Kaiming", [](Tensor w, Rng& r) { nn::init::kaiming_normal(w, 0, r); }, starts);
  begin(
      "orthogonal", [](Tensor w, Rng& r) { nn::init::orthogonal(w, 1.4142, r); }, starts);
  io::write_chart("initialisation.svg", starts);
  for (const io::ChartLine& line : starts.lines)
    std::printf("%-16s loss %.3f after 60 steps\n", line.name.c_str(), line.y.back());
  return best > plain + 0.02 && kaiming < 0.5 * small ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "regularisation: %s\n", error.what());
  return 2;
}
