// Chooses how a terminal shows a picture, and writes the control sequences.
#include "veldt/app/terminal_picture.h"

#include <fmt/format.h>
#include <unistd.h>

#ifdef VELDT_SIXEL_SONAME
#include <sixel/sixel.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>

#include "veldt/app/field_pixels.h"
#include "veldt/cli/environment.h"
#include "veldt/core/error.h"
#include "veldt/core/base64.h"
#include "veldt/io/image.h"
#include "veldt/io/shared_library.h"
#include "veldt/ops/create.h"

namespace veldt::app {
namespace {

constexpr std::int64_t kMostRows = 16, kMostColumns = 64;  // characters
constexpr std::int64_t kMostHigh = 160;                    // pixels, where a character has many
constexpr std::size_t kKittyChunk = 4096;                  // bytes of base64 at a time, by its protocol
constexpr std::array kWays{"off", "blocks", "sixel", "iterm", "kitty"};

bool has(const char* name) { return !variable(name).empty(); }
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

PictureWay way_by_environment(const Terminal& terminal) {
  const std::string kind = variable("TERM"), program = variable("TERM_PROGRAM");
  if (!terminal.color || !terminal.utf8) return PictureWay::off;
  const bool is_nested = has("TMUX") || has("STY") || kind.starts_with("screen") || kind.starts_with("tmux");
  const PictureWay blocks =
      has_true_colour() || contains(kind, "256color") ? PictureWay::blocks : PictureWay::off;
  if (is_nested) return blocks;
  if (contains(kind, "kitty") || has("KITTY_WINDOW_ID") || contains(kind, "ghostty"))
    return PictureWay::kitty;
  if (program == "iTerm.app" || program == "WezTerm") return PictureWay::iterm;
#ifdef VELDT_SIXEL_SONAME
  if (contains(kind, "sixel") || kind == "mlterm" || kind == "foot" || kind.starts_with("foot-"))
    return PictureWay::sixel;
#endif
  return blocks;
}

// The 256 colours: six levels of each light, then 24 greys.
int nearest_of_256(const std::uint8_t* rgb) {
  constexpr int kLevels[] = {0, 95, 135, 175, 215, 255};
  int at[3], cube_error = 0, sum = 0;
  for (int c = 0; c < 3; ++c) {
    at[c] = 0;
    for (int i = 1; i < 6; ++i)
      if (std::abs(kLevels[i] - rgb[c]) < std::abs(kLevels[at[c]] - rgb[c])) at[c] = i;
    const int miss = kLevels[at[c]] - rgb[c];
    cube_error += miss * miss;
    sum += rgb[c];
  }
  const int step = std::clamp((sum / 3 - 3) / 10, 0, 23), grey = 8 + 10 * step;
  int grey_error = 0;
  for (int c = 0; c < 3; ++c) grey_error += (grey - rgb[c]) * (grey - rgb[c]);
  return grey_error < cube_error ? 232 + step : 16 + 36 * at[0] + 6 * at[1] + at[2];
}

std::string colour_code(int layer, const std::uint8_t* rgb, bool true_colour) {
  return true_colour ? fmt::format("{};2;{};{};{}", layer, rgb[0], rgb[1], rgb[2])
                     : fmt::format("{};5;{}", layer, nearest_of_256(rgb));
}

// Two pixels a character: the upper one as its colour, the lower one as the ground.
std::vector<std::string> in_blocks(Size size, std::span<const std::uint8_t> rgb, bool true_colour) {
  std::vector<std::string> lines;
  const auto pixel = [&](std::int64_t x, std::int64_t y) { return rgb.data() + 3 * (y * size.width + x); };
  for (std::int64_t y = 0; y < size.height; y += 2) {
    std::string line, last_above, last_below;
    for (std::int64_t x = 0; x < size.width; ++x) {
      const std::string above = colour_code(38, pixel(x, y), true_colour);
      const std::string below =
          y + 1 < size.height ? colour_code(48, pixel(x, y + 1), true_colour) : std::string("49");
      if (above != last_above || below != last_below) line += fmt::format("\x1b[{};{}m", above, below);
      last_above = above;
      last_below = below;
      line += "▀";
    }
    lines.push_back(line + "\x1b[0m");
  }
  return lines;
}

// a=T: send and show; f=24: RGB; C=1: the cursor stays; q=2: no answer, which would come as if typed. The
// number is the process's: a later picture takes the place of the earlier one, and other programs keep
// theirs.
std::string for_kitty(const PicturePlace& place, std::span<const std::uint8_t> rgb) {
  const std::string text = to_base64({reinterpret_cast<const char*>(rgb.data()), rgb.size()});
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += kKittyChunk) {
    const bool is_last = at + kKittyChunk >= text.size();
    out += "\x1b_G";
    if (at == 0)
      out += fmt::format("a=T,f=24,s={},v={},c={},r={},i={},p=1,C=1,q=2,", place.pixels.width,
                         place.pixels.height, place.columns, place.rows, ::getpid());
    out += fmt::format("m={};{}\x1b\\", is_last ? 0 : 1, text.substr(at, kKittyChunk));
  }
  return out;
}

std::string for_iterm(const PicturePlace& place, std::span<const std::uint8_t> rgb) {
  const Tensor image = empty({place.pixels.height, place.pixels.width, 3}, DType::u8);
  std::copy(rgb.begin(), rgb.end(), image.data<std::uint8_t>());
  const std::string jpeg = io::jpeg_bytes(image, 90);
  return fmt::format("\x1b]1337;File=inline=1;size={};width={};height={};preserveAspectRatio=0:{}\a",
                     jpeg.size(), place.columns, place.rows, to_base64(jpeg));
}

#ifdef VELDT_SIXEL_SONAME
struct SixelLibrary {
  decltype(&::sixel_output_new) output_new = nullptr;
  decltype(&::sixel_output_unref) output_unref = nullptr;
  decltype(&::sixel_dither_new) dither_new = nullptr;
  decltype(&::sixel_dither_unref) dither_unref = nullptr;
  decltype(&::sixel_dither_initialize) dither_initialize = nullptr;
  decltype(&::sixel_encode) encode = nullptr;

  SixelLibrary() {
    const io::SharedLibrary file(VELDT_SIXEL_SONAME, "draw sixels", VELDT_SIXEL_PACKAGE);
    file.find(output_new, "sixel_output_new");
    file.find(output_unref, "sixel_output_unref");
    file.find(dither_new, "sixel_dither_new");
    file.find(dither_unref, "sixel_dither_unref");
    file.find(dither_initialize, "sixel_dither_initialize");
    file.find(encode, "sixel_encode");
  }
};

const SixelLibrary& sixel() {
  static const SixelLibrary found;
  return found;
}

int append_sixels(char* data, int size, void* to) {
  static_cast<std::string*>(to)->append(data, static_cast<std::size_t>(std::max(size, 0)));
  return size;
}

std::string in_sixels(Size size, std::span<const std::uint8_t> rgb) {
  const SixelLibrary& library = sixel();
  std::string out;
  std::vector<unsigned char> pixels(rgb.begin(), rgb.end());
  const int width = static_cast<int>(size.width), height = static_cast<int>(size.height);
  sixel_output_t* output = nullptr;
  sixel_dither_t* dither = nullptr;
  bool is_done = SIXEL_SUCCEEDED(library.output_new(&output, append_sixels, &out, nullptr));
  const std::unique_ptr<sixel_output_t, decltype(library.output_unref)> keep_output(output,
                                                                                    library.output_unref);
  is_done = is_done && SIXEL_SUCCEEDED(library.dither_new(&dither, 256, nullptr));
  const std::unique_ptr<sixel_dither_t, decltype(library.dither_unref)> keep_dither(dither,
                                                                                    library.dither_unref);
  is_done = is_done &&
            SIXEL_SUCCEEDED(library.dither_initialize(dither, pixels.data(), width, height,
                                                      SIXEL_PIXELFORMAT_RGB888, SIXEL_LARGE_AUTO,
                                                      SIXEL_REP_AUTO, SIXEL_QUALITY_LOW)) &&
            SIXEL_SUCCEEDED(library.encode(pixels.data(), width, height, 0, dither, output));
  if (!is_done)
    throw Error("cannot draw a picture as sixels", "libsixel refused it", "use --picture blocks, or off");
  return out;
}
#else
std::string in_sixels(Size, std::span<const std::uint8_t>) { return {}; }
#endif

}  // namespace

std::vector<std::string> picture_ways() {
  std::vector<std::string> names{"auto"};
  names.insert(names.end(), kWays.begin(), kWays.end());
  return names;
}

bool has_true_colour() {
  const std::string said = variable("COLORTERM"), kind = variable("TERM"), program = variable("TERM_PROGRAM");
  return said == "truecolor" || said == "24bit" || contains(kind, "direct") || contains(kind, "kitty") ||
         program == "iTerm.app" || program == "WezTerm";
}

PictureWay picture_way(const std::string& name, const Terminal& terminal) {
  if (!terminal.live) return PictureWay::off;
  if (name == "auto") return way_by_environment(terminal);
  const auto found = std::find(kWays.begin(), kWays.end(), name);
  const auto way = static_cast<PictureWay>(found - kWays.begin());
#ifdef VELDT_SIXEL_SONAME
  if (way == PictureWay::sixel) sixel();
#else
  if (way == PictureWay::sixel)
    throw Error("cannot draw sixels", "this Veldt was built without libsixel",
                "use --picture blocks, or build it again where libsixel-dev is installed");
#endif
  return way;
}

PicturePlace picture_place(PictureWay way, const Terminal& terminal, std::int64_t width,
                           std::int64_t height) {
  const std::int64_t rows = std::min<std::int64_t>(kMostRows, (terminal.height - 2) / 2),
                     columns = std::min<std::int64_t>(kMostColumns, terminal.width - 1);
  if (way == PictureWay::off || rows < 2 || columns < 4) return {};
  if (way == PictureWay::blocks) {
    const Size pixels = fitted_into({columns, 2 * rows}, width, height);
    return {pixels.width, (pixels.height + 1) / 2, pixels};
  }
  // What a small font has, so that sixels, whose pixels are those of the screen, do not take more rows.
  const std::int64_t cell_width = terminal.cell_width > 0 ? terminal.cell_width : 6,
                     cell_height = terminal.cell_height > 0 ? terminal.cell_height : 12;
  const Size pixels =
      fitted_into({columns * cell_width, std::min(rows * cell_height, std::max(kMostHigh, 2 * cell_height))},
                  width, height);
  return {std::min((pixels.width + cell_width - 1) / cell_width, columns),
          std::min((pixels.height + cell_height - 1) / cell_height, rows), pixels};
}

PictureText picture_text(PictureWay way, const PicturePlace& place, std::span<const std::uint8_t> rgb,
                         bool true_colour) {
  const std::vector<std::string> blank(static_cast<std::size_t>(place.rows));
  switch (way) {
    case PictureWay::off: return {};
    case PictureWay::blocks: return {in_blocks(place.pixels, rgb, true_colour), {}};
    case PictureWay::sixel: return {blank, in_sixels(place.pixels, rgb)};
    case PictureWay::iterm: return {blank, for_iterm(place, rgb)};
    case PictureWay::kitty: return {blank, for_kitty(place, rgb)};
  }
  return {};
}

}  // namespace veldt::app
