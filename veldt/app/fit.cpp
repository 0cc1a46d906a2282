// veldt fit: a picture or a sound in, a model file out.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "veldt/app/dry_run.h"
#include "veldt/cli/exit.h"
#include "veldt/app/fit_jobs.h"
#include "veldt/app/fit_live.h"
#include "veldt/app/fit_watchers.h"
#include "veldt/app/inputs.h"
#include "veldt/app/output_name.h"
#include "veldt/cli/option_tree.h"
#include "veldt/app/prior.h"
#include "veldt/app/profiling.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/ranks.h"
#include "veldt/app/reasons.h"
#include "veldt/app/render_film.h"
#include "veldt/app/score.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/core/threads.h"
#include "veldt/field/fit.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/io/json.h"
#include "veldt/io/sound.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

struct FitFlags {
  std::vector<std::string> inputs;
  std::string input, output, device = "auto", preview, film;
  std::optional<std::string> preset, model, sampling, optimizer, schedule, loss;
  std::string style = "auto", source = "area";
  std::string precision = "auto";
  std::optional<std::int64_t> footprint;
  std::string prior, init, picture = "auto";
  field::FitOptions wishes;
  std::int64_t seed = 0, preview_every = 100, max_pixels = kMaxPixels;
  std::int64_t keep = 3;
  field::CheckpointOptions checkpoints;
  LiveFlags live;
  ProfileFlags profile;
  bool explain = false, dry_run = false, in_parts = false, still = false;
};

// "full" or a number of pixels. FitOptions uses 0 for full, so 0 is not accepted here.
std::int64_t batch_from(const io::Source& source, const std::string& text) {
  if (text == "full") return 0;
  try {
    return io::count_from(source, text, {.least = 1});
  } catch (const UsageError&) {
    throw io::bad_value(source, text, "it is a number of pixels, 1 or more, or 'full'",
                        fmt::format("use {}", io::example_of(source, "4096")));
  }
}

field::FitOptions wishes_from(const FitFlags& flags) {
  field::FitOptions w = flags.wishes;
  w.seed = static_cast<std::uint64_t>(flags.seed);
  w.simba = flags.preset == "simba";
  if (flags.style != "auto") w.style = field::style_from(flags.style);
  w.source = field::source_from(flags.source);
  if (flags.model) w.model = field::model_from(*flags.model);
  if (flags.sampling) w.sampling = field::sampling_from(*flags.sampling);
  if (flags.optimizer) w.optimizer = field::optimizer_from(*flags.optimizer);
  if (flags.schedule) w.schedule = field::schedule_from(*flags.schedule);
  if (flags.footprint) w.footprint = static_cast<int>(*flags.footprint);
  if (flags.loss) w.loss = field::loss_from(*flags.loss);
  if (flags.precision != "auto") w.precision = field::precision_from(flags.precision);
  return w;
}

// Whether flags change the fit itself, not only its output and messages.
bool chooses_how(const FitFlags& flags) {
  const field::FitOptions w = wishes_from(flags);
  return w.simba || w.style || w.source != field::Source::area || w.model || w.width || w.depth ||
         w.first_omega || w.omega || w.footprint || w.steps || w.seconds > 0 || w.target_psnr > 0 ||
         w.batch || w.sampling || w.optimizer || w.lr || w.schedule || w.warmup || w.schedule_offset ||
         w.loss || !flags.prior.empty() || !flags.init.empty();
}

std::string how_to_go_on(const FitFlags& flags, const Context& context, const Ranks& ranks,
                         std::int64_t step) {
  if (!flags.checkpoints.directory.empty())
    return fmt::format("stopped at step {}; resume with: {}", step,
                       ranks.launched(command_to_resume(context, "fit")));
  return fmt::format(
      "stopped at step {}; {} holds the field so far (add --checkpoint DIR to be able to resume)", step,
      flags.output);
}

const char* text_of(train::Stop stop) {
  switch (stop) {
    case train::Stop::steps_done: return "steps";
    case train::Stop::time_over: return "time";
    case train::Stop::goal_met: return "target-psnr";
    case train::Stop::asked: return "signal";
  }
  return "";
}

// Where the result goes: to stdout, or for one of several fits into their list.
using Rows = nlohmann::ordered_json;

void report(const FitFlags& flags, Context& context, Rows* list, const field::Fitter& fitter,
            const std::vector<field::Reason>& reasons, const train::RunResult& run, const FitScore& score) {
  const field::Field& field = fitter.field();
  const bool is_sound = field.options().is_sound();
  if (context.json) {
    nlohmann::ordered_json out = {{"output", flags.output},
                                  {"parameters", field.parameter_count()},
                                  {"steps", run.steps},
                                  {"seconds", run.seconds},
                                  {"loss", run.loss}};
    score.describe_in(out, is_sound);
    out["stopped_by"] = text_of(run.stop);
    if (flags.explain) out["explain"] = in_json(reasons);
    if (list != nullptr) {
      out["input"] = flags.input;
      list->push_back(out);
    } else {
      context.out.json(out);
    }
    return;
  }
  context.out.text(fmt::format("{}: {} parameters, {} steps in {:.1f} s\n", on_one_line(flags.output),
                               field.parameter_count(), run.steps, run.seconds));
  context.out.text(score.in_words(is_sound) + "\n");
}

train::Events events_for(const FitFlags& flags, const Context& context, ProgressLine& line,
                         FitWatchers& watchers, const StopOnSignal& signal, Ranks& ranks) {
  train::Events events;
  events.should_stop = [&signal] { return signal.requested(); };
  events.on_checkpoint = [&](std::int64_t step, const std::string& path) {
    ranks.saved(path);
    if (!context.quiet) line.note(fmt::format("step {}: checkpoint {}", step, path));
    watchers.saved();
  };
  if (!ranks.is_first()) return events;
  events.on_progress = [&line](const train::Progress& p) { line.update(p); };
  events.on_warning = [&line](const std::string& text) { line.warn(text); };
  events.on_start = [&](std::int64_t step) {
    if (flags.checkpoints.resume && step == 0 && !context.quiet)
      line.note(fmt::format("there was no run to resume in {}; this begins it", flags.checkpoints.directory));
    watchers.begin(step);
  };
  events.on_step = [&watchers](std::int64_t step, double) { watchers.on_step(step); };
  return events;
}

void check_flags(const FitFlags& flags, Context& context) {
  if (flags.checkpoints.resume && flags.checkpoints.directory.empty())
    throw UsageError("--resume needs a checkpoint directory", "it says where the run is",
                     "add --checkpoint DIR, the directory of the run to resume");
  check_profile(flags.profile);
  check_ending(
      flags.output, "--output", kModelFile,
      io::is_picture_name(flags.output) || is_sound_name(flags.output) ? "draw it with veldt render" : "");
  if (!flags.output.empty()) check_output(flags.output, "--output", {flags.input}, context);
  if (!flags.preview.empty()) check_output(flags.preview, "--preview", {flags.input, flags.output}, context);
  if (flags.film.empty()) return;
  check_film_name(flags.film, "--film");
  check_output(flags.film, "--film", {flags.input, flags.output, flags.preview}, context);
}

constexpr const char* kDraw = "draw";

// The last drawing, for the preview and the score. A signal during it ends it.
int finish(const FitFlags& flags, Context& context, const Ranks& ranks, Rows* list,
           const field::Fitter& fitter, const field::Signal& truth, const std::vector<field::Reason>& reasons,
           const train::RunResult& run, const StopOnSignal& signal, LiveRun& live) {
  const field::Field& field = fitter.field();
  const bool was_asked = run.stop == train::Stop::asked;
  // Closing after the last step changes the field, so the preview is drawn once more.
  const bool wants_preview =
      !flags.preview.empty() && (run.steps % flags.preview_every != 0 || fitter.choices().closes > 0);
  const bool ends_here = was_asked && !wants_preview && !context.json;
  ranks.as_first(ends_here ? "" : kDraw);
  if (ends_here) return signal.exit_code(was_asked);
  std::optional<DrawnFile> preview;
  if (wants_preview) preview.emplace(preview_path(flags.preview, run.steps), Drawing(field));
  std::optional<FitScore> score = score_of(
      field, truth, context, ranks.communicator(), [&] { return !was_asked && signal.requested(); },
      [&](const Tensor& band) {
        if (preview && !truth.is_clip()) preview->write(band);
      });
  if (!score) {
    if (!context.quiet)
      print_note(fmt::format("stopped before {} was compared with the {}", flags.output,
                             truth.is_sound() ? "sound" : "picture"));
    return signal.exit_code(was_asked);
  }
  if (preview && truth.is_clip()) preview->write(picture_of(Drawing(field)));  // one moment of all
  if (preview) preview->finish();
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  score->expected_gain = fitter.expected_gain([&](double part) {
    line.update(part, "judging what lies between the pixels");
    return !signal.requested();
  });
  line.finish();
  show_score(live, *score, truth.is_sound());
  if (const std::string doubt = score->doubt(chooses_how(flags)); !doubt.empty() && !context.quiet)
    print_warning(flags.input + " " + doubt);
  if (!was_asked || context.json) report(flags, context, list, fitter, reasons, run, *score);
  return signal.exit_code(was_asked);
}

// "48x48 as pixel art (24 colours, and no soft step)"
std::string what_is_fitted(const field::Fitter& fitter, bool has_kind) {
  std::string size = Drawing(fitter.field()).in_words();
  if (const field::FieldOptions& o = fitter.field().options(); o.is_clip())
    size += fmt::format(", {} frames in {:.3g} s,", o.frames, o.seconds);
  if (!has_kind) return size;
  const field::PictureKind& kind = fitter.choices().kind;
  const bool is_smooth = kind.style == field::Style::pixel && !fitter.choices().field.squares;
  return fmt::format("{} as {} ({}{})", size, field::in_words(kind), kind.reason,
                     is_smooth ? "; drawn smooth, as this model is" : "");
}

// " with 4000 of 16000 rows each", or nothing.
std::string rows_in_words(const field::Signal& signal) {
  if (signal.ranks() == nullptr) return "";
  return fmt::format(" with {} of {} rows each", signal.own().end - signal.own().begin, signal.rows());
}

std::vector<field::Reason> reasons_for(const FitFlags& flags, const field::FitChoices& choices,
                                       const field::Signal& signal) {
  std::vector<field::Reason> reasons = field::reasons_of(choices);
  if (signal.ranks() != nullptr)
    reasons.push_back({"rows", fmt::format("{} of {}", signal.own().end - signal.own().begin, signal.rows()),
                       flags.in_parts
                           ? "asked for"
                           : "in memory: a large picture is shared by its processes, which tell each "
                             "other the levels of each batch"});
  return reasons;
}

// What the processes of one fit must have alike.
nlohmann::json facts_of_fit(const FitFlags& flags, const field::Fitter& fitter, bool is_shared) {
  return {{"version", VELDT_VERSION},      {"plan", io::parse_json<nlohmann::json>(fitter.config())},
          {"--exact", flags.wishes.parts}, {"--resume", flags.checkpoints.resume},
          {"--in-parts", is_shared},       {"--device", name_of(fitter.choices().device.kind)},
          {"--threads", num_threads()}};
}

// `priors` are read for the first picture.
int fit(FitFlags flags, Context& context, Ranks& ranks, std::optional<Priors>& priors, Rows* list = nullptr) {
  // Before the first file is created, even one that only tests whether it can be.
  std::optional<StopOnSignal> stop;
  if (!flags.dry_run) stop.emplace(note_of_stop(context.quiet));
  const DeviceChoice device = ranks.choose_device(flags.device);
  if (ranks.is_first()) check_flags(flags, context);
  if (flags.in_parts && ranks.alone())
    throw UsageError("--in-parts is for several processes", "one has all rows of the picture",
                     "leave it out, or start Veldt by mpirun");
  const field::Signal truth = ranks.alone() ? load_signal(flags.input, flags.max_pixels, context, flags.still)
                                            : load_signal(flags.input, flags.max_pixels, context,
                                                          *ranks.communicator(), flags.in_parts, flags.still);
  flags.checkpoints.keep = static_cast<int>(flags.keep);
  field::FitOptions wishes = wishes_from(flags);
  wishes.device = device.device;
  wishes.ranks = ranks.communicator();
  if (!flags.init.empty()) wishes.init = std::make_shared<field::Field>(field::Field::load(flags.init));
  std::shared_ptr<const field::Prior> given_prior;
  if (!truth.is_sound() && !truth.is_clip()) {
    if (!priors) priors = priors_from(flags.prior);
    given_prior = priors->given;
    wishes.prior = priors->means;
    wishes.tone_prior = priors->two_tone;
  }
  field::Fitter fitter(truth, field::choices_for(truth, wishes));
  if (!ranks.alone()) ranks.must_agree(facts_of_fit(flags, fitter, truth.ranks() != nullptr));
  ranks.note_way_between(device.device);
  if (!flags.prior.empty() && flags.prior != "none" && !context.quiet &&
      (!fitter.choices().prior || (fitter.choices().prior != given_prior)))
    print_note(fmt::format("the prior {} is not used: {}", flags.prior,
                           truth.is_sound()  ? "this is a sound"
                           : truth.is_clip() ? "this is a clip"
                                             : "this fit uses no prior of its kind"));
  if (!flags.preview.empty() && ranks.is_first())
    DrawnFile::check(preview_path(flags.preview, 0), Drawing(fitter.field()));
  std::optional<FilmMaker> film;
  if (!flags.film.empty() && ranks.is_first()) film.emplace(flags.film, fitter.field());
  if (!context.quiet) {
    const field::FitChoices& choices = fitter.choices();
    print_note(fmt::format(
        "{} {} with {}, {} parameters, in {}{}, on {}", flags.dry_run ? "would fit" : "fitting",
        what_is_fitted(fitter, !truth.is_sound() && !truth.is_clip() && !wishes.simba),
        name_of(model_of(choices.field)), fitter.field().parameter_count(), field::name_of(choices.precision),
        ranks.in_words() + rows_in_words(truth), device.reason));
  }
  std::vector<field::Reason> reasons;
  if (flags.explain && ranks.is_first()) reasons = reasons_for(flags, fitter.choices(), truth);
  if (!context.json) context.out.text(in_words(reasons));
  if (flags.dry_run)
    return dry_run_fit(fitter,
                       {flags.output, flags.preview, flags.film, flags.preview_every, flags.checkpoints},
                       reasons, context);
  const StopOnSignal& signal = *stop;
  ProgressLine::Options shown;
  shown.quiet = context.quiet;
  ProgressLine line(shown);
  FitWatchers watchers({flags.preview, flags.preview_every}, std::move(film),
                       context.quiet ? PictureWay::off : picture_way(flags.picture, stderr_terminal()),
                       fitter.field(), line);
  LiveRun::Options seen;
  if (ranks.is_first())
    seen = {flags.live, std::filesystem::path(flags.input).filename().string(), flags.checkpoints.directory,
            flags.checkpoints.resume, [&line](const std::string& text) { line.note(text); }};
  LiveRun live(seen, context);
  const auto save_now = [&] {
    if (!io::can_be_replaced(flags.output))
      throw IoError(IoError::Kind::unwritable, fmt::format("{} gets no model before the end", flags.output),
                    "what is written there cannot be replaced", "add --checkpoint DIR to save meanwhile");
    fitter.field().save(flags.output);
  };
  show_fit(live, fitter, truth,
           flags.checkpoints.directory.empty() ? std::function<void()>(save_now) : nullptr);
  const auto is_stopped = [&] { return signal.requested() || live.control().should_stop(); };
  Profiling profiling(ranks.is_first() ? flags.profile : ProfileFlags());
  if (!ranks.alone() && !flags.checkpoints.directory.empty()) {
    const std::string resume = ranks.launched(command_to_resume(context, "fit"));
    ranks.resume_with(resume);
    if (!context.quiet)
      print_note(fmt::format("checkpoints are in {}; if a process is lost, launch again: {}",
                             on_one_line(flags.checkpoints.directory), resume));
  }
  std::jthread farewell = ranks.tell_when([&signal] { return signal.requested(); });
  const auto teaching = [&](double part) {
    line.update(part, "finding what lies between the pixels");
    return !is_stopped();
  };
  const char* const exact = truth.is_sound() ? "samples" : "pixels";
  bool is_kept = false;
  const auto closing = [&](double part) {  // which may take long, and a second signal ends it
    if (is_stopped() && watchers.has_seen_a_step() && io::can_be_replaced(flags.output) &&
        !std::exchange(is_kept, true)) {
      try {
        save_now();
        line.note(fmt::format("{} holds the field so far; its {} are now made exact", flags.output, exact));
      } catch (const IoError& e) {  // the last save is still to come
        line.warn(fmt::format("{} ({}); its {} are now made exact", e.summary(), e.why(), exact));
      }
    }
    line.update(part, fmt::format("making the {} exact", exact));
  };
  const train::RunResult run = fitter.run(
      flags.checkpoints,
      live.listening(events_for(flags, context, line, watchers, signal, ranks), fitter.field().network()),
      teaching, closing);
  farewell = {};
  line.finish();
  if (!ranks.is_first()) {
    if (ranks.as_first("") == kDraw) help_to_score(fitter.field(), truth, *ranks.communicator());
    return kOk;  // and ends as rank 0 does
  }
  if (run.stop == train::Stop::asked && run.steps == 0) {
    ranks.as_first("");
    if (!context.quiet) print_note("stopped before the first step; nothing was written");
    return signal.exit_code(true);
  }
  if (fitter.choices().seconds > 0 && run.steps == 1 && fitter.choices().has_teacher() && !context.quiet)
    print_note(
        fmt::format("finding what lies between the pixels took all of --time, and one step was taken; give "
                    "more than {:.1f} s",
                    run.seconds));
  profiling.finish();
  fitter.field().save(flags.output);
  watchers.finish(run.stop == train::Stop::asked && !flags.checkpoints.directory.empty());
  live.finish(run.stop == train::Stop::asked ? "stopped" : "done", run.steps);
  if (run.checkpoint_error) throw without_last_checkpoint(*run.checkpoint_error, flags.output);
  if (run.stop == train::Stop::asked && !context.quiet)
    print_note(how_to_go_on(flags, context, ranks, run.steps));
  return finish(flags, context, ranks, list, fitter, truth, reasons, run, signal, live);
}

void check_several(const FitFlags& flags) {
  const char* const alone = flags.dry_run                          ? "--dry-run"
                            : flags.live.live                      ? "--live"
                            : !flags.live.tensorboard.empty()      ? "--tensorboard"
                            : !flags.profile.trace.empty()         ? "--trace"
                            : !flags.preview.empty()               ? "--preview"
                            : !flags.film.empty()                  ? "--film"
                            : !flags.checkpoints.directory.empty() ? "--checkpoint"
                                                                   : nullptr;
  if (alone != nullptr)
    throw UsageError(fmt::format("{} cannot be used with several inputs", alone), "it belongs to one fit",
                     "give one picture or sound");
}

// Fits them one by one. A failure is reported, and the others are still fitted.
int fit_all(const FitFlags& flags, Context& context, Ranks& ranks) {
  const std::vector<FitJob> jobs = fit_jobs(flags.inputs, flags.output);
  FitFlags one = flags;
  if (jobs.size() > 1) check_several(flags);
  if (flags.dry_run) refuse_looks("--dry-run", flags.live, flags.profile);
  if (jobs.size() > 1 || flags.dry_run)
    ranks.must_be_alone(flags.dry_run ? "--dry-run" : "a fit of several files");
  std::optional<ModelFolder> folder;
  if (!flags.dry_run && ranks.is_first()) folder.emplace(jobs);
  std::optional<Priors> priors;
  if (jobs.size() == 1) {
    one.input = jobs[0].input;
    one.output = jobs[0].output;
    return fit(one, context, ranks, priors);
  }
  Rows list = Rows::array();
  int result = kOk;
  std::size_t fitted = 0, failed = 0;
  for (const FitJob& job : jobs) {
    one.input = job.input;
    one.output = job.output;
    try {
      if (const int code = fit(one, context, ranks, priors, &list); code != kOk)
        result = code;
      else
        ++fitted;
    } catch (const std::exception&) {
      ++failed;
      const Failure failure = current_failure();
      write_stderr(in_three_lines(failure, stderr_terminal().color));
      list.push_back({{"input", job.input}, {"error", in_json(failure)}});
      if (result == kOk) result = failure.code;
    }
    if (result >= kInterrupted) break;
  }
  if (context.json)
    context.out.json({{"fits", list}});
  else if (!context.quiet)
    print_note(
        fmt::format("{} fitted, {} failed", fitted, failed) +
        (fitted + failed < jobs.size() ? fmt::format(", {} left", jobs.size() - fitted - failed) : ""));
  return result;
}

}  // namespace

Run add_fit(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<FitFlags>();
  field::FitOptions& w = flags->wishes;
  add_paths(verb, "INPUT", flags->inputs,
            fmt::format("pictures ({}), sounds ({}) or pixel tables (.csv), or folders of them",
                        io::kPictureFormats, io::kSoundFormats))
      .required();
  Setting& output = add_path(verb, "-o,--output", flags->output,
                             "the model file to write (.safetensors); for several inputs a folder");
  output.required();
  add_count(verb, "--steps", w.steps, {.least = 1}, "train for this many steps");
  add_duration(verb, "--time", w.seconds, "train for this long; the learning rate follows the clock");
  add_number(verb, "--target-psnr", w.target_psnr, {.above = 0},
             "stop when the picture or sound is drawn this well, in dB (PSNR; for a sound SNR)")
      .option->default_str("");
  add_count(verb, "--seed", flags->seed, {.least = 0}, "the same seed gives the same field");
  add_choice(verb, "--preset", flags->preset, {"simba"}, "simba: the original recipe, exactly");
  std::vector<std::string> styles = field::style_names();
  styles.insert(styles.begin(), "auto");
  add_choice(verb, "--style", flags->style, styles,
             "kind of picture: pixel is drawn in squares, the others smooth, and all in the same way except "
             "drawings in "
             "two tones; auto chooses from the picture, and the first line says "
             "what it chose");
  add_choice(verb, "--source", flags->source, field::source_names(),
             "what a pixel shows of the scene: the mean over its area, or the value at its centre");
  add_choice(verb, "--model", flags->model, field::model_names(), "kind of network");
  add_path(verb, "--init", flags->init,
           "begin with the network and weights of this model, of the same picture or another");
  add_count(verb, "--width", w.width, {.least = 1, .most = 65536}, "units of a hidden layer");
  add_count(verb, "--depth", w.depth, {.least = 1, .most = 64}, "hidden layers");
  add_number(verb, "--first-omega", w.first_omega, {.above = 0},
             "frequency of the first layer (gauss: its scale)");
  add_number(verb, "--omega", w.omega, {.above = 0}, "frequency of the other layers");
  add_text(verb, "--batch", "N|full", "pixels or frames per step",
           [&w](auto& source, auto& text) { w.batch = batch_from(source, text); });
  add_choice(verb, "--sampling", flags->sampling, field::sampling_names(),
             "which points a step sees: any, one from each block, or more where the error is large");
  add_choice(verb, "--optimizer", flags->optimizer, field::optimizer_names(), "how parameters are updated");
  add_number(verb, "--lr", w.lr, {.above = 0}, "learning rate at the start");
  add_choice(verb, "--schedule", flags->schedule, field::schedule_names(), "how the rate falls");
  add_count(verb, "--warmup", w.warmup, {.least = 0}, "steps over which the rate rises from 0");
  add_count(verb, "--schedule-offset", w.schedule_offset, {.least = 0},
            "stretch the cosine by this many steps");
  add_choice(verb, "--loss", flags->loss, field::loss_names(), "what is minimised");
  add_count(verb, "--footprint", flags->footprint, {.least = 1, .most = 16},
            "fit through the pixel's area: the mean of this many samples along each of its sides");
  add_path(verb, "--prior", flags->prior,
           "what a picture's redraw is learned from: a file of weights, or none (Veldt's own unless given)");
  add_choice(verb, "--precision", flags->precision, {"auto", "f32", "bf16", "tf32"},
             "numbers in matrix products; auto: bf16 where the device is fast at it; tf32: only on CUDA");
  add_device(verb, flags->device);
  add_path(verb, "--checkpoint", flags->checkpoints.directory,
           "keep checkpoints of the run in this directory");
  add_duration(verb, "--every", flags->checkpoints.every, "time between checkpoints");
  add_count(verb, "--keep", flags->keep, {.least = 1, .most = 1000}, "checkpoints kept");
  add_switch(verb, "--resume", flags->checkpoints.resume,
             "continue the run in --checkpoint, with more --steps or --time too; start one if there is none")
      .command_line_only();
  add_path(verb, "--preview", flags->preview, "draw the field here while it learns; {step} becomes the step");
  add_count(verb, "--preview-every", flags->preview_every, {.least = 1}, "steps between previews");
  add_live(verb, flags->live);
  add_choice(
      verb, "--picture", flags->picture, picture_ways(),
      "show on the terminal what is learned so far: by what the terminal can, or as half blocks of colour");
  add_switch(verb, "--still", flags->still, "of an animated picture fit the first frame, not all of it");
  add_path(verb, "--film", flags->film,
           "an animated PNG (.apng) of how it is learned, more frames where more changes");
  add_max_pixels(verb, flags->max_pixels, true);
  add_count(verb, "--exact", w.parts, {.least = 1, .most = 1 << 20},
            "compute each batch in so many parts: then 1 process and up to so many give the same bits")
      .command_line_only();
  add_switch(verb, "--in-parts", flags->in_parts,
             "several processes: each keeps only some rows of the picture, as of every one of 64 MiB or more")
      .command_line_only();
  add_switch(verb, "--explain", flags->explain, "say why each choice was made").command_line_only();
  add_switch(verb, "--dry-run", flags->dry_run,
             "print the time, memory and files it would need, and write nothing")
      .waives(output)
      .command_line_only();
  add_profile(verb, flags->profile, "print to stderr where the time went, kernel by kernel");
  add_threads(verb, context);
  verb.examples(
      "  veldt fit cub.png -o cub.safetensors\n"
      "  veldt fit photo.png -o photo.safetensors --time 60s --preview photo_now.png\n"
      "  veldt fit photo.png -o photo.safetensors --checkpoint runs/photo --every 30s\n"
      "  veldt fit photo.png -o photo.safetensors --checkpoint runs/photo --every 30s --resume\n"
      "  veldt fit photo.png -o photo.safetensors --live              watch it learn in a browser\n"
      "  veldt fit photo.png -o finer.safetensors --init photo.safetensors --lr 0.0003\n"
      "  veldt fit photo.png -o photo.safetensors --width 256 --dry-run\n"
      "  veldt fit photo.png --explain --dry-run\n"
      "  veldt fit bach.wav -o bach.safetensors\n"
      "  veldt fit clip.gif -o clip.safetensors\n"
      "  veldt fit photo.png -o photo.safetensors --film learning.apng\n"
      "  veldt fit icons/ logo.png -o models/\n"
      "  veldt fit pixels.csv -o cub.safetensors --preset simba --steps 2000\n"
      "  mpirun -n 4 veldt fit photo.png -o photo.safetensors    four processes, one fit\n");
  return [flags, &context] {
    Ranks ranks(context);
    return ranks.run([&] { return fit_all(*flags, context, ranks); });
  };
}

}  // namespace veldt::app
