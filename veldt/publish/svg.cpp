// Finds the two tones of a field, the lines between them, and the curves along those.
#include "veldt/publish/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/image_field.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/publish/curves.h"
#include "veldt/publish/html.h"
#include "veldt/publish/parts.h"
#include "veldt/tensor/graph.h"

namespace veldt::publish {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 25, kSamplesASide = 4;
constexpr double kDust = 0.02;  // fitted pixels: outlines around less are noise
constexpr std::int64_t kPointsAtATime = 1 << 14;

using Tone = std::vector<double>;

// How far a level is on the way from the ground to the ink: 0 to 1.
struct Tones {
  Tone ground, ink;
  double share(const float* level) const {
    double along = 0, whole = 0;
    for (std::size_t c = 0; c < ink.size(); ++c) {
      along += (static_cast<double>(level[c]) - ground[c]) * (ink[c] - ground[c]);
      whole += (ink[c] - ground[c]) * (ink[c] - ground[c]);
    }
    return along / whole;
  }
};

double brightness(const Tone& tone) {
  const std::size_t colours = tone.size() - (tone.size() % 2 == 0 ? 1 : 0);
  double sum = 0;
  for (std::size_t c = 0; c < colours; ++c) sum += tone[c] / static_cast<double>(colours);
  return sum + (tone.size() % 2 == 0 && tone.back() < 0.5 ? 2 : 0);  // what is clear is ground
}

Tones tones_of(const field::FieldOptions& o) {
  std::vector<Tone> two = o.tones;
  if (two.empty()) two = {{0}, {1}};
  if (brightness(two[0]) > brightness(two[1])) std::swap(two[0], two[1]);
  return {two[1], two[0]};
}

[[noreturn]] void refuse(const std::string& why) {
  throw ConfigError(
      "what has more than two tones cannot be drawn as outlines", why,
      "write a page (.html) or tiles (a folder's name with / at its end), which have all levels");
}

std::string colour(const Tone& tone) {
  const auto byte = [&](std::size_t c) { return static_cast<int>(std::lround(255 * tone[c])); };
  const bool is_grey = tone.size() < 3;
  return fmt::format("#{:02x}{:02x}{:02x}", byte(0), byte(is_grey ? 0 : 1), byte(is_grey ? 0 : 2));
}

double opacity(const Tone& tone) { return tone.size() % 2 == 0 ? tone.back() : 1; }

std::string in_short(double x) {
  std::string text = fmt::format("{:.3f}", x);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

// The shares at points in fitted pixels, minus 1/2.
class Levels {
 public:
  Levels(const field::Field& field, const Tones& tones)
      : field_(field), tones_(tones), map_(field.options()) {}

  std::vector<float> operator()(const std::vector<Point>& points) const {
    NoGrad off;
    std::vector<float> out;
    for (std::size_t begin = 0; begin < points.size(); begin += kPointsAtATime) {
      const std::size_t end = std::min(points.size(), begin + kPointsAtATime);
      some(points, begin, end, out);
    }
    return out;
  }

 private:
  void some(const std::vector<Point>& points, std::size_t begin, std::size_t end,
            std::vector<float>& out) const {
    const field::FieldOptions& o = field_.options();
    const auto count = static_cast<std::int64_t>(end - begin);
    std::vector<float> inputs(static_cast<std::size_t>(count * map_.inputs()));
    float* put = inputs.data();
    for (std::size_t i = begin; i < end; ++i)
      put = map_.put(points[i].x / static_cast<double>(o.width), points[i].y / static_cast<double>(o.height),
                     0.5, put);
    Tensor levels = contiguous(
        field::levels_from(field_.network()(Tensor::from<float>({count, map_.inputs()}, inputs)), o.head));
    for (std::int64_t i = 0; i < count; ++i) {
      const Point p = points[begin + static_cast<std::size_t>(i)];
      Tensor level = slice(levels, 0, i, i + 1);
      if (field_.closing()) {
        level = contiguous(field_.closing().closed(reshape(level, {1, 1, o.channels}), {p.y}, {p.x}));
        out.push_back(static_cast<float>(tones_.share(level.data<float>()) - 0.5));
      } else {
        out.push_back(static_cast<float>(tones_.share(levels.data<float>() + i * o.channels) - 0.5));
      }
    }
  }

  const field::Field& field_;
  const Tones& tones_;
  field::CoordinateMap map_;
};

// The values inside, and around them those on the border itself.
std::vector<float> with_border(const std::vector<float>& inside, const std::vector<double>& xs,
                               const std::vector<double>& ys, const Levels& at) {
  std::vector<Point> border;
  const auto is_border = [&](std::size_t x, std::size_t y) {
    return x == 0 || y == 0 || x + 1 == xs.size() || y + 1 == ys.size();
  };
  for (std::size_t y = 0; y < ys.size(); ++y)
    for (std::size_t x = 0; x < xs.size(); ++x)
      if (is_border(x, y)) border.push_back({xs[x], ys[y]});
  const std::vector<float> around = at(border);
  auto next = around.begin();
  auto within = inside.begin();
  std::vector<float> out;
  for (std::size_t y = 0; y < ys.size(); ++y)
    for (std::size_t x = 0; x < xs.size(); ++x) out.push_back(is_border(x, y) ? *next++ : *within++);
  return out;
}

std::string path_of(const std::vector<Cubic>& curves) {
  std::string x = in_short(curves[0][0].x), y = in_short(curves[0][0].y), text = "M" + x + " " + y;
  for (const Cubic& c : curves) {
    if (&c == &curves.back() && is_straight(c)) break;  // Z draws it
    const std::string before_x = std::exchange(x, in_short(c[3].x)),
                      before_y = std::exchange(y, in_short(c[3].y));
    if (is_straight(c))
      text += before_y == y ? "H" + x : before_x == x ? "V" + y : "L" + x + " " + y;
    else
      text += fmt::format("C{} {} {} {} {} {}", in_short(c[1].x), in_short(c[1].y), in_short(c[2].x),
                          in_short(c[2].y), x, y);
  }
  return text + "Z";
}

// Rows of pixel art: a rectangle for each run of ink.
std::string rectangles(const std::vector<float>& shares, const field::FieldOptions& o, std::int64_t& count) {
  std::string text;
  for (std::int64_t y = 0; y < o.rows(); ++y)
    for (std::int64_t x = 0, begin = 0; x <= o.columns(); ++x) {
      const auto is_ink = [&](std::int64_t at) {
        return shares[static_cast<std::size_t>(y * o.columns() + at)] > 0;
      };
      if (x < o.columns() && is_ink(x)) continue;
      if (x > begin) {
        const std::int64_t p = o.period;
        text += fmt::format("M{} {}h{}v{}h{}z\n", begin * p, y * p, (x - begin) * p, p, (begin - x) * p);
        ++count;
      }
      begin = x + 1;
    }
  return text;
}

}  // namespace

Svg svg(const field::Field& field, const SvgOptions& options) {
  must_be_picture(field, "SVG");
  const field::FieldOptions& o = field.options();
  if (o.channels != 1 && o.tones.empty())
    refuse(str("it has ", o.channels, " channels, and no two colours alone"));
  const Tones tones = tones_of(o);
  std::int64_t samples = o.squares ? 1 : kSamplesASide;
  while (samples > 1 && o.columns() * samples * (o.rows() * samples) > kMostSamples) --samples;
  if (o.columns() * samples > kMostSamples / (o.rows() * samples))
    throw ConfigError(str("cannot draw outlines of ", o.columns(), " x ", o.rows(), " pixels"),
                      str("at most ", kMostSamples, " are sampled"), "fit the picture at a smaller size");
  const Size size{o.columns() * samples, o.rows() * samples};
  const Tensor levels = field::ImageField(field).render(size, {.supersample = o.squares ? 0 : 1});
  std::vector<float> shares;
  std::int64_t between = 0;
  for (std::int64_t i = 0; i < size.width * size.height; ++i) {
    const double share = tones.share(levels.data<float>() + i * o.channels);
    between += share > 0.2 && share < 0.8 ? 1 : 0;
    shares.push_back(static_cast<float>(share - 0.5));
  }
  const double part = static_cast<double>(between) / static_cast<double>(size.width * size.height);
  // A drawing that was in two tones may be learned softly: it is cut half way all the same.
  if (!o.two_tone && o.tones.empty() && part > kMostBetween)
    refuse(fmt::format("{:.0f} % of its area is between the two, and at most {:.0f} % may be, at edges",
                       100 * part, 100 * kMostBetween));
  Svg out;
  std::string path;
  if (o.squares) {
    path = rectangles(shares, o, out.outlines);
  } else {
    const auto places = [&](std::int64_t n) {
      std::vector<double> at = {0};
      for (std::int64_t i = 0; i < n * samples; ++i)
        at.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(samples));
      at.push_back(static_cast<double>(n));
      return at;
    };
    const double error = options.error > 0                ? options.error
                         : o.two_tone || !o.tones.empty() ? kTwoToneError
                                                          : kGreyError;
    const std::vector<double> xs = places(o.width), ys = places(o.height);
    const Levels at(field, tones);
    for (const Loop& loop : outlines(xs, ys, with_border(shares, xs, ys, at), at)) {
      if (std::abs(area(loop)) < kDust) continue;
      const std::vector<Cubic> curves = fit_curves(loop, {.error = error, .border = {xs.back(), ys.back()}});
      ++out.outlines;
      out.curves += std::count_if(curves.begin(), curves.end(), [](auto& c) { return !is_straight(c); });
      path += path_of(curves) + "\n";
    }
  }
  out.text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<title>{2}</title>\n",
      o.width, o.height, in_html(options.title));
  if (opacity(tones.ground) > 0)
    out.text += fmt::format(
        "<rect width=\"{}\" height=\"{}\" fill=\"{}\"{}/>\n", o.width, o.height, colour(tones.ground),
        opacity(tones.ground) < 1 ? fmt::format(" fill-opacity=\"{:.3f}\"", opacity(tones.ground)) : "");
  out.text +=
      fmt::format("<path fill=\"{}\"{} fill-rule=\"evenodd\"{} d=\"{}\"/>\n</svg>\n", colour(tones.ink),
                  opacity(tones.ink) < 1 ? fmt::format(" fill-opacity=\"{:.3f}\"", opacity(tones.ink)) : "",
                  o.squares ? " shape-rendering=\"crispEdges\"" : "", path);
  return out;
}

}  // namespace veldt::publish
