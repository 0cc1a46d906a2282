// Training steps a second on the smallest network that needs a hidden layer: XOR, 2-4-1 with tanh, batch 4,
// Adam, on one thread. What it measures is the cost of a step apart from arithmetic. `--json` prints one
// object; peers do the same work in bench/peers/xor.py and xor_libtorch.cpp.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "veldt/tensor/backends.h"
#include "veldt/veldt.h"

using namespace veldt;

namespace {

struct Xor {
  Tensor x = Tensor::of({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  Tensor y = Tensor::of({4, 1}, {0, 1, 1, 0});
  nn::Sequential model{nn::Linear(2, 4), nn::Tanh(), nn::Linear(4, 1)};
  optim::Adam adam{model.parameters(), {.lr = 0.05}};

  Tensor step() {
    const Tensor loss = mse(model(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  }
};

// The median of `rounds` measurements, in calls a second.
template <class Fn> double rate(int rounds, int calls, Fn call) {
  std::vector<double> rates;
  for (int r = 0; r < rounds; ++r) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    rates.push_back(calls / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(rates.begin(), rates.begin() + rounds / 2, rates.end());
  return rates[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  set_num_threads(1);
  nn::seed(1);
  Xor eager;
  for (int i = 0; i < 1000; ++i) eager.step();
  const std::int64_t before = pool({}).stats().system_allocations;
  const double eager_rate = rate(9, 5000, [&] { eager.step(); });
  const std::int64_t allocations = pool({}).stats().system_allocations - before;
  const double loss = eager.step().item();
  if (json)
    std::printf("{\"eager_steps_per_s\": %.0f, \"final_loss\": %.3g}\n", eager_rate, loss);
  else
    std::printf("eager %10.0f steps/s  (%.2f us), %lld allocations, loss %.3g\n", eager_rate,
                1e6 / eager_rate, static_cast<long long>(allocations), loss);
  return loss < 1e-3 ? 0 : 1;
}
