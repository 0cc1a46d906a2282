// A small picture as the text that shows it in a terminal: by the protocols of kitty and iTerm2, as sixels,
// or in half blocks of colour, which most terminals show.
// Sources: sw.kovidgoyal.net/kitty/graphics-protocol, iterm2.com/documentation-images.html, DEC VT3xx.
// Tests: tests/app/terminal_picture_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/cli/terminal.h"
#include "veldt/core/size.h"

namespace veldt::app {

enum class PictureWay : std::uint8_t { off, blocks, sixel, iterm, kitty };

// The names of --picture: auto first.
std::vector<std::string> picture_ways();

// The way that is named; `auto` decides by the environment: kitty, Ghostty, iTerm2 and WezTerm by what they
// set there, sixels by a TERM that says so, else half blocks where there are 256 colours or more. Off where
// stderr is no terminal that can redraw a line; by `auto` also with NO_COLOR and without UTF-8, and half
// blocks within tmux and screen, which pass nothing else on. Throws Error for sixels without libsixel.
PictureWay picture_way(const std::string& name, const Terminal& terminal);

// Rows and columns of characters, and the pixels that are shown in them.
struct PicturePlace {
  std::int64_t columns = 0, rows = 0;
  Size pixels = {0, 0};
};
// For a picture of these sides; no rows if the window is too small for any.
PicturePlace picture_place(PictureWay way, const Terminal& terminal, std::int64_t width, std::int64_t height);

// For ProgressLine::set_panel().
struct PictureText {
  std::vector<std::string> lines;
  std::string over;
};
// `rgb`: u8 [height, width, 3] of place.pixels. The same picture is replaced by the next in kitty.
PictureText picture_text(PictureWay way, const PicturePlace& place, std::span<const std::uint8_t> rgb,
                         bool true_colour);

// Whether the terminal shows any colour, not 256.
bool has_true_colour();

}  // namespace veldt::app
