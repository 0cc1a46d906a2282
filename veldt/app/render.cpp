// veldt render: a model file in, a picture of any size out, or any part of a sound.
#include <CLI/App.hpp>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "veldt/app/drawing.h"
#include "veldt/app/dry_run.h"
#include "veldt/cli/exit.h"
#include "veldt/app/field_folder.h"
#include "veldt/app/inputs.h"
#include "veldt/app/network_header.h"
#include "veldt/app/picture_size.h"
#include "veldt/cli/option_tree.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/ranks.h"
#include "veldt/app/render_film.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/core/threads.h"
#include "veldt/field/morph.h"
#include "veldt/field/shared_bands.h"
#include "veldt/io/animation.h"
#include "veldt/io/digest.h"
#include "veldt/io/directory.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/profile.h"

namespace veldt::app {
namespace {

struct RenderFlags {
  std::vector<std::string> models;
  std::string model, output, device = "auto";
  WishedSize size;
  std::vector<double> crop;        // left, top, width, height
  std::optional<double> from, to;  // seconds
  std::optional<double> at;        // the same, of a clip
  FilmWishes film;
  std::optional<std::int64_t> morph;  // frames
  std::optional<std::int64_t> rate, bits;
  std::optional<Colour> background;
  std::int64_t supersample = 0;
  bool dry_run = false, profile = false;
};

constexpr double kLong = 600;  // seconds that nobody waits for without having been told

std::vector<double> crop_from(const io::Source& source, const std::string& text) {
  const std::vector<double> numbers = numbers_from<double>(text, ',');
  if (numbers.size() != 4)
    throw io::bad_value(source, text, "it is four numbers: left, top, width and height",
                        "use --crop 50,40,100,80");
  for (const auto& [side, name] : {std::pair(numbers[2], "width"), std::pair(numbers[3], "height")})
    if (!(side > 0))
      throw io::bad_value(source, text, fmt::format("its {} is {:g}, and must be above 0", name, side),
                          "give left,top,width,height in pixels of the fitted picture");
  return numbers;
}

// --crop in pixels of the fitted picture, as a part of the whole.
field::Region region_from(const std::vector<double>& n, const field::FieldOptions& o) {
  if (n.empty()) return {};
  const auto w = static_cast<double>(o.width), h = static_cast<double>(o.height);
  if (!(n[0] >= 0 && n[1] >= 0 && n[2] >= 1e-3 && n[3] >= 1e-3 && n[0] + n[2] <= w && n[1] + n[3] <= h))
    throw io::bad_value({"--crop", "--crop "}, fmt::format("{}", fmt::join(n, ",")),
                        fmt::format("it must lie within the picture, which is {}x{}", o.width, o.height),
                        "give left,top,width,height in pixels of the fitted picture");
  return {n[0] / w, n[1] / h, n[2] / w, n[3] / h};
}

Drawing picture_from(const RenderFlags& flags, const field::ImageField& field) {
  const field::FieldOptions& o = field.options();
  field::RenderOptions how;
  how.region = region_from(flags.crop, o);
  how.supersample = static_cast<int>(flags.supersample);
  if (flags.at && o.seconds > 0) how.time = std::clamp(*flags.at / o.seconds, 0.0, 1.0);
  const Size size = size_for(flags.size, static_cast<double>(o.width) * how.region.width,
                             static_cast<double>(o.height) * how.region.height);
  return {field, size.width, size.height, how};
}

// Flags that only apply to the other kind of model.
void refuse(const std::string& flag, bool given, bool is_sound) {
  if (!given) return;
  throw UsageError(
      fmt::format("{} does not fit this model", flag),
      is_sound ? "it holds a sound, which has no pixels" : "it holds a picture, which has no time",
      is_sound ? "use --rate, --from and --to" : "use --size, --scale and --crop");
}

// Flags of a clip, for a picture that stands still; and a time that it does not have.
void refuse_still(const RenderFlags& flags, const field::FieldOptions& o) {
  for (const auto& [flag, given] : {std::pair("--at", flags.at.has_value()),
                                    {"--frames", flags.film.frames.has_value() && !flags.morph},
                                    {"--fps", flags.film.fps.has_value() && !flags.morph}})
    if (given && !o.is_clip())
      throw UsageError(fmt::format("{} does not fit this model", flag),
                       "it holds a picture, which stands still", "leave it out, or fit an animated picture");
  if (flags.at && *flags.at > o.seconds)
    throw UsageError(fmt::format("there is nothing at {:g} seconds", *flags.at),
                     fmt::format("the clip lasts {:g} seconds", o.seconds), "give a time within it");
  if (flags.at && (flags.film.frames || flags.film.fps))
    throw UsageError("--at is one picture, and --frames and --fps are of many", "they cannot be combined",
                     "leave one of them out");
}

// Whether a model is drawn as an animation. A picture of a clip is one moment of it.
bool is_film(const RenderFlags& flags, const field::FieldOptions& o) {
  if (flags.morph) return true;
  if (!o.is_clip() || flags.at) return false;
  check_film_name(flags.output, "--output", "; or draw one moment with --at");
  return true;
}

Drawing drawing_from(const RenderFlags& flags, const field::Field& field) {
  const bool is_sound = field.options().is_sound();
  if (is_sound) {
    refuse("--size", !flags.size.sides.empty(), true);
    refuse("--scale", flags.size.scale.has_value(), true);
    refuse("--crop", !flags.crop.empty(), true);
    refuse("--supersample", flags.supersample > 0, true);
    refuse("--background", flags.background.has_value(), true);
    return {field::SoundField(field),
            {.from = flags.from.value_or(0), .to = flags.to, .rate = flags.rate.value_or(0)}};
  }
  refuse("--rate", flags.rate.has_value(), false);
  refuse("--from", flags.from.has_value(), false);
  refuse("--to", flags.to.has_value(), false);
  refuse_still(flags, field.options());
  return picture_from(flags, field::ImageField(field));
}

// A width and a height may have another aspect ratio than the part that is drawn.
void note_stretch(const RenderFlags& flags, const Drawing& drawing, const Context& context) {
  if (flags.size.sides.size() != 2 || context.quiet) return;
  const field::FieldOptions& o = drawing.field().options();
  const field::Region part = region_from(flags.crop, o);
  const double w = static_cast<double>(o.width) * part.width, h = static_cast<double>(o.height) * part.height;
  if (is_stretched(w, h, drawing.width(), drawing.height()))
    print_note(fmt::format("{} stretches what is drawn, which is {:g}x{:g}; --size {} would not",
                           drawing.in_words(), w, h, std::max(drawing.width(), drawing.height())));
}

// What the processes of one drawing must have alike.
nlohmann::json facts_of_drawing(const RenderFlags& flags, const Drawing& drawing) {
  io::Digest digest;
  for (const NamedTensor& t : drawing.field().tensors()) {
    const Tensor values = contiguous(to(t.tensor, Device{}));
    digest.update(values.view().data, static_cast<std::size_t>(values.numel()) * size_of(values.dtype()));
  }
  return {{"version", VELDT_VERSION},
          {"model", {{"digest", digest.text()}, {"metadata", drawing.field().metadata()}}},
          {"size", {drawing.width(), drawing.height(), drawing.channels()}},
          {"--crop", flags.crop},
          {"--supersample", flags.supersample},
          {"--from", flags.from.value_or(0)},
          {"--rate", drawing.rate()},
          {"--device", name_of(drawing.field().device().kind)},
          {"--threads", num_threads()}};
}

// The animation of a clip, or from one model to the other.
int render_film(const RenderFlags& flags, const Drawing& still, Context& context, Device device,
                const StopOnSignal* signal) {
  if (flags.bits.value_or(8) != 8)
    throw UsageError(fmt::format("an animation cannot have {} bits", *flags.bits), "it has 8 a sample",
                     "leave --bits out");
  check_output(flags.output, "--output", flags.models, context);
  const Size size{still.width(), still.height()};
  const FilmPlan plan = flags.morph ? film_of_morph(flags.film, *flags.morph)
                                    : film_of_clip(flags.film, still.field().options());
  io::Animation(size, static_cast<int>(still.channels()));  // refuses sizes before the work
  if (signal == nullptr) return dry_run_render(still, 8, flags.output, context, plan.frames);
  const auto clip_at = [&, moment = still](std::int64_t i) mutable {
    moment.set_time((static_cast<double>(i) + 0.5) / static_cast<double>(plan.frames));
    return picture_of(moment);
  };
  if (!flags.morph) return write_film(flags.output, plan, size, still.channels(), clip_at, *signal, context);
  field::ImageField to(load_field(flags.models[1]));
  to.to(device);
  field::RenderOptions how;
  how.region = region_from(flags.crop, still.field().options());
  how.supersample = static_cast<int>(flags.supersample);
  const field::Morph morph(field::ImageField(still.field()), to, size, how);
  const auto morph_at = [&](std::int64_t i) {
    const double share = plan.frames > 1 ? static_cast<double>(i) / static_cast<double>(plan.frames - 1) : 0;
    const Tensor picture = morph.picture(share);
    return flags.background && still.field().options().channels % 2 == 0
               ? laid_over(picture, *flags.background, still.channels())
               : picture;
  };
  return write_film(flags.output, plan, size, still.channels(), morph_at, *signal, context);
}

// One model, or two to go from one to the other.
void check_models(const RenderFlags& flags) {
  const std::size_t wanted = flags.morph ? 2 : 1;
  if (flags.models.size() == wanted) return;
  throw UsageError(fmt::format("cannot {} {} model{}", flags.morph ? "morph" : "draw", flags.models.size(),
                               flags.models.size() == 1 ? "" : "s"),
                   flags.morph ? "--morph goes from one to another" : "render draws one model at a time",
                   flags.morph ? "give two models" : "give one model, or two with --morph 60");
}

int render(RenderFlags flags, Context& context, Ranks& ranks) {
  check_models(flags);
  if (flags.morph && flags.film.frames)
    throw UsageError("--frames does not fit --morph", "--morph says how many frames there are",
                     "leave it out");
  flags.model = flags.models[0];
  if (flags.dry_run) ranks.must_be_alone("--dry-run");
  // Before the first file is created, even one that only tests whether it can be.
  std::optional<StopOnSignal> stop;
  if (!flags.dry_run) stop.emplace();
  const Device device = ranks.choose_device(flags.device).device;
  for (const std::string& model : flags.models)
    if (io::is_directory(model)) refuse_folder(model, "render", ".png", " --scale 4");
  field::Field field = load_field(flags.model);
  field.to(device);
  Drawing drawing = drawing_from(flags, std::move(field));
  if (flags.background) drawing.lay_over(*flags.background);
  if (is_film(flags, drawing.field().options())) {
    ranks.must_be_alone("an animation");
    if (flags.morph) {
      if (drawing.is_sound())
        throw UsageError("a sound cannot be morphed", "--morph is for pictures", "give models of pictures");
      check_film_name(flags.output, "--output");
    }
    if (!flags.dry_run) note_stretch(flags, drawing, context);
    return render_film(flags, drawing, context, device, stop ? &*stop : nullptr);
  }
  if (drawing.has_alpha()) check_alpha(flags.output);
  const int bits = static_cast<int>(flags.bits.value_or(0));
  if (!ranks.alone()) ranks.must_agree(facts_of_drawing(flags, drawing));
  if (ranks.is_first()) {
    check_output(flags.output, "--output", {flags.model}, context);
    DrawnFile::check(flags.output, drawing, bits);
    note_stretch(flags, drawing, context);
  }
  if (flags.dry_run) return dry_run_render(drawing, bits, flags.output, context);
  const StopOnSignal& signal = *stop;
  ProgressLine::Options shown;
  shown.quiet = context.quiet;
  shown.show_after = 2;
  ProgressLine line(shown);
  std::optional<DrawnFile> file;
  if (ranks.is_first()) file.emplace(flags.output, drawing, bits);
  std::optional<Profile> profile;
  if (flags.profile && ranks.is_first()) profile.emplace();
  const auto start = std::chrono::steady_clock::now();
  bool is_told = false;
  const auto write = [&](const Tensor& band, std::int64_t first) {
    file->write(band);
    const std::int64_t done = first + band.size(0);
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                 all = passed * static_cast<double>(drawing.height()) / static_cast<double>(done);
    if (passed > 1 && all > kLong && !std::exchange(is_told, true))
      line.note(long_drawing(drawing, bits, flags.output, all));
    line.update_rows(done, drawing.height(), drawing.is_sound() ? "drawing frame" : "drawing row");
    return !signal.requested();
  };
  bool is_whole = true;
  if (ranks.alone())
    drawing.bands(write);
  else
    is_whole = field::share_bands(
        *ranks.communicator(),
        [&drawing](const field::BandShare& share, const field::Field::Band& band) {
          drawing.bands(band, share);
        },
        write, [&signal] { return signal.requested(); });
  line.finish();
  if (profile) write_stderr(profile->table());
  if (!ranks.is_first()) return kOk;  // and ends as rank 0 does
  if (signal.requested() || !is_whole) {
    if (!context.quiet) print_note(fmt::format("stopped; {} was not written", flags.output));
    return signal.exit_code(!is_whole);
  }
  file->finish();
  nlohmann::ordered_json out = {{"output", flags.output}};
  drawing.describe_in(out);
  if (context.json)
    context.out.json(out);
  else
    context.out.text(fmt::format("{}: {}\n", on_one_line(flags.output), drawing.in_words()));
  return kOk;
}

}  // namespace

Run add_render(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<RenderFlags>();
  add_paths(verb, "MODEL", flags->models,
            "a model file that veldt fit wrote, or a packed picture (.vp); two for --morph")
      .required();
  add_path(verb, "-o,--output", flags->output,
           fmt::format("the picture ({}), animation (.apng) or sound (WAV) to write", io::kWrittenPictures))
      .required();
  add_size(verb, flags->size, "the fitted picture");
  add_text(verb, "--crop", "X,Y,W,H", "draw this part, in pixels of the fitted picture",
           [flags](auto& source, auto& text) { flags->crop = crop_from(source, text); })
      .command_line_only();
  add_count(verb, "--supersample", flags->supersample, {.least = 0, .most = 64},
            "samples along each side of a pixel; 0: as many as shrinking needs");
  add_count(verb, "--rate", flags->rate, {.least = 1},
            "frames per second of a sound; its own rate unless given");
  add_number(verb, "--from", flags->from, {.least = 0}, "play a sound from here, in seconds")
      .command_line_only();
  add_number(verb, "--to", flags->to, {.above = 0}, "play a sound to here, in seconds").command_line_only();
  add_count(verb, "--frames", flags->film.frames, {.least = 1, .most = 100'000},
            "frames of an animated picture, over its whole time; those it was fitted to unless given")
      .command_line_only();
  add_number(verb, "--fps", flags->film.fps, {.most = 1000, .above = 0}, "frames per second of an animation")
      .option->default_str("");
  add_number(verb, "--at", flags->at, {.least = 0}, "draw this moment of an animated picture, in seconds")
      .command_line_only();
  add_count(verb, "--morph", flags->morph, {.least = 2, .most = 100'000},
            "go from the first model to the second in so many frames; both must have the same form")
      .command_line_only();
  add_count(
      verb, "--bits", flags->bits, {.least = 1, .most = 32},
      "bits per sample: for a PNG 1 (grey only), 8 or 16, by default what the fitted picture needs; for a "
      "WAV 16, or 32 for "
      "floats");
  add_text(verb, "--background", "COLOUR",
           "lay a picture with alpha over this colour: white, #1e90ff; a JPEG needs it",
           [flags](auto& source, auto& text) { flags->background = colour_from(source, text); });
  add_switch(verb, "--dry-run", flags->dry_run,
             "print the time, memory and files it would need, and write nothing")
      .command_line_only();
  add_switch(verb, "--profile", flags->profile, "print to stderr where the time went, kernel by kernel")
      .command_line_only();
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt render cub.safetensors -o cub.png\n"
      "  veldt render cub.safetensors -o cub_1024.png --size 1024\n"
      "  veldt render cub.safetensors -o eye.png --crop 60,60,40,30 --scale 16\n"
      "  veldt render photo.safetensors -o thumbnail.png --size 160\n"
      "  veldt render logo.safetensors -o logo.jpg --background white\n"
      "  veldt render clip.safetensors -o clip.apng --size 640 --fps 60\n"
      "  veldt render clip.safetensors -o moment.png --at 0.1\n"
      "  veldt render cat.safetensors lion.safetensors --morph 60 -o morph.apng\n"
      "  veldt render bach.safetensors -o second.wav --from 1 --to 2 --rate 96000\n"
      "  mpirun -n 4 veldt render cub.safetensors -o poster.png --size 20000    four processes, one "
      "picture\n");
  return [flags, &context] {
    Ranks ranks(context);
    return ranks.run([&] { return render(*flags, context, ranks); });
  };
}

}  // namespace veldt::app
