// veldt csv encode|decode: pictures as pixel tables and back.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "veldt/cli/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/output_name.h"
#include "veldt/app/verbs.h"
#include "veldt/io/image.h"
#include "veldt/io/pixel_csv.h"
#include "veldt/ops/shape.h"

namespace veldt::app {
namespace {

constexpr const char* kEncodeExamples =
    "  veldt csv encode cub.png -o cub.csv                  x,y,pixel_value for black and white, 1 is ink\n"
    "  veldt csv encode photo.png -o photo.csv              x,y,r,g,b (x,y,grey for a grey picture)\n"
    "  veldt csv encode photo.png -o ink.csv --threshold 0.4\n";
constexpr const char* kDecodeExamples =
    "  veldt csv decode cub.csv -o cub.png                  the picture that was encoded, pixel by pixel\n";

struct CsvFlags {
  std::string input, output;
  std::optional<double> threshold;
  bool rgb = false;
  std::int64_t max_pixels = kMaxPixels;
};

void print_written(const std::string& path, const Tensor& picture, Context& context) {
  const std::int64_t width = picture.size(1), height = picture.size(0), channels = picture.size(2);
  if (context.json)
    return context.out.json({{"output", path}, {"width", width}, {"height", height}, {"channels", channels}});
  // Not on stdout, because the table may be written there (-o /dev/stdout).
  if (!context.quiet)
    write_stderr(fmt::format("wrote {}: {} x {} pixels, {}\n", on_one_line(path), width, height,
                             channels_in_words(channels)));
}

int encode(const CsvFlags& flags, Context& context) {
  check_output(flags.output, "--output", {flags.input}, context);
  check_ending(flags.output, "--output", kPixelTable);
  const Tensor stored = load_picture(flags.input, flags.max_pixels, context);
  Tensor picture = over_white(stored);
  if (picture.size(2) != stored.size(2) && !context.quiet)
    print_note(fmt::format("{} has alpha and is laid over white", flags.input));
  io::WritePixelCsvOptions options;
  if (flags.rgb) {
    picture = grey_repeated(picture, 3);
    options.columns = io::PixelColumns::rgb;
  }
  if (flags.threshold) {
    options.columns = io::PixelColumns::ink;
    options.threshold = static_cast<float>(*flags.threshold);
  }
  io::write_pixel_csv(flags.output, picture, options);
  print_written(flags.output, picture, context);
  return kOk;
}

// A picture of two levels becomes a PNG of one bit, as before it was encoded; other formats have no one-bit
// form.
bool has_two_levels(const Tensor& picture) {
  const Tensor values = contiguous(picture);
  const float* v = values.data<float>();
  return picture.size(2) == 1 && std::all_of(v, v + values.numel(), [](float x) { return x == 0 || x == 1; });
}

int decode(const CsvFlags& flags, Context& context) {
  check_output(flags.output, "--output", {flags.input}, context);
  io::format_for_name(flags.output);  // refuses other endings before the work
  const Tensor picture = io::read_pixel_csv(flags.input, {.max_pixels = flags.max_pixels});
  io::write_image(
      flags.output, picture,
      {.bits = io::format_for_name(flags.output) == io::ImageFormat::png && has_two_levels(picture) ? 1 : 8});
  print_written(flags.output, picture, context);
  return kOk;
}

}  // namespace

Run add_csv(VerbOptions& verb, Context& context) {
  verb.app->require_subcommand(1);
  auto flags = std::make_shared<CsvFlags>();
  VerbOptions& encoder = verb.add_verb("encode", "write a picture as a pixel table");
  add_path(encoder, "PICTURE", flags->input, fmt::format("a picture ({})", io::kPictureFormats)).required();
  add_path(encoder, "-o,--output", flags->output, "where the table goes").required();
  Setting& threshold =
      add_number(encoder, "--threshold", flags->threshold, {.least = 0, .most = 1},
                 "write x,y,pixel_value with ink where the picture is darker than X of 0..1");
  add_switch(encoder, "--rgb", flags->rgb, "write x,y,r,g,b for a grey picture too").excludes(threshold);
  add_max_pixels(encoder, flags->max_pixels);
  encoder.examples(kEncodeExamples);
  VerbOptions& decoder = verb.add_verb("decode", "draw a pixel table as a picture");
  add_path(decoder, "TABLE", flags->input, "a CSV with the columns x,y and pixel_value, grey or r,g,b")
      .required();
  add_path(decoder, "-o,--output", flags->output,
           fmt::format("where the picture goes ({})", io::kWrittenPictures))
      .required();
  add_max_pixels(decoder, flags->max_pixels);
  decoder.examples(kDecodeExamples);
  verb.examples("  veldt csv encode cub.png -o cub.csv\n  veldt csv decode cub.csv -o cub.png\n");
  encoder.run = [flags, &context] { return encode(*flags, context); };
  decoder.run = [flags, &context] { return decode(*flags, context); };
  return {};
}

}  // namespace veldt::app
