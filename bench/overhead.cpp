// The cost of an op apart from its arithmetic: tensors of 16 elements, one thread. Eager with and without
// recording, recorded with its backward, and replayed.
#include <benchmark/benchmark.h>

#include "veldt/veldt.h"

namespace {

using namespace veldt;

const Tensor& sample() {
  static const Tensor x = [] {
    set_num_threads(1);
    Rng rng(1);
    return randn({4, 4}, rng);
  }();
  return x;
}

using Op = Tensor (*)(const Tensor&);

void eager(benchmark::State& state, Op op) {
  const Tensor x = sample();
  for (auto _ : state) benchmark::DoNotOptimize(op(x).impl());
}

void recorded(benchmark::State& state, Op op) {
  const Tensor x = sample().detach().set_requires_grad();
  for (auto _ : state) benchmark::DoNotOptimize(op(x).impl());
}

// Forward and backward; the sum that backward() starts from is an op of its own.
void backward(benchmark::State& state, Op op) {
  Tensor x = sample().detach().set_requires_grad();
  for (auto _ : state) {
    x.zero_grad();
    sum(op(x)).backward();
  }
}

void replay(benchmark::State& state, Op op) {
  const Tensor x = sample();
  Plan plan([&] { return op(x); });
  for (auto _ : state) plan.replay();
}

void add_all(const char* name, Op op) {
  for (const auto& [kind, run] :
       {std::pair{"eager", &eager}, {"recorded", &recorded}, {"backward", &backward}, {"replay", &replay}})
    benchmark::RegisterBenchmark((std::string(name) + "/" + kind).c_str(), run, op);
}

[[maybe_unused]] const bool g_registered = [] {
  add_all("add", [](const Tensor& x) { return x + x; });
  add_all("scale", [](const Tensor& x) { return x * 2; });
  add_all("tanh", [](const Tensor& x) { return tanh(x); });
  add_all("sum", [](const Tensor& x) { return sum(x); });
  add_all("reshape", [](const Tensor& x) { return reshape(x, {2, 8}); });
  add_all("matmul", [](const Tensor& x) { return matmul(x, x); });
  return true;
}();

}  // namespace
