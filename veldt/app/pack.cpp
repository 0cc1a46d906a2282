// veldt pack: a picture as a small file.
#include "veldt/pack/pack.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "veldt/app/drawing.h"
#include "veldt/app/inputs.h"
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
  std::optional<Colour> background;
  std::int64_t seed = 1;
  std::int64_t max_pixels = std::int64_t{1} << 24;
};

// u8, whatever the file has.
Tensor picture_to_pack(const PackFlags& flags, const Context& context) {
  NoGrad off;
  Tensor picture = load_picture(flags.input, flags.max_pixels, context, true);
  if (picture.dtype() != DType::u8 && !context.quiet)
    print_note(fmt::format("{} has more than 8 bits a sample, and a packed picture has 8",
                           on_one_line(flags.input)));
  if (flags.background && picture.size(2) % 2 == 0) {
    const Tensor numbers = picture.dtype() == DType::u8 ? to(picture, DType::f32) / 255 : picture;
    picture =
        laid_over(numbers, *flags.background, picture.size(2) == 2 && flags.background->is_grey() ? 1 : 3);
  }
  if (picture.size(2) % 2 == 0 && flags.family == "photograph")
    throw UsageError(fmt::format("cannot pack {} as a photograph", on_one_line(flags.input)),
                     "it has alpha, and a packed photograph has none",
                     "lay it over a colour with --background white, or keep it with --family exact");
  if (picture.dtype() == DType::u8) return picture;
  return to(round(clamp(picture, 0, 1) * 255), DType::u8);
}

std::string in_words(const pack::Packed& packed) {
  if (packed.family == codec::Family::drawing) return "exact";
  return fmt::format("a photograph, {:.2f} dB", packed.psnr);
}

int pack_picture(PackFlags& flags, Context& context) {
  check_output(flags.output, "--output", {flags.input}, context);
  if (io::is_picture_name(flags.output))
    throw UsageError(fmt::format("cannot pack into {}", on_one_line(flags.output)),
                     "what is written is no such picture, and no viewer would open it",
                     "let the name end in .vp");
  flags.options.wanted = flags.family == "exact"        ? pack::Wanted::exact
                         : flags.family == "photograph" ? pack::Wanted::photograph
                                                        : pack::Wanted::automatic;
  flags.options.photograph.seed = static_cast<std::uint32_t>(flags.seed);
  const Tensor picture = picture_to_pack(flags, context);
  StopOnSignal stop(note_of_stop(context.quiet));
  pack::Packed packed;
  {
    ProgressLine line({.quiet = context.quiet, .show_after = 2});
    packed = pack::pack(picture, flags.options, [&](const pack::PackProgress& p) {
      line.update(
          static_cast<double>(p.step) / static_cast<double>(p.steps),
          fmt::format("step {}/{}  {:.3f} bits a pixel  {:.2f} dB", p.step, p.steps, p.bits_a_pixel, p.psnr));
      return !stop.requested();
    });
  }
  io::write_file(flags.output, packed.bytes);
  const double pixels = static_cast<double>(picture.size(0)) * static_cast<double>(picture.size(1));
  const double bpp = 8 * static_cast<double>(packed.bytes.size()) / pixels;
  const bool exact = packed.family == codec::Family::drawing;
  constexpr double kFar = 1.2;
  if (!context.quiet && flags.family != "exact" && !exact && !stop.requested() &&
      bpp > kFar * flags.options.photograph.bits_a_pixel)
    print_note(fmt::format(
        "it has {:.3f} bits a pixel in place of {:g}: the networks alone take some hundred bytes, "
        "and few --steps do not get there",
        bpp, flags.options.photograph.bits_a_pixel));
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
  add_number(verb, "--bpp", flags->options.photograph.bits_a_pixel, {.least = 0.01, .most = 8},
             "bits a pixel of a photograph: 0.1 is small, 2 is hardly to be told from the picture");
  add_choice(verb, "--family", flags->family, {"auto", "photograph", "exact"},
             "auto packs a picture of few colours exactly, if that takes no more than --bpp");
  add_count(verb, "--steps", flags->options.photograph.steps, {.least = 1, .most = 1'000'000},
            "of learning a photograph: more make it better, and take longer");
  add_text(verb, "--background", "COLOUR",
           "lay a picture with alpha over this colour: white, #1e90ff; a photograph needs it",
           [flags](auto& source, auto& text) { flags->background = colour_from(source, text); });
  add_count(verb, "--seed", flags->seed, {.least = 0, .most = 4'294'967'295}, "of the noise while it learns");
  add_max_pixels(verb, flags->max_pixels);
  add_threads(verb, context);
  verb.examples(
      "  veldt pack photo.jpg -o photo.vp --bpp 0.3\n"
      "  veldt pack drawing.png -o drawing.vp\n"
      "  veldt pack logo.png -o logo.vp --family exact\n");
  return [flags, &context] { return pack_picture(*flags, context); };
}

}  // namespace veldt::app
