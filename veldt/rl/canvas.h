// A small canvas with smooth edges, on which environments draw themselves.
// Tests: tests/rl/canvas_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace veldt::rl {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};
inline constexpr Colour kWhite{255, 255, 255}, kBlack{30, 30, 36}, kGrey{190, 190, 196}, kBlue{52, 101, 164},
    kOrange{202, 112, 40}, kGreen{60, 140, 70}, kRed{190, 50, 50};

struct Point {
  double x = 0, y = 0;
};

// Pixels of three bytes, white at first. Coordinates are in pixels from the upper left corner; the pixel
// (0, 0) is the square from there to (1, 1). An edge covers a pixel by its distance from the pixel's centre.
// Shapes may lie outside in part or altogether; one with a coordinate that is not finite draws nothing.
class Canvas {
 public:
  Canvas(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }
  // [height, width, 3]
  const std::vector<std::uint8_t>& pixels() const { return pixels_; }

  void clear(Colour colour = kWhite);
  void disc(Point centre, double radius, Colour colour);
  // A line of this thickness with round ends.
  void line(Point from, Point to, double thickness, Colour colour);
  void rectangle(double left, double top, double right, double bottom, Colour colour);
  // A convex polygon, its corners in either direction.
  void polygon(std::span<const Point> corners, Colour colour);

 private:
  // Blends the colour over a box of pixels: `distance` to the shape's edge, below 0 inside.
  template <class Distance>
  void fill(double left, double top, double right, double bottom, Colour colour, const Distance& distance);

  int width_, height_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace veldt::rl
