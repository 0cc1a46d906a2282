// veldt play: an agent acts in its environment, and one may watch.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "veldt/app/inputs.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/render_film.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/io/animation.h"
#include "veldt/io/directory.h"
#include "veldt/recipe/agent.h"
#include "veldt/rl/canvas.h"

namespace veldt::app {
namespace {

struct PlayFlags {
  std::string model, output;
  std::int64_t episodes = 10, seed = 1, drawn = 1, size = 400;
};

constexpr double kPause = 1;  // seconds between two episodes

using States = std::vector<std::vector<double>>;

// All states of the first episodes, one after the other.
void draw_film(const PlayFlags& flags, const Context& context, const rl::Environment& environment,
               const std::vector<States>& films) {
  const int width = static_cast<int>(flags.size), height = std::max(1, 2 * width / 3);
  io::Animation film({width, height});
  rl::Canvas canvas(width, height);
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  std::int64_t done = 0, all = 0;
  for (const States& states : films) all += std::ssize(states);
  for (const States& states : films)
    for (const std::vector<double>& state : states) {
      canvas.clear();
      environment.draw(state, canvas);
      film.add(canvas.pixels(), &state == &states.back() ? kPause : 1 / environment.spec().frames_a_second);
      line.update_rows(++done, all, "drawing frame");
    }
  line.finish();
  film.write(flags.output);
}

int play_agent(const PlayFlags& flags, Context& context) {
  const recipe::TrainedAgent agent = recipe::load_agent(flags.model);
  if (!flags.output.empty()) {
    check_film_name(flags.output, "-o");
    check_output(flags.output, "-o", {flags.model}, context);
  }
  const StopOnSignal signal;
  const std::int64_t drawn = flags.output.empty() ? 0 : std::min(flags.drawn, flags.episodes);
  std::vector<States> films(static_cast<std::size_t>(drawn));
  rl::PlayOptions options{.episodes = flags.episodes, .seed = static_cast<std::uint64_t>(flags.seed)};
  options.on_state = [&films](std::int64_t episode, const std::vector<double>& state) {
    if (episode < std::ssize(films)) films[static_cast<std::size_t>(episode)].push_back(state);
  };
  options.should_stop = [&signal] { return signal.requested(); };
  const std::vector<rl::Episode> episodes = rl::play(*agent.policy, agent.environment, options);
  if (signal.requested()) return signal.exit_code();
  if (drawn > 0) draw_film(flags, context, *agent.environment, films);
  const rl::Returns returns = rl::returns_of(episodes);
  if (context.json) {
    std::vector<double> totals;
    for (const rl::Episode& episode : episodes) totals.push_back(episode.total);
    nlohmann::ordered_json out = {{"model", flags.model},
                                  {"environment", agent.environment->spec().name},
                                  {"episodes", episodes.size()},
                                  {"mean_return", returns.mean},
                                  {"deviation", returns.deviation},
                                  {"mean_length", returns.length},
                                  {"returns", totals}};
    if (drawn > 0) out["output"] = flags.output;
    context.out.json(out);
    return kOk;
  }
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < std::min(episodes.size(), kShown); ++i)
    context.out.text(fmt::format("episode {:<4} return {:>8.5g}  steps {}\n", i + 1, episodes[i].total,
                                 episodes[i].length));
  context.out.text(fmt::format(
      "{} episodes of {}: mean return {:.5g}, deviation {:.3g}, mean length {:.5g}\n", episodes.size(),
      agent.environment->spec().name, returns.mean, returns.deviation, returns.length));
  if (drawn > 0) context.out.text(on_one_line(flags.output) + "\n");
  return kOk;
}

}  // namespace

Run add_play(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<PlayFlags>();
  add_path(
      verb, "MODEL", flags->model,
      "what veldt train wrote for a recipe with an environment: a model.safetensors, or the folder of a run")
      .required();
  add_path(verb, "-o,--output", flags->output, "an animated picture of it (.apng)");
  add_count(verb, "--episodes", flags->episodes, {.least = 1, .most = 100'000}, "episodes to play");
  add_count(verb, "--drawn", flags->drawn, {.least = 1, .most = 1000}, "how many of them are in the picture");
  add_count(verb, "--seed", flags->seed, {.least = 0}, "where the episodes start");
  add_count(verb, "--size", flags->size, {.least = 60, .most = 2000}, "pixels across the picture");
  add_threads(verb, context);
  verb.examples(
      "  veldt play runs/cartpole\n"
      "  veldt play runs/cartpole -o run.apng --drawn 3\n"
      "  veldt play runs/cartpole --episodes 100 --seed 7 --json\n");
  return [flags, &context] { return play_agent(*flags, context); };
}

}  // namespace veldt::app
