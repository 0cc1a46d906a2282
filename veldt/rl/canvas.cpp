// Draws shapes by the distance of each pixel's centre from their edges.
#include "veldt/rl/canvas.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"

namespace veldt::rl {

Canvas::Canvas(int width, int height) : width_(width), height_(height) {
  if (width < 1 || height < 1 || width > 4096 || height > 4096)
    throw ConfigError(str("a canvas cannot be ", width, " by ", height), "each side has 1 to 4096 pixels",
                      "give another size");
  pixels_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3, 255);
}

void Canvas::clear(Colour colour) {
  for (std::size_t i = 0; i < pixels_.size(); i += 3)
    pixels_[i] = colour.red, pixels_[i + 1] = colour.green, pixels_[i + 2] = colour.blue;
}

template <class Distance>
void Canvas::fill(double left, double top, double right, double bottom, Colour colour,
                  const Distance& distance) {
  if (!std::isfinite(left + top + right + bottom)) return;
  const auto within = [](double x, int size) { return static_cast<int>(std::clamp<double>(x, 0, size)); };
  const int x0 = within(std::floor(left - 1), width_), x1 = within(std::ceil(right + 1), width_);
  const int y0 = within(std::floor(top - 1), height_), y1 = within(std::ceil(bottom + 1), height_);
  for (int y = y0; y < y1; ++y)
    for (int x = x0; x < x1; ++x) {
      const double cover = std::clamp(0.5 - distance(Point{x + 0.5, y + 0.5}), 0.0, 1.0);
      if (cover <= 0) continue;
      std::uint8_t* const pixel =
          &pixels_[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                        static_cast<std::size_t>(x))];
      const std::uint8_t over[3] = {colour.red, colour.green, colour.blue};
      for (int c = 0; c < 3; ++c)
        pixel[c] = static_cast<std::uint8_t>(std::lerp(pixel[c], over[c], cover) + 0.5);
    }
}

void Canvas::disc(Point centre, double radius, Colour colour) {
  fill(centre.x - radius, centre.y - radius, centre.x + radius, centre.y + radius, colour,
       [&](Point p) { return std::hypot(p.x - centre.x, p.y - centre.y) - radius; });
}

void Canvas::line(Point from, Point to, double thickness, Colour colour) {
  const double half = thickness / 2, dx = to.x - from.x, dy = to.y - from.y, square = dx * dx + dy * dy;
  fill(std::min(from.x, to.x) - half, std::min(from.y, to.y) - half, std::max(from.x, to.x) + half,
       std::max(from.y, to.y) + half, colour, [&](Point p) {
         const double along = ((p.x - from.x) * dx + (p.y - from.y) * dy) / std::max(square, 1e-12);
         const double t = std::clamp(along, 0.0, 1.0);
         return std::hypot(p.x - from.x - t * dx, p.y - from.y - t * dy) - half;
       });
}

void Canvas::rectangle(double left, double top, double right, double bottom, Colour colour) {
  fill(left, top, right, bottom, colour, [&](Point p) {
    return std::max({left - p.x, p.x - right, top - p.y, p.y - bottom});
  });
}

void Canvas::polygon(std::span<const Point> corners, Colour colour) {
  if (corners.size() < 3) return;
  double left = corners[0].x, right = left, top = corners[0].y, bottom = top, area = 0;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Point a = corners[i], b = corners[(i + 1) % corners.size()];
    left = std::min(left, a.x), right = std::max(right, a.x);
    top = std::min(top, a.y), bottom = std::max(bottom, a.y);
    area += a.x * b.y - b.x * a.y;
  }
  fill(left, top, right, bottom, colour, [&](Point p) {
    double most = -1e9;
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point a = corners[i], b = corners[(i + 1) % corners.size()];
      const double length = std::max(std::hypot(b.x - a.x, b.y - a.y), 1e-12);
      const double left_of = ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) / length;
      most = std::max(most, area > 0 ? -left_of : left_of);
    }
    return most;
  });
}

}  // namespace veldt::rl
