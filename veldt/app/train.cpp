// veldt train: a recipe and its data in, a trained network and its measures out.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/app/profiling.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/ranks.h"
#include "veldt/app/recipe_files.h"
#include "veldt/app/run_folder.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/train_flags.h"
#include "veldt/app/train_live.h"
#include "veldt/app/training.h"
#include "veldt/app/training_view.h"
#include "veldt/app/verbs.h"
#include "veldt/io/chart.h"
#include "veldt/io/csv.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/ops/shape.h"
#include "veldt/core/threads.h"
#include "veldt/recipe/coherence.h"
#include "veldt/recipe/data_digest.h"
#include "veldt/recipe/distilling.h"
#include "veldt/recipe/forecast.h"
#include "veldt/recipe/measure.h"
#include "veldt/recipe/resizing.h"
#include "veldt/recipe/trained.h"
#include "veldt/recipe/trainer.h"
#include "veldt/recipe/writing.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

namespace fs = std::filesystem;

// The keys that a resumed run may change: where its data are, how fast they are loaded, what is measured at
// its end, and when that is. A schedule and a progressive resizing keep their own number of steps.
const std::vector<std::string> kMayChange{"data.path",    "data.files",  "data.workers", "data.corrupt",
                                          "train.epochs", "train.steps", "train.time"};

// The step at which a run ends that is to take this share of its steps: that of an evaluation.
std::int64_t step_of(double share, const Training& training) {
  const std::int64_t steps = training.steps(), every = training.steps_between_evaluations();
  if (steps == 0)
    throw UsageError("--until is for runs that end after a number of steps", "the recipe gives a time alone",
                     "set train.epochs or train.steps");
  const auto least = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(steps) - 1e-6));
  return std::min(steps, (std::max<std::int64_t>(least, 1) + every - 1) / every * every);
}

// What a resumed run must have as it was: the recipe, and the teacher, whose name may stand for another file
// by then.
std::string config_of(const recipe::Recipe& recipe) {
  auto config = io::parse_json<nlohmann::json>(recipe::in_json(recipe, kMayChange));
  if (!recipe.teacher.empty()) config["XXH3 of the file of train.teacher"] = recipe::teacher_digest(recipe);
  return io::dump_json(config);
}

train::FitOptions fit_options(const TrainFlags& flags, Training& training, const Ranks& ranks) {
  const recipe::Recipe& recipe = training.recipe;
  train::FitOptions o;
  o.epochs = recipe.epochs;
  o.steps = recipe.steps;
  o.seconds = recipe.seconds;
  if (flags.until < 1) o.pause = step_of(flags.until, training);
  o.schedule = recipe::schedule_of(recipe, training.optimizer->lr(), training.steps());
  o.evaluate_every = recipe.evaluate_every;
  o.watch = training.validation ? recipe::watched_of(recipe).name : recipe.watch;
  o.patience = recipe.patience;
  o.out = flags.out;
  o.resume = flags.resume;
  o.checkpoint_every = flags.every;
  o.keep = static_cast<int>(flags.keep);
  o.keep_top = flags.top;
  o.config = config_of(recipe);
  o.ranks = ranks.communicator();
  o.parts = flags.exact;
  o.half_gradients = flags.half_gradients;
  o.share_optimizer = flags.share_optimizer;
  o.sync_batch_norm = flags.sync_batch_norm;
  o.record = true;  // layers of recipes do the same at every step
  o.adapt = training.adapt;
  o.follower = training.pruner ? &*training.pruner : nullptr;
  o.metadata = recipe::metadata_of(recipe, training.data.facts);
  return o;
}

// The curves of a run so far, from its metrics.csv, so that a resumed one has all of them.
void draw_curves(const TrainFlags& flags, const std::string& title) {
  const io::CsvTable table = io::read_csv(in_run(flags, "metrics.csv"), {"step", "train_loss"});
  const std::int64_t rows = table.values.size(0);
  if (rows == 0) return;  // all but its names was lost
  const auto column = [&](const Tensor& values, std::int64_t c) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < rows; ++i) all.push_back(select(select(values, 0, i), 0, c).item());
    return all;
  };
  io::Chart chart{.title = title, .x = "step", .y = "loss"};
  chart.lines.push_back({"training", column(table.values, 0), column(table.values, 1)});
  const std::vector<std::string> columns = io::csv_columns(in_run(flags, "metrics.csv"));
  if (std::find(columns.begin(), columns.end(), "validation_loss") != columns.end()) {
    const io::CsvTable held = io::read_csv(in_run(flags, "metrics.csv"), {"step", "validation_loss"});
    chart.lines.push_back({"validation", column(held.values, 0), column(held.values, 1)});
  }
  io::write_chart(in_run(flags, "curves.svg"), chart);
}

// "val_loss", "test_accuracy", "test_accuracy shift(4)"
void add_scores(train::Scores& into, const std::string& of, const train::Scores& scores,
                const std::string& corruption = "") {
  for (const auto& [name, value] : scores)
    into.push_back({of + "_" + name + (corruption.empty() ? "" : " " + corruption), value});
}

// As metrics.csv has it, with its nine digits: a run that was complete before it was resumed has no other.
// None if that file cannot be read.
std::optional<double> last_train_loss(const TrainFlags& flags, const train::FitResult& result) {
  const io::Source source{"train_loss", "", false};
  if (!result.evaluations.empty()) {
    const double loss = result.evaluations.back().train_loss;
    return std::isfinite(loss) ? io::number_from(source, fmt::format("{:.9g}", loss), {}) : loss;
  }
  try {
    const io::CsvTable table = io::read_csv(in_run(flags, "metrics.csv"), {"step"}, {"train_loss"});
    const std::vector<std::string>& losses = table.texts.at(0);
    return losses.empty() ? std::nullopt : std::optional(io::number_from(source, losses.back(), {}));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Measures the trained network on data that it has not learned from. Forecasts are measured elsewhere, in the
// units of their series.
train::Scores final_scores(const TrainFlags& flags, Training& training, const train::FitResult& result,
                           TestOutcome& outcome) {
  train::Scores scores;
  if (const std::optional<double> loss = last_train_loss(flags, result))
    scores.push_back({"train_loss", *loss});
  if (training.validation) add_scores(scores, "val", training.trainer->evaluate(*training.validation));
  if (training.test && training.recipe.kind != "series")
    add_scores(scores, "test", training.trainer->evaluate(*training.test, outcome.look()));
  return scores;
}

nlohmann::ordered_json run_in_json(const std::string& output, const char* stopped_by,
                                   const Training& training, const train::FitResult& result) {
  nlohmann::ordered_json out = {{"output", output},
                                {"parameters", training.model.parameter_count()},
                                {"steps", result.run.steps},
                                {"seconds", result.run.seconds},
                                {"stopped_by", stopped_by},
                                {"waiting", result.waiting},
                                {"memory_bytes", peak_bytes()}};
  if (result.best) out["best_step"] = result.best->step;
  return out;
}

// A run that ended where --until asked: there is a checkpoint, and the best score so far.
void report_part(const TrainFlags& flags, Context& context, const Training& training,
                 const train::FitResult& result) {
  const std::string watched = recipe::watched_of(training.recipe).name;
  if (context.json) {
    nlohmann::ordered_json out = run_in_json(flags.out, "until", training, result);
    out["until"] = flags.until;
    out["share"] = static_cast<double>(result.run.steps) / static_cast<double>(training.steps());
    if (result.best) out["val_" + watched] = train::score(result.best->scores, watched);
    context.out.json(out);
    return;
  }
  context.out.text(
      fmt::format("{}: {} of {} steps\n", on_one_line(flags.out), result.run.steps, training.steps()));
  if (result.best)
    context.out.text(
        fmt::format("{:<16} {:.5g}\n", "val_" + watched, train::score(result.best->scores, watched)));
}

void report_training(const TrainFlags& flags, Context& context, const Training& training,
                     const train::FitResult& result, const train::Scores& scores) {
  if (context.json) {
    nlohmann::ordered_json out =
        run_in_json(in_run(flags, "model.safetensors"), text_of_stop(result.run.stop), training, result);
    for (const auto& [name, value] : scores) out[name] = value;
    context.out.json(out);
    return;
  }
  context.out.text(
      fmt::format("{}: {} parameters, {} steps in {:.1f} s, {:.1f} % of the time waiting for data\n",
                  on_one_line(in_run(flags, "model.safetensors")), training.model.parameter_count(),
                  result.run.steps, result.run.seconds, 100 * result.waiting));
  std::size_t widest = 16;
  for (const auto& [name, value] : scores) widest = std::max(widest, on_one_line(name).size());
  for (const auto& [name, value] : scores)
    context.out.text(fmt::format("{:<{}} {:.5g}\n", on_one_line(name), widest, value));
}

// Suggests a learning rate, and draws the search into the run's folder.
void look_for_rate(const TrainFlags& flags, Context& context, Training& training) {
  const train::RateSearch found = training.trainer->find_rate(training.train);
  io::Chart chart{.title = "loss by rate", .x = "log10 of the rate", .y = "loss", .log_y = true};
  std::vector<double> logs;
  for (const double rate : found.rates) logs.push_back(std::log10(rate));
  chart.lines.push_back({fmt::format("steepest at {:.2g}", found.suggestion), logs, found.losses});
  io::write_chart(in_run(flags, "rate.svg"), chart);
  if (context.json)
    context.out.json({{"rate", found.suggestion}, {"rates", found.rates}, {"losses", found.losses}});
  else
    context.out.text(
        fmt::format("the loss falls fastest at a rate of {:.2g}; a third of it is a safe start: --set "
                    "optimizer.lr={:.2g}\n{}\n",
                    found.suggestion, found.suggestion / 3, on_one_line(in_run(flags, "rate.svg"))));
}

// Exits with 8 if the network does not learn one batch by heart.
void look_at_one_batch(Context& context, Training& training) {
  constexpr std::int64_t kSteps = 200;
  constexpr double kLearned = 0.2;  // of the loss at the start
  const std::vector<double> losses = training.trainer->overfit_batch(training.train, kSteps);
  const double first = losses.front(), last = losses.back();
  if (context.json)
    context.out.json({{"steps", kSteps}, {"first_loss", first}, {"last_loss", last}});
  else
    context.out.text(fmt::format("one batch, {} steps: loss {:.4g} to {:.4g}{}\n", kSteps, first, last,
                                 last < kLearned * first ? ", learned by heart" : ""));
  if (!(last < kLearned * first))
    throw ThresholdError(
        "the network does not learn one batch by heart",
        fmt::format("after {} steps the loss is {:.0f} % of what it was", kSteps, 100 * last / first),
        "try another rate (--find-rate), no dropout or augmentation, or look for an error in the layers");
}

std::string what_a_step_takes(Training& training) {
  const StepFacts facts = training.trainer->step_facts(training.train);
  const double megabytes = static_cast<double>(facts.held_bytes + facts.eager_bytes) / 1e6;
  return fmt::format("a step takes {:.3g} MB and {:.3g} GFLOP", megabytes, facts.flops / 1e9);
}

// All work after the last step. A request to stop takes effect between two files, so that each is complete.
void finish_training(const TrainFlags& flags, Context& context, Training& training,
                     const train::FitResult& result, TrainingView& view, LiveRun& live,
                     const std::function<bool()>& stop) {
  const recipe::Recipe& recipe = training.recipe;
  const auto save = [&](const train::Scores& scores) {
    recipe::save(in_run(flags, "model.safetensors"), recipe, training.data.facts, training.model, scores);
  };
  // This comes first: later work may fail, and is cheap compared with the training.
  save({});
  if (stop()) return;
  TestOutcome outcome(recipe, training.data);
  train::Scores scores = final_scores(flags, training, result, outcome);
  outcome.show(live);
  const std::string title = fs::path(flags.config).stem().string();
  try {
    draw_curves(flags, title);
  } catch (const IoError& e) {  // as the measures are if they could not be written
    view.warn(fmt::format("{} ({})", e.summary(), e.why()));
  }
  if (recipe.kind == "series")
    for (const auto& score :
         recipe::draw_forecast(recipe, training.data.facts, *training.trainer, training.test, flags.data,
                               in_run(flags, "forecast.svg"), title))
      scores.push_back(score);
  save(scores);
  const std::vector<std::string>& corruptions = recipe.corrupt.texts;
  for (std::size_t i = 0; i < corruptions.size(); ++i) {
    if (stop()) return;
    add_scores(scores, "test",
               recipe::corrupted_scores(*training.trainer, recipe, training.data, training.data.test,
                                        recipe.corrupt, i),
               corruptions[i]);
  }
  if (!corruptions.empty()) save(scores);
  if (recipe.kind == "text") {
    training.model.eval();
    recipe::WritingOptions writing;
    writing.should_stop = stop;
    const std::string sample = recipe::written_text(recipe, training.data.facts, training.model, writing);
    if (stop()) return;
    io::write_file(in_run(flags, "sample.txt"), sample + "\n");
    live.add_text("sample", result.run.steps, sample);
    if (!context.json) context.out.foreign_text(sample + "\n\n");
    for (const auto& score : recipe::coherence(sample, recipe::training_text(recipe, flags.data)))
      if (!std::isnan(score.second)) scores.push_back(score);
    save(scores);
  }
  report_training(flags, context, training, result, scores);
  live.set_scores(scores);
  live.finish("done", result.run.steps);
}

// What may differ between processes: where each finds the data, and how fast it loads them.
const std::vector<std::string> kMayDiffer{"data.path", "data.workers"};

// What the processes of one training must have alike.
nlohmann::json facts_of(const recipe::Recipe& recipe, const TrainFlags& flags, Device device) {
  const recipe::DataDigest data = recipe::digest_of_data(recipe, flags.data);
  return {{"version", VELDT_VERSION},
          {"recipe", io::parse_json<nlohmann::json>(recipe::in_json(recipe, kMayDiffer))},
          {"data", {{"files", data.files}, {"bytes", data.bytes}, {"digest", data.digest}}},
          {"--threads", num_threads()},
          {"--device", name_of(device.kind)},
          {"--resume", flags.resume},
          {"--exact", flags.exact},
          {"--half-gradients", flags.half_gradients},
          {"--share-optimizer", flags.share_optimizer},
          {"--sync-batch-norm", flags.sync_batch_norm},
          {"--until", flags.until}};
}

// Before a folder is made.
void check_parts(const TrainFlags& flags, const Training& training, const Ranks& ranks) {
  const std::int64_t size = ranks.alone() ? 1 : ranks.communicator()->size();
  const std::int64_t batch = training.train.options().batch, parts = flags.exact > 0 ? flags.exact : size;
  if (parts > batch)
    throw UsageError(fmt::format("a batch of {} examples cannot have {} parts", batch, parts),
                     flags.exact > 0 ? "each part of --exact needs an example at least"
                                     : "each process needs an example at least",
                     "use a larger data.batch, or fewer parts or processes");
  if (parts < size)
    throw UsageError(fmt::format("--exact {} is too few for {} processes", parts, size),
                     "each computes a part at least", "give more parts, or start fewer processes");
}

int train_recipe(TrainFlags flags, Context& context, Ranks& ranks) {
  check_profile(flags.profile);
  const DeviceChoice device = ranks.choose_device(flags.device);
  const Taught taught = recipe_or_model(flags.config, flags.sets);
  const recipe::Recipe& recipe = taught.recipe;
  recipe::check_model(recipe);
  recipe::check_values_are_read(recipe);
  recipe::check_training(recipe);
  if (flags.exact > 0 && flags.half_gradients)
    throw UsageError("--exact and --half-gradients contradict each other",
                     "what is rounded when it is sent depends on how many processes there are",
                     "leave one out");
  if (flags.exact > 0 && flags.sync_batch_norm)
    throw UsageError("--exact and --sync-batch-norm contradict each other",
                     "parts are computed one after the other, and a batch norm would want all at once",
                     "leave one out");
  if (flags.find_rate || flags.overfit) {
    const char* const mode = flags.find_rate ? "--find-rate" : "--overfit";
    ranks.must_be_alone(mode);
    refuse_looks(mode, flags.live, flags.profile);
  }
  if (recipe.acts()) {
    ranks.must_be_alone("training an agent");
    if (flags.exact > 0)
      throw UsageError("--exact is for batches of examples", "an agent makes its own", "leave it out");
    return train_agent(std::move(flags), recipe, context);
  }
  recipe::check_transforms(recipe);
  const bool is_new = !flags.resume && !flags.find_rate && !flags.overfit;
  if (flags.out.empty()) flags.out = ranks.is_first() ? folder_named_after(flags.config, !is_new) : "";
  flags.out = ranks.as_first(flags.out);
  if (is_new && ranks.is_first()) check_for_strange_files(flags.out);
  if (ranks.is_first()) flags.data = data_folder(recipe, flags.data, context);
  ranks.barrier();  // what it has downloaded is there for those beside it
  if (!ranks.is_first()) flags.data = data_folder(recipe, flags.data, context);
  if (!ranks.alone()) ranks.must_agree(facts_of(recipe, flags, device.device));
  Training training(taught, flags.data, device.device);
  check_parts(flags, training, ranks);
  const std::string model_file = in_run(flags, "model.safetensors");
  if (ranks.is_first()) {
    io::make_directories(flags.out);
    io::check_writable(model_file);
  }
  if (flags.find_rate) return look_for_rate(flags, context, training), kOk;
  if (flags.overfit) return look_at_one_batch(context, training), kOk;
  const std::int64_t steps = training.steps();
  if (!context.quiet)
    print_note(fmt::format("training {} parameters on {} examples, {}, into {}; {}{}, on {}",
                           training.model.parameter_count(), training.data.train->size(),
                           steps > 0 ? fmt::format("{} steps", steps) : fmt::format("{} s", recipe.seconds),
                           flags.out, what_a_step_takes(training), ranks.in_words(), device.reason));
  if (!ranks.alone()) {
    const std::string resume = ranks.launched(command_to_resume(context, "train", "--out", flags.out));
    ranks.resume_with(resume);
    ranks.note_way_between(device.device);
    if (!context.quiet)
      print_note(fmt::format("checkpoints are in {}; if a process is lost, launch again: {}",
                             in_run(flags, "checkpoints"), resume));
  }
  const StopOnSignal signal(note_of_stop(context.quiet));
  const std::jthread farewell = ranks.tell_when([&signal] { return signal.requested(); });
  TrainingView view(context.quiet,
                    static_cast<double>(training.train.batches()) / static_cast<double>(recipe.accumulate));
  train::Events events;
  events.on_progress = [&view](const train::Progress& p) { view.update(p); };
  events.on_warning = [&](const std::string& text) {
    if (ranks.is_first()) view.warn(text);
  };
  events.should_stop = [&signal] { return signal.requested(); };
  events.on_checkpoint = [&ranks](std::int64_t, const std::string& path) { ranks.saved(path); };
  events.on_start = [&](std::int64_t step) {
    if (flags.resume && step == 0 && !context.quiet)
      print_note(fmt::format("there was no run to resume in {}; this begins it", flags.out));
  };
  LiveRun live(ranks.is_first()
                   ? options_of_live(flags, [&view](const std::string& text) { view.note(text); })
                   : LiveRun::Options(),
               context);
  show_training(live, recipe, training.data, training.model, device.device);
  events = live.listening(events, training.model);
  Profiling profiling(ranks.alone() ? flags.profile : ProfileFlags());
  const train::FitResult result =
      training.trainer->fit(training.train, training.validation ? &*training.validation : nullptr,
                            fit_options(flags, training, ranks), events, [&](const train::Evaluation& e) {
                              view.update(e);
                              live.add(e);
                            });
  view.finish();
  profiling.finish();
  ranks.report_timeline(flags.out);
  if (!ranks.is_first()) return kOk;  // and ends as rank 0 does
  if (result.run.stop == train::Stop::asked) {
    if (result.run.checkpoint_error) {  // then nothing else holds the weights
      recipe::save(model_file, recipe, training.data.facts, training.model, {});
      throw without_last_checkpoint(*result.run.checkpoint_error, model_file);
    }
    live.finish("stopped", result.run.steps);
    if (!signal.requested() && flags.until < 1 && result.run.steps == step_of(flags.until, training)) {
      report_part(flags, context, training, result);
      return kOk;
    }
    if (!context.quiet)
      print_note(fmt::format("stopped at step {}; resume with: {}", result.run.steps,
                             ranks.launched(command_to_resume(context, "train", "--out", flags.out))));
    return signal.exit_code(true);
  }
  if (!context.quiet && result.run.stop == train::Stop::goal_met && result.best)
    print_note(fmt::format("stopped after {} evaluations without a better one; the best was at step {}",
                           recipe.patience, result.best->step));
  if (!context.quiet && flags.resume && result.evaluations.empty())
    print_note("the run was already complete; nothing was trained");
  finish_training(flags, context, training, result, view, live, [&signal] { return signal.requested(); });
  live.finish("stopped", result.run.steps);  // it was, unless it is finished
  if (result.run.checkpoint_error) throw without_last_checkpoint(*result.run.checkpoint_error, model_file);
  if (signal.requested()) {
    if (!context.quiet) print_note(fmt::format("stopped after the last step; {} is written", model_file));
    return signal.exit_code();
  }
  return kOk;
}

}  // namespace

Run add_train(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<TrainFlags>();
  add_path(verb, "RECIPE", flags->config,
           "a TOML file: data or environment, model or agent, optimizer, train (docs/recipes.md); or a model "
           "that veldt train or veldt prune wrote: it learns on by its own recipe")
      .required();
  add_path(verb, "--data", flags->data,
           "the folder that data.path starts from; without it the recipe's files are downloaded");
  add_path(verb, "--out", flags->out,
           "the folder of the run; runs/RECIPE unless given, for the next run runs/RECIPE-2");
  add_texts(verb, "--set", "KEY=VALUE", flags->sets, "another value for a key, as in --set train.epochs=3")
      .command_line_only();
  add_switch(verb, "--resume", flags->resume,
             "continue the run in --out, or the last in runs/; begin one if there is none")
      .command_line_only();
  add_number(verb, "--until", flags->until, {.most = 1, .above = 0},
             "the share of its steps after which the run stops, at an evaluation, to be resumed later")
      .command_line_only();
  add_duration(verb, "--every", flags->every, "time between checkpoints");
  add_count(verb, "--keep", flags->keep, {.least = 1, .most = 1000}, "checkpoints kept");
  add_count(verb, "--keep-top", flags->top, {.least = 0, .most = 1000},
            "keep the weights of this many best evaluations, in top/");
  Setting& find_rate = add_switch(verb, "--find-rate", flags->find_rate,
                                  "try rising learning rates, suggest one, and train nothing");
  find_rate.command_line_only();
  add_switch(verb, "--overfit", flags->overfit,
             "check whether one batch can be learned by heart, and train nothing")
      .excludes(find_rate)
      .command_line_only();
  add_profile(verb, flags->profile,
              "print to stderr where the time went: kernel by kernel, or what several processes sent and "
              "waited for");
  add_count(verb, "--exact", flags->exact, {.least = 1, .most = 1 << 20},
            "compute each batch in so many parts: then 1 process and up to so many give the same bits")
      .command_line_only();
  add_switch(verb, "--half-gradients", flags->half_gradients,
             "several processes send gradients as bf16: half the bytes, for slow networks");
  add_switch(verb, "--share-optimizer", flags->share_optimizer,
             "several processes each keep a part of the optimizer's state: the same bits in less memory");
  add_switch(verb, "--sync-batch-norm", flags->sync_batch_norm,
             "batch norms of several processes see the examples of all, and not of one alone");
  add_live(verb, flags->live);
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt train recipes/mnist.toml\n"
      "  veldt train recipes/mnist.toml --data data --set train.epochs=20 --set optimizer.kind=sgd\n"
      "  veldt train recipes/mnist.toml --data data --find-rate\n"
      "  veldt train recipes/char_lstm.toml --data data --out runs/writer --resume\n"
      "  veldt train runs/mnist/model.safetensors --data data --set optimizer.lr=1e-3    teach it further\n"
      "  veldt train recipes/mnist.toml --live                   watch it learn in a browser\n"
      "  mpirun -n 4 veldt train recipes/mnist.toml              four processes, one training\n"
      "  veldt train recipes/cartpole.toml                       an agent, in an environment\n");
  return [flags, &context] {
    Ranks ranks(context, flags->profile.table);
    return ranks.run([&] { return train_recipe(*flags, context, ranks); });
  };
}

}  // namespace veldt::app
