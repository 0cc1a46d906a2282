// Trains the prior of docs/prior.md, and judges one.
//   train_prior PHOTOGRAPHS DRAWINGS OUT [OPTION VALUE]...
//     --steps N, --drawings PERCENT of crops, --width N, --depth N, --two-tone 0|1, --seed N, --start PRIOR
//   train_prior --judge PRIOR TURNS PICTURE...
// The folder OUT.run keeps checkpoints: the same command again goes on from there.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "recipes/prior/judge.h"
#include "recipes/prior/stage.h"
#include "veldt/core/error.h"
#include "veldt/io/image.h"
#include "veldt/io/json.h"
#include "veldt/train/checkpoint.h"

using namespace veldt;

namespace {

constexpr std::size_t kHeldOutOf = 12;  // photographs one is for validation
constexpr std::int64_t kValidateEvery = 500;

struct Settings {
  std::string photographs, drawings, out, start;
  std::map<std::string, std::int64_t> numbers = {{"--steps", 14000}, {"--drawings", 45}, {"--width", 48},
                                                 {"--depth", 6},     {"--two-tone", 0},  {"--seed", 1}};
};

Settings settings_of(const std::vector<std::string>& arguments) {
  Settings s;
  s.photographs = arguments.at(0), s.drawings = arguments.at(1), s.out = arguments.at(2);
  for (std::size_t i = 3; i + 1 < arguments.size(); i += 2) {
    const std::string &name = arguments[i], &value = arguments[i + 1];
    if (name == "--start") {
      s.start = value;
      continue;
    }
    const auto found = s.numbers.find(name);
    std::int64_t number = -1;
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (found == s.numbers.end() || str(number) != value || number < 0)
      throw ConfigError(
          str("cannot use ", name, ' ', value),
          "the options are --steps, --drawings, --width, --depth, --two-tone and --seed, with a "
          "whole number, and --start",
          "give one of these");
    found->second = number;
  }
  return s;
}

prior::Gain mean_gain(const field::Prior& prior, const std::vector<Tensor>& pictures) {
  prior::Gain sum;
  for (const Tensor& picture : pictures) {
    const prior::Gain gain = prior::gain_over_lanczos(prior, picture);
    sum.four += gain.four, sum.two += gain.two;
  }
  const auto count = static_cast<double>(pictures.size());
  return {sum.four / count, sum.two / count};
}

// What a run that goes on must have in common with the one that was stopped.
std::string config_of(const Settings& s, const prior::Stage& stage, const field::PriorOptions& model,
                      std::size_t photographs, std::size_t drawings) {
  return io::dump_json(nlohmann::json{{"share_of_drawings", stage.drawings},
                                      {"rate", stage.rate},
                                      {"steps", stage.steps},
                                      {"seed", stage.seed},
                                      {"start", s.start},
                                      {"width", model.width},
                                      {"depth", model.depth},
                                      {"two_tone", model.two_tone},
                                      {"photographs", photographs},
                                      {"drawings", drawings}});
}

// Prints a line at each validation, and keeps the average weights of that moment in the file `out`.
void train(const prior::Stage& stage, field::Prior& model, const prior::Crops& crops,
           const std::vector<Tensor>& held_out, const std::string& out, const std::string& config,
           const std::map<std::string, std::string>& about) {
  if (stage.steps == 0) return;
  prior::StageTask task(model, crops, stage);
  train::RunOptions options;
  options.steps = stage.steps;
  options.rate = [&stage](std::int64_t step) { return stage.rate_at(step); };
  options.checkpoint_dir = out + ".run";
  options.resume = !train::CheckpointDir(options.checkpoint_dir).steps().empty();
  options.config = config;
  train::Progress now;
  double losses = 0;
  train::Events events([&now](const train::Progress& progress) { now = progress; });
  events.on_warning = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  events.on_step = [&](std::int64_t step, double loss) {
    losses += loss;
    if (step % kValidateEvery != 0) return;
    const optim::Ema::Swapped averaged(task.average());
    const prior::Gain gain = mean_gain(model, held_out);
    field::save_prior(out, model, about);
    std::printf(
        "step %lld of %lld, loss %.5f, rate %.2g; held out %+.3f dB at 4x, %+.3f at 2x; %.0f s, %.0f left\n",
        static_cast<long long>(step), static_cast<long long>(stage.steps), losses / kValidateEvery,
        now.learning_rate, gain.four, gain.two, now.seconds, now.seconds_left);
    std::fflush(stdout);
    losses = 0;
  };
  train::run(task, options, events);
  task.average().copy_to_parameters();
  field::save_prior(out, model, about);
}

int train_from(const Settings& s) {
  const std::vector<std::string> all = prior::pictures_in(s.photographs);
  if (all.size() < 2)
    throw ConfigError(str("cannot learn from ", s.photographs),
                      "it holds one photograph, and one is held out", "give a folder with two or more");
  const std::size_t of = std::min(kHeldOutOf, all.size());
  std::vector<std::string> learned, kept;
  for (std::size_t i = 0; i < all.size(); ++i) (i % of == of - 1 ? kept : learned).push_back(all[i]);
  std::vector<Tensor> held_out;
  for (const std::string& path : kept) held_out.push_back(prior::centre(io::read_image(path), 256));
  const std::vector<std::string> drawings = prior::pictures_in(s.drawings);
  const prior::Crops crops(learned, drawings, 4 * prior::StageTask::kSide);
  const auto seed = static_cast<std::uint64_t>(s.numbers.at("--seed"));
  Rng rng(seed);
  const field::PriorOptions options = {s.numbers.at("--width"), s.numbers.at("--depth"),
                                       s.numbers.at("--two-tone") != 0};
  field::Prior model = s.start.empty() ? field::Prior(options, rng) : field::load_prior(s.start);
  model.requires_grad(true);
  std::printf("%zu photographs, %zu held out, %lld numbers\n", learned.size(), kept.size(),
              static_cast<long long>(model.parameter_count()));
  std::fflush(stdout);
  const std::map<std::string, std::string> about = {{"made_by", "train_prior, see docs/prior.md"}};
  const prior::Stage stage{.drawings = static_cast<double>(s.numbers.at("--drawings")) / 100,
                           .rate = 1e-3,
                           .steps = s.numbers.at("--steps"),
                           .seed = seed};
  train(stage, model, crops, held_out, s.out,
        config_of(s, stage, model.options(), learned.size(), drawings.size()), about);
  return 0;
}

int judge(const std::vector<std::string>& arguments) {
  const field::Prior model = field::load_prior(arguments.at(1));
  const int turns = std::atoi(arguments.at(2).c_str());
  prior::Gain sum;
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    const prior::Gain gain =
        prior::gain_over_lanczos(model, prior::centre(io::read_image(arguments[i]), 256), turns);
    std::printf("%+.3f dB at 4x, %+.3f at 2x: %s\n", gain.four, gain.two, arguments[i].c_str());
    sum.four += gain.four, sum.two += gain.two;
  }
  const auto count = static_cast<double>(arguments.size() - 3);
  std::printf("%+.3f dB at 4x, %+.3f at 2x on average\n", sum.four / count, sum.two / count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() >= 4 && arguments[0] == "--judge") return judge(arguments);
  if (arguments.size() >= 3 && arguments.size() % 2 == 1) return train_from(settings_of(arguments));
  std::fprintf(
      stderr, "%s\n",
      "train_prior PHOTOGRAPHS DRAWINGS OUT [--steps N] [--drawings PERCENT] [--width N] [--depth N] "
      "[--two-tone 0|1] [--seed N] [--start PRIOR]\ntrain_prior --judge PRIOR TURNS PICTURE...");
  return 2;
} catch (const Error& error) {
  std::fprintf(stderr, "train_prior: %s\n", error.what());
  return 1;
}
