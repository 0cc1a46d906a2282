// Loads a field that is a sound, and plays it in bands at any rate.
#include "veldt/field/sound_field.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kMaxRate = 1 << 30;

}  // namespace

SoundField::SoundField(const Field& field) : Field(field) {
  if (!options().is_sound())
    throw ConfigError("a picture cannot be played as a sound", "the field was fitted to a picture",
                      "use an ImageField");
}

SoundField SoundField::load(const std::string& path) {
  const Field field = Field::load(path);
  if (!field.options().is_sound())
    throw IoError(IoError::Kind::malformed, str(path, " is not a sound field"), "it holds a picture",
                  "give a model that was fitted to a sound");
  return SoundField(field);
}

double SoundField::seconds() const {
  return static_cast<double>(options().height) / static_cast<double>(rate());
}

std::int64_t SoundField::frames(const SoundPart& part) const {
  const double to = part.to.value_or(seconds());
  if (part.rate < 0 || part.rate > kMaxRate)
    throw ConfigError(str("a sound cannot have ", part.rate, " frames a second"),
                      str("there are 1 to ", kMaxRate), "choose a rate such as 44100");
  if (part.to && part.from >= to)
    throw ConfigError(str("cannot play a sound from ", part.from, " to ", to, " seconds"),
                      "the end is not after the beginning", "give a later end, or an earlier beginning");
  // A typed end may have been rounded up.
  if (!(part.from >= 0 && part.from < to && to <= seconds() + 1e-3))
    throw ConfigError(str("cannot play a sound from ", part.from, " to ", to, " seconds"),
                      str("it lasts ", seconds(), " seconds"), "give a part that lies within it");
  const auto rate = static_cast<double>(part.rate > 0 ? part.rate : options().rate);
  const std::int64_t frames = std::llround((to - part.from) * rate);
  if (frames < 1)
    throw ConfigError(str("there is no frame from ", part.from, " to ", to, " seconds"),
                      str("a frame lasts ", 1 / rate, " seconds"), "give a longer part, or a higher rate");
  return frames;
}

RenderOptions SoundField::placed(const SoundPart& part) const {
  const auto own = static_cast<double>(rate()), length = static_cast<double>(options().height);
  const auto rate = static_cast<double>(part.rate > 0 ? part.rate : options().rate);
  // Frame i of the sound is the middle of its cell of the lattice. Drawn frames are the middles of cells that
  // are own / rate as long, so drawing begins half a cell before `from`.
  RenderOptions how;
  how.share = part.share;
  how.region.y = (part.from * own + 0.5 - 0.5 * own / rate) / length;
  how.region.height = static_cast<double>(frames(part)) * own / rate / length;
  return how;
}

double SoundField::samples_a_frame(const SoundPart& part) const {
  return samples_a_pixel({1, frames(part)}, placed(part));
}

void SoundField::render_bands(const SoundPart& part, const Band& band) const {
  Field::render_bands({1, frames(part)}, placed(part), [&](const Tensor& rows, std::int64_t first) {
    NoGrad off;
    return band(affine(reshape(rows, {rows.size(0), rows.size(2)}), options().peak, 0), first);
  });
}

Tensor SoundField::render(const SoundPart& part) const {
  const Tensor sound = empty({frames(part), options().channels}, DType::f32);
  render_bands(part, [&](const Tensor& rows, std::int64_t first) {
    slice(sound, 0, first, first + rows.size(0)).assign(rows);
    return true;
  });
  return sound;
}

}  // namespace veldt::field
