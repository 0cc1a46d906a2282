// A device's best speeds, measured through the waist, for comparison with training steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu_timing.h"
#include "veldt/veldt.h"

namespace veldt::bench {

struct Figure {
  std::string name, unit;
  double value = 0;
};

// Gigabytes a second, read and written, of a copy of `bytes` on the device.
inline double copy_rate(Device device, std::int64_t bytes, double seconds) {
  const Tensor from = zeros({bytes / 4}, DType::f32, device);
  Tensor to = zeros({bytes / 4}, DType::f32, device);
  const Timing t = time_steps([&] { to.assign(from); }, device, seconds);
  return 2e-6 * static_cast<double>(bytes) / t.median();
}

// Microseconds a step of a recorded one that is replayed `times` at once: graphs hold so many steps.
inline double replay_cost(Device device, int times, double seconds) {
  Tensor x = zeros({256}, DType::f32, device);
  Plan plan([&] {
    Tensor y = x;
    for (int i = 0; i < 8; ++i) y = sum(y * 1.5, {0}, true) + x;
    return y;
  });
  return 1e3 * time_steps([&] { plan.replay(times); }, device, seconds).median() / times;
}

// Microseconds of a recorded step of `calls` kernels that each wait for the one before.
inline double chain_cost(Device device, int calls, double seconds) {
  Tensor x = zeros({256}, DType::f32, device);
  Plan plan([&] {
    Tensor y = x;
    for (int i = 0; i < calls; ++i) y = y * 1.5;
    return y;
  });
  return 1e3 * time_steps([&] { plan.replay(); }, device, seconds).median();
}

inline double product_rate(Device device, DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                           double seconds) {
  Rng rng(7);  // a device draws less power, and runs faster, on zeros
  const Tensor a = to(rand({m, k}, rng, -1, 1, DType::f32, device), dtype),
               b = to(rand({k, n}, rng, -1, 1, DType::f32, device), dtype);
  const Timing t = time_steps([&] { const Tensor c = matmul(a, b); }, device, seconds);
  return 2e-6 * static_cast<double>(m * n * k) / t.median();
}

// Calls `found` with each figure as it is known.
inline void measure_ceilings(Device device, bool quick, const std::function<void(const Figure&)>& found) {
  const double seconds = quick ? 0.005 : 0.3;
  const std::int64_t large = quick ? 1 << 16 : std::int64_t{1} << 29, cached = quick ? 1 << 12 : 8 << 20;
  found({"copy", "GB/s", copy_rate(device, large, seconds)});
  found({"copy of 8 MiB, from the cache", "GB/s", copy_rate(device, cached, seconds)});

  const Backend& table = backend(device);
  {
    const Tensor there = zeros({large / 16}, DType::f32, device), here = zeros({large / 16});
    const auto bytes = static_cast<std::size_t>(large / 4);
    void *on_device = there.view().data, *on_host = here.view().data;
    const Timing up = time_steps([&] { table.upload(on_device, on_host, bytes); }, device, seconds);
    const Timing down = time_steps([&] { table.download(on_host, on_device, bytes); }, device, seconds);
    found({"upload", "GB/s", 1e-6 * static_cast<double>(bytes) / up.median()});
    found({"download", "GB/s", 1e-6 * static_cast<double>(bytes) / down.median()});
  }
  {
    const Tensor small = zeros({256}, DType::f32, device);
    const View view = small.view();
    const auto fill = [&] { table.fill(view, 1); };
    found({"launch", "us", 1e3 * time_steps(fill, device, seconds).median()});
    const auto fill_and_wait = [&] { fill(), table.synchronize(); };
    found({"launch and wait", "us", 1e3 * time_steps(fill_and_wait, device, seconds).median()});
  }
  const double one = chain_cost(device, 1, seconds), many = chain_cost(device, 101, seconds);
  found({"replay of one call", "us", one});
  found({"one call more in a replay", "us", (many - one) / 100});
  for (const int times : {1, 16, 17, 64})
    found({str("a step of replay(", times, ")"), "us", replay_cost(device, times, seconds)});
  {
    // What kernels need for a moment has to stay mapped, however much tensors hold.
    const Tensor held = zeros({large / 8}, DType::f32, device);
    const auto sum_and_wait = [&] { const Tensor total = sum(held), copy = to(total, Device{}); };
    found({"sum and wait beside large tensors", "us",
           1e3 * time_steps(sum_and_wait, device, seconds).median()});
  }
  const auto take_and_give = [&] { table.deallocate(table.allocate(1 << 20), 1 << 20); };
  found({"memory from the system", "us", 1e3 * time_steps(take_and_give, device, seconds).median()});
  const auto from_pool = [&] { const Tensor t = empty({1 << 18}, DType::f32, device); };
  found({"memory from the pool", "us", 1e3 * time_steps(from_pool, device, seconds).median()});

  const std::int64_t rows = quick ? 256 : 65536, width = quick ? 16 : 256;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (const std::int64_t side : {256, 512, 4096}) {  // the first of f32 and f64 is done by Veldt's tiles
      const std::int64_t n = quick ? side / 64 : side;
      found(
          {str("matmul of ", side, "^3, ", dtype), "GFLOP/s", product_rate(device, dtype, n, n, n, seconds)});
    }
  found({"matmul of 65536 x 256 x 256, f32", "GFLOP/s",
         product_rate(device, DType::f32, rows, width, width, seconds)});
}

}  // namespace veldt::bench
