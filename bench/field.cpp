// One training step of a neural field: forward, backward, Adam. bench/peers/field.py runs the same in
// PyTorch.
#include <benchmark/benchmark.h>

#include <vector>

#include "veldt/veldt.h"

namespace {

using namespace veldt;

// 2 -> widths -> channels, sine layers.
field::FieldOptions siren(std::vector<std::int64_t> widths, std::int64_t channels) {
  field::FieldOptions o;
  o.activation = field::Activation::siren;
  o.widths = std::move(widths);
  o.channels = channels;
  o.first_omega = o.omega = 30;
  o.width = o.height = 200;
  return o;
}

// Multiply-adds of a step, forward and both gradients; the first layer's input needs none.
double flops(const field::FieldOptions& o, std::int64_t batch) {
  double total = 0;
  std::int64_t in = 2;
  std::vector<std::int64_t> sizes = o.widths;
  sizes.push_back(o.channels);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    total += static_cast<double>((i == 0 ? 4 : 6) * in * sizes[i]) * static_cast<double>(batch);
    in = sizes[i];
  }
  return total;
}

void train_step(benchmark::State& state, const field::FieldOptions& options, std::int64_t batch) {
  field::ImageField field(options, 1);
  optim::Adam adam(field.network().named_parameters(), {.lr = 1e-4});
  Rng rng(1);
  const Tensor x = rand({batch, 2}, rng, -1, 1), y = rand({batch, options.channels}, rng, -1, 1);
  for (auto _ : state) {
    const Tensor loss = mse(field.network()(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    benchmark::DoNotOptimize(loss.item());
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops(options, batch) * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

// The network of the story that Veldt starts from, layer by layer: tanh, full batch of a 200x200 picture.
void seed_net(benchmark::State& state) {
  field::FieldOptions o = siren({128, 128, 256, 128, 64, 64, 64}, 1);
  o.activation = field::Activation::tanh;
  train_step(state, o, 40000);
}
BENCHMARK(seed_net)->Unit(benchmark::kMillisecond)->UseRealTime();

void cub(benchmark::State& state) { train_step(state, siren({128, 128, 128, 128}, 1), 4096); }
void siren_256(benchmark::State& state) { train_step(state, siren({256, 256, 256, 256}, 3), 16384); }
BENCHMARK(cub)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(siren_256)->Unit(benchmark::kMillisecond)->UseRealTime();

void render_1024(benchmark::State& state) {
  const field::ImageField field(siren({128, 128, 128, 128}, 1), 1);
  for (auto _ : state) benchmark::DoNotOptimize(field.render(1024, 1024).numel());
}
BENCHMARK(render_1024)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
