// Learns the exclusive or of two bits: the smallest problem that needs a hidden layer.
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

// What is printed after training: inputs, what the model says, what was asked.
void print_table(const Tensor& x, const Tensor& prediction, const Tensor& y) {
  const std::vector<float> in = x.values<float>(), out = prediction.values<float>(),
                           wanted = y.values<float>();
  for (std::size_t row = 0; row < out.size(); ++row)
    std::printf("%.0f xor %.0f = %6.3f  (%.0f)\n", in[2 * row], in[2 * row + 1], out[row], wanted[row]);
}

int main() {
  const Tensor x = Tensor::of({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});  // shape, then values
  const Tensor y = Tensor::of({4, 1}, {0, 1, 1, 0});

  nn::seed(7);
  nn::Sequential model{nn::Linear(2, 8), nn::Tanh(), nn::Linear(8, 1)};
  std::printf("%s\n", model.description().c_str());

  optim::Adam adam(model.named_parameters(), {.lr = 0.05f});
  for (int step = 0; step < 500; ++step) {
    const Tensor loss = mse_loss(model(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (step % 100 == 0) std::printf("step %3d  loss %.5f\n", step, loss.item());
  }

  const NoGrad inference;  // nothing more to learn, so nothing to record
  const Tensor prediction = model(x);
  std::printf("loss %.6f\n\n", mse_loss(prediction, y).item());
  print_table(x, prediction, y);
  return mse_loss(prediction, y).item() < 1e-3 ? 0 : 1;
}
