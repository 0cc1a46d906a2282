// veldt pack: a picture as a small file.
#include "veldt/pack/pack.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "veldt/app/drawing.h"
#include "veldt/app/inputs.h"
#include "veldt/app/output_name.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/colour.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

struct PackFlags {
  std::string input, output;
  std::string family = "auto";
  pack::PackOptions options;
  std::optional<double> bpp;
  std::optional<Colour> background;
  std::int64_t seed = 1;
  std::int64_t max_pixels = std::int64_t{1} << 24;
};

// u8, whatever the file has.
Tensor picture_to_pack(const PackFlags& flags, const Context& context) {
  NoGrad off;
  Tensor picture = load_picture(flags.input, flags.max_pixels, context, true);
  if (picture.dtype() != DType::u8 && !context.quiet && kind_of_file(flags.input) == FileKind::picture &&
      io::image_info(flags.input).bit_depth > 8)
    print_note(fmt::format("{} has more than 8 bits a sample, and a packed picture has 8",
                           on_one_line(flags.input)));
  if (flags.background && picture.size(2) % 2 == 0) {
    const Tensor numbers = picture.dtype() == DType::u8 ? to(picture, DType::f32) / 255 : picture;
    picture =
        laid_over(numbers, *flags.background, picture.size(2) == 2 && flags.background->is_grey() ? 1 : 3);
  }
  if (picture.dtype() == DType::u8) return picture;
  return to(round(clamp(picture, 0, 1) * 255), DType::u8);
}

std::string in_words(const pack::Packed& packed) {
  if (packed.family == codec::Family::drawing) return "exact";
  return fmt::format("a photograph, {:.2f} dB", packed.psnr);
}

// What ends exact pixels that nobody wants any more.
struct Stopped {};

// Tells how far the work is, until it shall stop.
class PackProgressLine {
 public:
  PackProgressLine(const StopOnSignal& stop, bool quiet)
      : stop_(stop), line_({.quiet = quiet, .show_after = 2}) {}

  bool operator()(const pack::PackProgress& p) {
    if (p.exact) {
      if (stop_.requested()) throw Stopped();
      line_.update_rows(p.step, p.steps, "exact row");
      return true;
    }
    if (p.step == 0) {
      line_.update(0, "looking at the picture");
      return !stop_.requested();
    }
    if (p.step == 1) start_ = std::chrono::steady_clock::now();
    const double share = static_cast<double>(p.step) / static_cast<double>(p.steps),
                 passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    line_.update(share, fmt::format("step {}/{}  {:.3f} bits a pixel  {:.2f} dB  ETA {}", p.step, p.steps,
                                    p.bits_a_pixel, p.psnr,
                                    clock_time(p.step > 1 ? passed * (1 - share) / share : -1)));
    return !stop_.requested();
  }

 private:
  const StopOnSignal& stop_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point start_;
};

// Why a file is not of the size, or the quality, that was asked for; empty if it is near.
std::string far_off(const pack::PhotographOptions& asked, double bpp, double psnr, bool has_alpha) {
  constexpr std::int64_t kFewSteps = 300;
  constexpr double kFar = 1.2, kFarDecibels = 0.5;
  if (asked.psnr && psnr < *asked.psnr - kFarDecibels)
    return fmt::format(
        "it has {:.2f} dB in place of {:g}: more --steps get nearer, unless it is more than these networks "
        "can "
        "say of the picture; --family exact keeps all of it",
        psnr, *asked.psnr);
  if (asked.psnr || bpp <= kFar * asked.bits_a_pixel) return {};
  std::string text = fmt::format("it has {:.3f} bits a pixel in place of {:g}: ", bpp, asked.bits_a_pixel);
  if (asked.steps < kFewSteps) text += "more --steps get nearer, ";
  if (has_alpha) text += "alpha is kept exactly, ";
  return text + "the networks take some hundred bytes, and some detail costs more than that";
}

int pack_picture(PackFlags& flags, Context& context) {
  flags.options.photograph.bits_a_pixel = flags.bpp.value_or(flags.options.photograph.bits_a_pixel);
  check_output(flags.output, "--output", {flags.input}, context);
  check_ending(flags.output, "--output", kPackedPicture);
  flags.options.wanted = flags.family == "exact"        ? pack::Wanted::exact
                         : flags.family == "photograph" ? pack::Wanted::photograph
                                                        : pack::Wanted::automatic;
  flags.options.photograph.seed = static_cast<std::uint32_t>(flags.seed);
  const Tensor picture = picture_to_pack(flags, context);
  StopOnSignal stop(note_of_stop(context.quiet));
  pack::Packed packed;
  try {
    PackProgressLine line(stop, context.quiet);
    packed = pack::pack(picture, flags.options, line);
  } catch (const Stopped&) {
    if (!context.quiet) print_note(fmt::format("stopped; {} was not written", on_one_line(flags.output)));
    return stop.exit_code();
  }
  io::write_file(flags.output, packed.bytes);
  const double pixels = static_cast<double>(picture.size(0)) * static_cast<double>(picture.size(1));
  const double bpp = 8 * static_cast<double>(packed.bytes.size()) / pixels;
  const bool exact = packed.family == codec::Family::drawing;
  if (!context.quiet && !exact && !stop.requested())
    if (const std::string why = far_off(flags.options.photograph, bpp, packed.psnr, picture.size(2) % 2 == 0);
        !why.empty())
      print_note(why);
  if (context.json) {
    nlohmann::ordered_json out = {{"output", flags.output},
                                  {"width", picture.size(1)},
                                  {"height", picture.size(0)},
                                  {"family", exact ? "drawing" : "photograph"},
                                  {"bytes", packed.bytes.size()},
                                  {"bits_a_pixel", bpp},
                                  {"exact", exact}};
    if (std::isfinite(packed.psnr)) out["psnr"] = packed.psnr;
    context.out.json(out);
  } else {
    context.out.text(fmt::format("{}: {}x{}, {}, {} bytes, {:.3f} bits a pixel\n", on_one_line(flags.output),
                                 picture.size(1), picture.size(0), in_words(packed), packed.bytes.size(),
                                 bpp));
  }
  return stop.requested() ? stop.exit_code() : kOk;
}

}  // namespace

Run add_pack(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<PackFlags>();
  add_path(verb, "PICTURE", flags->input, fmt::format("a picture ({})", io::kPictureFormats)).required();
  add_path(verb, "-o,--output", flags->output, "the packed picture to write (.vp)").required();
  Setting& bpp =
      add_number(verb, "--bpp", flags->bpp, {.least = pack::kLeastBits, .most = pack::kMostBits},
                 "bits a pixel of a photograph: 0.1 is small, 2 is hardly to be told from the picture");
  bpp.option->default_str("0.5");
  add_number(verb, "--psnr", flags->options.photograph.psnr,
             {.least = pack::kLeastPsnr, .most = pack::kMostPsnr},
             "so many dB of a photograph in place of a size: 32 is fair, 38 good")
      .excludes(bpp)
      .option->default_str("");
  add_choice(
      verb, "--family", flags->family, {"auto", "photograph", "exact"},
      "auto packs exactly what takes no more than --bpp so, or no more than the photograph: it tries small "
      "pictures, few colours, screens and pages, and alpha");
  add_count(verb, "--steps", flags->options.photograph.steps, {.least = 1, .most = 1'000'000},
            "of learning a photograph: more make it better, and take longer");
  add_text(verb, "--background", "COLOUR", "lay a picture with alpha over this colour: white, #1e90ff",
           [flags](auto& source, auto& text) { flags->background = colour_from(source, text); });
  add_count(verb, "--seed", flags->seed, {.least = 0, .most = 4'294'967'295}, "of the noise while it learns");
  add_max_pixels(verb, flags->max_pixels);
  add_threads(verb, context);
  verb.examples(
      "  veldt pack photo.jpg -o photo.vp --bpp 0.3\n"
      "  veldt pack photo.jpg -o photo.vp --psnr 38          quality asked in place of size\n"
      "  veldt pack drawing.png -o drawing.vp\n"
      "  veldt pack logo.png -o logo.vp --family exact\n");
  return [flags, &context] { return pack_picture(*flags, context); };
}

}  // namespace veldt::app
