// veldt render: a model file in, a picture of any size out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "veldt/app/dry_run.h"
#include "veldt/app/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/app/options.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/signals.h"
#include "veldt/app/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/field/image_field.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/tensor/profile.h"

namespace veldt::app {
namespace {

struct RenderFlags {
  std::string model, output;
  std::vector<std::int64_t> size;  // the longer side, or width and height
  std::vector<double> crop;        // left, top, width, height
  std::optional<double> scale;
  std::int64_t supersample = 0, bits = 8;
  bool dry_run = false, profile = false;
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

std::vector<std::int64_t> size_from(const Source& source, const std::string& text) {
  const std::vector<std::int64_t> sides = numbers_from<std::int64_t>(text, 'x');
  if (sides.empty() || sides.size() > 2 || sides.front() < 1 || sides.back() < 1)
    throw bad_value(
        source, text, "it is the longer side, or a width and a height",
        fmt::format("use {} or {}", example_of(source, "1024"), example_of(source, "1920x1080", true)));
  return sides;
}

std::vector<double> crop_from(const Source& source, const std::string& text) {
  const std::vector<double> numbers = numbers_from<double>(text, ',');
  if (numbers.size() != 4)
    throw bad_value(source, text, "it is four numbers: left, top, width and height",
                    "use --crop 50,40,100,80");
  return numbers;
}

// --crop in pixels of the fitted picture, as a part of the whole.
field::Region region_from(const std::vector<double>& n, const field::FieldOptions& o) {
  if (n.empty()) return {};
  const auto w = static_cast<double>(o.width), h = static_cast<double>(o.height);
  if (!(n[0] >= 0 && n[1] >= 0 && n[2] >= 1e-3 && n[3] >= 1e-3 && n[0] + n[2] <= w && n[1] + n[3] <= h))
    throw bad_value({"--crop", "--crop "}, fmt::format("{}", fmt::join(n, ",")),
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
    if (flags.size.size() == 2) {
      d.width = flags.size[0];
      d.height = flags.size[1];
      return d;
    }
    scale = static_cast<double>(flags.size[0]) / std::max(w, h);
  }
  d.width = rounded(w * scale);
  d.height = rounded(h * scale);
  return d;
}

int render(const RenderFlags& flags, Context& context) {
  const field::ImageField field = field::ImageField::load(flags.model);
  const Drawing d = drawing_from(flags, field.options());
  check_output(flags.output, "--output", {flags.model}, context);
  if (flags.dry_run)
    return dry_run_render(field, d.width, d.height, d.how, static_cast<int>(flags.bits), flags.output,
                          context);
  StopOnSignal signal;
  ProgressLine::Options shown;
  shown.quiet = context.quiet;
  shown.show_after = 2;
  ProgressLine line(shown);
  io::ImageWriter writer(flags.output, d.width, d.height, static_cast<int>(field.options().channels),
                         {.bits = static_cast<int>(flags.bits)});
  std::optional<Profile> profile;
  if (flags.profile) profile.emplace();
  field.render_bands(d.width, d.height, d.how, [&](const Tensor& rows, std::int64_t first) {
    writer.write_rows(rows.data<float>(), rows.size(0));
    line.update_rows(first + rows.size(0), d.height);
    return !signal.requested();
  });
  line.finish();
  if (profile) write_stderr(profile->table());
  if (signal.requested()) return signal.exit_code();
  writer.finish();
  if (context.json)
    context.out.json({{"output", flags.output}, {"width", d.width}, {"height", d.height}});
  else
    context.out.text(fmt::format("{}: {}x{}\n", flags.output, d.width, d.height));
  return kOk;
}

}  // namespace

Run add_render(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<RenderFlags>();
  add_path(verb, "MODEL", flags->model, "a model file that veldt fit wrote").required();
  add_path(verb, "-o,--output", flags->output, fmt::format("the picture to write ({})", io::kPictureFormats))
      .required();
  Setting& size = add_text(verb, "--size", "N|WxH", "pixels along the longer side, or width and height",
                           [flags](auto& source, auto& text) { flags->size = size_from(source, text); });
  add_number(verb, "--scale", flags->scale, {.above = 0}, "times the size of the fitted picture")
      .excludes(size);
  add_text(verb, "--crop", "X,Y,W,H", "draw this part, in pixels of the fitted picture",
           [flags](auto& source, auto& text) { flags->crop = crop_from(source, text); })
      .command_line_only();
  add_count(verb, "--supersample", flags->supersample, {.least = 0, .most = 64},
            "samples along each side of a pixel; 0: as many as shrinking needs");
  add_count(verb, "--bits", flags->bits, {.least = 1, .most = 16}, "bits a sample: 1 (grey alone), 8 or 16");
  add_switch(verb, "--dry-run", flags->dry_run, "say what it would take and write, and write nothing")
      .command_line_only();
  add_switch(verb, "--profile", flags->profile, "print to stderr where the time went, kernel by kernel")
      .command_line_only();
  add_threads(verb, context);
  verb.app->footer(
      "  veldt render cub.safetensors -o cub.png\n"
      "  veldt render cub.safetensors -o cub_1024.png --size 1024\n"
      "  veldt render cub.safetensors -o eye.png --crop 60,60,40,30 --scale 16\n"
      "  veldt render photo.safetensors -o thumbnail.png --size 160x120\n");
  return [flags, &context] { return render(*flags, context); };
}

}  // namespace veldt::app
