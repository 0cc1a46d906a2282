// Learns a curve and a surface from samples alone, and draws both into learn_a_formula.png:
// the noisy samples with the curve that was learned; the surface itself; what a network made of 1,000 points.
#include <cmath>
#include <cstdio>
#include <vector>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kSide = 240;  // pixels of each panel

Tensor curve(const Tensor& x) { return sin(3 * x) * exp(-0.3 * x * x); }  // [n, 1] -> [n, 1]
Tensor surface(const Tensor& p) {                                         // [n, 2] -> [n, 1]
  const Tensor x = slice(p, 1, 0, 1), y = slice(p, 1, 1, 2);
  return sin(3 * x) * cos(4 * y) + 0.5 * x * y;
}

void teach(const nn::Module& net, const Tensor& x, const Tensor& y, int steps) {
  optim::Adam adam(net.named_parameters(), {.lr = 5e-3});
  const optim::Schedule rate = optim::CosineAnnealing{.lr_max = 5e-3, .lr_min = 1e-5, .steps = steps};
  for (int step = 0; step < steps; ++step) {
    adam.set_lr(rate(step));
    const Tensor loss = mse_loss(net(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
}

double rms(const Tensor& a, const Tensor& b) { return std::sqrt(mse_loss(a, b).item()); }

// Sets the pixels of a [side, side, 3] panel where (x, y) in -2..2 lie to a colour; `size` pixels wide.
void plot(const Tensor& panel, const Tensor& x, const Tensor& y, int size, std::vector<double> colour) {
  const std::vector<float> xs = x.values<float>(), ys = y.values<float>();
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto column = static_cast<std::int64_t>((xs[i] + 2) / 4 * (kSide - 1));
    const auto row = static_cast<std::int64_t>((1.4 - ys[i]) / 2.8 * (kSide - 1));
    for (std::int64_t v = row; v < row + size; ++v)
      for (std::int64_t u = column; u < column + size; ++u)
        if (u >= 0 && v >= 0 && u < kSide && v < kSide)
          for (std::int64_t c = 0; c < 3; ++c)
            panel.data<float>()[(v * kSide + u) * 3 + c] =
                static_cast<float>(colour[static_cast<std::size_t>(c)]);
  }
}

// Heights -1.5..1.5 as blue, white, red: [side * side, 1] -> [side, side, 3].
Tensor heat(const Tensor& heights) {
  const Tensor h = reshape(clamp(heights / 1.5, -1, 1), {kSide, kSide, 1});
  return cat({1 + minimum(h, zeros_like(h)), 1 - abs(h), 1 - maximum(h, zeros_like(h))}, 2);
}

int main() {
  nn::seed(1);
  Rng rng(2);
  const Tensor x = rand({120, 1}, rng, -2, 2), noisy = curve(x) + randn({120, 1}, rng, 0, 0.08);
  nn::Sequential line{nn::Linear(1, 32), nn::Tanh(), nn::Linear(32, 32), nn::Tanh(), nn::Linear(32, 1)};
  teach(line, x, noisy, 1500);

  const Tensor points = rand({1000, 2}, rng, -2, 2);
  nn::Sequential sheet{nn::Linear(2, 64), nn::Tanh(), nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 1)};
  teach(sheet, points, surface(points), 1500);

  const NoGrad drawing;
  const Tensor axis = unsqueeze(linspace(-2, 2, kSide), 1);
  const Tensor across = expand(unsqueeze(axis, 0), {kSide, kSide, 1}),
               down = expand(unsqueeze(axis, 1), {kSide, kSide, 1});
  const Tensor grid = reshape(cat({across, down}, 2), {kSide * kSide, 2});
  const Tensor dense = unsqueeze(linspace(-2, 2, 4 * kSide), 1);
  const double curve_error = rms(line(dense), curve(dense)), surface_error = rms(sheet(grid), surface(grid));
  std::printf("off by %.3f along the curve (its samples: %.3f), %.3f over the surface\n", curve_error,
              rms(noisy, curve(x)), surface_error);

  const Tensor panel = ones({kSide, kSide, 3});
  plot(panel, x, noisy, 3, {0.65, 0.65, 0.65});
  plot(panel, dense, line(dense), 2, {0.8, 0.1, 0.1});
  io::write_image("learn_a_formula.png", cat({panel, heat(surface(grid)), heat(sheet(grid))}, 1));
  return curve_error < 0.06 && surface_error < 0.08 ? 0 : 1;
}
