// veldt compare A B: how similar two pictures or two sounds are; each may be a model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "veldt/app/compare_clips.h"
#include "veldt/app/compare_sounds.h"
#include "veldt/app/drawing.h"
#include "veldt/cli/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/cli/option_tree.h"
#include "veldt/app/progress_line.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/two_tones.h"
#include "veldt/app/verbs.h"
#include "veldt/data/resample.h"
#include "veldt/io/image.h"
#include "veldt/io/sound.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/picture_scores.h"

namespace veldt::app {
namespace {

constexpr const char* kCompareExamples =
    "  veldt compare cub.png cub.safetensors         the model is drawn at the picture's size\n"
    "  veldt compare truth.png redrawn.png --diff where.png\n"
    "  veldt compare a.png b.png --min-psnr 40       exits with 8 if they are less similar\n"
    "  veldt compare a.png b.png --json              {\"psnr\":..,\"ssim\":..,\"mae\":..,\"max_abs\":..,"
    "\"wrong_pixels\":..}\n"
    "  veldt compare bach.wav bach.safetensors\n"
    "  veldt compare clip.gif clip.safetensors       frame by frame, and all together\n"
    "\n"
    "PSNR is over all channels. SSIM uses Gaussian windows of 11 x 11. MAE and the largest error are in\n"
    "8-bit levels. Where one of the two has only two colours, wrong pixels are those that are nearer to\n"
    "the other colour. The larger of two pictures of the same shape is shrunk to the other's size.\n"
    "Identical pictures have an infinite PSNR, which --json gives as 999 with \"identical\": true, because\n"
    "JSON has no infinity. Where a model draws NaN, the measures are NaN too (--json: null), and --diff is\n"
    "white there. Sounds are compared by SNR: the power of A to that of B - A.\n";

struct CompareFlags {
  std::string a, b, diff;
  std::optional<double> min_psnr;
  std::int64_t max_pixels = kMaxPixels;
};

// A picture, as bytes where 8 bits hold its levels, or a model that is not drawn yet.
struct Side {
  std::string path;
  std::optional<field::Signal> picture;
  std::optional<field::ImageField> model;
};

Side load_side(const std::string& path, std::int64_t max_pixels, const Context& context) {
  Side side{.path = path, .picture = {}, .model = {}};
  if (kind_of_file(path) == FileKind::safetensors) {
    side.model = field::ImageField::load(path);
    if (side.model->options().is_clip())
      throw UsageError(fmt::format("cannot compare {}", path), "it holds an animated picture",
                       "compare it with a clip, or draw one moment of it first: veldt render, with --at");
  } else {
    side.picture.emplace(load_picture(path, max_pixels, context, true));
  }
  return side;
}

Size size_of(const Side& side) { return {side.picture->columns(), side.picture->rows()}; }

// A picture's own size; between two models the larger one's.
Size common_size(const Side& a, const Side& b) {
  for (const Side* side : {&a, &b})
    if (!side->model) return size_of(*side);
  const auto& x = a.model->options();
  const auto& y = b.model->options();
  // As doubles: sizes from a file may be huge.
  const bool first = static_cast<double>(x.width) * static_cast<double>(x.height) >=
                     static_cast<double>(y.width) * static_cast<double>(y.height);
  return first ? Size{x.width, x.height} : Size{y.width, y.height};
}

// With two models, neither the command line nor a picture sets the size, so a note says it.
void note_size(const Side& a, const Side& b, Size size) {
  const auto is_fitted_to = [&](const Side& side) {
    return side.model->options().width == size.width && side.model->options().height == size.height;
  };
  if (a.model && b.model && !(is_fitted_to(a) && is_fitted_to(b)))
    print_note(fmt::format("both are drawn at {}x{}, the size of {}", size.width, size.height,
                           is_fitted_to(a) ? a.path : b.path));
  for (const Side* side : {&a, &b})
    if (side->model) {
      const auto w = static_cast<double>(side->model->options().width),
                 h = static_cast<double>(side->model->options().height);
      if (is_stretched(w, h, size.width, size.height))
        print_note(fmt::format("{} is stretched: it was fitted to {:g}x{:g}", side->path, w, h));
    }
}

void draw(Side& side, Size size, int bits, std::int64_t max_pixels, const Context& context) {
  if (!side.model) return;
  if (size.width > max_pixels / size.height)
    throw UsageError(
        fmt::format("cannot draw {} at {} x {} to compare it", side.path, size.width, size.height),
        fmt::format("at most {} pixels are compared", max_pixels),
        "raise --max-pixels, or render parts of both with --crop and compare those");
  side.picture.emplace(rounded(draw_field(*side.model, size.width, size.height, context), bits));
}

// Bits per sample with which a model is drawn for the comparison: the picture's, or those that it was fitted
// to.
int bits_of(const Side& a, const Side& b) {
  const auto own = [](const Side& side) {
    return side.model ? side.model->options().bits : side.picture->bits();
  };
  return std::max(own(a), own(b));
}

// The larger of two pictures of one shape is shrunk to the smaller one's size, weighted by alpha: the colours
// of invisible pixels are not part of a mean.
void shrink(Side& side, Size size, const Context& context) {
  const field::Signal& picture = *side.picture;
  if (picture.columns() == size.width && picture.rows() == size.height) return;
  if (!context.quiet)
    print_note(fmt::format("{} is shrunk from {}x{} to {}x{} by the mean over each pixel's area", side.path,
                           picture.columns(), picture.rows(), size.width, size.height));
  side.picture.emplace(rounded(data::resample(over_white(picture.read(0, picture.rows())),
                                              {size.width, size.height}, data::Filter::area),
                               picture.bits()));
}

bool has_alpha(const Side& side) { return side.picture->channels() % 2 == 0; }

// Two pictures of one size, converted to numbers some rows at a time.
class Pair {
 public:
  Pair(Side a, Side b)
      : a_(std::move(a)), b_(std::move(b)), channels_(std::max(colours(a_), colours(b_))), tones_(tones()) {}

  std::int64_t width() const { return a_.picture->columns(); }
  std::int64_t height() const { return a_.picture->rows(); }
  std::int64_t channels() const { return channels_; }
  // The two colours of the picture that has only two, so that a pixel of the other can be on the wrong side;
  // if both have only two, the pair that differs more.
  const std::optional<Tensor>& two_tones() const { return tones_; }

  // Calls use(a, b) with the same rows of both, f32 [rows, width, channels], from top to bottom.
  template <class Use> void bands(const Use& use) const {
    const std::int64_t rows = std::max<std::int64_t>(1, (std::int64_t{1} << 22) / (width() * channels_));
    for (std::int64_t first = 0; first < height(); first += rows) {
      const std::int64_t count = std::min(rows, height() - first);
      use(band(a_, first, count), band(b_, first, count));
    }
  }

 private:
  static std::int64_t colours(const Side& side) {
    return side.picture->channels() - (has_alpha(side) ? 1 : 0);
  }
  Tensor as_seen(const Tensor& picture) const { return grey_repeated(over_white(picture), channels_); }
  Tensor band(const Side& side, std::int64_t first, std::int64_t count) const {
    return as_seen(side.picture->read(first, count));
  }
  std::optional<Tensor> tones() const {
    std::optional<Tensor> found;
    double largest = 0;
    for (const Side* side : {&a_, &b_})
      if (const auto own = two_tones_of(*side->picture)) {
        const Tensor seen = as_seen(*own);
        const double difference = sum(square(slice(seen, 1, 0, 1) - slice(seen, 1, 1, 2))).item();
        if (difference > largest) found = seen;
        largest = std::max(largest, difference);
      }
    return found;
  }

  Side a_, b_;
  std::int64_t channels_;
  std::optional<Tensor> tones_;
};

Pair alike(Side a, Side b, std::int64_t max_pixels, const Context& context) {
  const Size size = common_size(a, b);
  if (!context.quiet) note_size(a, b, size);
  const int bits = bits_of(a, b);
  draw(a, size, bits, max_pixels, context);
  draw(b, size, bits, max_pixels, context);
  const Size of_a = size_of(a), of_b = size_of(b), least = of_a.width < of_b.width ? of_a : of_b;
  const bool are_equal = of_a.width == of_b.width && of_a.height == of_b.height,
             is_smaller =
                 of_a.width != of_b.width && (of_a.width < of_b.width) == (of_a.height < of_b.height);
  if (!are_equal && (!is_smaller || is_stretched(static_cast<double>(of_a.width),
                                                 static_cast<double>(of_a.height), of_b.width, of_b.height)))
    throw UsageError(fmt::format("cannot compare pictures of {} x {} and {} x {}", of_a.width, of_a.height,
                                 of_b.width, of_b.height),
                     fmt::format("{} and {} differ in shape", a.path, b.path),
                     "cut or resize one of them, or give the model itself: it is drawn at the other's size");
  for (Side* side : {&a, &b}) {
    if (has_alpha(*side) && !context.quiet)
      print_note(fmt::format("{} has alpha and is laid over white", side->path));
    shrink(*side, least, context);
  }
  return {std::move(a), std::move(b)};
}

train::PictureScore score_of_pair(const Pair& pair, const Context& context) {
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  train::PictureComparison comparison({pair.width(), pair.height()}, pair.channels());
  std::int64_t done = 0, wrong = 0;
  pair.bands([&](const Tensor& a, const Tensor& b) {
    comparison.add(a, b);
    if (pair.two_tones()) wrong += wrong_pixels(a, b, *pair.two_tones());
    line.update_rows(done += a.size(0), pair.height(), "comparing row");
  });
  line.finish();
  train::PictureScore score = comparison.score();
  if (pair.two_tones()) score.wrong_pixels = wrong;
  return score;
}

std::span<float> values_of(Tensor& t) { return {t.data<float>(), static_cast<std::size_t>(t.numel())}; }

// |a - b|, stretched so that the largest difference is white. NaN is white too; returns how many values are
// NaN.
std::int64_t write_difference(const std::string& path, const Pair& pair) {
  float largest = 0;
  std::int64_t no_numbers = 0;
  pair.bands([&](const Tensor& a, const Tensor& b) {
    Tensor difference = abs(a - b);
    for (const float d : values_of(difference)) {
      if (std::isnan(d)) ++no_numbers;
      if (d > largest) largest = d;
    }
  });
  io::ImageWriter file(path, {pair.width(), pair.height()}, pair.channels());
  pair.bands([&](const Tensor& a, const Tensor& b) {
    Tensor difference = largest > 0 ? abs(a - b) * (1 / static_cast<double>(largest)) : abs(a - b);
    for (float& d : values_of(difference))
      if (std::isnan(d)) d = 1;
    file.write_rows(difference.data<float>(), difference.size(0));
  });
  file.finish();
  return no_numbers;
}

// Without the sign that a NaN may have.
double unsigned_nan(double x) { return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x; }

std::string score_in_words(const train::PictureScore& score, std::int64_t pixels, bool has_two_tones) {
  std::string text = std::isinf(score.psnr)
                         ? "PSNR           inf (identical)\n"
                         : fmt::format("PSNR           {:.2f} dB\n", unsigned_nan(score.psnr));
  text += fmt::format("SSIM           {:.5f}\n", unsigned_nan(score.ssim));
  text += fmt::format("MAE            {:.3f} of 255\n", score.mae);
  text += fmt::format("largest error  {:.1f} of 255\n", score.max_abs);
  if (has_two_tones) text += fmt::format("wrong pixels   {} of {}\n", score.wrong_pixels, pixels);
  return text;
}

void print_score(const train::PictureScore& score, const Pair& pair, Context& context) {
  if (!context.json)
    return context.out.text(
        score_in_words(score, pair.width() * pair.height(), pair.two_tones().has_value()));
  const bool identical = std::isinf(score.psnr);
  context.out.json({{"psnr", decibels_in_json(score.psnr)},
                    {"ssim", score.ssim},
                    {"mae", score.mae},
                    {"max_abs", score.max_abs},
                    {"wrong_pixels", score.wrong_pixels},
                    {"identical", identical}});
}

// Written so that a NaN fails.
void require(const char* measure, double decibels, const std::optional<double>& least) {
  if (least && !(decibels >= *least))
    throw ThresholdError(fmt::format("{} {:.4f} dB is below {} dB", measure, decibels, *least),
                         "--min-psnr requires more",
                         "fit for longer or with a larger network, or ask for less");
}

int compare(const CompareFlags& flags, Context& context) {
  if (!flags.diff.empty()) check_output(flags.diff, "--diff", {flags.a, flags.b}, context);
  if (is_sound(flags.a) || is_sound(flags.b)) {
    require("SNR", compare_sounds(flags.a, flags.b, flags.diff, flags.max_pixels, context), flags.min_psnr);
    return kOk;
  }
  if (is_clip(flags.a) && is_clip(flags.b)) {
    if (!flags.diff.empty())
      throw UsageError("--diff does not fit animated pictures", "it is one picture",
                       "leave it out, or compare moments that veldt render --at draws");
    require("PSNR", compare_clips(flags.a, flags.b, flags.max_pixels, context), flags.min_psnr);
    return kOk;
  }
  const NoGrad off;
  Side a = load_side(flags.a, flags.max_pixels, context), b = load_side(flags.b, flags.max_pixels, context);
  const Pair pair = alike(std::move(a), std::move(b), flags.max_pixels, context);
  const train::PictureScore score = score_of_pair(pair, context);
  if (!flags.diff.empty())
    if (const std::int64_t bad = write_difference(flags.diff, pair); bad > 0)
      print_note(fmt::format("{} of {} values are not numbers, and white in {}", bad,
                             pair.width() * pair.height() * pair.channels(), flags.diff));
  print_score(score, pair, context);
  require("PSNR", score.psnr, flags.min_psnr);
  return kOk;
}

}  // namespace

Run add_compare(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<CompareFlags>();
  add_path(verb, "A", flags->a,
           fmt::format("a picture ({}), pixel table (CSV), sound ({}) or model (safetensors)",
                       io::kPictureFormats, io::kSoundFormats))
      .required();
  add_path(verb, "B", flags->b,
           "another one; a model is drawn at the picture's size, or played at the sound's rate")
      .required();
  add_number(verb, "--min-psnr", flags->min_psnr, {},
             "exit with 8 if the PSNR (of sounds: the SNR) is below X dB");
  add_path(verb, "--diff", flags->diff,
           "write |A - B| as a picture, stretched so that the largest difference is white; of sounds B - A");
  add_max_pixels(verb, flags->max_pixels, true);
  add_threads(verb, context);
  verb.examples(kCompareExamples);
  return [flags, &context] { return compare(*flags, context); };
}

}  // namespace veldt::app
