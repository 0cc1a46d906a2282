// Distinguishes photographs, drawings and pixel art by the facts of a picture.
#include "veldt/field/kind.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/field/enum_names.h"
#include "veldt/field/survey.h"

namespace veldt::field {
namespace {

constexpr auto kSources = names_of<Source>("area", "point");
constexpr auto kStyles = names_of<Style>("photo", "drawing", "line", "pixel", "text");

bool is_photograph(const PictureFacts& f) { return f.soft > 0.2 && f.flat < 0.4; }

// Calibrated on 1,200 textures and tiles of games, 1,000 icons and 700 other pictures (docs/fields.md).
bool is_pixel_art(const PictureFacts& f, const Signal& picture) {
  if (f.partial > 0.02 || std::max(picture.rows(), picture.columns()) / f.period > 256) return false;
  // A slow ramp has few colours, or strips of them.
  if (f.flat < 1 && f.soft > 0.95 * (1 - f.flat)) return false;
  if (f.period > 1) return true;
  // A program that draws smooth edges also smooths alpha.
  if (f.clear > 0.02 && f.partial == 0 && f.blended < 0.2) return true;
  return !is_photograph(f) && ((f.colours <= 24 && f.blended < 0.25) || (f.colours <= 64 && f.blended < 0.1));
}

std::string colours_in_words(const PictureFacts& f) {
  return f.colours < PictureFacts::kMostColours ? str(f.colours, f.colours == 1 ? " colour" : " colours")
                                                : str("many colours");
}

int percent(double share) { return static_cast<int>(std::lround(100 * share)); }

}  // namespace

std::string_view name_of(Source s) { return kSources[s]; }
Source source_from(std::string_view name) { return kSources.at(name, "source"); }
std::vector<std::string> source_names() { return kSources.in_a_list(); }
std::string_view name_of(Style s) { return kStyles[s]; }
Style style_from(std::string_view name) { return kStyles.at(name, "style"); }
std::vector<std::string> style_names() { return kStyles.in_a_list(); }

std::string_view in_words(const PictureKind& kind) {
  constexpr auto kWords = names_of<Style>("photograph", "drawing", "line art", "pixel art", "text");
  return kind.two_tone ? "drawing in two tones" : kWords[kind.style];
}

PictureFacts facts_of(const Signal& picture) {
  if (picture.survey() != nullptr) return picture.survey()->facts;
  FactsCounter counter(picture.rows(), picture.columns(), picture.channels());
  for (std::int64_t y = 0; y < picture.rows(); ++y) counter.add(picture.read(y, 1));
  return counter.facts();
}

bool has_two_colours(const Signal& picture) {
  const auto channels = static_cast<std::size_t>(picture.channels());
  std::vector<std::vector<float>> colours;
  for (std::int64_t row = 0; row < picture.rows(); ++row) {
    const Tensor levels = picture.read(row, 1);
    const float* const from = levels.data<float>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(levels.numel()); i += channels) {
      const bool is_known = std::any_of(colours.begin(), colours.end(), [&](const std::vector<float>& c) {
        return std::equal(c.begin(), c.end(), from + i);
      });
      if (is_known) continue;
      if (colours.size() == 2) return false;
      colours.emplace_back(from + i, from + i + channels);
    }
  }
  return colours.size() == 2;
}

PictureKind kind_of(const PictureFacts& f, const Signal& picture, std::optional<Style> wish) {
  // Dots and dithering of two colours are not contours, and neither are the squares of a QR code.
  const bool two_tone = f.colours == 2 && f.flat > 0.6 && f.period == 1;
  if (wish) return {*wish, *wish == Style::line && two_tone, "asked for"};
  if (two_tone) return {Style::line, true, "two colours"};
  if (is_pixel_art(f, picture))
    return {Style::pixel, false,
            f.period > 1 ? str("squares of ", f.period, "x", f.period, " pixels, ", colours_in_words(f))
                         : str(colours_in_words(f), " without blends")};
  if (is_photograph(f)) return {Style::photo, false, str(percent(f.soft), " % of the steps are soft")};
  if (f.is_grey && f.between < 0.25)
    return {Style::line, false,
            str("grey, and ", percent(1 - f.between), " % of the pixels near black or white")};
  return {Style::drawing, false,
          str(percent(f.flat), " % of it flat, ", percent(f.soft), " % of the steps soft")};
}

}  // namespace veldt::field
