// Measures a step or a band, and estimates time and memory of a whole fit or drawing from it.
#include "veldt/app/frame.h"
#include "veldt/app/dry_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "veldt/app/describe.h"
#include "veldt/cli/exit.h"
#include "veldt/app/reasons.h"
#include "veldt/app/known_answers.h"
#include "veldt/app/progress_line.h"
#include "veldt/cli/terminal.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr double kMeasured = 0.5;     // seconds
constexpr double kFileHeader = 2048;  // bytes of a model file besides its numbers, about

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A count that was computed as a double, to avoid overflow: an integer unless it is too large for one.
Json count(double value) {
  if (value >= 0x1p63) return value;
  return std::llround(value);
}

// 1.2 k, 34 M ..: three digits and a prefix.
std::string scaled(double value, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t at = 0;
  for (; value >= 999.5 && at + 1 < std::size(kPrefixes); ++at) value /= 1000;
  return fmt::format("{:.{}f} {}{}", value, value < 10 && at > 0 ? 1 : 0, kPrefixes[at], unit);
}

std::string in_time(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  return clock_time(seconds);
}

// Steps per second: measured where steps are short, else estimated from their work.
double steps_a_second(field::Fitter& fitter, double step_flops) {
  const double by_work = measured_speed(0.2).gigaflops * 1e9 / std::max(step_flops, 1.0);
  if (by_work < 1 / kMeasured) return by_work;
  return 1 / fitter.measure_step(kMeasured);
}

void print(const Json& rows, const std::string& text, Context& context) {
  if (context.json)
    context.out.json(rows);
  else
    context.out.text(text);
}

std::string written_in_words(const FitOutputs& outputs, double model_bytes, double checkpoint_bytes) {
  std::string text = outputs.output.empty()
                         ? fmt::format("model         about {}\n", scaled(model_bytes, "B"))
                         : fmt::format("would write   {}, about {}\n", on_one_line(outputs.output),
                                       scaled(model_bytes, "B"));
  if (!outputs.preview.empty())
    text += fmt::format("              {}, every {} steps\n", on_one_line(outputs.preview),
                        outputs.preview_every);
  if (!outputs.film.empty()) text += fmt::format("              {}\n", on_one_line(outputs.film));
  if (!outputs.checkpoints.directory.empty())
    text += fmt::format("              up to {} checkpoints of about {} in {}\n", outputs.checkpoints.keep,
                        scaled(checkpoint_bytes, "B"), on_one_line(outputs.checkpoints.directory));
  return text;
}

}  // namespace

int dry_run_fit(field::Fitter& fitter, const FitOutputs& outputs, const std::vector<field::Reason>& reasons,
                Context& context) {
  const field::FitChoices& choices = fitter.choices();
  const field::FieldOptions& o = choices.field;
  const std::int64_t parameters = fitter.field().parameter_count();
  const StepFacts facts = fitter.step_facts();
  const double rate = steps_a_second(fitter, facts.flops);
  const field::Beside beside = field::beside_steps(choices);
  const double around = beside.flops / (measured_speed(0.2).gigaflops * 1e9),
               by_clock = std::max(1.0, std::floor((choices.seconds - around) * rate)),
               steps = choices.steps == 0    ? by_clock
                       : choices.seconds > 0 ? std::min(by_clock, static_cast<double>(choices.steps))
                                             : static_cast<double>(choices.steps),
               seconds = around + steps / rate;
  const double memory = std::max(
      static_cast<double>(facts.held_bytes + facts.planned_bytes) + beside.held_bytes, beside.peak_bytes);
  const double state = choices.optimizer == field::OptimizerKind::sgd ? 1 : 3;  // Adam keeps two moments
  const double model_bytes = 4 * static_cast<double>(parameters) + beside.closing_bytes + kFileHeader;
  const double checkpoint_bytes = 4 * state * static_cast<double>(parameters) +
                                  static_cast<double>(fitter.own_state_bytes()) + 2 * kFileHeader;
  Json rows = {{"dry_run", true},
               {"output", outputs.output},
               {"parameters", parameters},
               {"model_bytes", count(model_bytes)},
               {"steps", count(steps)},
               {"flops_a_step", count(facts.flops)},
               {"flops", count(facts.flops * steps)},
               {"memory_bytes", count(memory)},
               {"steps_a_second", rate},
               {"seconds", seconds}};
  std::string text = fmt::format("network       {}, {}, {} parameters\n", name_of(model_of(o)),
                                 layers_in_words(o), parameters);
  text += fmt::format("training      {}{:.0f} steps of {} points, {} at {:g}, {}\n",
                      choices.steps > 0 ? "" : "about ", steps, choices.batch, name_of(choices.optimizer),
                      choices.lr, name_of(choices.loss));
  text += fmt::format("work          {} a step, {} in all\n", scaled(facts.flops, "FLOP"),
                      scaled(facts.flops * steps, "FLOP"));
  text += fmt::format("time          about {}, at {:.3g} steps a second\n", in_time(seconds), rate);
  text += fmt::format("memory        about {} for tensors\n", scaled(memory, "B"));
  if (choices.device.kind != DeviceKind::cpu && !facts.waits.empty()) {
    rows["gpu_waits_for"] = facts.waits;
    text += fmt::format("GPU waits     at each step, for the host: {}\n", fmt::join(facts.waits, ", "));
  }
  text += written_in_words(outputs, model_bytes, checkpoint_bytes);
  if (!outputs.checkpoints.directory.empty()) rows["checkpoint_bytes"] = count(checkpoint_bytes);
  if (outputs.output.empty()) rows.erase("output");
  if (!reasons.empty()) rows["explain"] = in_json(reasons);
  print(rows, text, context);
  return kOk;
}

std::string long_drawing(const Drawing& drawing, int bits, const std::string& output, double seconds) {
  const double bytes = drawing.values() * bits_for(drawing, bits, output) / 8;
  return fmt::format(
      "{} will take about {}, and has {} before compression. If it is stopped, nothing is kept; a part at a "
      "time is drawn by {}",
      drawing.in_words(), in_time(seconds), scaled(bytes, "B"),
      drawing.is_sound() ? "--from and --to" : "--crop");
}

int dry_run_render(const Drawing& drawing, int bits, const std::string& output, Context& context,
                   std::int64_t pictures) {
  const auto start = Clock::now();
  const auto many = static_cast<double>(pictures);
  const auto height = static_cast<double>(drawing.height());
  std::int64_t done = 0;
  drawing.bands([&](const Tensor& rows, std::int64_t first) {
    done = first + rows.size(0);
    return since(start) < kMeasured;
  });
  const double seconds = since(start) * height / static_cast<double>(done) * many;
  // All bands are alike, so the first ones are enough.
  const auto memory = static_cast<double>(pool(Device{}).stats().peak_bytes);
  const field::Field& field = drawing.field();
  const double points = drawing.points_each();
  const double flops = 2 * static_cast<double>(field.parameter_count()) *
                       static_cast<double>(drawing.width()) * height * points * many;
  const double bytes = drawing.values() * bits_for(drawing, bits, output) / 8 * many;
  std::string text = fmt::format("network       {}, {}, {} parameters\n", name_of(model_of(field.options())),
                                 layers_in_words(field.options()), field.parameter_count());
  text += fmt::format("{}  {}, {:.3g} {} a {}\n", drawing.is_sound() ? "sound       " : "picture     ",
                      drawing.in_words(), points, points == 1 ? "sample" : "samples",
                      drawing.is_sound() ? "frame" : "pixel");
  if (pictures > 1) text += fmt::format("frames        {}\n", pictures);
  text += fmt::format("work          {} in all\n", scaled(flops, "FLOP"));
  text += fmt::format("time          about {}\n", in_time(seconds));
  text += fmt::format("memory        about {} for tensors\n", scaled(memory, "B"));
  text += fmt::format("would write   {}, {} before compression\n", on_one_line(output), scaled(bytes, "B"));
  Json rows = {{"dry_run", true}, {"output", output}, {"parameters", field.parameter_count()}};
  drawing.describe_in(rows);
  if (pictures > 1) rows["frames"] = pictures;
  rows[drawing.is_sound() ? "samples_a_frame" : "samples_a_pixel"] = points;
  rows.update({{"flops", count(flops)},
               {"memory_bytes", count(memory)},
               {"seconds", seconds},
               {"uncompressed_bytes", count(bytes)}});
  print(rows, text, context);
  return kOk;
}

}  // namespace veldt::app
