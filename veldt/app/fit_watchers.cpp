// Draws previews, and tells the terminal's picture and the film of each step.
#include "veldt/app/fit_watchers.h"

#include <fmt/format.h>

#include <utility>

#include "veldt/app/drawing.h"
#include "veldt/core/error.h"

namespace veldt::app {
namespace {

// Draws the whole picture or sound as the field has it now.
void write_preview(const std::string& path, const field::Field& field) {
  const Drawing drawing(field);
  DrawnFile file(path, drawing);
  drawing.bands([&file](const Tensor& band, std::int64_t) {
    file.write(band);
    return true;
  });
  file.finish();
}

}  // namespace

std::string preview_path(const std::string& name, std::int64_t step) {
  std::string path = name;
  if (const auto at = path.find("{step}"); at != std::string::npos)
    path.replace(at, 6, fmt::format("{:06}", step));
  return path;
}

FitWatchers::FitWatchers(Previews previews, std::optional<FilmMaker> film, PictureWay way,
                         const field::Field& field, ProgressLine& line)
    : previews_(std::move(previews)),
      film_(std::move(film)),
      field_(field),
      line_(line),
      panel_(line, field, way) {}

// The disk may have space again later, and training matters more.
template <class Write> void FitWatchers::write_or_warn(const Write& write) {
  try {
    write();
  } catch (const IoError& e) {
    line_.warn(fmt::format("{} ({}); training continues", e.summary(), e.why()));
  }
}

void FitWatchers::preview(std::int64_t step) {
  if (previews_.path.empty() || step % previews_.every != 0) return;
  write_or_warn([&] { write_preview(preview_path(previews_.path, step), field_); });
}

void FitWatchers::begin(std::int64_t step) {
  if (film_ && !film_->begin(step))
    line_.note(fmt::format("the film begins at step {}: there was none of the steps before", step));
  if (step == 0) preview(step);
}

void FitWatchers::on_step(std::int64_t step) {
  has_seen_a_step_ = true;
  panel_.on_step();
  if (film_) film_->on_step(step);
  preview(step);
}

void FitWatchers::saved() {
  if (film_) write_or_warn([this] { film_->save(); });
}

void FitWatchers::finish(bool goes_on) {
  if (!film_) return;
  if (goes_on)
    film_->save();
  else
    film_->finish();
}

}  // namespace veldt::app
