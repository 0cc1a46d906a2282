// veldt render: a model file in, a picture of any size out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "veldt/app/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/app/options.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/signals.h"
#include "veldt/app/verbs.h"
#include "veldt/field/image_field.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"

namespace veldt::app {
namespace {

struct RenderFlags {
  std::string model, output, size, crop;
  std::optional<double> scale;
  std::int64_t supersample = 0, bits = 8;
};

struct Drawing {
  std::int64_t width = 0, height = 0;
  field::RenderOptions how;
};

// The numbers between the separators, or nothing if there is anything else.
template <class T> std::vector<T> numbers_from(const std::string& text, char separator) {
  std::vector<T> out;
  const char *at = text.data(), *end = at + text.size();
  while (at <= end) {
    T value{};
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != separator)) return {};
    out.push_back(value);
    at = parsed.ptr + 1;
  }
  return out;
}

// --crop in pixels of the fitted picture, as a part of the whole.
field::Region region_from(const std::string& crop, const field::FieldOptions& o) {
  if (crop.empty()) return {};
  const std::vector<double> n = numbers_from<double>(crop, ',');
  const auto w = static_cast<double>(o.width), h = static_cast<double>(o.height);
  if (n.size() != 4)
    throw bad_value("--crop", crop, "it is four numbers: left, top, width and height",
                    "use --crop 50,40,100,80");
  if (!(n[0] >= 0 && n[1] >= 0 && n[2] >= 1e-3 && n[3] >= 1e-3 && n[0] + n[2] <= w && n[1] + n[3] <= h))
    throw bad_value("--crop", crop,
                    fmt::format("it must lie within the picture, which is {}x{}", o.width, o.height),
                    "give left,top,width,height in pixels of the fitted picture");
  return {n[0] / w, n[1] / h, n[2] / w, n[3] / h};
}

std::int64_t rounded(double size) { return std::max<std::int64_t>(1, std::llround(std::min(size, 1e15))); }

Drawing drawing_from(const RenderFlags& flags, const field::FieldOptions& o) {
  Drawing d;
  d.how.region = region_from(flags.crop, o);
  d.how.supersample = static_cast<int>(flags.supersample);
  const double w = static_cast<double>(o.width) * d.how.region.width;
  const double h = static_cast<double>(o.height) * d.how.region.height;
  double scale = flags.scale.value_or(1);
  if (!flags.size.empty()) {
    const std::vector<std::int64_t> sides = numbers_from<std::int64_t>(flags.size, 'x');
    if (sides.empty() || sides.size() > 2 || sides.front() < 1 || sides.back() < 1)
      throw bad_value("--size", flags.size, "it is the longer side, or a width and a height",
                      "use --size 1024 or --size 1920x1080");
    if (sides.size() == 2) {
      d.width = sides[0];
      d.height = sides[1];
      return d;
    }
    scale = static_cast<double>(sides[0]) / std::max(w, h);
  }
  d.width = rounded(w * scale);
  d.height = rounded(h * scale);
  return d;
}

int render(const RenderFlags& flags, Context& context) {
  if (flags.scale && !flags.size.empty())
    throw UsageError("--scale and --size cannot both be given",
                     "each of them says how large the picture becomes", "leave one of them out");
  const field::ImageField field = field::ImageField::load(flags.model);
  const Drawing d = drawing_from(flags, field.options());
  check_output(flags.output, "--output", {flags.model}, context);
  StopOnSignal signal;
  ProgressLine::Options shown;
  shown.quiet = context.quiet;
  shown.show_after = 2;
  ProgressLine line(shown);
  io::ImageWriter writer(flags.output, d.width, d.height, static_cast<int>(field.options().channels),
                         {.bits = static_cast<int>(flags.bits)});
  field.render_bands(d.width, d.height, d.how, [&](const Tensor& rows, std::int64_t first) {
    writer.write_rows(rows.data<float>(), rows.size(0));
    line.update_rows(first + rows.size(0), d.height);
    return !signal.requested();
  });
  line.finish();
  if (signal.requested()) return signal.exit_code();
  writer.finish();
  if (context.json)
    context.out.json({{"output", flags.output}, {"width", d.width}, {"height", d.height}});
  else
    context.out.text(fmt::format("{}: {}x{}\n", flags.output, d.width, d.height));
  return kOk;
}

}  // namespace

Run add_render(CLI::App& verb, Context& context) {
  auto flags = std::make_shared<RenderFlags>();
  add_path(verb, "MODEL", flags->model, "a model file that veldt fit wrote")->required();
  add_path(verb, "-o,--output", flags->output, "the PNG to write")->required();
  add_text(verb, "--size", flags->size, "N|WxH", "pixels along the longer side, or width and height");
  add_number(verb, "--scale", flags->scale, {.above = 0}, "times the size of the fitted picture");
  add_text(verb, "--crop", flags->crop, "X,Y,W,H", "draw this part, in pixels of the fitted picture");
  add_count(verb, "--supersample", flags->supersample, {.least = 0, .most = 64},
            "samples along each side of a pixel; 0: as many as shrinking needs");
  add_count(verb, "--bits", flags->bits, {.least = 1, .most = 16}, "bits a sample: 1 (grey alone), 8 or 16");
  add_threads(verb, context);
  verb.footer(
      "  veldt render cub.safetensors -o cub.png\n"
      "  veldt render cub.safetensors -o cub_1024.png --size 1024\n"
      "  veldt render cub.safetensors -o eye.png --crop 60,60,40,30 --scale 16\n"
      "  veldt render photo.safetensors -o thumbnail.png --size 160x120\n");
  return [flags, &context] { return render(*flags, context); };
}

}  // namespace veldt::app
