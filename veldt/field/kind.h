// The kind of a picture, which decides what a field should draw between the pixels.
// Tests: tests/field/kind_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/field/picture_facts.h"
#include "veldt/field/signal.h"

namespace veldt::field {

// text: pages and screenshots. line: drawings in greys, or in two tones. pixel: pixel art, whose pixels are
// squares.
enum class Style : std::uint8_t { photo, drawing, line, pixel, text };

// The meaning of a pixel: the mean over its area, as in cameras and most programs, or the level at its
// centre.
enum class Source : std::uint8_t { area, point };

std::string_view name_of(Source);
Source source_from(std::string_view name);
std::vector<std::string> source_names();
std::string_view name_of(Style);
// Throws ConfigError listing the known names.
Style style_from(std::string_view name);
std::vector<std::string> style_names();

PictureFacts facts_of(const Signal& picture);
bool has_two_colours(const Signal& picture);

struct PictureKind {
  Style style = Style::photo;
  bool two_tone = false;  // every pixel has one of two colours, with smooth contours
  std::string reason;     // in a few words, for people
};
std::string_view in_words(const PictureKind& kind);  // "photograph", "drawing in two tones" ..
// `wish` decides if it is given.
PictureKind kind_of(const PictureFacts& facts, const Signal& picture, std::optional<Style> wish = {});

}  // namespace veldt::field
