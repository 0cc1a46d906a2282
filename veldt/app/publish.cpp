// Writes fields as what runs without Veldt.
#include "veldt/app/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "veldt/app/field_folder.h"
#include "veldt/app/inputs.h"
#include "veldt/app/progress_line.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/codec/packed_file.h"
#include "veldt/field/image_field.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/publish/glsl.h"
#include "veldt/publish/header.h"
#include "veldt/publish/page.h"
#include "veldt/publish/parts.h"
#include "veldt/publish/photograph_page.h"
#include "veldt/publish/pyramid.h"
#include "veldt/publish/svg.h"

namespace veldt::app {
namespace {

constexpr std::size_t kLargeHeader = 1'000'000;  // bytes, of which compilers and people ask why

std::string ending_of(const std::string& output) {
  return output.ends_with('/') ? "/" : std::filesystem::path(output).extension().string();
}

struct Published {
  std::string text, in_words;
  nlohmann::ordered_json facts;
};

Published made_of(const field::Field& field, const std::string& output, const std::string& title) {
  const std::string ending = ending_of(output);
  if (ending == ".html") {
    publish::Page page = publish::page(field, {.title = title});
    return {std::move(page.html),
            fmt::format("opens in any browser, {}", page.rounding),
            {{"changed", page.changed}}};
  }
  if (ending == ".svg") {
    publish::Svg svg = publish::svg(field, {.title = title});
    return {std::move(svg.text),
            fmt::format("{} outlines, {} curves", svg.outlines, svg.curves),
            {{"outlines", svg.outlines}, {"curves", svg.curves}}};
  }
  if (ending == ".h") {
    const std::string name = publish::cpp_name(std::filesystem::path(output).stem().string());
    return {publish::header(field, name),
            fmt::format("{0}::float3 {0}::field(float x, float y)", name),
            {{"namespace", name}}};
  }
  return {publish::glsl(field, title), "vec3 field(vec2 p)", nlohmann::ordered_json::object()};
}

// Nothing if it is another file.
std::optional<Published> page_of_photograph(const std::string& path, const std::string& title) {
  if (!is_packed(path)) return {};
  const std::string bytes = io::read_file(path);
  // The page has a limit of its own.
  const std::int64_t any_size = std::numeric_limits<std::int64_t>::max();
  if (codec::read_packed(bytes, path, any_size).family != codec::Family::photograph) return {};
  return Published{publish::photograph_page(bytes, path, {.title = title}),
                   "opens in any browser, which decodes the photograph", nlohmann::ordered_json::object()};
}

int write_tiles(const std::string& model, const std::string& output, const std::string& title,
                const WishedSize& wished, Context& context) {
  const field::Field field = load_field(model);
  const field::FieldOptions& o = field.options();
  publish::must_be_picture(field, "tiles");
  const Size size = size_for(wished, static_cast<double>(o.width), static_cast<double>(o.height));
  const publish::PyramidOptions options{.title = title, .size = size};
  std::string folder = output;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const std::int64_t all = publish::tile_count(options);
  const StopOnSignal signal;
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  const bool is_whole = publish::write_pyramid(field, folder, options, [&](std::int64_t done) {
    line.update_rows(done, all, "tile");
    return !signal.requested();
  });
  line.finish();
  if (!is_whole) {
    if (!context.quiet) print_note(fmt::format("stopped; the same command goes on with {}", output));
    return signal.exit_code(true);
  }
  if (context.json)
    context.out.json({{"model", model},
                      {"output", output},
                      {"width", size.width},
                      {"height", size.height},
                      {"tiles", all}});
  else
    context.out.text(fmt::format("wrote {}: {}x{} in {} tiles; open {}/index.html\n", on_one_line(output),
                                 size.width, size.height, all, on_one_line(folder)));
  return kOk;
}

}  // namespace

bool is_published(const std::string& output) {
  const std::string ending = ending_of(output);
  return ending == ".html" || ending == ".h" || ending == ".glsl" || ending == ".svg" || ending == "/";
}

int publish_field(const std::string& model, const std::string& output, const WishedSize& size,
                  Context& context) {
  const std::string ending = ending_of(output);
  if (io::is_directory(model)) refuse_folder(model, "export", ending);
  std::string title = std::filesystem::path(model).stem().string();
  std::replace(title.begin(), title.end(), '_', ' ');
  if (ending != "/" && (!size.sides.empty() || size.scale))
    throw UsageError(fmt::format("{} has no size in pixels", output), "--size and --scale are of tiles",
                     "leave them out, or name a folder with / at its end");
  if (ending == "/") return write_tiles(model, output, title, size, context);
  check_output(output, "--output", {model}, context);
  std::optional<Published> page;
  if (ending == ".html") page = page_of_photograph(model, title);
  Published made = page ? std::move(*page) : made_of(load_field(model), output, title);
  io::write_file(output, made.text);
  if (ending == ".h" && is_packed(model) && made.text.size() > kLargeHeader && !context.quiet)
    print_note(fmt::format(
        "{} holds each pixel of {}, {:.3g} MB; the header of a network is smaller: veldt fit {} -o "
        "net.safetensors --model siren",
        on_one_line(output), on_one_line(model), static_cast<double>(made.text.size()) / 1e6,
        quoted_for_shell({model})));
  made.facts["bytes"] = made.text.size();
  if (context.json) {
    nlohmann::ordered_json all = {{"model", model}, {"output", output}};
    all.update(made.facts);
    context.out.json(all);
  } else {
    context.out.text(
        fmt::format("wrote {}: {} bytes, {}\n", on_one_line(output), made.text.size(), made.in_words));
  }
  return kOk;
}

}  // namespace veldt::app
