// What the classic problems of control look like.
#include <algorithm>
#include <array>
#include <cmath>

#include "veldt/rl/canvas.h"
#include "veldt/rl/classic_control.h"

namespace veldt::rl {
namespace {

// From (x, y) up by `length`, turned by an angle from there clockwise.
Point turned(Point from, double length, double angle) {
  return {from.x + length * std::sin(angle), from.y - length * std::cos(angle)};
}

}  // namespace

void CartPole::draw(const std::vector<double>& state, Canvas& canvas) const {
  const double scale = canvas.width() / 5.2, floor = 0.75 * canvas.height();
  const double x = canvas.width() / 2.0 + scale * state[0];
  canvas.line({0, floor}, {1.0 * canvas.width(), floor}, 2, kGrey);
  for (const double end : {-2.4, 2.4}) {
    const double at = canvas.width() / 2.0 + scale * end;
    canvas.line({at, floor - 8}, {at, floor + 8}, 2, kGrey);
  }
  canvas.rectangle(x - 0.22 * scale, floor - 0.13 * scale, x + 0.22 * scale, floor + 0.13 * scale, kBlack);
  const Point axle{x, floor - 0.08 * scale};
  canvas.line(axle, turned(axle, 1.15 * scale, state[2]), 0.1 * scale, kOrange);
  canvas.disc(axle, 0.05 * scale, kBlue);
}

void Acrobot::draw(const std::vector<double>& state, Canvas& canvas) const {
  const double scale = std::min(canvas.width(), canvas.height()) / 4.6;
  const Point centre{canvas.width() / 2.0, canvas.height() / 2.0};
  canvas.line({0, centre.y - scale}, {1.0 * canvas.width(), centre.y - scale}, 1.5, kGrey);
  const double pi = 3.14159265358979323846;
  const Point elbow = turned(centre, scale, pi - state[0]);
  const Point tip = turned(elbow, scale, pi - state[0] - state[1]);
  canvas.line(centre, elbow, 0.16 * scale, kBlue);
  canvas.line(elbow, tip, 0.16 * scale, kBlue);
  for (const Point joint : {centre, elbow}) canvas.disc(joint, 0.11 * scale, kOrange);
}

void MountainCar::draw(const std::vector<double>& state, Canvas& canvas) const {
  const double scale = canvas.width() / 1.8;
  const auto at = [&](double x) {
    return Point{(x + 1.2) * scale, 0.95 * canvas.height() - (std::sin(3 * x) * 0.45 + 0.55) * 0.75 * scale};
  };
  for (double x = -1.2; x < 0.6; x += 0.02) canvas.line(at(x), at(x + 0.02), 2, kGrey);
  const Point flag = at(0.5);
  canvas.line(flag, {flag.x, flag.y - 40}, 2, kBlack);
  const std::array<Point, 3> cloth{
      Point{flag.x, flag.y - 40}, {flag.x + 18, flag.y - 33}, {flag.x, flag.y - 26}};
  canvas.polygon(cloth, kOrange);
  const double slope = std::atan(std::cos(3 * state[0]) * 3 * 0.45 * 0.75);
  const Point ground = at(state[0]), along{std::cos(slope), -std::sin(slope)};
  const Point up{along.y, -along.x};
  const auto on_car = [&](double a, double b) {
    return Point{ground.x + a * along.x + b * up.x, ground.y + a * along.y + b * up.y};
  };
  const std::array<Point, 4> body{on_car(-14, 6), on_car(14, 6), on_car(12, 17), on_car(-12, 17)};
  canvas.polygon(body, kBlue);
  for (const double wheel : {-8.0, 8.0}) canvas.disc(on_car(wheel, 5), 5, kBlack);
}

// A bar below shows the torque.
void Pendulum::draw(const std::vector<double>& state, Canvas& canvas) const {
  const double scale = std::min(canvas.width(), canvas.height()) / 2.8;
  const Point centre{canvas.width() / 2.0, canvas.height() / 2.0};
  // Angles grow against the clock, from upright.
  canvas.line(centre, turned(centre, scale, -state[0]), 0.16 * scale, kRed);
  canvas.disc(centre, 0.06 * scale, kBlack);
  const double reach = 0.2 * canvas.width() * state[2], base = 0.95 * canvas.height();
  canvas.rectangle(centre.x - std::max(0.0, reach), base - 4, centre.x - std::min(0.0, reach), base + 4,
                   kBlue);
  canvas.line({centre.x, base - 8}, {centre.x, base + 8}, 2, kBlack);
}

}  // namespace veldt::rl
