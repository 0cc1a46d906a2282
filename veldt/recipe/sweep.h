// A sweep: a recipe trained with several values of its keys, and several seeds of each, and what came of it.
//   recipe::Sweep sweep(recipe::read("r.toml"), {.over = {"optimizer.lr=1e-3,1e-2"}, .seeds = 3});
//   recipe::run(sweep, [](const recipe::Trial& trial, const recipe::Recipe& recipe) {
//     return recipe::Outcome{.scores = {{"val_accuracy", my_training(recipe)}}};
//   });
//   std::printf("%s", recipe::text_of(recipe::table_of(sweep)).c_str());
// `veldt sweep` runs the trials as processes; a program may train in any way, with what its own code reads
// from `recipe.values`.
// Tests: tests/recipe/sweep_test.cpp, tests/app/sweep_test.cpp, tests/app/sweep_data_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "veldt/recipe/sweep_axis.h"
#include "veldt/recipe/trainer.h"
#include "veldt/train/metric.h"

namespace veldt::recipe {

struct SweepOptions {
  std::vector<std::string> over;  // as sweep_axis() reads them; all combinations are trained
  std::int64_t seeds = 1;         // of each: train.seed, the next one, ..
  std::int64_t random = 0;        // above 0: as many combinations, drawn at random by train.seed
  // Above 1: successive halving (Jamieson & Talwalkar 2016). All begin with a small share of the training;
  // the best of this many go on to this many times the share, and so on.
  std::int64_t halving = 0;
};

// One training of a combination of values.
struct Trial {
  std::int64_t configuration = 0;
  std::int64_t seed = 1;
  double from = 0, until = 1;  // the shares of the training that it begins after and ends with
  std::string name;            // Sweep::name_of_run()
};

// What came of it.
struct Outcome {
  enum class End { done, diverged, refused, failed } end = End::done;
  std::string reason = {};      // of all but done
  train::Scores scores = {};    // "val_accuracy", "test_loss" ..
  double share = 0;             // of the training that it got; 0: as much as the trial asked for
  double seconds = 0;           // of training, all its parts
  std::int64_t parameters = 0;  // 0: unknown
  std::int64_t memory = 0;      // bytes at the most, 0: unknown
};

class Sweep {
 public:
  static constexpr std::int64_t kMostRuns = 10'000'000;

  // Throws UsageError as sweep_axis(), for a key that is given twice, for more runs than kMostRuns, for more
  // random combinations than there are, for halving without a validation set or with too few combinations or
  // epochs, and as changed() and check_model() for a value that is in no combination that can be trained.
  Sweep(Recipe recipe, SweepOptions options);

  const SweepOptions& options() const { return options_; }
  const Recipe& recipe() const { return recipe_; }
  std::vector<std::string> keys() const;
  std::int64_t configurations() const { return configurations_; }
  std::int64_t runs() const { return configurations_ * options_.seeds; }  // without rounds: trials
  // The values of a combination, one for each key.
  std::vector<std::string> settings(std::int64_t configuration) const;
  // "lr=0.001_width=64_seed=1" of the first seed, number 0: a name for its folder.
  std::string name_of_run(std::int64_t configuration, std::int64_t seed_number) const;
  // With these values and its seed. Throws UsageError if they do not fit together.
  Recipe recipe_of(const Trial& trial) const;

  // The next trial that can begin; none while others have to end first, and when all are over.
  std::optional<Trial> take();
  // Each that was taken ends in this way, in any order.
  void tell(const Trial& trial, Outcome outcome);
  bool over() const { return round_ == rounds_.size(); }

  // How many trials there are, in all rounds.
  std::int64_t trials() const;
  // Trainings, whole ones: in all, and those that have ended.
  double work() const;
  double work_done() const { return done_; }

  // The last outcome of a combination and seed; null before there is one.
  const Outcome* outcome(std::int64_t configuration, std::int64_t seed_number) const;
  // The share of the training that a combination was to have. Runs end at an evaluation, and may have had
  // more.
  double share(std::int64_t configuration) const;
  // Whether train.loss is swept over and train.watch is the loss: those of different kinds cannot be
  // compared.
  bool compares_losses() const;
  // The score by which combinations are ordered, and whether a larger one is better: the watched one of the
  // validation set if there is one, else of the test set, else the loss. Where compares_losses() no loss if
  // there is another, and the first metric in place of a watched loss. Empty before the first outcome with a
  // score.
  Watched score() const;
  // Combinations, best first: by the share they got, those whose seeds all ended well, the mean score.
  std::vector<std::int64_t> order() const;

 private:
  struct Round {
    double share = 1;
    std::int64_t size = 0;                   // combinations
    std::vector<std::int64_t> members = {};  // of the first round: all, in order
  };
  void plan_rounds();
  void draw();
  void check_values() const;
  Recipe recipe_with(const std::vector<std::string>& values, std::int64_t seed) const;
  std::int64_t member(std::int64_t place) const;
  std::int64_t run_number(std::int64_t configuration, std::int64_t seed_number) const;
  std::optional<double> mean_score(std::int64_t configuration, const std::string& name) const;
  void next_round();

  Recipe recipe_;
  SweepOptions options_;
  std::vector<SweepAxis> axes_;
  std::vector<std::vector<std::string>> drawn_;  // of random ones
  std::int64_t configurations_ = 0;
  std::vector<Round> rounds_;
  std::size_t round_ = 0;
  std::int64_t taken_ = 0, told_ = 0;  // of this round
  double done_ = 0;
  std::map<std::int64_t, Outcome> outcomes_;  // by run_number()
  std::map<std::int64_t, double> shares_;     // beyond the first round's
};

// Takes and tells all trials, one after the other. An Error of `train`, or of recipe_of(), is a trial's
// outcome.
void run(Sweep& sweep, const std::function<Outcome(const Trial&, const Recipe&)>& train);

// The outcome that an Error is.
Outcome outcome_of(const Error& error);

}  // namespace veldt::recipe
