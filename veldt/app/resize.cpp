// veldt resize: a picture at another size, by a classical filter.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "veldt/app/drawing.h"
#include "veldt/app/inputs.h"
#include "veldt/app/picture_size.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/colour.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/data/resample.h"
#include "veldt/io/image.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

struct ResizeFlags {
  std::string input, output;
  WishedSize size;
  std::string filter = "lanczos3";
  std::optional<Colour> background;
  std::optional<std::int64_t> bits;
  std::int64_t max_pixels = kMaxPixels;
};

// Colours count by their alpha: those of invisible pixels are not part of a mean.
Tensor resampled(const Tensor& picture, Size size, data::Filter filter) {
  const std::int64_t colours = picture.size(2) - 1;
  if (colours != 1 && colours != 3) return clamp(data::resample(picture, size, filter), 0, 1);
  const Tensor alpha = slice(picture, 2, colours, colours + 1);
  const Tensor both = data::resample(cat({slice(picture, 2, 0, colours) * alpha, alpha}, 2), size, filter);
  const Tensor share = clamp(slice(both, 2, colours, colours + 1), 0, 1);
  const Tensor seen = slice(both, 2, 0, colours);
  return cat({clamp(where(share > 0, seen / maximum(share, 1e-6), zeros_like(seen)), 0, 1), share}, 2);
}

Size size_of_result(const ResizeFlags& flags, const Tensor& picture) {
  if (flags.size.sides.empty() && !flags.size.scale)
    throw UsageError("the new size is missing", "resize makes a picture of another size",
                     "give --size 1024, --size 1920x1080 or --scale 0.5");
  const Size size =
      size_for(flags.size, static_cast<double>(picture.size(1)), static_cast<double>(picture.size(0)));
  if (size.width > flags.max_pixels / size.height)
    throw UsageError(fmt::format("cannot make a picture of {} x {}", size.width, size.height),
                     fmt::format("at most {} pixels are made at once", flags.max_pixels),
                     "raise --max-pixels, if there is memory for it");
  return size;
}

int resize(const ResizeFlags& flags, Context& context) {
  NoGrad off;
  check_output(flags.output, "--output", {flags.input}, context);
  Tensor picture = load_picture(flags.input, flags.max_pixels, context);
  const Size size = size_of_result(flags, picture);
  const bool alpha = picture.size(2) % 2 == 0, lays = alpha && flags.background;
  if (alpha && !lays) check_alpha(flags.output);
  const std::int64_t channels = !lays                                                 ? picture.size(2)
                                : picture.size(2) == 2 && flags.background->is_grey() ? 1
                                                                                      : 3;
  const io::WriteOptions how{.bits = bits_for_copy(flags.input, flags.output, flags.bits)};
  io::ImageWriter::check(flags.output, size, channels, how);
  if (flags.size.sides.size() == 2 && !context.quiet &&
      is_stretched(static_cast<double>(picture.size(1)), static_cast<double>(picture.size(0)), size.width,
                   size.height))
    print_note(fmt::format("{}x{} stretches the picture, which is {}x{}; --size {} would not", size.width,
                           size.height, picture.size(1), picture.size(0), std::max(size.width, size.height)));
  picture = resampled(picture, size, data::filter_from(flags.filter));
  io::write_image(flags.output, lays ? laid_over(picture, *flags.background, channels) : picture, how);
  if (context.json)
    context.out.json({{"output", flags.output},
                      {"width", size.width},
                      {"height", size.height},
                      {"channels", channels},
                      {"filter", flags.filter}});
  else
    context.out.text(
        fmt::format("{}: {}x{}, by {}\n", on_one_line(flags.output), size.width, size.height, flags.filter));
  return kOk;
}

}  // namespace

Run add_resize(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<ResizeFlags>();
  add_path(verb, "PICTURE", flags->input, fmt::format("a picture ({}) or a pixel table", io::kPictureFormats))
      .required();
  add_path(verb, "-o,--output", flags->output, fmt::format("the picture to write ({})", io::kWrittenPictures))
      .required();
  add_size(verb, flags->size, "the picture");
  add_choice(verb, "--filter", flags->filter, {"nearest", "bilinear", "bicubic", "lanczos3", "area"},
             "how pixels are weighted; area is the exact mean for shrinking, nearest keeps pixel art");
  add_count(verb, "--bits", flags->bits, {.least = 1, .most = 16},
            "bits per sample of a PNG: 1 (grey only), 8 or 16; by default 16 if the picture has more than 8");
  add_text(verb, "--background", "COLOUR",
           "lay a picture with alpha over this colour: white, #1e90ff; a JPEG needs it",
           [flags](auto& source, auto& text) { flags->background = colour_from(source, text); });
  add_max_pixels(verb, flags->max_pixels);
  add_threads(verb, context);
  verb.examples(
      "  veldt resize photo.jpg -o thumbnail.png --size 160\n"
      "  veldt resize icon.png -o icon4.png --scale 4 --filter nearest\n"
      "  veldt resize scan.tiff -o half.png --scale 0.5 --filter area\n");
  return [flags, &context] { return resize(*flags, context); };
}

}  // namespace veldt::app
