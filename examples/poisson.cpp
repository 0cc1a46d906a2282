// A picture from its slopes only: a SIREN is trained for the right gradient everywhere, and never sees a
// level (Sitzmann et al. 2020, section 4.1). The loss holds a derivative of the network, so each step needs
// the second. Writes poisson.png: the slopes that were given, what was drawn, and the picture they came from.
//   example_poisson [assets/cub_grey.png]
#include <cstdio>
#include <string>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kSide = 48;

// The middle of each pixel, -1 to 1: [side * side, 2] as (x, y).
Tensor pixel_centres() {
  const double end = 1 - 1.0 / kSide;
  const Tensor axis = linspace(-end, end, kSide);
  const Tensor x = expand(unsqueeze(axis, 0), {kSide, kSide}), y = expand(unsqueeze(axis, 1), {kSide, kSide});
  return reshape(stack({x, y}, 2), {kSide * kSide, 2});
}

// Differences of neighbours per unit length along a dimension, one-sided at the border: [h, w] -> [h, w].
Tensor slope_along(const Tensor& levels, int dim) {
  const std::int64_t n = levels.size(dim);
  const auto part = [&](std::int64_t from, std::int64_t to) { return slice(levels, dim, from, to); };
  const Tensor inner = (part(2, n) - part(0, n - 2)) / 2;
  return cat({part(1, 2) - part(0, 1), inner, part(n - 1, n) - part(n - 2, n - 1)}, dim) * (kSide / 2.0);
}

int main(int argc, char** argv) try {
  const Tensor photo = io::read_image(argc > 1 ? argv[1] : "assets/cub_grey.png");
  const Tensor levels =
      select(data::resample(photo, {kSide, kSide}, data::Filter::area), 2, 0);  // [side, side]
  const Tensor slopes =
      reshape(stack({slope_along(levels, 1), slope_along(levels, 0)}, 2), {kSide * kSide, 2});

  nn::seed(3);
  nn::Linear first(2, 64), second(64, 64), third(64, 64), last(64, 1);
  nn::init::siren_first(first.weight());
  for (const nn::Linear* layer : {&second, &third, &last}) nn::init::siren_hidden(layer->weight(), 30);
  nn::Sequential siren{first, nn::Sine(20), second, nn::Sine(30), third, nn::Sine(30), last};

  Tensor at = pixel_centres();
  at.set_requires_grad();
  optim::Adam adam(siren.named_parameters(), {.lr = 1e-3});
  for (int step = 0; step <= 500; ++step) {
    const Tensor drawn_slopes = grad(sum(siren(at)), {at}, /*create_graph=*/true)[0];  // [side * side, 2]
    const Tensor loss = mse_loss(drawn_slopes, slopes);
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (step % 100 == 0) std::printf("step %3d  loss %.5f\n", step, loss.item());
  }

  const NoGrad drawing;
  Tensor drawn = reshape(siren(at), {kSide, kSide});
  drawn = drawn + (mean(levels) - mean(drawn));  // slopes leave one number open: how bright the whole is
  const double psnr = train::psnr(unsqueeze(clamp(drawn, 0, 1), 2), unsqueeze(levels, 2));
  std::printf("drawn with %.1f dB\n", psnr);
  const Tensor x_slope = reshape(select(slopes, 1, 0), {kSide, kSide});
  const Tensor sheet = unsqueeze(cat({0.5 + x_slope / 30, drawn, levels}, 1), 2);
  io::write_image("poisson.png", data::resample(sheet, {12 * kSide, 4 * kSide}, data::Filter::nearest));
  return psnr > 24 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "poisson: %s\n", error.what());
  return 2;
}
