// A custom loss and optimizer, written only with ops: a curve through points of which some are far off,
// learned by Lion (Chen et al. 2023) as it is written here, and by the library's Lion, Adam and SGD. Draws
// their losses into custom_optimizer.svg.
#include <cmath>
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

// log(1 + (p - t)^2 / (2 s^2)): Cauchy's loss, which is almost insensitive to outliers (Barron 2019, alpha =
// 0). Ops are differentiated automatically; no class and no backward function are needed.
Tensor cauchy(const Tensor& prediction, const Tensor& target, double scale) {
  return mean(log1p(square((prediction - target) / scale) / 2));
}

// update() is given the parameters that have gradients, side by side: a part of one long array of values, one
// of gradients, and one for each state that the constructor names. All of them are saved by state_dict().
class MyLion : public optim::Optimizer {
 public:
  MyLion(const NamedTensors& parameters, double lr, double beta1, double beta2, double decay)
      : Optimizer(parameters, lr, {"momentum"}), beta1_(beta1), beta2_(beta2), decay_(decay) {}

 protected:
  void update(std::size_t group, optim::Slab::Range range) override {
    const Tensor g = optim::Slab::part(slab().gradients(), range);
    Tensor p = optim::Slab::part(slab().values(), range), m = state(0, range);
    const Tensor direction = sign(beta1_ * m + (1 - beta1_) * g);
    p.assign(p - group_lr(group) * (direction + decay_ * p));
    m.assign(beta2_ * m + (1 - beta2_) * g);
  }

 private:
  double beta1_, beta2_, decay_;
};

struct Points {
  Tensor x, y;
};

// Learns the points; the losses of all steps.
io::ChartLine learn(const char* name, const nn::Module& model, optim::Optimizer& optimizer,
                    const Points& points) {
  constexpr int kSteps = 800;
  const optim::Schedule rate = optim::CosineAnnealing{.lr_max = optimizer.lr(), .steps = kSteps};
  io::ChartLine curve{name, {}, {}};
  for (int step = 0; step < kSteps; ++step) {
    optimizer.set_lr(rate(step));
    const Tensor loss = cauchy(model(points.x), points.y, 0.1);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    curve.x.push_back(step);
    curve.y.push_back(loss.item());
  }
  return curve;
}

int main() {
  Rng rng(3);
  const Tensor x = unsqueeze(linspace(-2, 2, 128), 1), wave = sin(2.0 * x);
  // Every eighth point is wrong by 2.
  const Tensor off = to(equal(remainder(unsqueeze(arange(128), 1), 8), 0), DType::f32);
  const Points points{x, wave + randn({128, 1}, rng, 0, 0.02) + 2.0 * off};

  const nn::Sequential model{nn::Linear(1, 32, rng), nn::Tanh(), nn::Linear(32, 1, rng)};
  const nn::Sequential twins[] = {clone(model), clone(model), clone(model)};  // the same weights
  MyLion mine(model.named_parameters(), 5e-3, 0.9, 0.99, 0.01);
  optim::Lion lion(twins[0].named_parameters(), {.lr = 5e-3, .weight_decay = 0.01});
  optim::Adam adam(twins[1].named_parameters(), {.lr = 2e-2});
  optim::SGD sgd(twins[2].named_parameters(), {.lr = 2e-3, .momentum = 0.9});
  const std::vector<io::ChartLine> lines{
      learn("Lion, written here", model, mine, points), learn("the library's", twins[0], lion, points),
      learn("Adam", twins[1], adam, points), learn("SGD, momentum 0.9", twins[2], sgd, points)};
  io::write_chart("custom_optimizer.svg",
                  {.title = "Cauchy's loss", .x = "step", .y = "loss", .lines = lines, .log_y = true});
  const NoGrad off_the_graph;
  for (const io::ChartLine& line : lines) std::printf("%-20s loss %.4f\n", line.name.c_str(), line.y.back());
  // Squared errors would be drawn a quarter towards the wrong points.
  const double error = mean(abs(model(x) - wave)).item(),
               same = std::abs(lines[0].y.back() - lines[1].y.back());
  std::printf("off from the wave by %.3f; the two Lions differ by %.1e\n", error, same);
  return error < 0.05 && same < 1e-3 ? 0 : 1;
}
