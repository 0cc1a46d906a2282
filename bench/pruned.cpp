// How much faster a smaller network is: both models' forward passes and training steps, in turn in one
// process.
//   bench_pruned WHOLE SMALLER [THREADS] [BATCH] [ROUNDS]      model files of veldt train and veldt prune
// Prints medians of all rounds in milliseconds, and the median, least and greatest ratio of neighbours.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "veldt/veldt.h"

using namespace veldt;

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Tensor example_of(const recipe::Trained& network, std::int64_t batch) {
  Rng rng(1);
  Shape shape{batch};
  for (const std::int64_t size : network.facts.model.input) shape.push_back(size);
  return network.facts.model.dtype == DType::i64 ? zeros(shape, DType::i64) : randn(shape, rng);
}

void compare(const char* what, int rounds, const std::function<void(nn::Graph&)>& work, nn::Graph& whole,
             nn::Graph& smaller) {
  std::vector<double> before, after, ratios;
  for (int round = -2; round < rounds; ++round) {  // two to warm up
    const double a = seconds_of([&] { work(whole); }), b = seconds_of([&] { work(smaller); });
    if (round < 0) continue;
    before.push_back(1e3 * a), after.push_back(1e3 * b), ratios.push_back(a / b);
  }
  const auto [least, greatest] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%s: %.3f and %.3f ms, %.2f times as fast (%.2f to %.2f)\n", what, median(before),
              median(after), median(ratios), *least, *greatest);
}

}  // namespace

int main(int count, char** words) {
  if (count < 3)
    return std::fprintf(stderr, "usage: bench_pruned WHOLE SMALLER [THREADS] [BATCH] [ROUNDS]\n"), 2;
  const auto number = [&](int i, int otherwise) { return count > i ? std::atoi(words[i]) : otherwise; };
  set_num_threads(number(3, 1));
  recipe::Trained whole = recipe::load(words[1]), smaller = recipe::load(words[2]);
  const Tensor x = example_of(whole, number(4, 64));
  const int rounds = number(5, 25);
  std::printf("%lld and %lld parameters, batches of %lld, %d threads\n",
              static_cast<long long>(whole.model.parameter_count()),
              static_cast<long long>(smaller.model.parameter_count()), static_cast<long long>(x.size(0)),
              num_threads());
  compare(
      "forward", rounds,
      [&](nn::Graph& net) {
        const NoGrad off;
        net(x);
      },
      whole.model, smaller.model);
  whole.model.train(), smaller.model.train();
  compare(
      "forward and backward", rounds, [&](nn::Graph& net) { mean(square(net(x))).backward(); }, whole.model,
      smaller.model);
  return 0;
}
