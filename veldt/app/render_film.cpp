// Draws the frames of an animation, and writes them as an APNG.
#include "veldt/app/render_film.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/app/progress_line.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/animation.h"
#include "veldt/io/image.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

constexpr std::int64_t kMostFilmFrames = 100'000;
constexpr std::int64_t kMostFilmBytes = std::int64_t{1} << 31;
constexpr double kUsualFps = 30;

FilmPlan checked(FilmPlan plan) {
  if (plan.frames > kMostFilmFrames)
    throw UsageError(fmt::format("an animation cannot have {} frames", plan.frames),
                     fmt::format("there are 1 to {}", kMostFilmFrames),
                     "give fewer --frames, or a lower --fps");
  constexpr double kMost = io::Animation::kMostSeconds;
  if (const double seconds = 1 / plan.fps; !(seconds >= 1 / kMost && seconds <= kMost))
    throw UsageError(fmt::format("an animation cannot show {:.3g} frames a second", plan.fps),
                     "an animated PNG shows each for 1/65535 to 65535 seconds",
                     seconds < 1 ? "give a lower --fps, or fewer --frames" : "give a higher --fps");
  return plan;
}

}  // namespace

FilmPlan film_of_clip(const FilmWishes& wishes, const field::FieldOptions& clip) {
  if (wishes.frames)
    return checked({*wishes.frames, wishes.fps.value_or(static_cast<double>(*wishes.frames) / clip.seconds)});
  if (!wishes.fps) return checked({clip.frames, static_cast<double>(clip.frames) / clip.seconds});
  const double frames = std::round(clip.seconds * *wishes.fps);
  return checked({frames < 1e15 ? std::max<std::int64_t>(1, std::llround(frames)) : INT64_MAX, *wishes.fps});
}

FilmPlan film_of_morph(const FilmWishes& wishes, std::int64_t frames) {
  return checked({frames, wishes.fps.value_or(kUsualFps)});
}

void check_film_name(const std::string& path, const std::string& flag, const std::string& still) {
  const std::string ending = io::ending_of(path);
  if (ending == ".apng" || ending.empty()) return;
  throw UsageError(fmt::format("{} cannot be {}", flag, on_one_line(path)),
                   ending == ".png" ? "it is an animation, and a .png is one picture"
                                    : "an animation is written as an animated PNG",
                   "name it .apng, which browsers show" + still);
}

Tensor picture_of(const Drawing& drawing) {
  NoGrad off;
  const Tensor picture = empty({drawing.height(), drawing.width(), drawing.channels()});
  drawing.bands([&](const Tensor& rows, std::int64_t first) {
    slice(picture, 0, first, first + rows.size(0)).assign(rows);
    return true;
  });
  return picture;
}

int write_film(const std::string& path, const FilmPlan& plan, Size size, std::int64_t channels,
               const std::function<Tensor(std::int64_t)>& frame, const StopOnSignal& signal,
               Context& context) {
  io::Animation film(size, static_cast<int>(channels));
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  for (std::int64_t i = 0; i < plan.frames && !signal.requested(); ++i) {
    film.add(frame(i), 1 / plan.fps);
    if (film.bytes() > kMostFilmBytes)
      throw Error(fmt::format("{} would be too large", path),
                  fmt::format("its first {} of {} frames take {} MB", i + 1, plan.frames, film.bytes() >> 20),
                  "give a smaller --size, or fewer frames");
    line.update_rows(i + 1, plan.frames, "drawing frame");
  }
  line.finish();
  if (signal.requested()) {
    if (!context.quiet) print_note(fmt::format("stopped; {} was not written", path));
    return signal.exit_code();
  }
  film.write(path);
  if (context.json)
    context.out.json(nlohmann::ordered_json{{"output", path},
                                            {"width", size.width},
                                            {"height", size.height},
                                            {"frames", plan.frames},
                                            {"fps", plan.fps}});
  else
    context.out.text(fmt::format("{}: {}x{}, {} frames, {:.3g} a second\n", on_one_line(path), size.width,
                                 size.height, plan.frames, plan.fps));
  return kOk;
}

}  // namespace veldt::app
