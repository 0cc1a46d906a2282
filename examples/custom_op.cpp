// An operation of one's own, with its gradient: first checked, then trained with.
// snake(x) = x + sin^2(a x) / a keeps a rhythm beyond the samples, where relu and tanh go straight on
// (Ziyin, Hartwig & Ueda 2020).
#include <cmath>
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

// The result and its gradient side by side. Both are written with ops, so that it can be differentiated
// again; the forward pass sees a detached input, because record() makes it one node of the graph, not five.
Tensor snake(const Tensor& x, double a) {
  const Tensor y = x.detach() + square(sin(x.detach() * a)) / a;
  return record("snake", y, {x}, [x, a](const Tensor& g) -> Grads {
    return {g * (1 + sin(x * (2 * a)))};  // d/dx sin^2(a x) / a = 2 sin(a x) cos(a x)
  });
}

Tensor leaf(const Tensor& values) { return values.detach().set_requires_grad(); }

// The largest difference between the gradient of sum(f(x)) and central differences, in double.
template <class Function> double gradient_error(const Function& f) {
  const Tensor x = leaf(linspace(-2, 2, 9, DType::f64));
  const Tensor slope = grad(sum(f(x)), {x})[0];
  const double step = 1e-5;
  const Tensor differences = (f(leaf(x + step)) - f(leaf(x - step))) / (2 * step);
  return max(abs(slope - differences)).item();
}

struct Snake : nn::Module {
  Tensor forward(const Tensor& x) const override { return snake(x, 1); }
};

int main() {
  const double first = gradient_error([](const Tensor& x) { return snake(x, 3); });
  // The slope is a function too: its gradient is the second derivative.
  const double second =
      gradient_error([](const Tensor& x) { return grad(sum(snake(x, 3)), {x}, /*create_graph=*/true)[0]; });
  std::printf("gradient off by %.1e, second derivative by %.1e\n", first, second);

  nn::seed(1);
  const Tensor x = unsqueeze(linspace(-8, 8, 200), 1), y = sin(x);
  nn::Sequential net{nn::Linear(1, 32), Snake(), nn::Linear(32, 1)};
  optim::Adam adam(net.parameters(), {.lr = 5e-3});
  for (int step = 0; step <= 3000; ++step) {
    const Tensor loss = mse(net(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (step % 1000 == 0) std::printf("step %4d  loss %.6f\n", step, loss.item());
  }
  const NoGrad evaluation;
  const Tensor beyond = unsqueeze(linspace(8, 14, 100), 1);
  const double inside = std::sqrt(mse(net(x), y).item()),
               outside = std::sqrt(mse(net(beyond), sin(beyond)).item());
  std::printf("off by %.3f where it learned, %.3f beyond\n", inside, outside);
  return first < 1e-6 && second < 1e-6 && inside < 0.05 && outside < 0.4 ? 0 : 1;
}
