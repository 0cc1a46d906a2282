// Training steps a second on the smallest network that needs a hidden layer: XOR, 2-4-1 with tanh, batch 4,
// Adam, on one thread. It measures the cost of a step apart from arithmetic. `--json` prints one object;
// peers do the same work in bench/peers/xor.py and xor_libtorch.cpp.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "veldt/veldt.h"

using namespace veldt;

namespace {

struct Xor {
  Tensor x = Tensor::of({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  Tensor y = Tensor::of({4, 1}, {0, 1, 1, 0});
  nn::Sequential model{nn::Linear(2, 4), nn::Tanh(), nn::Linear(4, 1)};
  optim::Adam adam{model.named_parameters(), {.lr = 0.05}};

  Tensor step() {
    const Tensor loss = mse_loss(model(x), y);
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
  constexpr int kWarmUp = 1000, kRounds = 9, kEager = 5000, kPlan = 50000;

  nn::seed(1);
  Xor eager;
  for (int i = 0; i < kWarmUp; ++i) eager.step();
  const double eager_rate = rate(kRounds, kEager, [&] { eager.step(); });
  const double loss = eager.step().item();

  nn::seed(1);
  Xor planned;
  Plan plan([&] { return planned.step(); });
  for (int i = 0; i < kWarmUp + kRounds * kEager + 1; ++i) plan.replay();
  const bool same = plan.output().item() == loss;
  const double plan_rate = rate(kRounds, kPlan, [&] { plan.replay(); });

  if (json) {
    std::printf(
        "{\"plan_steps_per_s\": %.0f, \"eager_steps_per_s\": %.0f, \"same_bits\": %s, \"loss\": %.3g}\n",
        plan_rate, eager_rate, same ? "true" : "false", loss);
  } else {
    std::printf("eager %10.0f steps/s  %6.3f us a step\n", eager_rate, 1e6 / eager_rate);
    std::printf("plan  %10.0f steps/s  %6.3f us a step, %lld calls:", plan_rate, 1e6 / plan_rate,
                static_cast<long long>(plan.facts().calls));
    for (const std::string& name : plan.facts().names) std::printf(" %s;", name.c_str());
    std::printf("\nloss after %d steps %.3g, %s\n", kWarmUp + kRounds * kEager + 1, loss,
                same ? "the same bits from both" : "NOT the same bits from both");
  }
  return same && loss < 1e-3 ? 0 : 1;
}
