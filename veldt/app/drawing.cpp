// Draws a field in bands that fit into memory, and writes each band as soon as it is there.
#include "veldt/app/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "veldt/ops/binary.h"
#include "veldt/ops/unary.h"

namespace veldt::app {
namespace {}  // namespace

Tensor laid_over(const Tensor& picture, const Colour& colour, std::int64_t channels) {
  const std::int64_t stored = picture.size(2), pixels = picture.size(0) * picture.size(1);
  const Tensor laid = empty({picture.size(0), picture.size(1), channels});
  const float below[] = {colour.red, colour.green, colour.blue};
  const float* from = picture.data<float>();
  float* to = laid.data<float>();
  for (std::int64_t i = 0; i < pixels; ++i, from += stored) {
    const float alpha = std::clamp(from[stored - 1], 0.0f, 1.0f);
    for (std::int64_t c = 0; c < channels; ++c) {
      const float above = std::clamp(from[stored == 2 ? 0 : c], 0.0f, 1.0f);
      *to++ = above * alpha + below[c] * (1 - alpha);
    }
  }
  return laid;
}

Drawing::Drawing(const field::Field& field)
    : field_(field), width_(field.options().width), height_(field.options().height) {}

Drawing::Drawing(const field::ImageField& field, std::int64_t width, std::int64_t height,
                 const field::RenderOptions& how)
    : field_(field), width_(width), height_(height), how_(how) {
  points_each();
}

Drawing::Drawing(const field::SoundField& field, const field::SoundPart& part)
    : field_(field), height_(field.frames(part)), part_(part) {}

std::int64_t Drawing::rate() const { return part_.rate > 0 ? part_.rate : field_.options().rate; }

std::int64_t Drawing::channels() const {
  const std::int64_t own = field_.options().channels;
  if (!background_ || is_sound() || own % 2 != 0) return own;
  return own == 2 && background_->is_grey() ? 1 : 3;
}

double Drawing::points_each() const {
  if (is_sound()) return field::SoundField(field_).samples_a_frame(part_);
  return field_.samples_a_pixel({width_, height_}, how_);
}

double Drawing::values() const {
  return static_cast<double>(width_) * static_cast<double>(height_) * static_cast<double>(channels());
}

std::string Drawing::in_words() const {
  if (!is_sound()) return fmt::format("{}x{}", width_, height_);
  return fmt::format("{:.2f} s at {} Hz", static_cast<double>(height_) / static_cast<double>(rate()), rate());
}

void Drawing::describe_in(nlohmann::ordered_json& out) const {
  if (is_sound())
    out.update({{"frames", height_}, {"rate", rate()}, {"channels", field_.options().channels}});
  else
    out.update({{"width", width_}, {"height", height_}});
}

void Drawing::bands(const field::Field::Band& band, const field::BandShare& share) const {
  field::SoundPart part = part_;
  field::RenderOptions how = how_;
  part.share = how.share = share;
  if (is_sound())
    field::SoundField(field_).render_bands(part, band);
  else
    field_.render_bands({width_, height_}, how, [&](const Tensor& rows, std::int64_t first) {
      return band(channels() == rows.size(2) ? rows : laid_over(rows, *background_, channels()), first);
    });
}

bool is_stretched(double part_width, double part_height, std::int64_t width, std::int64_t height) {
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  // One side follows from the other.
  return std::abs(w - h * part_width / part_height) >= 1 && std::abs(h - w * part_height / part_width) >= 1;
}

Tensor rounded(const Tensor& levels, int bits) {
  const auto most = static_cast<double>((1 << bits) - 1);
  return round(clamp(levels, 0, 1) * most) / most;
}

int bits_for(const Drawing& drawing, int wished, const std::string& path) {
  if (wished > 0) return wished;
  if (drawing.is_sound()) return 32;
  return io::format_for_name(path) == io::ImageFormat::png ? drawing.field().options().bits : 8;
}

void DrawnFile::check(const std::string& path, const Drawing& drawing, int bits) {
  const std::int64_t channels = drawing.channels();
  bits = bits_for(drawing, bits, path);
  if (drawing.is_sound())
    io::SoundWriter::check(path, drawing.height(), channels, drawing.rate(), {.bits = bits});
  else
    io::ImageWriter::check(path, {drawing.width(), drawing.height()}, channels, {.bits = bits});
}

DrawnFile::DrawnFile(const std::string& path, const Drawing& drawing, int bits) {
  const std::int64_t channels = drawing.channels();
  bits = bits_for(drawing, bits, path);
  if (drawing.is_sound())
    sound_ = std::make_unique<io::SoundWriter>(path, drawing.height(), channels, drawing.rate(),
                                               io::WriteSoundOptions{.bits = bits});
  else
    picture_ = std::make_unique<io::ImageWriter>(path, Size{drawing.width(), drawing.height()}, channels,
                                                 io::WriteOptions{.bits = bits});
}

DrawnFile::~DrawnFile() {
  if (encoding_.valid()) encoding_.wait();
}

void DrawnFile::write(const Tensor& band) {
  if (encoding_.valid()) encoding_.get();
  band_ = band;
  // Deferred if no thread can be started: get() then does the work.
  constexpr auto beside = std::launch::async | std::launch::deferred;
  encoding_ = std::async(beside, [this, from = band.data<float>(), rows = band.size(0)] {
    if (picture_)
      picture_->write_rows(from, rows);
    else
      sound_->write(from, rows);
  });
}

void DrawnFile::finish() {
  if (encoding_.valid()) encoding_.get();
  if (picture_)
    picture_->finish();
  else
    sound_->finish();
}

}  // namespace veldt::app
