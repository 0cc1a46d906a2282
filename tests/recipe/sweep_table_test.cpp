// The table of a sweep: means and deviations over seeds, as text, CSV and SVG.
#include "veldt/recipe/sweep_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace veldt::recipe {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two rates of three seeds; the second rate's last diverges.
Sweep swept_rates() {
  Sweep sweep(
      parse("[data]\nkind = \"table\"\npath = \"a.csv\"\ntarget = \"y\"\nclasses = true\nvalidation = 0.2\n"
            "[model]\nlayers = [\"Linear(outputs)\"]\n[train]\nepochs = 4\n"),
      {.over = {"optimizer.lr=0.1,0.3"}, .seeds = 3});
  run(sweep, [](const Trial& trial, const Recipe&) -> Outcome {
    if (trial.configuration == 1 && trial.seed == 3) throw DivergedError("it \"diverged\"", "a, b", "c");
    const double bonus = trial.configuration == 1 ? 0.25 : 0;
    return {.scores = {{"train_loss", 1},
                       {"val_accuracy", 0.25 * static_cast<double>(trial.seed) + bonus},
                       {"test_accuracy", 0.5}},
            .seconds = 1.5,
            .parameters = 77,
            .memory = 1000 * trial.seed};
  });
  return sweep;
}

TEST(SweepTable, HasMeansAndDeviationsOverSeeds) {
  const SweepTable table = table_of(swept_rates());
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.score.name, "val_accuracy");
  EXPECT_TRUE(table.score.larger_is_better);
  const SweepRow& whole = table.rows[0];  // the other has a failure
  EXPECT_EQ(whole.settings[0], "0.1");
  EXPECT_EQ(whole.done, 3);
  EXPECT_DOUBLE_EQ(whole.score("val_accuracy")->mean, 0.5);
  EXPECT_DOUBLE_EQ(whole.score("val_accuracy")->deviation.value(), 0.25);
  EXPECT_EQ(whole.score("val_loss"), nullptr);
  EXPECT_EQ(whole.memory, 3000);
  EXPECT_EQ(table.best_run, "lr=0.1_seed=3");
  EXPECT_EQ(table.rows[1].failed, 1);
  EXPECT_DOUBLE_EQ(table.rows[1].score("val_accuracy")->mean, 0.625);
}

TEST(SweepTable, IsTextForPeople) {
  const std::string text = text_of(table_of(swept_rates()));
  EXPECT_THAT(text, HasSubstr("lr   val_accuracy  test_accuracy "));
  EXPECT_THAT(text, HasSubstr("0.1  0.50 ± 0.25"));
  EXPECT_THAT(text, HasSubstr("1 of 3 diverged"));
  EXPECT_THAT(text, HasSubstr("\nlr 0.3: diverged: it \"diverged\": a, b\n"));
  EXPECT_THAT(text_of(table_of(swept_rates()), 1), HasSubstr(".. and 1 more"));
}

TEST(SweepTable, IsCsvForPrograms) {
  const std::string csv = csv_of(table_of(swept_rates()));
  EXPECT_EQ(
      csv.substr(0, csv.find('\n')),
      "optimizer.lr,share,runs,failed,train_loss,train_loss_deviation,val_accuracy,val_accuracy_deviation,"
      "test_accuracy,test_accuracy_deviation,seconds,parameters,memory_bytes,reason");
  EXPECT_THAT(csv, HasSubstr("\n0.1,1,3,0,1,0,0.5,0.25,0.5,0,1.500,77,3000,\n"));
  EXPECT_THAT(csv, HasSubstr(",\"diverged: it \"\"diverged\"\": a, b\"\n"));
  const std::string runs = runs_csv(swept_rates());
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'), 7);
  EXPECT_THAT(runs, HasSubstr("\nlr=0.3_seed=2,0.3,2,1,done,1,0.75,0.5,1.500,77,2000,\n"));
  EXPECT_THAT(runs, HasSubstr("\nlr=0.3_seed=3,0.3,3,1,diverged,,,,,,,\"it \"\"diverged\"\": a, b\"\n"));
}

// What data.corrupt asks for: below its own name beside the test set's score, and by its whole name for
// programs.
TEST(SweepTable, HasAColumnForEachCorruption) {
  for (const char* validation : {"0.2", "0"}) {
    Sweep sweep(parse(std::string("[data]\nkind = \"mnist\"\nvalidation = ") + validation +
                      "\n[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]\n[train]\nepochs = 4\n"),
                {.over = {"optimizer.lr=0.1"}, .seeds = 2});
    run(sweep, [&](const Trial& trial, const Recipe& recipe) {
      const double seed = static_cast<double>(trial.seed);
      Outcome outcome{.scores = {{"test_loss", 1},
                                 {"test_accuracy", 0.5},
                                 {"test_loss shift(4)", 2},
                                 {"test_accuracy shift(4)", seed / 4},
                                 {"test_accuracy normalise(0, 2)", 0.125}}};
      if (recipe.validation > 0) outcome.scores.insert(outcome.scores.begin(), {"val_accuracy", 0.5});
      return outcome;
    });
    const std::string text = text_of(table_of(sweep)), csv = csv_of(table_of(sweep));
    EXPECT_THAT(text, HasSubstr("  test_accuracy    shift(4)     normalise(0, 2)  seconds"));
    EXPECT_THAT(text, HasSubstr("0.38 ± 0.18"));
    EXPECT_THAT(csv, HasSubstr(",test_accuracy shift(4),test_accuracy shift(4)_deviation,"
                               "\"test_accuracy normalise(0, 2)\","));
    EXPECT_THAT(csv, HasSubstr(",0.375,0.176776695297,0.125,0,"));
  }
}

// Sums have last digits that no score has, and one value has no deviation.
TEST(SweepTable, HasNoDigitsOfNoise) {
  const Recipe recipe = parse(
      "[data]\nkind = \"table\"\npath = \"a.csv\"\ntarget = \"y\"\nclasses = true\nvalidation = 0.2\n"
      "[model]\nlayers = [\"Linear(outputs)\"]\n[train]\nepochs = 4\n");
  const auto csv_with = [&](const std::vector<double>& scores) {
    Sweep sweep(recipe, {.over = {"optimizer.lr=0.1"}, .seeds = std::ssize(scores)});
    run(sweep, [&](const Trial& trial, const Recipe&) {
      return Outcome{.scores = {{"val_accuracy", scores[static_cast<std::size_t>(trial.seed - 1)]}}};
    });
    return csv_of(table_of(sweep));
  };
  EXPECT_THAT(csv_with({0.95, 0.9625, 0.975}), HasSubstr("\n0.1,1,3,0,0.9625,0.0125,"));
  EXPECT_THAT(csv_with({0.9625000000000001}), HasSubstr("\n0.1,1,1,0,0.9625,,"));
  EXPECT_THAT(csv_with({0.1, 0.1 + 1e-17, 0.30000000000000004 - 0.2}), HasSubstr("\n0.1,1,3,0,0.1,0,"));
  EXPECT_THAT(csv_with({1e-20, 3e-20}), HasSubstr(",2e-20,1.41421356237e-20,"));
}

TEST(SweepTable, IsAChart) {
  const std::string svg = chart_of(table_of(swept_rates()), "a < b");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr(">lr 0.1<"));
  EXPECT_THAT(svg, HasSubstr(">1 of 3 diverged<"));
  EXPECT_EQ(std::string::npos, svg.find("nan"));
  EXPECT_THAT(chart_of(table_of(swept_rates()), "", 1), Not(HasSubstr(">lr 0.3<")));
}

TEST(SweepTable, AnAxisOfAccuraciesEndsAtOne) {
  SweepTable table{.keys = {"optimizer.lr"}, .score = {"val_accuracy", true}, .rows = {}};
  for (const double value : {1.0, 0.75}) {
    SweepRow& row = table.rows.emplace_back();
    row.settings = {"1"};
    row.done = 2;
    row.scores = {{.name = "val_accuracy", .mean = value, .values = {value, 1}}};
  }
  EXPECT_THAT(chart_of(table, "t"), Not(HasSubstr(">1.05<")));
  // Nobody has measured its memory, so there is no column for it.
  EXPECT_THAT(text_of(table), Not(HasSubstr("memory")));
  table.rows[1].memory = 5'000'000;
  EXPECT_THAT(text_of(table), HasSubstr("memory"));
}

TEST(SweepTable, OneBadRowDoesNotHideHowTheOthersCompare) {
  for (const bool larger : {true, false}) {
    SweepTable table{.keys = {"optimizer.lr"}, .score = {"score", larger}, .rows = {}};
    for (const double value : {0.99, 0.98, 0.97, 0.1}) {
      SweepRow& row = table.rows.emplace_back();
      row.settings = {"1"};
      row.done = 1;
      row.scores = {{.name = "score", .mean = value, .values = {larger ? value : 1 - value}}};
    }
    const std::string svg = chart_of(table, "t");
    EXPECT_THAT(svg, HasSubstr(larger ? ">0.1<" : ">0.9<"));    // beside an arrow
    EXPECT_THAT(svg, HasSubstr(larger ? ">0.97<" : ">0.03<"));  // a tick
  }
}

// Seeds of the better row that hardly differ make it no ruler for the other.
TEST(SweepTable, OfTwoRowsBothAreDrawn) {
  SweepTable table{.keys = {"optimizer.lr"}, .score = {"val_accuracy", true}, .rows = {}};
  for (const double value : {0.985, 0.969}) {
    SweepRow& row = table.rows.emplace_back();
    row.settings = {"1"};
    row.done = 2;
    row.scores = {{.name = "val_accuracy", .mean = value, .values = {value, value + 0.0005}}};
  }
  EXPECT_THAT(chart_of(table, "t"), Not(HasSubstr(">0.969<")));  // beside an arrow
  EXPECT_THAT(chart_of(table, "t"), HasSubstr(">0.97<"));        // a tick
}

}  // namespace
}  // namespace veldt::recipe
