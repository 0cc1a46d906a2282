// An optimizer of one's own, written with ops alone: Lion (Chen et al. 2023), raced against the library's.
#include <cmath>
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

// update() is given the parameters that have gradients, side by side: a part of one long array of values, one
// of gradients, and one for each state that the constructor names. All of them are saved by state().
class MyLion : public optim::Optimizer {
 public:
  MyLion(const NamedTensors& parameters, double lr, double beta1, double beta2, double decay)
      : Optimizer(parameters, lr, {"momentum"}), beta1_(beta1), beta2_(beta2), decay_(decay) {}

 protected:
  void update(std::size_t group, optim::Slab::Range range) override {
    const Tensor g = optim::Slab::part(slab().gradients(), range);
    Tensor p = optim::Slab::part(slab().values(), range), m = optim::Slab::part(state_slab(0), range);
    const Tensor direction = sign(beta1_ * m + (1 - beta1_) * g);
    p.assign(p - group_lr(group) * (direction + decay_ * p));
    m.assign(beta2_ * m + (1 - beta2_) * g);
  }

 private:
  double beta1_, beta2_, decay_;
};

// Learns a wave; returns the last loss.
double learn(const nn::Module& model, optim::Optimizer& optimizer) {
  const Tensor x = unsqueeze(linspace(-2, 2, 64), 1), y = sin(2.0 * x);
  const optim::Schedule rate = optim::CosineAnnealing{.lr_max = 5e-3, .epochs = 600};
  Tensor loss;
  for (int step = 0; step < 600; ++step) {
    optimizer.set_lr(rate(step));
    loss = mse(model(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  return loss.item();
}

int main() {
  nn::seed(3);
  const nn::Sequential model{nn::Linear(1, 32), nn::Tanh(), nn::Linear(32, 1)};
  const nn::Sequential twin = clone(model);  // the same weights, in memory of its own

  MyLion mine(model.named_parameters(), 5e-3, 0.9, 0.99, 0.01);
  optim::Lion theirs(twin.named_parameters(), {.lr = 5e-3, .weight_decay = 0.01});
  const double my_loss = learn(model, mine), their_loss = learn(twin, theirs);
  std::printf("written here  loss %.6f\nthe library's loss %.6f\n", my_loss, their_loss);
  return my_loss < 1e-3 && their_loss < 1e-3 && std::abs(my_loss - their_loss) < 5e-4 ? 0 : 1;
}
