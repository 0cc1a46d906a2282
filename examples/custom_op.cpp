// A custom operation with its gradient: first checked, then used for training. snake(x) = x + sin^2(a x) / a
// keeps a rhythm beyond the samples, where relu and tanh go straight on (Ziyin, Hartwig & Ueda 2020).
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

struct Snake : nn::Module {
  Tensor forward(const Tensor& x) const override { return snake(x, 1); }
};

int main() {
  Tensor points = linspace(-2, 2, 9, DType::f64);
  points.set_requires_grad();
  const auto function = [](const TensorList& in) { return snake(in[0], 3); };
  const GradcheckReport first = gradcheck(function, {points}), second = gradgradcheck(function, {points});
  std::printf("off from central differences: the gradient by %.0e, the second derivative by %.0e\n",
              first.worst, second.worst);

  nn::seed(1);
  const Tensor x = unsqueeze(linspace(-8, 8, 200), 1), y = sin(x);
  nn::Sequential net{nn::Linear(1, 32), Snake(), nn::Linear(32, 1)};
  optim::Adam adam(net.named_parameters(), {.lr = 5e-3});
  for (int step = 0; step <= 3000; ++step) {
    const Tensor loss = mse_loss(net(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (step % 1000 == 0) std::printf("step %4d  loss %.6f\n", step, loss.item());
  }
  const NoGrad evaluation;
  const Tensor beyond = unsqueeze(linspace(8, 14, 100), 1);
  const double inside = std::sqrt(mse_loss(net(x), y).item()),
               outside = std::sqrt(mse_loss(net(beyond), sin(beyond)).item());
  std::printf("off by %.3f where it learned, %.3f beyond\n", inside, outside);
  return first && second && inside < 0.05 && outside < 0.4 ? 0 : 1;
}
