// Fits a line through three points, and writes and reads it back: a program of the smallest size that uses
// several parts of Veldt.
#include <cmath>
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

int main() try {
  const Tensor x = Tensor::of({3, 1}, {0, 1, 2}), y = Tensor::of({3, 1}, {1, 3, 5});  // y = 2x + 1
  nn::seed(1);
  nn::Linear line(1, 1);
  optim::Adam adam(line.named_parameters(), {.lr = 0.1});
  for (int step = 0; step < 400; ++step) {
    const Tensor loss = mse_loss(line(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  NamedTensors state;
  for (const auto& [name, tensor] : line.state_dict()) state.push_back({name, tensor});
  io::write_safetensors("line.safetensors", state);
  const io::SafeTensors file = io::read_safetensors("line.safetensors");
  const double slope = file.find("weight")->item(), start = file.find("bias")->item();
  std::printf("y = %.3f x + %.3f\n", slope, start);
  return std::fabs(slope - 2) < 0.01 && std::fabs(start - 1) < 0.01 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
