// Forward and backward of convolutions on the CPU: LeNet's two at batch 64 (the first without a gradient by
// its input), and 3x3 of 64 channels. Prints one JSON object, milliseconds by case;
// bench/peers/convolution.py does the same work in PyTorch. The first argument is the number of threads (2);
// `--profile` after it prints where the time goes instead.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "veldt/veldt.h"

using namespace veldt;

namespace {

struct Case {
  const char* name;
  std::int64_t batch, in, out, size, kernel, padding;
  bool input_gradient;
};
constexpr Case kCases[] = {{"lenet_1", 64, 1, 6, 28, 5, 2, false},
                           {"lenet_2", 64, 6, 16, 14, 5, 0, true},
                           {"3x3_64", 16, 64, 64, 32, 3, 1, true}};

struct Work {
  Tensor x, seed;
  nn::Conv2d layer;

  explicit Work(const Case& c)
      : x(rand({c.batch, c.in, c.size, c.size}, nn::default_rng(), -1, 1)),
        layer(c.in, c.out, c.kernel, {.padding = c.padding}) {
    if (c.input_gradient) x.set_requires_grad();
    seed = ones_like(layer(x).detach());
  }
  void step() {
    std::vector<Tensor> wanted = {layer.weight(), layer.bias()};
    if (x.requires_grad()) wanted.push_back(x);
    grad(layer(x), wanted, false, seed);
  }
};

// The fastest call, in milliseconds: others on the machine only add to it.
template <class Fn> double milliseconds(Fn call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < 5; ++i) call();
  for (const auto end = Clock::now() + std::chrono::milliseconds(700); Clock::now() < end;) {
    const auto start = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const bool profile = argc > 2 && std::strcmp(argv[2], "--profile") == 0;
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  nn::seed(1);
  const char* before = "{";
  for (const Case& c : kCases) {
    Work work(c);
    if (profile) {
      work.step();
      Profile watch;
      for (int i = 0; i < 50; ++i) work.step();
      std::printf("%s\n%s\n", c.name, watch.table().c_str());
      continue;
    }
    std::printf("%s\"%s\": {\"forward\": %.4f, \"step\": %.4f}", before, c.name, milliseconds([&] {
                  const NoGrad off;
                  work.layer(work.x);
                }),
                milliseconds([&] { work.step(); }));
    before = ", ";
  }
  if (!profile) std::printf("}\n");
}
