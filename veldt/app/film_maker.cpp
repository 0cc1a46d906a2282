// Keeps frames of a fit, and writes them as an APNG.
#include "veldt/app/film_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "veldt/app/field_pixels.h"
#include "veldt/core/error.h"
#include "veldt/io/animation.h"
#include "veldt/io/clip.h"

namespace veldt::app {
namespace {

constexpr std::int64_t kLeastSide = 160, kMostSide = 320, kMostEnlarged = 4;
constexpr double kFrameSeconds = 0.05, kLastSeconds = 2;
constexpr double kStepGrowth = 1.04;  // from a look to the next
constexpr std::int64_t kMostBytes = std::int64_t{24} << 20;

Size film_size(const field::FieldOptions& o) {
  const std::int64_t side =
      std::clamp(kMostEnlarged * std::min(std::max(o.width, o.height), kMostSide), kLeastSide, kMostSide);
  return fitted_into({side, side}, o.width, o.height);
}

// The next step to look at after one.
std::int64_t look_after(std::int64_t step) {
  return std::max(step + 1, static_cast<std::int64_t>(static_cast<double>(step) * kStepGrowth));
}

double difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(int{a[i]} - int{b[i]});
  return static_cast<double>(sum) / 255 / static_cast<double>(a.size());
}

// Every second frame and the last.
template <class Frame> void thin_out(std::vector<Frame>& frames) {
  std::vector<Frame> kept;
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (i % 2 == 0 || i + 1 == frames.size()) kept.push_back(std::move(frames[i]));
  frames = std::move(kept);
}

}  // namespace

FilmMaker::FilmMaker(std::string path, const field::Field& field)
    : path_(std::move(path)), field_(field), size_(film_size(field.options())) {
  if (field.options().is_sound())
    throw UsageError("there is no film of a sound", "--film shows pictures", "leave --film out");
}

FilmMaker::Pixels FilmMaker::draw() const {
  field::RenderOptions how;
  // All samples of a picture that is made smaller would take long.
  how.supersample = size_.width >= 2 * field_.options().width ? 1 : 2;
  return rgb_pixels(field_, size_, how);
}

void FilmMaker::keep(Pixels picture) {
  frames_.push_back(std::move(picture));
  if (frames() <= kMostFrames) return;
  thin_out(frames_);
  least_change_ *= 2;
}

bool FilmMaker::begin(std::int64_t step) {
  for (next_ = 1; next_ <= step;) next_ = look_after(next_);
  std::error_code none;
  if (step > 0 && std::filesystem::exists(path_, none)) {
    const io::Clip clip = io::read_clip(path_);
    const Tensor& all = clip.frames;
    if (all.size(1) != size_.height || all.size(2) != size_.width)
      throw UsageError(fmt::format("{} is not the film of this run", path_),
                       fmt::format("its frames are {}x{}, and this run's {}x{}", all.size(2), all.size(1),
                                   size_.width, size_.height),
                       "give --film another name");
    const std::int64_t pixels = size_.width * size_.height, channels = all.size(3);
    const std::uint8_t* from = all.data<std::uint8_t>();
    for (std::int64_t f = 0; f < all.size(0); ++f) {
      Pixels picture;
      for (std::int64_t i = 0; i < pixels; ++i, from += channels)
        for (std::int64_t c = 0; c < 3; ++c) picture.push_back(from[channels > 2 ? c : 0]);
      keep(std::move(picture));
    }
    return true;
  }
  keep(draw());
  return step == 0;
}

void FilmMaker::on_step(std::int64_t step) {
  if (step < next_) return;
  next_ = look_after(step);
  Pixels picture = draw();
  if (!frames_.empty() && difference(picture, frames_.back()) < least_change_) return;
  keep(std::move(picture));
}

void FilmMaker::save() const {
  std::vector<const Pixels*> shown;
  for (const Pixels& picture : frames_) shown.push_back(&picture);
  for (;;) {
    io::Animation film(size_);
    for (const Pixels* picture : shown)
      film.add(*picture, picture == shown.back() ? kLastSeconds : kFrameSeconds);
    if (film.bytes() <= kMostBytes || shown.size() <= 2) return film.write(path_);
    thin_out(shown);
  }
}

void FilmMaker::finish() {
  Pixels last = draw();
  if (frames_.empty() || last != frames_.back()) frames_.push_back(std::move(last));
  save();
}

}  // namespace veldt::app
