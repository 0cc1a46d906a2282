// veldt sweep: a recipe with several values of its keys and several seeds, as a table.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "veldt/app/progress_line.h"
#include "veldt/app/recipe_files.h"
#include "veldt/app/run_folder.h"
#include "veldt/app/sweep_folder.h"
#include "veldt/app/sweep_report.h"
#include "veldt/app/sweep_runs.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/core/cores.h"
#include "veldt/core/threads.h"
#include "veldt/io/file.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/data_digest.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/sweep.h"
#include "veldt/recipe/sweep_table.h"
#include "veldt/recipe/trainer.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

struct SweepFlags {
  std::string config, data, out, device = "auto";
  std::vector<std::string> sets, over;
  std::int64_t seeds = 1, random = 0, halving = 0;
  std::optional<std::int64_t> jobs;
  double every = 30;
  bool resume = false, yes = false;
};

constexpr std::int64_t kManyRuns = 1000;

// "1 seed", "3 seeds"
std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Each run has an equal part of the threads. On a GPU they go one after the other unless asked otherwise.
std::int64_t jobs_of(const SweepFlags& flags, const recipe::Sweep& sweep, std::int64_t threads) {
  const bool on_cpu = flags.device == "auto" || flags.device == "cpu";
  return std::min(flags.jobs.value_or(on_cpu ? threads : 1), sweep.runs());
}

void check_number_of_runs(const SweepFlags& flags, const recipe::Sweep& sweep) {
  if (sweep.runs() <= kManyRuns || flags.yes) return;
  throw UsageError(
      fmt::format("the sweep has {} runs: {} combinations, {} of each", sweep.runs(), sweep.configurations(),
                  flags.seeds == 1 ? "one" : fmt::format("{} seeds", flags.seeds)),
      "each is a training and a folder of its own", "give --yes if that is meant, or --random 100");
}

// A key has its values from one place, and a value of [values] has to be read by a layer.
void check_keys(const SweepFlags& flags, const recipe::Sweep& sweep) {
  const std::vector<std::string> keys = sweep.keys();
  for (const std::string& set : flags.sets) {
    const std::string key = recipe::whole_key(sweep.recipe(), set.substr(0, set.find('=')));
    if (std::find(keys.begin(), keys.end(), key) != keys.end())
      throw UsageError(fmt::format("--set {} would change nothing", set),
                       fmt::format("--over {} gives all values of it", key), "leave one of them out");
  }
  recipe::Recipe with_all = sweep.recipe();
  for (const std::string& key : keys)
    if (key.starts_with("values.")) with_all.values.try_emplace(key.substr(7), "1");
  recipe::check_values_are_read(with_all);
}

std::string settings_in_words(const recipe::Sweep& sweep, std::int64_t configuration) {
  const std::vector<std::string> keys = sweep.keys(), values = sweep.settings(configuration);
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i)
    text += fmt::format("{}{}={}", i > 0 ? " " : "", keys[i].substr(keys[i].rfind('.') + 1), values[i]);
  return text;
}

// What a program and a watcher see: the files of the table, and the progress line.
class SweepView {
 public:
  SweepView(const recipe::Sweep& sweep, const SweepFolder& folder, bool quiet, std::string title)
      : sweep_(sweep), folder_(folder), line_({.quiet = quiet}), title_(std::move(title)) {}

  void ended(const EndedTrial& one) {
    ++ended_;
    if (one.is_old) {
      ++old_;
      work_of_old_ += one.trial.until - one.trial.from;
    }
    const recipe::Watched watched = sweep_.score();
    std::string text =
        fmt::format("{} seed {}: ", settings_in_words(sweep_, one.trial.configuration), one.trial.seed);
    if (one.outcome.end != recipe::Outcome::End::done) {
      text += fmt::format("{}: {}", recipe::name_of(one.outcome.end), one.outcome.reason);
    } else {
      for (const auto& [name, value] : one.outcome.scores)
        if (name == watched.name) {
          text += fmt::format("{} {:.4g}, ", name, value);
          if (!best_ || (watched.larger_is_better ? value > *best_ : value < *best_)) best_ = value;
        }
      text += fmt::format("{:.1f} s", one.outcome.seconds);
      if (one.outcome.share < 1) text += fmt::format(", {:.0f} % of its training", 100 * one.outcome.share);
    }
    if (!one.is_old) line_.print(on_one_line(text));
  }

  void update(SweepRuns& runs) {
    const double done = sweep_.work_done() + runs.work_at_hand(), all = sweep_.work();
    const double fresh = done - work_of_old_ - runs.work_inherited(), passed = seconds();
    std::string text = fmt::format("{} of {} runs, {} at work", ended_, trials(), runs.running());
    if (best_) text += fmt::format("  best {} {:.4g}", sweep_.score().name, *best_);
    if (fresh > 0 && all > done) text += fmt::format("  ETA {}", clock_time(passed / fresh * (all - done)));
    line_.update(all > 0 ? std::min(done / all, 1.0) : 0, text);
    if (!said_memory_ && runs.lacks_memory() && seconds() > 2) {
      said_memory_ = true;
      line_.note(fmt::format("there is memory for {} at a time",
                             counted(static_cast<std::int64_t>(runs.running()), "run")));
    }
    if (passed - written_at_ > 30) write();
  }

  // sweep.csv, runs.csv, sweep.svg: of what there is so far.
  recipe::SweepTable write() {
    written_at_ = seconds();
    recipe::SweepTable table = recipe::table_of(sweep_);
    io::write_file(folder_.in("sweep.csv"), recipe::csv_of(table));
    io::write_file(folder_.in("runs.csv"), recipe::runs_csv(sweep_));
    if (const std::string svg = recipe::chart_of(table, title_); !svg.empty())
      io::write_file(folder_.in("sweep.svg"), svg);
    return table;
  }

  void finish() { line_.finish(); }
  std::int64_t ended_runs() const { return ended_; }
  std::int64_t old_runs() const { return old_; }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  std::int64_t trials() const { return std::max(sweep_.trials(), ended_); }

  const recipe::Sweep& sweep_;
  const SweepFolder& folder_;
  ProgressLine line_;
  std::string title_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::int64_t ended_ = 0, old_ = 0;
  double work_of_old_ = 0, written_at_ = 0;
  std::optional<double> best_;
  bool said_memory_ = false;
};

// What is wrong with the machine or the command line, and not with a combination, ends the sweep when it
// meets the first run.
void check_first_end(const EndedTrial& one, bool any_done) {
  if (any_done || (one.exit_code != kMissing && one.exit_code != kUnwritable)) return;
  throw IoError(one.exit_code == kMissing ? IoError::Kind::missing : IoError::Kind::unwritable,
                fmt::format("the first run failed: {}", one.trial.name), one.outcome.reason,
                "see to that, and continue the sweep with --resume");
}

// Trains until all is over or a stop was asked for. True: all is over.
bool train_all(recipe::Sweep& sweep, SweepRuns& runs, SweepView& view, const StopOnSignal& signal) {
  bool asked = false, any_done = false;
  while (!sweep.over() && !(asked && runs.running() == 0)) {
    if (signal.requested() && !std::exchange(asked, true)) runs.ask_to_stop();
    const std::vector<EndedTrial> ended = runs.step();
    for (const EndedTrial& one : ended) {
      view.ended(one);
      check_first_end(one, any_done);
      any_done |= one.outcome.end == recipe::Outcome::End::done;
    }
    view.update(runs);
    if (ended.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return sweep.over();
}

int exit_code_of(const recipe::SweepTable& table) {
  const auto is_done = [](const recipe::SweepRow& row) { return row.done > 0; };
  if (std::any_of(table.rows.begin(), table.rows.end(), is_done)) return kOk;
  const auto diverged = [](const recipe::SweepRow& row) { return row.reason.starts_with("diverged"); };
  return std::all_of(table.rows.begin(), table.rows.end(), diverged) ? kDiverged : kUsage;
}

// A recipe for each kind and path of data that are swept over, or the recipe itself.
std::vector<recipe::Recipe> sources_of(const recipe::Sweep& sweep) {
  const std::vector<std::string> keys = sweep.keys();
  std::vector<std::size_t> of_data;
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (keys[k] == "data.kind" || keys[k] == "data.path") of_data.push_back(k);
  if (of_data.empty()) return {sweep.recipe()};
  std::map<std::vector<std::string>, recipe::Recipe> sources;
  for (std::int64_t i = 0; i < sweep.configurations(); ++i) {
    const std::vector<std::string> settings = sweep.settings(i);
    std::vector<std::string> values;
    for (const std::size_t k : of_data) values.push_back(settings[k]);
    if (sources.contains(values)) continue;
    try {
      sources.emplace(values, sweep.recipe_of({.configuration = i, .seed = 1, .name = {}}));
    } catch (const UsageError&) {  // it will be a row
    }
  }
  std::vector<recipe::Recipe> all;
  for (auto& [values, source] : sources) all.push_back(std::move(source));
  return all;
}

// Whether a folder has the outcomes of all runs, so that there is nothing left to train.
bool has_all_outcomes(recipe::Sweep sweep, const SweepFolder& folder) {
  while (const std::optional<recipe::Trial> trial = sweep.take()) {
    if (std::optional<recipe::Outcome> known = folder.known(*trial)) {
      sweep.tell(*trial, std::move(*known));
      continue;
    }
    try {
      static_cast<void>(sweep.recipe_of(*trial));
      return false;
    } catch (const UsageError& error) {  // a row in any case
      sweep.tell(*trial, recipe::outcome_of(error));
    }
  }
  return true;
}

// What is missing ends the sweep here, before it has a folder; one that is complete needs no data.
DataDigests checked_data(const recipe::Sweep& sweep, const SweepFlags& flags) {
  DataDigests all;
  for (const recipe::Recipe& one : sources_of(sweep)) {
    if (one.acts()) continue;
    const recipe::DataDigest found = recipe::digest_of_data(one, flags.data);
    if (found.files > 0) {
      all.emplace(one.kind + ' ' + one.data_path(), found);
      continue;
    }
    if (flags.resume && has_all_outcomes(sweep, SweepFolder(flags.out))) continue;
    recipe::load_data(one, flags.data);  // who reads it says what is missing
  }
  return all;
}

// Why rows are not ordered by the score of the validation set that train.watch names; empty if they are.
std::string reason_of_order(const recipe::Sweep& sweep, const std::string& score) {
  if (score.empty()) return "";
  const std::vector<std::string> keys = sweep.keys();
  const bool by_loss = sweep.compares_losses(), is_loss = score.ends_with("_loss");
  if (is_loss && std::find(keys.begin(), keys.end(), "train.loss") != keys.end())
    return "because there is no other, though losses of different kinds cannot be compared";
  if (by_loss) return "because losses of different kinds cannot be compared";
  if (score.starts_with("val_")) return "";
  return "because the recipe holds nothing back for validation: --set data.validation=0.1";
}

int sweep_recipe(SweepFlags flags, Context& context) {
  choose_device(flags.device);  // one that is missing ends the command here
  recipe::Sweep sweep(
      recipe::read(flags.config, flags.sets),
      {.over = flags.over, .seeds = flags.seeds, .random = flags.random, .halving = flags.halving});
  check_keys(flags, sweep);
  check_number_of_runs(flags, sweep);
  if (flags.out.empty()) flags.out = folder_named_after(flags.config, flags.resume, kSweepFolder);
  if (flags.out.starts_with('-')) flags.out = "./" + flags.out;
  flags.data = data_folder(sweep.recipe(), flags.data, context);
  const std::int64_t threads = num_threads();
  std::int64_t jobs = jobs_of(flags, sweep, threads);
  std::int64_t threads_each = std::max<std::int64_t>(1, threads / jobs);
  const StopOnSignal signal;
  const SweepFolder folder(flags.out, sweep, flags.resume, threads_each, flags.device,
                           checked_data(sweep, flags));
  // A sweep that goes on has the threads for each that it began with.
  if (!flags.jobs) jobs = std::min(jobs, std::max<std::int64_t>(1, threads / threads_each));
  if (!context.quiet)
    print_note(fmt::format("{} ({}, {} each) into {}, {} at a time with {} each",
                           counted(sweep.runs(), "run"), counted(sweep.configurations(), "combination"),
                           counted(flags.seeds, "seed"), flags.out, jobs, counted(threads_each, "thread")));
  SweepRuns runs(sweep, folder,
                 {.data = flags.data,
                  .device = flags.device,
                  .fallback = context.tree->find_verb("sweep")->find_key("fallback")->value,
                  .config = context.config,
                  .jobs = jobs,
                  .threads = threads_each,
                  .every = flags.every});
  SweepView view(sweep, folder, context.quiet,
                 fmt::format("{} ({})", std::filesystem::path(flags.config).stem().string(),
                             counted(flags.seeds, "seed")));
  const bool is_over = train_all(sweep, runs, view, signal);
  view.finish();
  const recipe::SweepTable table = view.write();
  if (!is_over) {
    if (!context.quiet)
      print_note(fmt::format("stopped after {} runs, and those at work have saved; go on with: {}",
                             view.ended_runs(), command_to_resume(context, "sweep", "--out", flags.out)));
    return signal.exit_code();
  }
  if (!context.quiet && view.old_runs() == view.ended_runs())
    print_note("the sweep was already complete; nothing was trained");
  if (context.json) {
    nlohmann::ordered_json out = sweep_in_json(table, folder.path());
    out["seconds"] = view.seconds();
    context.out.json(out);
  } else {
    context.out.foreign_text(sweep_in_words(table, folder.path()));
  }
  if (const std::string why = reason_of_order(sweep, table.score.name); !context.quiet && !why.empty())
    print_note(fmt::format("the rows are ordered by {}, {}", table.score.name, why));
  return exit_code_of(table);
}

}  // namespace

Run add_sweep(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<SweepFlags>();
  add_path(verb, "RECIPE", flags->config, "a TOML file: data, model, optimizer, train (docs/recipes.md)")
      .required();
  add_texts(verb, "--over", "KEY=A,B,..", flags->over,
            "values of a key, as in --over optimizer.lr=1e-3,3e-3; with --random also log(1e-4, 1e-1), "
            "uniform(0, 1), whole(8, 64)")
      .required()
      .command_line_only();
  add_count(verb, "--seeds", flags->seeds, {.least = 1, .most = 1'000'000},
            "runs of each combination, which differ by their seed");
  add_count(verb, "--random", flags->random, {.least = 0, .most = recipe::Sweep::kMostRuns},
            "train so many combinations at random in place of all; 0: all");
  add_count(verb, "--halving", flags->halving, {.least = 0, .most = 1000},
            "begin all with a small share of the training; the best of so many go on to so many times the "
            "share; 0: train all to the end");
  add_count(verb, "--jobs", flags->jobs, {.least = 1, .most = 1024},
            "runs side by side, as far as memory goes; as many as there are threads unless given");
  add_path(verb, "--data", flags->data,
           "the folder that data.path starts from; without it the recipe's files are downloaded");
  add_path(verb, "--out", flags->out,
           "the folder of the sweep; runs/RECIPE-sweep unless given, for the next sweep runs/RECIPE-sweep-2");
  add_texts(verb, "--set", "KEY=VALUE", flags->sets, "another value for a key in all runs")
      .command_line_only();
  add_switch(verb, "--resume", flags->resume,
             "continue the sweep in --out, or the last in runs/; begin one if there is none")
      .command_line_only();
  add_switch(verb, "--yes", flags->yes, "also if there are more than 1000 runs").command_line_only();
  add_duration(verb, "--every", flags->every, "time between checkpoints of a run");
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt sweep recipes/mnist.toml --data data --over optimizer.lr=1e-3,4e-3,1e-2 --seeds 3\n"
      "  veldt sweep recipes/mnist.toml --data data --over 'optimizer.lr=log(1e-4, 1e-1)' --random 20\n"
      "  veldt sweep recipes/mnist.toml --data data --set data.validation=0.1 --over "
      "optimizer.lr=1e-3,4e-3,1e-2 --halving 3\n");
  return [flags, &context] { return sweep_recipe(*flags, context); };
}

}  // namespace veldt::app
