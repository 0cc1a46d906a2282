// Fills the page's template with a field: what it is as JSON, its shader, its numbers.
#include "veldt/publish/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "veldt/core/escape.h"
#include "veldt/io/json.h"
#include "veldt/publish/glsl.h"
#include "veldt/publish/html.h"
#include "veldt/publish/packed.h"
#include "veldt/publish/parts.h"
#include "veldt/publish/texts.h"

namespace veldt::publish {
namespace {

using Json = nlohmann::ordered_json;

Json encoding_json(const EncodingPart& e) {
  if (const auto* waves = std::get_if<field::FrequencyOptions>(&e.options))
    return {{"kind", "frequency"}, {"octaves", waves->octaves}};
  if (const auto* fourier = std::get_if<field::FourierOptions>(&e.options))
    return {{"kind", "fourier"}, {"frequencies", fourier->frequencies}};
  if (e.grid.levels == 0) return {{"kind", "identity"}};
  Json levels = Json::array();
  for (int l = 0; l < e.grid.levels; ++l) {
    const GridLayout::Level& level = e.grid.level[static_cast<std::size_t>(l)];
    levels.push_back({{"cells", level.cells},
                      {"hashed", level.hashed},
                      {"first", level.first},
                      {"entries", e.grid.entries_of(l)},
                      {"step", level.step_along(1)}});
  }
  return {{"kind", "grid"}, {"features", e.grid.features}, {"smooth", e.grid.smooth}, {"levels", levels}};
}

// What core.js and page.js know of the field.
Json facts_of(const Parts& parts, const std::vector<Run>& runs, const std::string& title) {
  const field::FieldOptions& o = parts.options;
  Json out = {{"title", title},
              {"width", o.width},
              {"height", o.height},
              {"rate", o.rate},
              {"peak", o.peak},
              {"channels", o.channels},
              {"activation", name_of(o.activation)},
              {"first_omega", o.first_omega},
              {"omega", o.omega},
              {"scale", o.scale},
              {"head", name_of(o.head)},
              {"constant_input", o.constant_input},
              {"x_scale", parts.x_scale},
              {"x_shift", parts.x_shift},
              {"y_scale", parts.y_scale},
              {"y_shift", parts.y_shift},
              {"footprint", o.footprint},
              {"two_tone", o.two_tone},
              {"squares", o.squares},
              {"period", o.period},
              {"tones", o.tones},
              {"closing", o.closing},
              {"encodings", Json::array()},
              {"layers", Json::array()},
              {"runs", Json::array()}};
  for (const EncodingPart& e : parts.encodings) out["encodings"].push_back(encoding_json(e));
  for (const Dense& l : parts.layers) out["layers"].push_back({{"in", l.in}, {"out", l.out}});
  for (const Run& r : runs)
    out["runs"].push_back({{"name", r.name}, {"count", r.count}, {"bits", r.bits}, {"step", r.step}});
  return out;
}

// As JSON within a script element: no "<" begins a tag there.
std::string in_script(const Json& facts) {
  std::string out;
  for (const char c : io::dump_json(facts)) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

std::string line_of(const field::Field& field) {
  const field::FieldOptions& o = field.options();
  const std::string numbers = grouped(stored_count(o));
  if (o.is_sound())
    return fmt::format("{:.2f} s, {} Hz, {} channel{}: a function of {} numbers,",
                       static_cast<double>(o.height) / static_cast<double>(o.rate), grouped(o.rate),
                       o.channels, o.channels > 1 ? "s" : "", numbers);
  return fmt::format("fitted to {} × {} pixels: a function of {} numbers,", grouped(o.width),
                     grouped(o.height), numbers);
}

constexpr std::string_view kSoundControls = R"html(<button id="play" aria-pressed="false">Play</button>
<span id="time"></span>
<button id="save" class="push" disabled>Save WAV</button>)html";

}  // namespace

Page page(const field::Field& field, const PageOptions& options) {
  const bool is_sound = field.options().is_sound();
  Packed numbers = packed(field);
  const std::string title = in_html(options.title),
                    facts = in_script(facts_of(numbers.parts, numbers.runs, escape_controls(options.title))),
                    shader = is_sound ? "" : stripped(glsl_levels(numbers.parts) + std::string(view_glsl)),
                    core = stripped(core_js),
                    script = stripped(page_js) + (is_sound ? stripped(sound_js) : ""),
                    css = stripped(page_css);
  Page out;
  out.html = filled(page_html,
                    {{"title", title},
                     {"css", css},
                     {"kind", is_sound ? "sound" : "picture"},
                     {"line", line_of(field)},
                     {"label", is_sound ? "The sound's wave: click to choose where it plays"
                                        : "The picture: drag to move, turn the wheel or pinch to enlarge"},
                     {"controls", is_sound ? kSoundControls : picture_controls},
                     {"core", core},
                     {"facts", facts},
                     {"shader", shader},
                     {"numbers", numbers.text},
                     {"script", script}});
  out.rounding = numbers.rounding;
  out.changed = numbers.worst;
  return out;
}

}  // namespace veldt::publish
