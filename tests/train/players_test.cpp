// Several optimizers in a Trainer: the steps of players in turn and of those that share a loss have the bits
// of loops written by hand, a resumed run those of an unbroken one, and what cannot be is refused.
#include "veldt/train/players.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "tests/train/measures.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/rmsprop.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/autocast.h"
#include "veldt/train/trainer.h"

namespace veldt::train {
namespace {

using test::bytes_of;
using test::error_of;
using test::measures;
using test::TempDir;
using testing::AllOf;
using testing::HasSubstr;

// {points [n, 2], noise [n, 2]} -> {drawn, what the critic says of them, and of the points}
struct Pair : nn::Module {
  explicit Pair(Rng& rng)
      : painter{nn::Linear(2, 8, rng), nn::Tanh(), nn::Linear(8, 2, rng)},
        critic{nn::Linear(2, 8, rng), nn::LeakyReLU(0.2), nn::Dropout(0.1, rng), nn::Linear(8, 1, rng)} {}

  TensorList forward_list(const TensorList& in) const override {
    const Tensor drawn = painter(in[1]);
    return {drawn, critic(drawn), critic(in[0])};
  }
  void fields(nn::Fields& f) override { f("painter", painter)("critic", critic); }

  nn::Sequential painter, critic;
};

TensorList all_of(const nn::Module& m, const data::Batch& b) { return m(TensorList{b[0], b[1]}); }
Tensor same(const Tensor& logits, double wanted) {
  return binary_cross_entropy_with_logits(logits, full(logits.shape(), wanted));
}
Tensor tells_apart(const TensorList& y, const data::Batch&) { return same(y[1], 0) + same(y[2], 1); }
Tensor deceives(const TensorList& y, const data::Batch&) { return same(y[1], 1); }

data::DatasetPtr points(std::int64_t n) {
  Rng rng(4);
  const Tensor around = rand({n, 1}, rng, 0, 6.28);
  return data::from_tensors({cos(around) * Tensor::of({1, 2}, {1, 0.5}) + 0.3, randn({n, 2}, rng)});
}

class FarOff final : public Metric {
 public:
  std::string name() const override { return "far_off"; }
  bool larger_is_better() const override { return false; }
  void reset() override { sum_ = 0; }
  void add(const Tensor& drawn, const data::Batch& batch) override {
    sum_ += mean(abs(mean(drawn, {0}) - mean(batch[0], {0}))).item();
  }
  double value() const override { return sum_; }

 private:
  double sum_ = 0;
};

struct Game {
  explicit Game(TrainerOptions options = {}, bool in_turn = true)
      : rng(5),
        model(rng),
        of_critic(model.critic.named_parameters(), {.lr = 0.01, .clip = {.norm = 0.5}}),
        of_painter(model.painter.named_parameters(), {.lr = 0.005}),
        train(points(96), {.batch = 16, .shuffle = true, .seed = 3}),
        validation(points(40), {.batch = 20}),
        trainer(model, players(in_turn), with_forward(std::move(options))) {}

  std::vector<Player> players(bool in_turn) {
    if (!in_turn)
      return {{.name = "critic", .optimizer = of_critic}, {.name = "painter", .optimizer = of_painter}};
    return {{.name = "critic", .optimizer = of_critic, .loss = tells_apart},
            {.name = "painter", .optimizer = of_painter, .loss = deceives}};
  }
  static TrainerOptions with_forward(TrainerOptions options) {
    options.forward = all_of;
    return options;
  }

  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Tensor& p : model.parameters())
      for (const float v : p.values<float>()) all.push_back(v);
    return all;
  }

  Rng rng;
  Pair model;
  optim::Adam of_critic;
  optim::RMSprop of_painter;
  data::Loader train, validation;
  Trainer trainer;
};

// A step that the Trainer would take, with nothing of it.
double by_hand(Game& game, std::int64_t first, std::int64_t parts, std::optional<DType> dtype = {}) {
  double sum = 0;
  const auto turn = [&](optim::Optimizer& optimizer, auto loss_of) {
    optimizer.zero_grad();
    for (std::int64_t i = 0; i < parts; ++i) {
      const data::Batch batch = game.train.batch(first + i);
      const Tensor loss = [&] {
        const Autocast now(dtype);
        return loss_of(all_of(game.model, batch), batch);
      }() / static_cast<double>(parts);
      loss.backward();
      sum += loss.item();
    }
    optimizer.step();
  };
  turn(game.of_critic, tells_apart);
  turn(game.of_painter, deceives);
  return sum;
}

TEST(Players, InTurnTakeTheStepsOfALoopWrittenByHand) {
  for (const std::int64_t parts : {1, 3})
    for (const std::optional<DType> dtype : {std::optional<DType>(), std::optional(DType::bf16)}) {
      const TrainerOptions options{.accumulate = parts, .autocast = dtype};
      Game plain(options), recorded(options), hand;
      plain.trainer.fit(plain.train, nullptr, {.steps = 20});
      recorded.trainer.fit(recorded.train, nullptr, {.steps = 20, .record = true});
      for (std::int64_t step = 0; step < 20; ++step) by_hand(hand, step * parts, parts, dtype);
      EXPECT_EQ(plain.weights(), hand.weights()) << parts;
      EXPECT_EQ(recorded.weights(), hand.weights()) << parts;
      EXPECT_EQ(plain.of_painter.steps(), 20);
    }
}

TEST(Players, GetNoGradientInTheTurnsOfOthers) {
  Game game;
  std::vector<bool> wants;  // in the losses, of the painter's and of the critic's weights
  const auto look = [&](const TensorList& y, bool painters) {
    for (const nn::Sequential* part : {&game.model.painter, &game.model.critic})
      wants.push_back(part->parameters().front().requires_grad());
    return painters ? same(y[1], 1) : same(y[1], 0) + same(y[2], 1);
  };
  Trainer trainer(game.model,
                  {{.name = "critic",
                    .optimizer = game.of_critic,
                    .loss = [&](const TensorList& y, const data::Batch&) { return look(y, false); }},
                   {.name = "painter",
                    .optimizer = game.of_painter,
                    .loss = [&](const TensorList& y, const data::Batch&) { return look(y, true); }}},
                  {.forward = all_of});
  Events events;
  std::string said;
  events.on_warning = [&](const std::string& text) { said += text; };
  trainer.fit(game.train, nullptr, {.steps = 1}, events);
  EXPECT_EQ(wants, (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(said, "");  // of parameters without a gradient
  for (const Tensor& p : game.model.parameters()) EXPECT_TRUE(p.requires_grad());
}

TEST(Players, ThatShareALossTakeOneBackwardPass) {
  int calls = 0;
  Game game({.loss =
                 [&](const TensorList&y, const data::Batch&b) {
                   ++calls;
                   return tells_apart(y, b);
                 }},
            false),
      hand;
  game.trainer.fit(game.train, nullptr, {.steps = 12});
  EXPECT_EQ(calls, 12);
  for (std::int64_t step = 0; step < 12; ++step) {
    const data::Batch batch = hand.train.batch(step);
    hand.of_critic.zero_grad(), hand.of_painter.zero_grad();
    tells_apart(all_of(hand.model, batch), batch).backward();
    hand.of_critic.step(), hand.of_painter.step();
  }
  EXPECT_EQ(game.weights(), hand.weights());
  EXPECT_EQ(game.trainer.evaluate(game.validation).front().first, "loss");
}

TEST(Players, HaveSchedulesOfTheirOwn) {
  const optim::CosineAnnealing falling{.lr_max = 0.02, .lr_min = 1e-4, .steps = 20};
  for (const bool record : {false, true}) {
    Game game, hand;
    const FitResult fit = game.trainer.fit(
        game.train, nullptr, {.steps = 20, .schedules = {{"painter", falling}}, .record = record});
    for (std::int64_t step = 0; step < 20; ++step) {
      hand.of_painter.set_lr(falling(step));
      by_hand(hand, step, 1);
    }
    EXPECT_EQ(game.weights(), hand.weights());
    const Scores rates = fit.evaluations.back().learning_rates;
    EXPECT_EQ(score(rates, "critic"), 0.01);
    EXPECT_LT(score(rates, "painter"), 0.001);
  }
}

TEST(Players, ResumeInTheMiddleToTheSameBits) {
  const MetricMaker far_off = [] { return std::make_unique<FarOff>(); };
  const TrainerOptions all[] = {{.metrics = {far_off}},
                                {.metrics = {far_off}, .accumulate = 2, .ema_decay = 0.9},
                                {.metrics = {far_off}, .autocast = DType::f16}};
  for (const bool in_turn : {true, false})
    for (TrainerOptions options : all) {
      if (!in_turn && options.autocast) continue;
      if (!in_turn) options.loss = tells_apart;
      const TempDir whole_dir, cut_dir;
      FitOptions fit{.epochs = 6,
                     .schedules = {{"critic", optim::Polynomial{.lr = 0.01, .steps = 36}},
                                   {"painter", optim::CosineAnnealing{.lr_max = 0.02, .steps = 36}}},
                     .out = whole_dir.path(),
                     .record = options.accumulate == 1};
      Game whole(options, in_turn);
      whole.trainer.fit(whole.train, &whole.validation, fit);
      fit.out = cut_dir.path();
      for (const std::int64_t stop : {5, 14, 1000}) {
        Game part(options, in_turn);
        std::int64_t steps = 0;
        Events events;
        events.on_step = [&](std::int64_t step, double) { steps = step; };
        events.should_stop = [&] { return steps >= stop; };
        part.trainer.fit(part.train, &part.validation, fit, events);
        fit.resume = true;
        if (stop == 1000) {
          EXPECT_EQ(part.weights(), whole.weights());
          EXPECT_EQ(part.of_painter.steps(), whole.of_painter.steps());
        }
      }
      EXPECT_EQ(bytes_of(cut_dir / "best.safetensors"), bytes_of(whole_dir / "best.safetensors"));
      EXPECT_EQ(measures(cut_dir / "metrics.csv"), measures(whole_dir / "metrics.csv"));
    }
}

TEST(Players, AreNamedInScoresFilesAndNews) {
  const TempDir dir;
  Game game({.metrics = {[] { return std::make_unique<FarOff>(); }}});
  Progress last;
  const FitResult fit = game.trainer.fit(game.train, &game.validation, {.epochs = 2, .out = dir.path()},
                                         [&](const Progress& p) { last = p; });
  EXPECT_EQ(score(last.losses, "critic") + score(last.losses, "painter"), last.loss);
  EXPECT_EQ(measures(dir / "metrics.csv").front(),
            "step,epoch,train_loss,learning_rate,validation_loss_critic,validation_loss_painter,"
            "validation_far_off,train_loss_critic,train_loss_painter,learning_rate_critic,"
            "learning_rate_painter,");
  const Evaluation& e = fit.evaluations.back();
  EXPECT_NEAR(score(e.train_losses, "critic") + score(e.train_losses, "painter"), e.train_loss, 1e-6);
  // The metric chooses the best, as a loss does where it is asked for.
  EXPECT_EQ(fit.best->scores.back().first, "far_off");
  EXPECT_EQ(game.trainer.evaluate(game.validation), fit.best->scores);
  Game other;
  EXPECT_THAT(
      error_of<ConfigError>([&] { other.trainer.fit(other.train, &other.validation, {.epochs = 1}); }),
      HasSubstr("watch to loss_critic"));
  other.trainer.fit(other.train, &other.validation, {.epochs = 1, .watch = "loss_painter"});
  other.trainer.fit(other.train, nullptr, {.epochs = 1});
}

TEST(Players, EvaluateTheirAverages) {
  Game game({.metrics = {[] { return std::make_unique<FarOff>(); }}, .ema_decay = 0.99});
  const FitResult fit = game.trainer.fit(game.train, &game.validation, {.epochs = 3, .restore_best = false});
  const Scores averaged = game.trainer.evaluate(game.validation);
  EXPECT_EQ(averaged, fit.evaluations.back().scores);
  Trainer plain(game.model, game.players(true),
                Game::with_forward({.metrics = {[] { return std::make_unique<FarOff>(); }}}));
  for (const auto& [name, value] : plain.evaluate(game.validation))
    EXPECT_NE(value, score(averaged, name)) << name;  // both players' are
}

TEST(Players, HaveForwardsOfTheirOwn) {
  Game game, shared;
  Trainer trainer(
      game.model,
      {{.name = "critic", .optimizer = game.of_critic, .loss = tells_apart},
       {.name = "painter",
        .optimizer = game.of_painter,
        .loss = [](const Tensor& y, const data::Batch&) { return same(y, 1); },
        .forward = [&](const nn::Module&,
                       const data::Batch& b) { return game.model.critic(game.model.painter(b[1])); }}},
      {.forward = all_of});
  game.model.critic[2].eval(), shared.model.critic[2].eval();  // its chance would be another
  trainer.fit(game.train, nullptr, {.steps = 9});
  shared.trainer.fit(shared.train, nullptr, {.steps = 9});
  EXPECT_EQ(game.weights(), shared.weights());
  EXPECT_EQ(trainer.evaluate(game.validation), shared.trainer.evaluate(shared.validation));
}

TEST(Players, CanBeLookedAtBeforeAFit) {
  Game game({.ema_decay = 0.9});
  const std::vector<float> before = game.weights();
  EXPECT_EQ(game.trainer.overfit_batch(game.train, 30).size(), 30u);
  EXPECT_GT(game.trainer.step_facts(game.train).calls, 20);
  EXPECT_EQ(game.weights(), before);
  EXPECT_EQ(game.of_painter.steps(), 0);
  EXPECT_THAT(error_of<ConfigError>([&] { game.trainer.find_rate(game.train); }), HasSubstr("2 players"));
}

TEST(Players, AreRefusedWhereTheyCannotPlay) {
  Game game;
  const auto error = [&](std::vector<Player> players, TrainerOptions options = {}) {
    return error_of<ConfigError>([&] { Trainer(game.model, std::move(players), std::move(options)); });
  };
  const Player critic{.name = "critic", .optimizer = game.of_critic, .loss = tells_apart};
  const auto painter = [&](std::string name, Loss loss) {
    return Player{.name = std::move(name), .optimizer = game.of_painter, .loss = std::move(loss)};
  };
  EXPECT_THAT(error({critic, {.name = "again", .optimizer = game.of_critic, .loss = deceives}}),
              HasSubstr("parameter 0.weight is in two optimizers, of critic and of again"));
  optim::SGD tail(game.model.critic[3].named_parameters());
  EXPECT_THAT(error({critic, {.name = "tail", .optimizer = tail, .loss = deceives}}),
              HasSubstr("is in two optimizers, of critic and of tail"));
  EXPECT_THAT(error({critic, painter("critic", deceives)}), HasSubstr("two players have the name critic"));
  EXPECT_THAT(error({critic, painter("a.b", deceives)}), HasSubstr("'a.b'"));
  EXPECT_THAT(error({critic, painter("", deceives)}), HasSubstr("''"));
  EXPECT_THAT(error({critic, painter("painter", {})}), HasSubstr("painter has no loss"));
  EXPECT_THAT(error({painter("painter", {}), critic}), HasSubstr("painter has no loss"));
  EXPECT_THAT(error({}), HasSubstr("needs a player"));
  EXPECT_THAT(error({critic, painter("painter", deceives)}, {.loss = deceives}), HasSubstr("nobody's"));
  EXPECT_THAT(error({{.name = "critic", .optimizer = game.of_critic, .forward = all_of}}),
              HasSubstr("a forward and no loss"));
  EXPECT_THAT(error({{.name = "critic", .optimizer = game.of_critic}, painter("painter", {})},
                    {.autocast = DType::f16}),
              HasSubstr("f16"));
}

TEST(Players, SayWhatIsWrongWithALossOrASchedule) {
  Game game;
  const auto failure = [&](const FitOptions& options) {
    return error_of<ConfigError>([&] { game.trainer.fit(game.train, nullptr, options); });
  };
  EXPECT_THAT(failure({.steps = 2, .schedule = optim::Constant{0.1}}), HasSubstr("FitOptions::schedules"));
  EXPECT_THAT(failure({.steps = 2, .schedules = {{"pianter", 0.1}}}), HasSubstr("no player pianter"));
  EXPECT_THAT(failure({.steps = 50, .schedules = {{"painter", optim::CosineAnnealing{.steps = 5}}}}),
              HasSubstr("ends at step 5"));
  EXPECT_THAT(failure({.seconds = 1, .schedules = {{"painter", 0.1}}}), HasSubstr("only limited by time"));
  const auto with = [&](Loss loss) {
    return Trainer(game.model,
                   {{.name = "critic", .optimizer = game.of_critic, .loss = tells_apart},
                    {.name = "painter", .optimizer = game.of_painter, .loss = std::move(loss)}},
                   {.forward = all_of});
  };
  Trainer lost = with([](const TensorList& y, const data::Batch&) { return same(y[2], 1); });
  EXPECT_THAT(error_of<Error>([&] { lost.fit(game.train, nullptr, {.steps = 1}); }),
              HasSubstr("the loss of painter depends on none"));
  Trainer wide = with([](const TensorList& y, const data::Batch&) { return y[1]; });
  EXPECT_THAT(error_of<ShapeError>([&] { wide.fit(game.train, nullptr, {.steps = 1}); }),
              HasSubstr("the loss of painter has the shape"));
  Trainer far = with([](const TensorList& y, const data::Batch&) { return same(y[1], 1) * NAN; });
  EXPECT_THAT(error_of<DivergedError>([&] { far.fit(game.train, nullptr, {.steps = 1}); }),
              HasSubstr("of painter nan"));
  optim::Adam one(clone(game.model.critic).named_parameters());
  Trainer single(game.model.critic, one,
                 {.loss = [](const Tensor& y, const data::Batch&) { return mean(y); }});
  EXPECT_THAT(error_of<ConfigError>([&] {
                single.fit(game.train, nullptr, {.steps = 1, .schedules = {{"critic", 0.1}}});
              }),
              HasSubstr("set FitOptions::schedule"));
}

}  // namespace
}  // namespace veldt::train
