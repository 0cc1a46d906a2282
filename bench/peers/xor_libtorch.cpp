// XOR 2-4-1, batch 4, Adam, with LibTorch's C++ front end: prints steps a second. Built and run by xor.py.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>

int main() {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  const torch::Tensor x = torch::tensor({{0.f, 0.f}, {0.f, 1.f}, {1.f, 0.f}, {1.f, 1.f}});
  const torch::Tensor y = torch::tensor({{0.f}, {1.f}, {1.f}, {0.f}});
  torch::nn::Sequential net(torch::nn::Linear(2, 4), torch::nn::Tanh(), torch::nn::Linear(4, 1));
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.05));
  const auto step = [&] {
    const torch::Tensor loss = torch::mse_loss(net->forward(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
  };
  for (int i = 0; i < 200; ++i) step();
  const auto start = std::chrono::steady_clock::now();
  constexpr int kSteps = 5000;
  for (int i = 0; i < kSteps; ++i) step();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::printf("%.0f\n", kSteps / spent.count());
}
