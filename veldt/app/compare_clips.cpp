// Compares animated pictures frame by frame.
#include "veldt/app/compare_clips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "veldt/app/drawing.h"
#include "veldt/app/inputs.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/render_film.h"
#include "veldt/core/error.h"
#include "veldt/io/clip.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/operators.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/picture_scores.h"

namespace veldt::app {
namespace {

// The frames of a file, or a model that is drawn at theirs.
struct ClipSide {
  std::optional<io::Clip> clip;
  std::optional<field::Field> model;
  std::int64_t frames = 0;
  Size size;

  // f32 [height, width, channels] in 0..1, in levels of 8 bits.
  Tensor picture(std::int64_t frame, double time, Size drawn) const {
    if (clip) return to(clip->frames[frame], DType::f32) * (1 / 255.0);
    Drawing drawing(field::ImageField(*model), drawn.width, drawn.height);
    drawing.set_time(time);
    return rounded(picture_of(drawing), 8);
  }
};

ClipSide load_clip_side(const std::string& path, std::int64_t max_pixels) {
  ClipSide side;
  if (kind_of_file(path) == FileKind::safetensors) {
    side.model = field::Field::load(path);
    const field::FieldOptions& o = side.model->options();
    side.frames = o.frames, side.size = {o.width, o.height};
  } else {
    side.clip = io::read_clip(path, {.max_pixels = max_pixels});
    side.frames = side.clip->frames.size(0);
    side.size = {side.clip->frames.size(2), side.clip->frames.size(1)};
  }
  return side;
}

// The middles of the frames, as shares of the whole time.
std::vector<double> moments_of(const ClipSide& side) {
  std::vector<double> moments;
  double begin = 0;
  for (std::int64_t i = 0; i < side.frames; ++i) {
    const double shown = side.clip ? side.clip->seconds[static_cast<std::size_t>(i)] / side.clip->duration()
                                   : 1 / static_cast<double>(side.frames);
    moments.push_back(begin + shown / 2);
    begin += shown;
  }
  return moments;
}

std::string in_decibels(double psnr) {
  return std::isinf(psnr) ? "inf (identical)" : std::isnan(psnr) ? "nan" : fmt::format("{:.2f} dB", psnr);
}

}  // namespace

bool is_clip(const std::string& path) {
  const FileKind kind = kind_of_file(path);
  if (kind == FileKind::safetensors) {
    const auto metadata = io::read_safetensors_header(path).metadata;
    return field::field_kind(metadata) == "image_field" && metadata.contains("options") &&
           field::field_options_from_json(metadata.at("options")).is_clip();
  }
  return kind == FileKind::picture && io::is_clip(path);
}

double compare_clips(const std::string& a, const std::string& b, std::int64_t max_pixels, Context& context) {
  const NoGrad off;
  const ClipSide one = load_clip_side(a, max_pixels), other = load_clip_side(b, max_pixels);
  const ClipSide& given = one.clip || !other.clip ? one : other;  // whose size and moments are compared
  if (one.clip && other.clip &&
      (one.frames != other.frames || one.size.width != other.size.width ||
       one.size.height != other.size.height))
    throw UsageError(
        "cannot compare these animated pictures",
        fmt::format("one has {} frames of {}x{}, and the other {} of {}x{}", one.frames, one.size.width,
                    one.size.height, other.frames, other.size.width, other.size.height),
        "give the model itself: it is drawn at the other's frames");
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  std::vector<double> psnrs;
  double squared = 0, ssim = 0, mae = 0, max_abs = 0;
  for (const double moment : moments_of(given)) {
    const auto i = static_cast<std::int64_t>(psnrs.size());
    const Tensor x = over_white(one.picture(i, moment, given.size)),
                 y = over_white(other.picture(i, moment, given.size));
    const std::int64_t channels = std::max(x.size(2), y.size(2));
    train::PictureComparison comparison(given.size, channels);
    comparison.add(grey_repeated(x, channels), grey_repeated(y, channels));
    const train::PictureScore score = comparison.score();
    psnrs.push_back(score.psnr);
    squared += std::pow(10, -score.psnr / 10) / static_cast<double>(given.frames);
    ssim += score.ssim / static_cast<double>(given.frames);
    mae += score.mae / static_cast<double>(given.frames);
    if (!(score.max_abs <= max_abs)) max_abs = score.max_abs;  // a NaN stays
    line.update_rows(i + 1, given.frames, "comparing frame");
  }
  line.finish();
  const double psnr = -10 * std::log10(squared);
  if (context.json) {
    nlohmann::ordered_json frames = nlohmann::ordered_json::array();
    for (const double each : psnrs) frames.push_back(decibels_in_json(each));
    context.out.json({{"psnr", decibels_in_json(psnr)},
                      {"ssim", ssim},
                      {"mae", mae},
                      {"max_abs", max_abs},
                      {"frames", frames},
                      {"identical", std::isinf(psnr)}});
    return psnr;
  }
  for (std::size_t i = 0; i < psnrs.size(); ++i)
    context.out.text(fmt::format("{:<14} {}\n", fmt::format("frame {}", i + 1), in_decibels(psnrs[i])));
  context.out.text(
      fmt::format("PSNR           {}\nSSIM           {:.5f}\nMAE            {:.3f} of 255\n"
                  "largest error  {:.1f} of 255\n",
                  in_decibels(psnr), ssim, mae, max_abs));
  return psnr;
}

}  // namespace veldt::app
