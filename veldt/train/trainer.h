// Trains a module on batches of examples: epochs, validation, early stopping, checkpoints that resume in the
// middle of an epoch, measures in files. It uses run() of train/loop.h.
//   train::Trainer trainer(model, adam, {.metrics = {train::accuracy()}});
//   trainer.fit(train_loader, &test_loader, {.epochs = 10, .patience = 3, .out = "runs/mnist"});
//   std::printf("%.4f\n", train::score(trainer.evaluate(test_loader), "accuracy"));
// Several optimizers are players: see train/player.h.
// Tests: tests/train/trainer_test.cpp, tests/train/players_test.cpp, tests/train/stream_test.cpp,
// tests/train/device_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/data/loader.h"
#include "veldt/data/stream.h"
#include "veldt/dist/communicator.h"
#include "veldt/nn/module.h"
#include "veldt/optim/optimizer.h"
#include "veldt/optim/schedule.h"
#include "veldt/tensor/plan.h"
#include "veldt/train/adaptation.h"
#include "veldt/train/events.h"
#include "veldt/train/follower.h"
#include "veldt/train/loop.h"
#include "veldt/train/metric.h"
#include "veldt/train/players.h"
#include "veldt/train/step_parts.h"

namespace veldt::train {

class BatchSource;
class Tally;
class Together;

struct TrainerOptions {
  // If there is none: model(batch[0]), one output. A model of several says so: m(TensorList{b[0]}).
  Forward forward = {};
  // If there is none: cross_entropy(first output, the batch's last tensor), which then has to hold labels,
  // i64.
  Loss loss = {};
  // In training alone, what is minimised instead, of that loss, the outputs and the batch: what a teacher
  // adds (compress::Distiller). Not of players with a loss of their own.
  std::function<Tensor(const Tensor& loss, const TensorList& outputs, const data::Batch& batch)> instead = {};
  // The scores of evaluate() besides the loss, or the players' losses.
  std::vector<MetricMaker> metrics = {};
  // Batches whose mean gradient a step takes; see Optimizer.
  std::int64_t accumulate = 1;
  // Above 0: evaluation and the best weights use a moving average (optim/ema.h).
  double ema_decay = 0;
  // Matrix products of training in half precision, from f32 parameters: see Autocast. f16 also uses a
  // GradScaler, whose state is in checkpoints. Evaluation is in f32.
  std::optional<DType> autocast = {};
};

struct FitOptions {
  // The run ends at the first of these limits that is above 0.
  std::int64_t epochs = 0, steps = 0;
  double seconds = 0;
  // Above 0: the fit stops after this step as if it had been asked to, and a later one may resume it.
  std::int64_t pause = 0;
  // The rate of each step; without one the optimizer's stays.
  std::optional<optim::Schedule> schedule = {};
  // The same of players, by their names.
  std::map<std::string, optim::Schedule> schedules = {};
  // Steps between two evaluations; 0: an epoch, of a stream without a validation set the run.
  std::int64_t evaluate_every = 0;
  // The score that decides which weights are best: "loss", or a metric's. Empty: the first metric, or the
  // loss. Players in turn have no "loss", but "loss_NAME", and none is chosen without being named.
  std::string watch = {};
  // Evaluations without a better one after which training stops; 0: never.
  std::int64_t patience = 0;
  // Whether the weights of the best evaluation are restored at the end (with averages and no validation set,
  // the averages), unless a stop was requested.
  bool restore_best = true;
  // Above 0, with a folder: keeps the weights of this many best evaluations in its top/ (TopWeights).
  std::int64_t keep_top = 0;
  // A folder for metrics.csv, metrics.jsonl, best.safetensors and checkpoints/, from which a later fit() may
  // resume. The first three are written once a second at most, before each checkpoint and at the end. Empty:
  // nothing is written.
  std::string out = {};
  bool resume = false;
  double checkpoint_every = 30;  // seconds
  int keep = 3;
  // The configuration of the run, as a JSON object: a run is only resumed with the same one.
  std::string config = "{}";
  // Records a step once and replays it (Plan), which is faster for small networks. Set it if forward, loss
  // and the model's own code do the same operations with the same numbers at every step: a branch is taken,
  // and a number that C++ computes is read, only once. Steps on batches of another shape are taken as they
  // stand.
  bool record = false;
  // Steps whose batches have another shape than the first step's are not recorded.
  std::optional<Adaptation> adapt = {};
  // Changes the network after each step (compress::Pruner); null: nothing does. Not with averages
  // (ema_decay), which would be of weights that it has not changed.
  Follower* follower = nullptr;
  // Of several processes that train together; null: there is one. Each calls fit() with the same data and
  // options: it computes its part of each batch, so that a step is that of one process with the whole batch,
  // but for rounding and what chance does. Rank 0 alone writes and reads files. A batch norm's mean and
  // variance are those of a part, its running ones of all.
  // With `record`, a rank's batches may not change their shapes by themselves.
  dist::Communicator* ranks = nullptr;
  // Above 0: the number of parts of each batch, however many ranks there are, which are computed and added up
  // one by one: a step has the same bits on 1 to `parts` ranks. Without ranks too.
  std::int64_t parts = 0;
  // Ranks send gradients of f32 as bf16, which halves the bytes and rounds each to eight bits: for slow
  // networks.
  bool half_gradients = false;
  // Each rank keeps the optimizer's state of a part of the parameters alone, takes the step there, and sends
  // the others what has changed (ZeRO-1, Rajbhandari et al. 2020): steps have the same bits and checkpoints
  // the same bytes. For an optimizer that takes each number by itself; Muon is refused. Afterwards rank 0 has
  // all of the state.
  bool share_optimizer = false;
  // A batch norm's mean and variance are those of the whole batch, of all ranks (dist::SyncBatchNorm), which
  // wait for each other at each of them. Not with `parts`.
  bool sync_batch_norm = false;
  // What best.safetensors says of itself in its metadata, besides "step" and the watched score.
  std::map<std::string, std::string> metadata = {};
};

// An evaluation during a fit.
struct Evaluation {
  std::int64_t step = 0;
  double epoch = 0;            // how many have been seen; of a stream, how many have ended
  double train_loss = 0;       // mean over the steps since the last one; of players in turn, the losses' sum
  double learning_rate = 0;    // of the first player
  Scores train_losses = {};    // of players in turn, by their names
  Scores learning_rates = {};  // of several players
  double seconds = 0;          // since the run began
  double waiting = 0;          // share of the time since the last one that was spent waiting for data
  Scores scores = {};          // of the validation set; empty if there is none
  bool best = false;
};

struct FitResult {
  RunResult run;
  double waiting = 0;                   // share of the time, over all resumptions, spent waiting for data
  std::optional<Evaluation> best = {};  // none without a validation set
  std::vector<Evaluation> evaluations = {};  // since this process began or resumed
};

struct RateSearchOptions {
  double lowest = 1e-6, highest = 1;
  std::int64_t steps = 100;
};
struct RateSearch {
  std::vector<double> rates, losses;  // of each step; losses as a moving average
  double suggestion = 0;              // where the loss falls fastest
};

class Trainer {
 public:
  // Keeps references: both must outlive it. Throws ConfigError for accumulate < 1, and for an autocast to a
  // dtype other than bf16 and f16.
  Trainer(nn::Module& model, optim::Optimizer& optimizer, TrainerOptions options = {});
  // Several optimizers, whose players keep references too; `model` holds all that is saved and restored. Also
  // throws ConfigError for names that are not words or not unique, for a parameter of two players, a loss for
  // some of them alone, and gradients of f16 of several that share one loss.
  Trainer(nn::Module& model, std::vector<Player> players, TrainerOptions options = {});

  // `validation` may be null. Modules in evaluation mode stay so, unless the model itself is. Parameters that
  // the first loss does not reach give a warning. Throws what run() throws, and ConfigError for a schedule
  // without a number of steps or one that ends long before the run, for patience or watch without a
  // validation set, for targets that are no labels where no loss was given, for a schedule of several players
  // and for schedules that name none of them.
  FitResult fit(data::Loader& train, data::Loader* validation, const FitOptions& options,
                const Events& events = {}, const std::function<void(const Evaluation&)>& on_evaluation = {});
  // The same of a stream, epoch after epoch of it; a resumed run reads up to its place. Also throws
  // ConfigError for a number of epochs, whose length is not known: give steps, and evaluate_every with a
  // validation set; and for an epoch without a batch.
  FitResult fit(data::StreamLoader& train, data::Loader* validation, const FitOptions& options,
                const Events& events = {}, const std::function<void(const Evaluation&)>& on_evaluation = {});

  // The mean loss over one epoch of the loader, "loss" (batches are weighted by examples, for cross entropy
  // by the labels that count), or "loss_NAME" of each player in turn, and the metrics; in evaluation mode,
  // without gradients.
  // `look` is called with each batch and the network's outputs for it, in the loader's order.
  using Look = std::function<void(const TensorList& outputs, const data::Batch& batch)>;
  Scores evaluate(data::Loader& loader, const Look& look = {});
  // The first outputs for one epoch of the loader, concatenated.
  Tensor predict(data::Loader& loader);

  // The following are for use before a fit, and leave weights, averages and optimizer unchanged.
  //
  // Takes steps, with accumulation if fits use it, at rates that grow by a constant factor from the lowest to
  // the highest, or until the loss is four times its minimum (Smith 2017, "Cyclical learning rates"). Throws
  // ConfigError for rates that do not rise from above 0, for fewer than 10 steps, and for several players.
  RateSearch find_rate(data::Loader& loader, const RateSearchOptions& options = {});
  // The losses of that many steps on the loader's first batch only. A model that cannot memorise one batch
  // cannot learn a set: there is an error in the model, the loss or the labels.
  std::vector<double> overfit_batch(data::Loader& loader, std::int64_t steps = 100);
  // The cost of a step of the fit, without taking it: memory, calls, operations.
  StepFacts step_facts(data::Loader& loader);

 private:
  class FitTask;
  FitResult fit(BatchSource& source, data::Loader* validation, const FitOptions& options,
                const Events& events, const std::function<void(const Evaluation&)>& on_evaluation);
  class AsBefore;
  Tensor loss_of(std::size_t turn, const data::Batch& batch) const;
  // The gradients of a turn; its loss.
  Tensor gradients(std::size_t turn, const std::vector<data::Batch>& batches,
                   const std::function<void(std::size_t, const Tensor&)>& after_each) const;
  // Takes the turns of all players, but for the last one's step, which is take_step()'s. Computes the
  // gradients of the mean loss of all batches one by one, so that only one graph is in memory; `after_each`
  // is called with the turn and the loss of each.
  Tensor differentiate(const std::vector<data::Batch>& batches,
                       const std::function<void(std::size_t, const Tensor&)>& after_each = {});
  void take_step() { players_.step(players_.turns() - 1); }
  // Of the last step, of players in turn.
  Scores losses() const;
  Device device() const { return players_[0].optimizer.slab().values().device(); }
  bool larger_is_better(const std::string& name) const;
  std::string watched(const std::string& name) const;
  Scores evaluate(data::Loader& loader, dist::Communicator* ranks, const Look& look);
  void tally(const data::Batch& batch, Tally& into, const Look& look = {}) const;
  std::pair<double, double> weighed_loss(const Loss& loss, const TensorList& outputs,
                                         const data::Batch& batch) const;

  nn::Module& model_;
  TrainerOptions options_;
  Players players_;
  Together* together_ = nullptr;  // while a fit of several ranks runs
  Tensor losses_;                 // [players] in turn
  bool default_loss_ = false;
};

}  // namespace veldt::train
