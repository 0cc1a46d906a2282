// An optimizer of one's own against SGD and AdamW on handwritten digits: all combinations of some rates,
// momenta and weight decays, each from several seeds.
//   example_optimizer_sweep FOLDER [STEPS [SEEDS]]
// FOLDER holds the four files of MNIST, compressed or not; 400 steps and two seeds take about a minute on two
// cores. Prints what is best of each optimizer, momentum and decay, and writes optimizer_sweep.csv, which has
// all, and optimizer_sweep.svg.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "veldt/veldt.h"

using namespace veldt;

// What is swept is a key of recipes or one of [values], which this program reads.
constexpr const char* kRecipe = R"toml(
[data]
kind = "mnist"
path = "."
validation = 0.9
[model]
layers = ["Flatten", "Linear(64)", "ReLU", "Linear(outputs)"]
[values]
optimizer = "signum"
momentum = 0.9
[optimizer]
schedule = "linear"
)toml";

// The sign of a mean of gradients: Signum (Bernstein et al. 2018, "signSGD: compressed optimisation for
// non-convex problems"), with AdamW's weight decay. Each number moves by the rate, however steep it is.
class Signum : public optim::Optimizer {
 public:
  Signum(const NamedTensors& parameters, double lr, double momentum, double decay)
      : Optimizer(parameters, lr, {"momentum"}), momentum_(momentum), decay_(decay) {}

 protected:
  void update(std::size_t group, optim::Slab::Range range) override {
    const Tensor g = optim::Slab::part(slab().gradients(), range);
    Tensor p = optim::Slab::part(slab().values(), range), m = state(0, range);
    m.assign(momentum_ * m + (1 - momentum_) * g);
    p.assign(p - group_lr(group) * (sign(m) + decay_ * p));
  }

 private:
  double momentum_, decay_;
};

std::unique_ptr<optim::Optimizer> chosen_optimizer(const recipe::Recipe& recipe, const nn::Module& model) {
  const NamedTensors parameters = model.named_parameters();
  const std::string& name = recipe.values.at("optimizer");
  const double lr = *recipe.lr, decay = *recipe.weight_decay,
               momentum = std::stod(recipe.values.at("momentum"));
  if (name == "sgd")
    return std::make_unique<optim::SGD>(
        parameters, optim::SGDOptions{.lr = lr, .momentum = momentum, .weight_decay = decay});
  if (name == "adamw")
    return std::make_unique<optim::AdamW>(
        parameters, optim::AdamWOptions{.lr = lr, .beta1 = momentum, .weight_decay = decay});
  if (name == "lion")  // with one momentum for both of its means this is Signum
    return std::make_unique<optim::Lion>(
        parameters,
        optim::LionOptions{.lr = lr, .beta1 = momentum, .beta2 = momentum, .weight_decay = decay});
  return std::make_unique<Signum>(parameters, lr, momentum, decay);
}

recipe::Outcome learned(const recipe::Recipe& recipe, const recipe::Data& digits) {
  nn::Graph model = recipe::build_model(recipe, digits.facts.model);
  const auto optimizer = chosen_optimizer(recipe, model);
  train::Trainer trainer(model, *optimizer, recipe::trainer_options_of(recipe, digits.facts));
  data::Loader batches = recipe::training_loader(recipe, digits);
  const train::FitResult fit =
      trainer.fit(batches, nullptr,
                  {.steps = recipe.steps,
                   .schedule = recipe::schedule_of(recipe, optimizer->lr(), recipe.steps),
                   .record = true});
  data::Loader held_back = recipe::measuring_loader(recipe, digits, digits.validation),
               test = recipe::measuring_loader(recipe, digits, digits.test);
  return {.scores = {{"val_accuracy", train::score(trainer.evaluate(held_back), "accuracy")},
                     {"test_accuracy", train::score(trainer.evaluate(test), "accuracy")}},
          .seconds = fit.run.seconds,
          .parameters = model.parameter_count()};
}

// The mean over the seeds of the first row of these values; rows come best first.
double best_of(const recipe::SweepTable& table, const std::string& optimizer, const std::string& momentum) {
  for (const recipe::SweepRow& row : table.rows)
    if (row.settings[0] == optimizer && row.settings[1] == momentum && row.done > 0)
      return row.score("val_accuracy")->mean;
  return 0;
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "mnist";
  const std::int64_t steps =
      argc > 2 ? io::count_from({"STEPS", "", false}, argv[2], {.least = 1, .most = 1'000'000}) : 400;
  const std::int64_t seeds =
      argc > 3 ? io::count_from({"SEEDS", "", false}, argv[3], {.least = 1, .most = 1000}) : 2;
  // What is written at the end is not to fail there.
  for (const char* file : {"optimizer_sweep.csv", "optimizer_sweep.svg"}) io::check_writable(file);
  recipe::Sweep sweep(
      recipe::parse(kRecipe, {"train.steps=" + std::to_string(steps)}),
      {.over = {"optimizer=signum,lion,sgd,adamw", "momentum=0,0.9", "optimizer.weight_decay=0,0.1",
                "optimizer.lr=1e-3,3e-3,1e-2,3e-2,1e-1,3e-1,1"},
       .seeds = seeds});
  // A seed also says which digits are held back. All trials of one come before those of the next.
  // Those of the first are loaded here, where a wrong FOLDER ends the program: within run() an error is what
  // came of a trial, and the next one begins.
  std::int64_t seed = sweep.recipe().seed;
  recipe::Data digits = recipe::load_data(sweep.recipe(), folder);
  recipe::run(sweep, [&](const recipe::Trial& trial, const recipe::Recipe& recipe) {
    if (seed != trial.seed) {
      digits = recipe::load_data(recipe, folder);
      seed = trial.seed;
    }
    return learned(recipe, digits);
  });
  recipe::SweepTable table = recipe::table_of(sweep);
  io::write_file("optimizer_sweep.csv", recipe::csv_of(table));
  // The first of an optimizer, momentum and decay is that of its best rate; the others are left out.
  std::set<std::vector<std::string>> seen;
  std::erase_if(table.rows, [&seen](const recipe::SweepRow& row) {
    return !seen.insert({row.settings.begin(), row.settings.end() - 1}).second;
  });
  std::printf("%s", recipe::text_of(table).c_str());
  io::write_file("optimizer_sweep.svg", recipe::chart_of(table, "MNIST, each at its best rate"));
  const double mine = best_of(table, "signum", "0.9"), same = best_of(table, "lion", "0.9"),
               slow = best_of(table, "sgd", "0"), fast = best_of(table, "sgd", "0.9");
  std::printf("Signum as it is written here and the library's: %.4f and %.4f\n", mine, same);
  const bool as_expected = std::abs(mine - same) < 0.01 && fast > slow;
  if (!as_expected)
    std::printf(
        "unexpected: the two should agree to 0.01, and momentum should help SGD (%.4f, without %.4f)\n", fast,
        slow);
  return as_expected ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "optimizer_sweep: %s\n", error.what());
  return 2;
}
