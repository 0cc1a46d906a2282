// Networks from ONNX files that only run (onnx::Network::frozen), for bench/peers/networks.py, which runs
// onnxruntime and PyTorch in turn with it.
//   bench_networks THREADS FILE BATCH            answers each line "SECONDS" with the times of its calls
//   bench_networks THREADS FILE BATCH --profile  prints where the time of a call goes

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>

#include "memory.h"
#include "veldt/veldt.h"

using namespace veldt;

namespace {

// Numbers for an input: pictures, ids of words below 30,000, or a mask of ones.
Tensor numbers_for(const onnx::ValueInfo& input, std::int64_t batch, Rng& rng) {
  Shape shape;
  for (const onnx::Dimension& d : input.type.dimensions) shape.push_back(d.size < 0 ? batch : d.size);
  if (input.type.element == onnx::ElementType::float32) return randn(shape, rng);
  return input.name == "mask" ? ones(shape, DType::i64) : randint(shape, rng, 0, 30000);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench_networks THREADS FILE BATCH [--profile]\n");
    return 1;
  }
  set_num_threads(std::atoi(argv[1]));
  const NoGrad off;
  const onnx::Network net = onnx::load(argv[2]).frozen();
  Rng rng(1);
  TensorList inputs;
  for (const onnx::ValueInfo& input : net.inputs())
    inputs.push_back(numbers_for(input, std::atoi(argv[3]), rng));
  if (argc > 4 && std::strcmp(argv[4], "--profile") == 0) {
    for (int i = 0; i < 3; ++i) net(inputs);
    Profile watch;
    for (int i = 0; i < 10; ++i) net(inputs);
    std::printf("%s\n", watch.table().c_str());
    return 0;
  }
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (double seconds; std::cin >> seconds;) {
    const auto start = Clock::now();
    std::string wall, processor;
    do {
      const char* const before = wall.empty() ? "" : ", ";
      const auto call = Clock::now();
      const std::clock_t used = std::clock();
      net(inputs);
      processor += before + std::to_string(1e3 * static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC);
      wall += before + std::to_string(1e3 * since(call));
    } while (since(start) < seconds);
    std::printf("{\"ms\": [%s], \"processor\": [%s], \"mb\": %.1f}\n", wall.c_str(), processor.c_str(),
                bench::peak_memory());
    std::fflush(stdout);
  }
} catch (const Error& error) {
  std::fprintf(stderr, "bench_networks: %s\n", error.what());
  return 2;
}
