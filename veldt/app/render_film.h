// Animated pictures from models: a clip at any number of frames, and the way from one picture to another.
// Tests: tests/app/clip_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "veldt/app/frame.h"
#include "veldt/app/drawing.h"
#include "veldt/cli/context.h"
#include "veldt/cli/signals.h"
#include "veldt/field/image_field.h"

namespace veldt::app {

// How many frames, and how fast; of a clip what is not given follows from what it was fitted to.
struct FilmWishes {
  std::optional<std::int64_t> frames;
  std::optional<double> fps;
};
struct FilmPlan {
  std::int64_t frames = 0;
  double fps = 0;
};
// Throws UsageError for more frames than a film may have.
FilmPlan film_of_clip(const FilmWishes& wishes, const field::FieldOptions& clip);
FilmPlan film_of_morph(const FilmWishes& wishes, std::int64_t frames);

// Throws UsageError unless the name says that it is an animation, by .apng, or says nothing, such as
// /dev/stdout. `flag` is the one that has it, and `still` what is done for a picture: "; or draw one moment".
void check_film_name(const std::string& path, const std::string& flag, const std::string& still = "");

// Draws the frames by frame(i), f32 [height, width, channels], and writes them. A signal ends it without a
// file. Returns the exit code.
int write_film(const std::string& path, const FilmPlan& plan, Size size, std::int64_t channels,
               const std::function<Tensor(std::int64_t)>& frame, const StopOnSignal& signal,
               Context& context);

// The whole drawing of one moment.
Tensor picture_of(const Drawing& drawing);

}  // namespace veldt::app
