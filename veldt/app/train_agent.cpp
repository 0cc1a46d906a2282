// veldt train, of a recipe with an environment: an agent that learns to act.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "veldt/app/progress_line.h"
#include "veldt/app/run_folder.h"
#include "veldt/app/train_live.h"
#include "veldt/app/train_flags.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/io/chart.h"
#include "veldt/io/csv.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/recipe/agent.h"
#include "veldt/recipe/trained.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

constexpr std::int64_t kTestEpisodes = 100;

// A whole number of evaluations, at least so large a share of the run.
std::int64_t pause_of(double share, const rl::FitOptions& options, std::int64_t round) {
  if (options.steps == 0)
    throw UsageError("--until is for runs that end after a number of steps", "the recipe gives a time alone",
                     "set train.steps");
  const std::int64_t every = (options.evaluate_every + round - 1) / round * round;
  const auto least = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(options.steps) - 1e-6));
  return (std::max<std::int64_t>(least, 1) + every - 1) / every * every;
}

// A line for each evaluation, and one that lives.
class AgentView {
 public:
  explicit AgentView(bool quiet) : line_({.quiet = quiet}) {}

  void update(const train::Progress& p) {
    std::string text =
        p.total_steps > 0 ? fmt::format("step {}/{}", p.step, p.total_steps) : fmt::format("step {}", p.step);
    if (p.measure) text += fmt::format("  return {:.4g}", p.measure->value);
    text += fmt::format("  loss {:.4f}  {:.3g} steps/s", p.loss, p.steps_per_second);
    if (p.seconds_left >= 0) text += fmt::format("  ETA {}", clock_time(p.seconds_left));
    const double whole = p.seconds + p.seconds_left;
    line_.update(p.total_steps > 0 ? static_cast<double>(p.step) / static_cast<double>(p.total_steps)
                 : p.seconds_left >= 0 && whole > 0 ? p.seconds / whole
                                                    : -1,
                 text);
  }
  void update(const rl::Evaluation& e) {
    std::string text = fmt::format("step {}  episodes {}", e.step, e.episodes);
    if (!std::isnan(e.train_return)) text += fmt::format("  train return {:.4g}", e.train_return);
    text += fmt::format("  val return {:.4g} +- {:.3g}  loss {:.4f}", e.returns.mean, e.returns.deviation,
                        e.loss);
    for (const auto& [name, value] : e.measures) text += fmt::format("  {} {:.3g}", name, value);
    text += fmt::format("  rate {:.2g}  {}", e.learning_rate, clock_time(e.seconds));
    if (e.best) text += "  best";
    line_.print(text);
  }
  void warn(const std::string& text) { line_.warn(text); }
  void note(const std::string& text) { line_.note(text); }
  void finish() { line_.finish(); }

 private:
  ProgressLine line_;
};

// The returns of the run so far, from its metrics.csv, so that a resumed one has all of them.
void draw_returns(const TrainFlags& flags, const std::string& title) {
  const io::CsvTable table =
      io::read_csv(in_run(flags, "metrics.csv"), {"step", "validation_return"}, {"train_return"});
  if (table.values.size(0) == 0) return;
  io::Chart chart{.title = title, .x = "step", .y = "return"};
  io::ChartLine training{.name = "training", .x = {}, .y = {}},
      evaluation{.name = "evaluation", .x = {}, .y = {}};
  const std::vector<float> values = table.values.values<float>();
  for (std::size_t i = 0; 2 * i < values.size(); ++i) {
    const double step = values[2 * i];
    evaluation.x.push_back(step), evaluation.y.push_back(values[2 * i + 1]);
    const std::string& text = table.texts.at(0).at(i);  // empty before the first episode has ended
    training.x.push_back(step);
    training.y.push_back(text.empty() ? std::nan("") : std::strtod(text.c_str(), nullptr));
  }
  chart.lines = {training, evaluation};
  io::write_chart(in_run(flags, "curves.svg"), chart);
}

nlohmann::ordered_json agent_in_json(const std::string& output, const char* stopped_by,
                                     const rl::Policy& policy, const rl::FitResult& result) {
  nlohmann::ordered_json out = {{"output", output},          {"parameters", policy.parameter_count()},
                                {"steps", result.run.steps}, {"seconds", result.run.seconds},
                                {"stopped_by", stopped_by},  {"memory_bytes", peak_bytes()}};
  if (result.best_step > 0) out["best_step"] = result.best_step;
  return out;
}

// Returns in training, in the evaluation that chose the weights, and in episodes that nothing was chosen by.
train::Scores final_returns(const recipe::Recipe& recipe, const recipe::Learner& learner,
                            const rl::FitResult& result, const std::function<bool()>& stop) {
  train::Scores scores;
  if (!std::isnan(result.train_return)) scores.emplace_back("train_return", result.train_return);
  if (result.best_step > 0) scores.emplace_back("val_return", result.best_return);
  const auto episodes = rl::play(*learner.policy, learner.environment,
                                 {.episodes = kTestEpisodes,
                                  .seed = static_cast<std::uint64_t>(recipe.seed) + 0x74657374,  // "test"
                                  .should_stop = stop});
  if (std::ssize(episodes) == kTestEpisodes) {
    const rl::Returns returns = rl::returns_of(episodes);
    scores.emplace_back("test_return", returns.mean);
    scores.emplace_back("test_deviation", returns.deviation);
  }
  return scores;
}

void report_agent(const TrainFlags& flags, Context& context, const recipe::Recipe& recipe,
                  const recipe::Learner& learner, const rl::FitResult& result, const train::Scores& scores) {
  const bool met_goal = recipe.goal && result.best_step > 0 && result.best_return >= *recipe.goal;
  const bool is_goal = result.run.stop == train::Stop::goal_met && met_goal;
  if (context.json) {
    nlohmann::ordered_json out =
        agent_in_json(in_run(flags, "model.safetensors"), is_goal ? "goal" : text_of_stop(result.run.stop),
                      *learner.policy, result);
    for (const auto& [name, value] : scores) out[name] = value;
    context.out.json(out);
    return;
  }
  context.out.text(fmt::format("{}: {} parameters, {} steps in {:.1f} s\n",
                               on_one_line(in_run(flags, "model.safetensors")),
                               learner.policy->parameter_count(), result.run.steps, result.run.seconds));
  for (const auto& [name, value] : scores) context.out.text(fmt::format("{:<16} {:.5g}\n", name, value));
}

void report_agent_part(const TrainFlags& flags, Context& context, const recipe::Recipe& recipe,
                       const recipe::Learner& learner, const rl::FitResult& result) {
  if (context.json) {
    nlohmann::ordered_json out = agent_in_json(flags.out, "until", *learner.policy, result);
    out["until"] = flags.until;
    out["share"] = std::min(1.0, static_cast<double>(result.run.steps) / static_cast<double>(recipe.steps));
    if (result.best_step > 0) out["val_return"] = result.best_return;
    context.out.json(out);
    return;
  }
  context.out.text(
      fmt::format("{}: {} of {} steps\n", on_one_line(flags.out), result.run.steps, recipe.steps));
  if (result.best_step > 0)
    context.out.text(fmt::format("{:<16} {:.5g}\n", "val_return", result.best_return));
}

void check_flags_of_agent(const TrainFlags& flags) {
  for (const auto& [name, given] :
       {std::pair("--find-rate", flags.find_rate), std::pair("--overfit", flags.overfit),
        std::pair("--keep-top", flags.top > 0)})
    if (given)
      throw UsageError(fmt::format("{} is not for agents", name),
                       "it needs a set of examples, and there is none", "leave it out");
}

}  // namespace

std::string in_run(const TrainFlags& flags, const char* name) {
  return (std::filesystem::path(flags.out) / name).string();
}

const char* text_of_stop(train::Stop stop) {
  switch (stop) {
    case train::Stop::steps_done: return "steps";
    case train::Stop::time_over: return "time";
    case train::Stop::goal_met: return "patience";
    case train::Stop::asked: return "signal";
  }
  return "";
}

std::int64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

int train_agent(TrainFlags flags, const recipe::Recipe& recipe, Context& context) {
  check_flags_of_agent(flags);
  const DeviceChoice device = choose_device(flags.device);
  if (flags.out.empty()) flags.out = folder_named_after(flags.config, flags.resume);
  if (!flags.resume) check_for_strange_files(flags.out);
  const recipe::Learner learner(recipe, device.device);
  io::make_directories(flags.out);
  const std::string model_file = in_run(flags, "model.safetensors");
  io::check_writable(model_file);
  rl::FitOptions options = recipe::fit_options_of(recipe, learner);
  options.out = flags.out;
  options.resume = flags.resume;
  options.checkpoint_every = flags.every;
  options.keep = static_cast<int>(flags.keep);
  options.config = recipe::in_json(recipe, {"train.steps", "train.time", "train.goal"});
  if (flags.until < 1) options.pause = pause_of(flags.until, options, learner.agent->steps_per_update());
  if (!context.quiet)
    print_note(fmt::format(
        "training {} parameters in {} copies of {}, {}, into {}, on {}", learner.policy->parameter_count(),
        recipe.acting.copies, recipe.acting.environment,
        recipe.steps > 0 ? fmt::format("{} steps", recipe.steps) : fmt::format("{} s", recipe.seconds),
        flags.out, device.reason));
  const StopOnSignal signal(note_of_stop(context.quiet));
  AgentView view(context.quiet);
  train::Events events;
  events.on_progress = [&view](const train::Progress& p) { view.update(p); };
  events.on_warning = [&view](const std::string& text) { view.warn(text); };
  events.should_stop = [&signal] { return signal.requested(); };
  events.on_start = [&](std::int64_t step) {
    if (flags.resume && step == 0 && !context.quiet)
      print_note(fmt::format("there was no run to resume in {}; this begins it", flags.out));
  };
  LiveRun live(options_of_live(flags, [&view](const std::string& text) { view.note(text); }), context);
  show_recipe(live, recipe, device.device);
  events = live.listening(events, *learner.policy);
  Profiling profiling(flags.profile);
  const rl::FitResult result = rl::fit(*learner.agent, options, events, [&](const rl::Evaluation& e) {
    view.update(e);
    live.add(
        {.step = e.step, .train_loss = e.loss, .seconds = e.seconds, .scores = {{"return", e.returns.mean}}});
  });
  view.finish();
  profiling.finish();
  live.finish(result.run.stop == train::Stop::asked ? "stopped" : "done", result.run.steps);
  if (result.run.stop == train::Stop::asked && !result.run.checkpoint_error) {
    if (!signal.requested() && flags.until < 1)
      return report_agent_part(flags, context, recipe, learner, result), kOk;
    if (!context.quiet)
      print_note(fmt::format("stopped at step {}; resume with: {}", result.run.steps,
                             command_to_resume(context, "train", "--out", flags.out)));
    return signal.exit_code(true);
  }
  // This comes first: later work may fail, and is cheap compared with the training.
  recipe::save_agent(model_file, recipe, *learner.policy, {});
  if (!context.quiet && flags.resume && result.evaluations.empty())
    print_note("the run was already complete; nothing was trained");
  if (result.run.stop != train::Stop::asked) {
    const train::Scores scores = final_returns(recipe, learner, result, events.should_stop);
    recipe::save_agent(model_file, recipe, *learner.policy, scores);
    try {
      draw_returns(flags, std::filesystem::path(flags.config).stem().string());
    } catch (const IoError& e) {  // as the measures are if they could not be written
      view.warn(fmt::format("{} ({})", e.summary(), e.why()));
    }
    report_agent(flags, context, recipe, learner, result, scores);
    live.set_scores(scores);
  }
  if (result.run.checkpoint_error) throw without_last_checkpoint(*result.run.checkpoint_error, model_file);
  return signal.requested() ? signal.exit_code() : kOk;
}

}  // namespace veldt::app
