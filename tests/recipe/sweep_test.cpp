// The plan of a sweep: all combinations, random ones, halving; what failed is a row; any order of the ends
// gives the same table.
#include "veldt/recipe/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/support/temp_dir.h"
#include "veldt/optim/adam.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/sweep_table.h"

namespace veldt::recipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

Recipe numbers_recipe(const std::vector<std::string>& sets = {}) {
  return parse(
      "[data]\nkind = \"table\"\npath = \"a.csv\"\ntarget = \"y\"\nvalidation = 0.2\n[values]\nwidth = 8\n"
      "[model]\nlayers = [\"Linear(width)\", \"Linear(outputs)\"]\n[train]\nepochs = 27\n",
      sets);
}

// The further from a rate of 4 the worse, a little by the seed; more training is better.
Outcome score_by_rate(const Trial& trial, const Recipe& recipe) {
  const double off = *recipe.lr > 4 ? *recipe.lr - 4 : 4 - *recipe.lr;
  return {.scores = {{"val_mae", off + 0.01 * static_cast<double>(trial.seed) + 1 - trial.until}},
          .seconds = 2};
}

std::string refusal_of_sweep(const SweepOptions& options, const std::vector<std::string>& sets = {}) {
  try {
    Sweep sweep(numbers_recipe(sets), options);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(Sweep, TakesAllCombinationsOfEachSeed) {
  Sweep sweep(numbers_recipe({"train.seed=5"}), {.over = {"optimizer.lr=1,2,3", "width=8,16"}, .seeds = 2});
  EXPECT_EQ(sweep.configurations(), 6);
  EXPECT_EQ(sweep.runs(), 12);
  EXPECT_THAT(sweep.settings(0), ElementsAre("1", "8"));
  EXPECT_THAT(sweep.settings(3), ElementsAre("2", "16"));
  std::set<std::string> names;
  int trials = 0;
  run(sweep, [&](const Trial& trial, const Recipe& recipe) {
    names.insert(trial.name);
    EXPECT_EQ(recipe.seed, 5 + trials++ / 6);
    EXPECT_EQ(recipe.seed, trial.seed);
    EXPECT_EQ(recipe.values.at("width"), sweep.settings(trial.configuration)[1]);
    EXPECT_EQ(trial.from, 0);
    EXPECT_EQ(trial.until, 1);
    return score_by_rate(trial, recipe);
  });
  EXPECT_EQ(names.size(), 12U);
  EXPECT_TRUE(names.contains("lr=3_width=16_seed=6")) << *names.begin();
  EXPECT_TRUE(sweep.over());
  EXPECT_FALSE(sweep.take());
  EXPECT_EQ(sweep.score().name, "val_mae");
  EXPECT_FALSE(sweep.score().larger_is_better);
  EXPECT_THAT(sweep.order(), ElementsAre(4, 5, 2, 3, 0, 1));
  EXPECT_EQ(sweep.work(), 12);
  EXPECT_EQ(sweep.work_done(), 12);
}

TEST(Sweep, NamesFoldersThatAnyFileSystemTakes) {
  Sweep sweep(numbers_recipe(),
              {.over = {"optimizer.schedule=cosine(0.1),\"one_cycle(rise=0.2)\"", "optimizer.kind=sgd"}});
  std::set<std::string> names;
  for (std::int64_t i = 0; i < sweep.configurations(); ++i) {
    const std::string name = sweep.name_of_run(i, 0);
    EXPECT_EQ(name.find_first_of("/()\" '"), std::string::npos) << name;
    EXPECT_LT(name.size(), 128U);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 2U);
}

TEST(Sweep, DrawsDifferentCombinationsAndMoreOfTheSame) {
  const Texts over{"optimizer.lr=log(1e-4,1e-1)", "width=4,8"};
  const Sweep few(numbers_recipe(), {.over = over, .random = 5}),
      many(numbers_recipe(), {.over = over, .random = 50}),
      other(numbers_recipe({"train.seed=2"}), {.over = over, .random = 5});
  std::set<Texts> all;
  for (std::int64_t i = 0; i < 50; ++i) all.insert(many.settings(i));
  EXPECT_EQ(all.size(), 50U);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(few.settings(i), many.settings(i));
  EXPECT_NE(other.settings(0), few.settings(0));
  // Lists alone: each combination once.
  const Sweep lists(numbers_recipe(), {.over = {"optimizer.lr=1,2,3", "width=4,8"}, .random = 6});
  all.clear();
  for (std::int64_t i = 0; i < 6; ++i) all.insert(lists.settings(i));
  EXPECT_EQ(all.size(), 6U);
}

TEST(Sweep, AnAgentThatCannotBeIsARow) {
  const Recipe agent = parse(
      "[environment]\nname = \"CartPole-v1\"\ncopies = 8\n[agent]\nkind = \"ppo\"\nbatch = 64\n"
      "[train]\nsteps = 1000\n");
  // A batch has to divide the 64 or 128 steps of a rollout: all but 8 with 128 do.
  Sweep sweep(agent, {.over = {"agent.rollout=8,16", "agent.batch=64,128"}});
  run(sweep, [](const Trial&, const Recipe&) -> Outcome { return {.scores = {{"val_return", 1}}}; });
  ASSERT_NE(sweep.outcome(1, 0), nullptr);
  EXPECT_EQ(sweep.outcome(1, 0)->end, Outcome::End::refused);
  EXPECT_THAT(sweep.outcome(1, 0)->reason, HasSubstr("a batch of 128"));
  EXPECT_EQ(sweep.outcome(3, 0)->end, Outcome::End::done);
  EXPECT_THROW(Sweep(agent, {.over = {"agent.rollout=8", "agent.batch=64,128"}}), UsageError);
}

TEST(Sweep, LossesOfDifferentKindsAreNotCompared) {
  const Recipe series = parse(
      "[data]\nkind = \"series\"\npath = \"a.csv\"\ncolumn = \"y\"\ncontext = 4\nvalidation = 0.2\ntest = "
      "0.2\n"
      "[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]\n[train]\nepochs = 8\n");
  Sweep sweep(series, {.over = {"train.loss=mse,l1,huber"}});
  run(sweep, [&](const Trial& trial, const Recipe&) -> Outcome {
    const auto place = static_cast<double>(trial.configuration);
    return {.scores = {{"val_loss", place}, {"test_mae", 3 - place}}};
  });
  EXPECT_EQ(sweep.score().name, "test_mae");
  EXPECT_THAT(sweep.order(), ElementsAre(2, 1, 0));
  EXPECT_THROW(Sweep(series, {.over = {"train.loss=mse,l1"}, .halving = 2}), UsageError);
  // A table's mean absolute error is one for all of them.
  Sweep table(numbers_recipe(), {.over = {"train.loss=mse,l1"}, .halving = 2});
  run(table, [](const Trial&, const Recipe&) -> Outcome {
    return {.scores = {{"val_loss", 1}, {"val_mae", 2}}};
  });
  EXPECT_EQ(table.score().name, "val_mae");
  // What a sweep over `losses` is ordered by, if its first run has worse scores than its second but for
  // losses and waiting.
  const auto order_of = [](const Recipe& recipe, const std::string& losses,
                           const std::vector<std::pair<std::string, double>>& worse_first) {
    Sweep one(recipe, {.over = {"train.loss=" + losses}});
    EXPECT_TRUE(one.compares_losses());
    run(one, [&](const Trial& trial, const Recipe&) -> Outcome {
      const auto place = static_cast<double>(trial.configuration);
      Outcome outcome{.scores = {{"waiting", place}, {"train_loss", place}}};
      for (const auto& [name, sign] : worse_first) outcome.scores.emplace_back(name, sign * place);
      return outcome;
    });
    const Watched score = one.score();
    return score.name + (score.larger_is_better ? " up" : " down") + (one.order()[0] == 1 ? ", second" : "");
  };
  // A text's watched score is its loss.
  const std::string text_toml =
      "[data]\nkind = \"text\"\npath = \"t.txt\"\ncontext = 4\n"
      "[model]\nlayers = [\"Embedding(4)\", \"LSTM(4)\", \"Linear(outputs)\"]\n[train]\nepochs = 8\n";
  const Recipe text = parse(text_toml), by_perplexity = parse(text_toml + "metrics = [\"perplexity\"]\n");
  const std::string smoothed = "cross_entropy,cross_entropy(0.1)";
  EXPECT_EQ(order_of(text, smoothed, {{"test_loss", 1}, {"test_accuracy", 1}}), "test_accuracy up, second");
  EXPECT_EQ(order_of(text, smoothed,
                     {{"val_loss", 1}, {"val_accuracy", 1}, {"test_loss", 1}, {"test_accuracy", -1}}),
            "val_accuracy up, second");
  EXPECT_EQ(order_of(by_perplexity, smoothed, {{"val_loss", 1}, {"val_perplexity", -1}}),
            "val_perplexity down, second");
  // Where there is nothing but losses, they have to do; never what tells of the training or the machine.
  EXPECT_EQ(order_of(series, "mse,l1", {{"val_loss", -1}}), "val_loss down, second");
  EXPECT_EQ(order_of(series, "mse,l1", {{"val_loss", 1}, {"test_mae", -1}}), "test_mae down, second");
  EXPECT_EQ(order_of(series, "mse,l1", {}), "train_loss down");
  Sweep timed(numbers_recipe(), {.over = {"optimizer.lr=1,2"}});
  EXPECT_FALSE(timed.compares_losses());
  run(timed, [](const Trial&, const Recipe&) -> Outcome {
    return {.scores = {{"waiting", 0}, {"train_mae", 1}, {"words", 2}}};
  });
  EXPECT_EQ(timed.score().name, "words");
}

TEST(Sweep, HalvesByShares) {
  // 9 at a ninth, 3 at a third, 1 at the whole.
  Sweep sweep(numbers_recipe(), {.over = {"optimizer.lr=1,2,3,4,5,6,7,8,9"}, .seeds = 2, .halving = 3});
  std::map<double, std::set<std::string>> rates;  // by the share
  std::vector<double> shares;
  run(sweep, [&](const Trial& trial, const Recipe& recipe) {
    rates[trial.until].insert(sweep.settings(trial.configuration)[0]);
    shares.push_back(trial.until - trial.from);
    return score_by_rate(trial, recipe);
  });
  ASSERT_EQ(rates.size(), 3U);
  EXPECT_NEAR(rates.begin()->first, 1 / 9.0, 1e-12);
  EXPECT_EQ(rates.begin()->second.size(), 9U);
  EXPECT_THAT(std::next(rates.begin())->second, ElementsAre("3", "4", "5"));
  EXPECT_THAT(rates.at(1), ElementsAre("4"));
  EXPECT_EQ(shares.size(), 2U * (9 + 3 + 1));
  EXPECT_NEAR(sweep.work(), 2 * (9 / 9.0 + 3 * 2 / 9.0 + 2 / 3.0), 1e-9);
  EXPECT_NEAR(sweep.work_done(), sweep.work(), 1e-9);
  EXPECT_EQ(sweep.order()[0], 3);
  EXPECT_EQ(sweep.share(3), 1);
  EXPECT_NEAR(sweep.share(2), 1 / 3.0, 1e-12);
  EXPECT_NEAR(sweep.share(8), 1 / 9.0, 1e-12);
}

TEST(Sweep, HalvesByWholeEpochs) {
  std::set<double> shares;
  Sweep sweep(numbers_recipe({"train.epochs=4"}), {.over = {"optimizer.lr=1,2,3,4,5,6,7,8,9"}, .halving = 3});
  run(sweep, [&](const Trial& trial, const Recipe& recipe) {
    shares.insert(trial.until);
    return score_by_rate(trial, recipe);
  });
  EXPECT_EQ(shares.size(), 2U);  // a ninth of four epochs would be less than one
}

TEST(Sweep, WhatFailsIsARowAndDoesNotGoOn) {
  Sweep sweep(numbers_recipe(), {.over = {"optimizer.lr=1,2,3,4"}, .seeds = 2, .halving = 2});
  int trials = 0;
  run(sweep, [&](const Trial& trial, const Recipe& recipe) -> Outcome {
    ++trials;
    if (trial.configuration == 3 && trial.seed == 2)
      throw DivergedError("it diverged", "the rate is too high", "lower it");
    if (trial.configuration == 2)
      throw IoError(IoError::Kind::unwritable, "it failed", "the disk is full", "free some");
    return score_by_rate(trial, recipe);
  });
  // Of the four, two are whole; one goes on to the end.
  EXPECT_EQ(trials, 4 * 2 + 2 * 2 + 2);
  const SweepTable table = table_of(sweep);
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0].configuration, 1);
  EXPECT_EQ(table.rows[2].configuration, 3);
  EXPECT_EQ(table.rows[2].reason, "diverged: it diverged: the rate is too high");
  EXPECT_EQ(table.rows[2].done, 1);
  EXPECT_EQ(table.rows[3].reason, "failed: it failed: the disk is full");
  EXPECT_EQ(table.rows[3].done, 0);
}

TEST(Sweep, ScoresTooFarApartForADeviationAreStillARow) {
  Sweep sweep(numbers_recipe(), {.over = {"optimizer.lr=1"}, .seeds = 2});
  run(sweep, [](const Trial& trial, const Recipe&) {
    return Outcome{.scores = {{"val_mae", trial.seed == 1 ? 1e200 : 3e200}}};
  });
  EXPECT_THAT(text_of(table_of(sweep)), HasSubstr("2e+200 ± inf"));
}

TEST(Sweep, IsOverWhenAllHaveFailed) {
  Sweep sweep(numbers_recipe(), {.over = {"optimizer.lr=1,2,3,4"}, .halving = 2});
  int trials = 0;
  run(sweep, [&](const Trial&, const Recipe&) -> Outcome {
    ++trials;
    throw DivergedError("a", "b", "c");
  });
  EXPECT_EQ(trials, 4);
  EXPECT_TRUE(sweep.over());
  EXPECT_EQ(sweep.score().name, "");
  EXPECT_EQ(chart_of(table_of(sweep), "t"), "");
  EXPECT_THAT(text_of(table_of(sweep)), HasSubstr("diverged: a: b"));
}

TEST(Sweep, AnyOrderOfTheEndsGivesTheSameTable) {
  std::string expected;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Sweep sweep(numbers_recipe(), {.over = {"optimizer.lr=1,2,3,5,6,7,8"}, .seeds = 2, .halving = 2});
    std::vector<Trial> running;
    while (!sweep.over()) {
      while (running.size() < 1 + random() % 5)
        if (const auto trial = sweep.take())
          running.push_back(*trial);
        else
          break;
      ASSERT_FALSE(running.empty());
      const auto at = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
      const Trial trial = *at;
      running.erase(at);
      sweep.tell(trial, score_by_rate(trial, sweep.recipe_of(trial)));
    }
    const std::string csv = csv_of(table_of(sweep)) + runs_csv(sweep);
    if (seed == 0) expected = csv;
    EXPECT_EQ(csv, expected);
  }
}

// A warmup as long as the run leaves nothing of it.
TEST(Sweep, CombinationsThatDoNotFitAreRows) {
  Sweep sweep(numbers_recipe(), {.over = {"train.steps=50,1000", "optimizer.warmup=10,100"}});
  run(sweep, [](const Trial&, const Recipe&) { return Outcome{.scores = {{"val_mae", 1}}}; });
  const SweepTable table = table_of(sweep);
  EXPECT_THAT(table.rows[3].settings, ElementsAre("50", "100"));
  EXPECT_THAT(table.rows[3].reason, HasSubstr("refused: optimizer.warmup cannot be 100"));
}

TEST(Sweep, ValuesThatFitNoOtherAreRefused) {
  const std::vector<std::pair<SweepOptions, std::string>> cases = {
      {{.over = {"optimizer.schedule=cosine,foo"}}, "there is no schedule 'foo'"},
      {{.over = {"width=8,0"}}, "cannot be '0'"},
      {{.over = {"width=0,8"}}, "cannot be '0'"},
      {{.over = {"width=0,8", "optimizer.lr=1,2"}, .random = 2}, "cannot be '0'"},
      // Adam has no momentum.
      {{.over = {"optimizer.kind=adam,sgd", "optimizer.momentum=0.5,0.9"}}, "momentum is not for adam"},
      {{.over = {"optimizer.kind=adam,lion", "optimizer.momentum=0.5,0.9"}}, "momentum is not for adam"},
      {{.over = {"train.steps=50,60", "optimizer.warmup=10,100"}}, "optimizer.warmup cannot be 100"},
  };
  for (const auto& [options, words] : cases)
    EXPECT_THAT(refusal_of_sweep(options), HasSubstr(words)) << options.over[0];
}

// Of three epochs a half is two.
TEST(Sweep, SaysWhatShareWasTrained) {
  Sweep sweep(numbers_recipe({"train.epochs=3"}), {.over = {"optimizer.lr=1,4"}, .halving = 2});
  run(sweep, [](const Trial& trial, const Recipe& recipe) {
    Outcome outcome = score_by_rate(trial, recipe);
    if (trial.until < 1) outcome.share = 2 / 3.0;
    return outcome;
  });
  const SweepTable table = table_of(sweep);
  EXPECT_EQ(table.rows[0].share, 1);
  EXPECT_EQ(table.rows[1].share, 2 / 3.0);
  EXPECT_THAT(text_of(table), HasSubstr(" 67 % "));
  EXPECT_THAT(csv_of(table), HasSubstr("\n1,0.666666666667,"));
}

TEST(Sweep, RefusesWhatCannotBe) {
  const std::string rates = "optimizer.lr=1,2,3,4";
  const std::vector<std::pair<SweepOptions, std::string>> cases = {
      {{.over = {}}, "there is nothing to sweep over"},
      {{.over = {rates}, .seeds = 0}, "--seeds cannot be 0"},
      {{.over = {rates, "optimizer.lr=5,6"}}, "--over optimizer.lr is given twice"},
      {{.over = {rates}, .seeds = 1LL << 62}, "the sweep has countless runs"},
      {{.over = {rates}, .seeds = 1'000'000'000}, "the sweep has 4000000000 runs"},
      {{.over = {rates}, .random = 5}, "there are 4 combinations"},
      {{.over = {rates}, .halving = 1}, "--halving cannot be 1"},
      {{.over = {rates}, .halving = 5}, "there are 4 combinations"},
  };
  for (const auto& [options, words] : cases)
    EXPECT_THAT(refusal_of_sweep(options), HasSubstr(words)) << words;
  EXPECT_THAT(refusal_of_sweep({.over = {rates}, .halving = 2}, {"data.validation=0"}),
              HasSubstr("data.validation"));
  EXPECT_THAT(refusal_of_sweep({.over = {rates}, .halving = 3}, {"train.epochs=2"}), HasSubstr("2 epochs"));
  EXPECT_EQ(refusal_of_sweep({.over = {rates}, .halving = 2}), "nothing");
}

// The example of docs/tour.md on numbers: an optimizer that no recipe knows by these options.
TEST(Sweep, TrainsInAProgramsOwnWay) {
  const test::TempDir dir;
  std::string table = "x,y\n";
  for (int i = 0; i < 100; ++i) table += std::to_string(i % 10) + ',' + std::to_string(3 * (i % 10)) + '\n';
  test::put_bytes(dir / "a.csv", table);
  Sweep sweep(numbers_recipe({"train.epochs=3", "data.batch=10"}),
              {.over = {"optimizer.lr=1e-6,1e-2"}, .seeds = 2});
  run(sweep, [&dir](const Trial& trial, const Recipe& recipe) {
    const Data data = load_data(recipe, dir / "");
    nn::Graph net = build_model(recipe, data.facts.model);
    optim::Adam adam(net.parameters(), {.lr = *recipe.lr, .beta1 = 0.5});
    data::Loader batches = training_loader(recipe, data),
                 held_back = measuring_loader(recipe, data, data.validation);
    train::Trainer trainer(net, adam, trainer_options_of(recipe, data.facts));
    const train::FitResult fit =
        trainer.fit(batches, &held_back, {.epochs = recipe.epochs, .out = dir / trial.name});
    return Outcome{.scores = {{"val_mae", train::score(trainer.evaluate(held_back), "mae")}},
                   .seconds = fit.run.seconds,
                   .parameters = net.parameter_count()};
  });
  const SweepTable found = table_of(sweep);
  ASSERT_EQ(found.rows.size(), 2U);
  EXPECT_EQ(found.rows[0].settings[0], "1e-2");
  EXPECT_EQ(found.rows[0].done, 2);
  EXPECT_EQ(found.rows[0].parameters, 25);
  EXPECT_NE(found.rows[0].score("val_mae")->values[0], found.rows[0].score("val_mae")->values[1]);
}

}  // namespace
}  // namespace veldt::recipe
