// Compares a sound, or what a model plays, with another one, frame by frame.
#include "veldt/app/frame.h"
#include "veldt/app/compare_sounds.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "veldt/cli/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/cli/terminal.h"
#include "veldt/field/sound_field.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/sound.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::app {
namespace {

bool is_model(const std::string& path) { return kind_of_file(path) == FileKind::safetensors; }

// A model is played for the length of the sound it was fitted to, at the other side's rate if that is a file.
io::Sound load(const std::string& path, std::optional<std::int64_t> rate, std::int64_t max_samples,
               const Context& context) {
  if (!is_model(path)) return io::read_sound(path, {.max_samples = max_samples});
  const field::SoundField field = field::SoundField::load(path);
  if (rate && *rate != field.rate() && !context.quiet)
    print_note(fmt::format("{} is played at {} Hz, and was fitted at {} Hz", path, *rate, field.rate()));
  return {.samples = field.render({.rate = rate.value_or(0)}), .rate = rate.value_or(field.rate())};
}

void require_alike(const io::Sound& a, const io::Sound& b) {
  if (a.rate == b.rate && a.samples.shape() == b.samples.shape()) return;
  const auto words = [](const io::Sound& s) {
    const std::int64_t channels = s.samples.size(1);
    return fmt::format("{} frames of {} {} at {} Hz", s.samples.size(0), channels,
                       channels == 1 ? "channel" : "channels", s.rate);
  };
  throw UsageError(
      "cannot compare sounds that differ in length, channels or rate",
      fmt::format("one has {}, the other {}", words(a), words(b)),
      "convert one to match the other, or give the model itself: it is played at the other's rate");
}

double mean_square(const Tensor& x) { return mean(square(to(x, DType::f64))).item(); }

}  // namespace

bool is_sound(const std::string& path) {
  const FileKind kind = kind_of_file(path);
  return kind == FileKind::sound ||
         (kind == FileKind::safetensors &&
          field::field_kind(io::read_safetensors_header(path).metadata) == "sound_field");
}

double compare_sounds(const std::string& a, const std::string& b, const std::string& difference,
                      std::int64_t max_samples, Context& context) {
  for (const std::string& path : {a, b})
    if (!is_sound(path))
      throw UsageError(fmt::format("cannot compare {} with {}", a, b), fmt::format("{} is not a sound", path),
                       "give two sounds, or two pictures");
  std::optional<io::Sound> y;
  if (is_model(a) && !is_model(b)) y = load(b, {}, max_samples, context);
  const io::Sound x = load(a, y ? std::optional(y->rate) : std::nullopt, max_samples, context);
  if (!y) y = load(b, x.rate, max_samples, context);
  require_alike(x, *y);
  const Tensor error = y->samples - x.samples;
  const double squared = mean_square(error), largest = max(abs(error)).item();
  const bool identical = squared == 0;
  const double snr = identical ? INFINITY : 10 * std::log10(mean_square(x.samples) / squared);
  if (!difference.empty()) io::write_sound(difference, error, x.rate);
  if (context.json)
    context.out.json({{"snr", decibels_in_json(snr)}, {"max_abs", largest}, {"identical", identical}});
  else
    context.out.text(fmt::format("SNR            {}\nlargest error  {:.6f} of full scale\n",
                                 identical ? "inf (identical)" : fmt::format("{:.2f} dB", snr), largest));
  return snr;
}

}  // namespace veldt::app
