// veldt unpack: a packed picture as one that every program opens.
#include "veldt/codec/unpack.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/app/inputs.h"
#include "veldt/app/picture_size.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/codec/packed_file.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/io/magic.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

struct UnpackFlags {
  std::string input, output;
  std::vector<std::int64_t> crop;
  bool partial = false;
  std::int64_t max_pixels = kMaxPixels;
};

std::vector<std::int64_t> whole_pixels(const io::Source& source, const std::string& text) {
  const std::vector<std::int64_t> n = numbers_from<std::int64_t>(text, ',');
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (n.size() != 4 || n[0] < 0 || n[1] < 0 || n[2] < 1 || n[3] < 1 || n[0] > kMost || n[1] > kMost ||
      n[2] > kMost || n[3] > kMost)
    throw io::bad_value(source, text,
                        "it is four whole numbers: left, top, width and height, of at least one pixel",
                        "use --crop 50,40,100,80");
  return n;
}

void refuse_plain_picture(const std::string& path, std::string_view bytes) {
  const std::string_view first = bytes.substr(0, io::kMagicBytes);
  const auto format = io::picture_format(first);
  if (!format || format == io::ImageFormat::packed) return;
  throw IoError(IoError::Kind::malformed, fmt::format("cannot unpack {}", path),
                fmt::format("it is {} already", io::known_content(first)),
                "use it as it is, or give a .vp that veldt pack wrote");
}

int unpack_picture(const UnpackFlags& flags, Context& context) {
  NoGrad off;
  check_output(flags.output, "--output", {flags.input}, context);
  codec::UnpackOptions options{.max_pixels = flags.max_pixels, .part = {}, .partial = flags.partial};
  if (const auto& c = flags.crop; !c.empty())
    options.part = codec::Region{c[0], c[1], c[0] + c[2], c[1] + c[3]};
  io::format_for_name(flags.output);  // refuses other endings before the work
  const std::string bytes = io::read_file(flags.input);
  refuse_plain_picture(flags.input, bytes);
  if (codec::read_packed(bytes, flags.input, flags.max_pixels).channels % 2 == 0) check_alpha(flags.output);
  const codec::Unpacked picture = codec::unpack(bytes, flags.input, options);
  if (picture.share < 1 && !context.quiet)
    print_note(
        fmt::format("{} ends too early: {:.0f} % of the bytes of its grids are there; below them the picture "
                    "is blurred, and its "
                    "colours may be far off",
                    on_one_line(flags.input), std::floor(100 * picture.share)));
  const std::int64_t width = picture.part.width(), height = picture.part.height();
  const Tensor pixels = Tensor::from<std::uint8_t>({height, width, picture.channels}, picture.pixels);
  io::write_image(flags.output, to(pixels, DType::f32) / 255, {});
  const bool drawing = picture.family == codec::Family::drawing;
  if (context.json)
    context.out.json({{"output", flags.output},
                      {"width", width},
                      {"height", height},
                      {"family", drawing ? "drawing" : "photograph"},
                      {"exact", drawing},
                      {"share", picture.share}});
  else
    context.out.text(fmt::format("{}: {}x{}, {}\n", on_one_line(flags.output), width, height,
                                 drawing ? "a drawing, exact" : "a photograph"));
  return kOk;
}

}  // namespace

Run add_unpack(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<UnpackFlags>();
  add_path(verb, "PACKED", flags->input, "a packed picture (.vp)").required();
  add_path(verb, "-o,--output", flags->output, fmt::format("the picture to write ({})", io::kWrittenPictures))
      .required();
  add_text(verb, "--crop", "X,Y,W,H", "this part alone, in pixels; of a photograph the rest is not decoded",
           [flags](auto& source, auto& text) { flags->crop = whole_pixels(source, text); });
  add_switch(verb, "--partial", flags->partial,
             "take a photograph whose file ends too early: below what is there, it is blurred and its "
             "colours are off");
  add_max_pixels(verb, flags->max_pixels);
  add_threads(verb, context);
  verb.examples(
      "  veldt unpack photo.vp -o unpacked.png\n"
      "  veldt unpack photo.vp -o corner.png --crop 0,0,20,16\n");
  return [flags, &context] { return unpack_picture(*flags, context); };
}

}  // namespace veldt::app
