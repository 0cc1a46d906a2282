// Draws the field of a fit into the panel of its progress line, now and then.
#include "veldt/app/picture_panel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "veldt/app/field_pixels.h"

namespace veldt::app {
namespace {

constexpr double kPictureEvery = 0.5;   // seconds
constexpr double kPictureShare = 0.01;  // of the time, at most
constexpr double kPicturePoints = 1 << 16;

}  // namespace

PicturePanel::PicturePanel(ProgressLine& line, const field::Field& field, PictureWay way,
                           std::function<double()> clock)
    : line_(line),
      field_(field),
      way_(field.options().is_sound() ? PictureWay::off : way),
      clock_(std::move(clock)) {
  if (!clock_)
    clock_ = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
}

void PicturePanel::on_step() {
  if (way_ == PictureWay::off) return;
  const double begin = clock_();
  if (begin < next_at_) return;
  draw();
  const double now = clock_();
  next_at_ = std::max(begin + kPictureEvery, now + (now - begin) / kPictureShare);
}

void PicturePanel::draw() {
  const field::FieldOptions& o = field_.options();
  const PicturePlace place = picture_place(way_, stderr_terminal(), o.width, o.height);
  if (place.rows == 0) {
    line_.set_panel({});
    return;
  }
  field::RenderOptions how;
  // Not all samples of a large picture, which would take long.
  const double pixels = static_cast<double>(place.pixels.width * place.pixels.height);
  how.supersample = static_cast<int>(std::clamp(std::sqrt(kPicturePoints / pixels), 2.0, 8.0));
  PictureText text = picture_text(way_, place, rgb_pixels(field_, place.pixels, how), has_true_colour());
  line_.set_panel(std::move(text.lines), std::move(text.over));
}

}  // namespace veldt::app
