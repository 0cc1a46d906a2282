// Starts `veldt train` for each trial, and reads what came of it.
#include "veldt/app/frame.h"
#include "veldt/app/sweep_runs.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "veldt/app/machine.h"
#include "veldt/cli/exit.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"

namespace veldt::app {
namespace {

using recipe::Outcome;
using recipe::Recipe;
using recipe::Trial;

constexpr int kMostKills = 3;
// Before a run has been measured it is taken to need this much.
constexpr std::int64_t kUnmeasured = std::int64_t{2} << 30;
constexpr double kSettled = 10;  // seconds after which a run has the memory that it needs

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// The share of its training that a run has done, by the last line of its metrics.csv; 0 before there is one.
double share_done(const std::string& metrics, const Recipe& recipe) {
  double step = 0, epoch = 0;
  try {
    if (!io::exists(metrics)) return 0;
    const std::string text = io::read_file(metrics, std::uint64_t{1} << 26);
    const std::size_t last = text.rfind('\n', text.size() < 2 ? 0 : text.size() - 2);
    if (last == std::string::npos || std::sscanf(text.c_str() + last + 1, "%lf,%lf", &step, &epoch) != 2)
      return 0;
  } catch (const IoError&) {
    return 0;
  }
  double share = 0;
  if (recipe.steps > 0) share = step / static_cast<double>(recipe.steps);
  if (recipe.epochs > 0) share = std::max(share, epoch / static_cast<double>(recipe.epochs));
  return std::min(share, 1.0);
}

// A recipe as it is run, with what it is said above.
std::string file_text(const Trial& trial, const Recipe& recipe) {
  return fmt::format("# {}, of a sweep. Made by veldt sweep.\n{}", trial.name, recipe::in_toml(recipe));
}

}  // namespace

bool memory_fits(std::int64_t free, std::int64_t need, const std::vector<std::int64_t>& taken) {
  for (const std::int64_t one : taken) free -= std::max<std::int64_t>(0, need - one);
  return free >= need;
}

std::vector<std::string> SweepRuns::command_of(const Trial& trial) const {
  std::vector<std::string> words{"train",     folder_.in_run(trial, "recipe.toml"),
                                 "--out",     folder_.in(trial.name),
                                 "--resume",  "--json",
                                 "--keep",    "1",
                                 "--every",   fmt::format("{}s", options_.every),
                                 "--device",  options_.device,
                                 "--threads", std::to_string(options_.threads)};
  if (!options_.data.empty()) words.insert(words.end(), {"--data", options_.data});  // agents have none
  if (trial.until < 1) words.insert(words.end(), {"--until", fmt::format("{}", trial.until)});
  if (!options_.fallback.empty()) words.insert(words.end(), {"--fallback", options_.fallback});
  if (!options_.config.empty()) words.insert(words.end(), {"--config", options_.config});
  return words;
}

SweepRuns::Running SweepRuns::begun(Waiting waiting) {
  const Trial& trial = waiting.trial;
  io::make_directories(folder_.in(trial.name));
  const std::string file = folder_.in_run(trial, "recipe.toml"), text = file_text(trial, waiting.recipe);
  if (!io::exists(file) || io::read_file(file) != text) io::write_file(file, text);
  Child child(command_of(trial), folder_.in_run(trial, "result.json"), folder_.in_run(trial, "log.txt"));
  const double before =
      std::max(trial.from, share_done(folder_.in_run(trial, "metrics.csv"), waiting.recipe));
  if (waiting.kills == 0) inherited_ += before - trial.from;
  return {.trial = std::move(waiting.trial),
          .recipe = std::move(waiting.recipe),
          .child = std::move(child),
          .since = Clock::now(),
          .kills = waiting.kills,
          .share_before = before,
          .share = before};
}

// So much has to be free as the largest run so far needs, beside what those at work will still take.
bool SweepRuns::memory_allows() {
  if (running_.empty()) return true;
  const Machine machine = this_machine();
  bool has_settled = has_measured_;
  for (Running& run : running_) {
    run.peak = std::max(run.peak, run.child.peak());
    peak_ = std::max(peak_, run.peak);
    has_settled |= seconds_since(run.since) > kSettled;
  }
  const std::int64_t need = has_settled ? peak_ + peak_ / 10 : std::max(peak_, kUnmeasured);
  std::vector<std::int64_t> taken;
  for (const Running& run : running_) taken.push_back(run.child.memory());
  std::int64_t free = machine.memory_free;
  if (machine.memory_limit)
    free =
        std::min(free, *machine.memory_limit - std::accumulate(taken.begin(), taken.end(), std::int64_t{0}));
  return machine.memory == 0 || memory_fits(free, need, taken);
}

void SweepRuns::start(std::vector<EndedTrial>& ended) {
  while (!stops_ && std::ssize(running_) < options_.jobs) {
    lacks_memory_ = !memory_allows();
    if (lacks_memory_) return;
    if (!waiting_.empty()) {
      Waiting next = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      running_.push_back(begun(std::move(next)));
      continue;
    }
    std::optional<Trial> trial = sweep_.take();
    if (!trial) return;
    if (std::optional<Outcome> known = folder_.known(*trial)) {
      folder_.record(*trial, *known);
      ended.push_back({*trial, *known, kOk, true});
      sweep_.tell(*trial, std::move(*known));
      if (ended.size() > 1000) return;
      continue;
    }
    try {
      Recipe recipe = sweep_.recipe_of(*trial);
      running_.push_back(begun({.trial = *trial, .recipe = std::move(recipe)}));
    } catch (const UsageError& e) {
      const Outcome refused = recipe::outcome_of(e);
      ended.push_back({*trial, refused, kUsage});
      sweep_.tell(*trial, refused);
    }
  }
}

recipe::Outcome SweepRuns::failure_of(const Running& run, const ChildEnd& end) const {
  Outcome outcome{.end = Outcome::End::failed, .memory = end.peak_bytes};
  if (end.signal_number != 0) {
    outcome.reason = fmt::format("its process was ended by signal {} ({}), {} times", end.signal_number,
                                 ::strsignal(end.signal_number), run.kills);
    return outcome;
  }
  if (end.code == kDiverged) outcome.end = Outcome::End::diverged;
  if (end.code == kUsage) outcome.end = Outcome::End::refused;
  const std::string log = folder_.in_run(run.trial, "log.txt");
  outcome.reason = fmt::format("exit code {}, see {}", end.code, log);
  try {
    const auto j = io::parse_json<nlohmann::json>(
        io::read_file(folder_.in_run(run.trial, "result.json"), io::kMaxJsonBytes));
    const auto& error = j.at("error");
    outcome.reason =
        fmt::format("{}: {}", error.at("what").get<std::string>(), error.at("why").get<std::string>());
  } catch (const nlohmann::json::exception&) {  // then the log has to say it
  } catch (const IoError&) {
  }
  return outcome;
}

// Nothing for a run that goes on in another process, or that was stopped.
std::optional<EndedTrial> SweepRuns::judged(Running& run, const ChildEnd& end) {
  has_measured_ = true;
  peak_ = std::max(peak_, end.peak_bytes);
  if (end.signal_number == 0 && end.code == kOk)
    if (std::optional<Outcome> outcome = folder_.result(run.trial)) return EndedTrial{run.trial, *outcome};
  if (stops_ && (end.signal_number != 0 || end.code > kInterrupted)) return std::nullopt;
  // Somebody, or the system for want of memory, has ended it: the run goes on from its checkpoint.
  if (end.signal_number != 0 || end.code > kInterrupted) {
    if (++run.kills < kMostKills) {
      waiting_.push_back({std::move(run.trial), std::move(run.recipe), run.kills});
      return std::nullopt;
    }
    ChildEnd last = end;
    if (last.signal_number == 0) last.signal_number = end.code - kInterrupted;
    return EndedTrial{run.trial, failure_of(run, last), kInternal};
  }
  return EndedTrial{run.trial, failure_of(run, end), end.code};
}

std::vector<EndedTrial> SweepRuns::step() {
  std::vector<EndedTrial> ended;
  for (std::size_t i = 0; i < running_.size();) {
    const std::optional<ChildEnd> end = running_[i].child.ended();
    if (!end) {
      ++i;
      continue;
    }
    Running run = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    if (std::optional<EndedTrial> one = judged(run, *end)) {
      folder_.record(one->trial, one->outcome);
      sweep_.tell(one->trial, one->outcome);
      ended.push_back(std::move(*one));
    }
  }
  start(ended);
  return ended;
}

void SweepRuns::ask_to_stop() {
  stops_ = true;
  for (const Running& run : running_) run.child.ask_to_stop();
}

// Between two evaluations a run is taken to go on as it did.
double SweepRuns::work_at_hand() {
  const bool looks = seconds_since(looked_at_) > 1;
  if (looks) looked_at_ = Clock::now();
  double work = 0;
  for (Running& run : running_) {
    const double share = looks ? share_done(folder_.in_run(run.trial, "metrics.csv"), run.recipe) : 0;
    if (share > run.share) run.share = share, run.more_at = Clock::now();
    const double took = std::chrono::duration<double>(run.more_at - run.since).count();
    const double rate = took > 0 ? (run.share - run.share_before) / took : 0;
    const double now = run.share + rate * seconds_since(run.more_at);
    work += std::clamp(now - run.trial.from, 0.0, run.trial.until - run.trial.from);
  }
  return work;
}

}  // namespace veldt::app
