// One wide and one deep network of as many parameters, trained by several processes in three ways: each has
// some of the examples (data parallel), a part of every layer (tensor parallel), or some of the layers
// (pipeline). All three learn the same; the table says what a step takes, what it sends, and what a rank
// keeps.
//
// Of 1 to 4 ranks:
//   mpirun -n 4 example_model_parallel      or, as threads of one process:  example_model_parallel 2
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kSize = 384, kBatch = 96, kSteps = 12;

// Layers in order. With `ranks`, pairs of linear layers are shared out.
std::vector<nn::AnyModule> layers(bool wide, dist::Communicator* ranks) {
  Rng rng(1);
  const auto first = [&](std::int64_t in, std::int64_t out) -> nn::AnyModule {
    if (ranks) return dist::ColumnParallelLinear(*ranks, in, out, {}, rng);
    return nn::Linear(in, out, rng);
  };
  const auto second = [&](std::int64_t in, std::int64_t out) -> nn::AnyModule {
    if (ranks) return dist::RowParallelLinear(*ranks, in, out, {}, rng);
    return nn::Linear(in, out, rng);
  };
  std::vector<nn::AnyModule> all;
  for (int i = 0; wide && i < 2; ++i) {  // four layers of 384 x 6144
    all.push_back(nn::Sequential().add(first(kSize, 16 * kSize)).add(nn::ReLU()));
    all.push_back(second(16 * kSize, kSize));
  }
  for (int i = 0; !wide && i < 32; ++i) {  // 64 layers of 384 x 384
    nn::Sequential block;
    block.add(nn::LayerNorm(kSize)).add(first(kSize, kSize)).add(nn::ReLU()).add(second(kSize, kSize));
    all.push_back(nn::Residual(block));
  }
  return all;
}

double rate(bool wide) { return wide ? 1 : 0.03; }

nn::Sequential network(bool wide, dist::Communicator* ranks) {
  nn::Sequential net;
  for (const nn::AnyModule& layer : layers(wide, ranks)) net.add(layer);
  return net;
}

struct Result {
  double first = 0, last = 0;       // loss
  double seconds = INFINITY;        // of the fastest step: other programs may slow down some
  double sent = 0, parameters = 0;  // MB, of the rank that has most
};

// `step` returns the loss of all examples.
template <class Step>
Result measured(dist::Communicator& ranks, const nn::Module& net, optim::Optimizer& optimizer,
                const Step& step) {
  Result result;
  const std::uint64_t sent_before = ranks.bytes_sent();
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    optimizer.zero_grad();
    result.last = step();
    optimizer.step();
    ranks.barrier();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result.seconds = std::min(result.seconds, seconds);
    if (i == 0) result.first = result.last;
  }
  const double sent = static_cast<double>(ranks.bytes_sent() - sent_before) / kSteps;
  const double parameters = static_cast<double>(net.parameter_count()) * sizeof(float);
  const Tensor most = max(ranks.all_gather(Tensor::of({2}, {sent / 1e6, parameters / 1e6}, DType::f64)), {0});
  result.sent = most.values<double>()[0], result.parameters = most.values<double>()[1];
  return result;
}

Result data_parallel(dist::Communicator& ranks, bool wide, const Tensor& x, const Tensor& y) {
  const nn::Sequential net = network(wide, nullptr);
  optim::SGD sgd(net.named_parameters(), {.lr = rate(wide)});
  dist::DataParallel parallel(ranks, sgd);
  const std::int64_t share = kBatch / ranks.size(), begin = ranks.rank() * share;
  const Tensor own_x = narrow(x, 0, begin, share), own_y = narrow(y, 0, begin, share);
  return measured(ranks, net, sgd, [&] {
    const Tensor loss = mse_loss(net(own_x), own_y);
    {
      const auto sending = parallel.sending();
      loss.backward();
    }
    const Tensor all = loss.detach() / ranks.size();
    ranks.all_reduce(all);
    return all.item();
  });
}

Result tensor_parallel(dist::Communicator& ranks, bool wide, const Tensor& x, const Tensor& y) {
  const nn::Sequential net = network(wide, &ranks);
  optim::SGD sgd(net.named_parameters(), {.lr = rate(wide)});
  return measured(ranks, net, sgd, [&] {
    const Tensor loss = mse_loss(net(x), y);
    loss.backward();
    return loss.item();
  });
}

Result pipeline(dist::Communicator& ranks, bool wide, const Tensor& x, const Tensor& y) {
  dist::Pipeline net(ranks, layers(wide, nullptr), {.micro_batches = 4});
  optim::SGD sgd(net.stage().named_parameters(), {.lr = rate(wide)});
  return measured(ranks, net.stage(), sgd, [&] {
    return net.backward(x, y,
                        [](const Tensor& output, const Tensor& target) { return mse_loss(output, target); });
  });
}

// Whether all three have learned, and the same.
bool compare(dist::Communicator& ranks) {
  Rng rng(2);
  const Tensor x = randn({kBatch, kSize}, rng), y = tanh(roll(x, 1, 1));
  bool good = true;
  if (ranks.rank() == 0)
    std::printf("%d ranks, %d threads each\n%-8s%-18s%12s%14s%20s%12s\n", ranks.size(), num_threads(),
                "network", "shared out", "s a step", "MB sent/step", "MB of parameters", "loss");
  for (const bool wide : {true, false}) {
    const std::pair<const char*, Result (*)(dist::Communicator&, bool, const Tensor&, const Tensor&)> ways[] =
        {{"examples", data_parallel}, {"parts of layers", tensor_parallel}, {"layers", pipeline}};
    double loss = 0;
    for (const auto& [name, way] : ways) {
      const Result r = way(ranks, wide, x, y);
      if (loss == 0) loss = r.last;
      good = good && r.last < 0.95 * r.first && std::abs(r.last - loss) < 1e-4 * loss;
      if (ranks.rank() == 0)
        std::printf("%-8s%-18s%12.3f%14.2f%20.1f%12.5f\n", wide ? "wide" : "deep", name, r.seconds, r.sent,
                    r.parameters, r.last);
    }
  }
  if (!good && ranks.rank() == 0) std::fprintf(stderr, "the losses differ, or did not fall\n");
  return good;
}

int main(int argc, char** argv) try {
  const auto variable = [](const char* name) { return static_cast<const char*>(std::getenv(name)); };
  if (const auto launch = dist::find_launch(variable)) {
    dist::Communicator ranks(dist::mpi(launch->kind));
    return compare(ranks) ? 0 : 1;
  }
  const int size = argc > 1 ? std::atoi(argv[1]) : 2;
  const dist::InProcess processes(size);
  std::vector<std::thread> threads;
  std::atomic<bool> good = true;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      try {
        dist::Communicator ranks(processes.transport(r));
        if (!compare(ranks)) good = false;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", r, error.what());
        good = false;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
