// How much faster networks of integers are than their floats: the networks of recipes and EfficientNet-Lite0,
// whose weights are random and ranges those of noise, which times do not depend on.
//   bench_integers [THREADS] [best|VNNI|AVX3|AVX-VNNI|AVX2|SSE4] [CASE]
// These are the most that kernels of both may use; AVX3 is AVX-512 without VNNI. Forward passes are taken in
// turns; prints the medians in milliseconds (of one thread those of the processor), and of the ratios of
// neighbours the median and the quartiles.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veldt/cpu/instruction_set.h"
#include "veldt/cpu/int8_product.h"
#include "veldt/veldt.h"

using namespace veldt;

namespace {

// Of one thread the time that it had a processor, which other work on the machine changes little.
double now() {
  timespec t{};
  clock_gettime(num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds_of(const nn::Module& network, const Tensor& x) {
  const double start = now();
  network(x);
  return now() - start;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

using Network = std::shared_ptr<nn::Module>;

struct Case {
  std::string name;
  std::function<Network()> make;
  Tensor x;
};

Network of_recipe(const std::string& name, const recipe::ModelFacts& facts) {
  const std::string file = std::string(VELDT_SOURCE "/recipes/") + name + ".toml";
  return std::make_shared<nn::Graph>(recipe::build_model(recipe::read(file), facts));
}

constexpr std::int64_t kLetters = 65;

std::vector<Case> cases() {
  Rng rng(1);
  const auto pictures = [&](const char* name, const char* file, std::int64_t channels, std::int64_t size,
                            std::int64_t batch) {
    return Case{str(name, ", batch ", batch),
                [=] {
                  return of_recipe(file, {.input = {channels, size, size}, .outputs = 10});
                },
                rand({batch, channels, size, size}, rng)};
  };
  const auto text = [&](const char* name, const char* file, std::int64_t context, std::int64_t batch) {
    return Case{
        str(name, ", batch ", batch),
        [=] { return of_recipe(file, {.input = {context}, .dtype = DType::i64, .outputs = kLetters}); },
        randint({batch, context}, rng, 0, kLetters)};
  };
  std::vector<Case> all;
  for (const std::int64_t batch : {1, 8, 64, 250}) all.push_back(pictures("LeNet", "mnist", 1, 28, batch));
  for (const std::int64_t batch : {1, 128}) all.push_back(pictures("CIFAR", "cifar10_small", 3, 32, batch));
  for (const std::int64_t batch : {1, 32}) all.push_back(text("char-LSTM", "char_lstm", 100, batch));
  for (const std::int64_t batch : {1, 32}) all.push_back(text("GPT", "gpt", 128, batch));
  for (const std::int64_t batch : {1, 8})
    all.push_back({str("EfficientNet-Lite0, batch ", batch),
                   [] {
                     Rng drawn(3);
                     return Network(models::make("efficientnet_lite0", {}, drawn));
                   },
                   rand({batch, 3, 224, 224}, rng)});
  return all;
}

void compare(const Case& c) {
  const NoGrad off;
  const Network floats = c.make(), integers = c.make();
  // Statistics of norms that make the numbers of all layers alike.
  for (int i = 0; i < 2; ++i) (*floats)(c.x);
  integers->load_state_dict(floats->state_dict());
  floats->eval(), integers->eval();
  compress::fold_batch_norms(*integers, c.x);
  compress::quantize(*integers, {}, [&] { (*integers)(c.x); });
  compress::link_layers(*integers, c.x);
  std::vector<double> a, b, ratios;
  double spent = 0;
  for (int round = -2; round < 7 || (spent < 1.5 && round < 3000); ++round) {  // two to warm up
    const double before = seconds_of(*floats, c.x), after = seconds_of(*integers, c.x);
    if (round < 0) continue;
    a.push_back(1e3 * before), b.push_back(1e3 * after), ratios.push_back(before / after);
    spent += before + after;
  }
  std::printf("%-30s %9.3f %9.3f ms  %5.2f times as fast (%.2f to %.2f)\n", c.name.c_str(), quantile(a, 0.5),
              quantile(b, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75));
  std::fflush(stdout);
}

// What kernels, and oneDNN's for floats, may use; "best": all that the processor has.
struct Allowed {
  const char *name, *set, *onednn;
  const cpu::Int8Kernels* (*kernels)();
};

const cpu::Int8Kernels* pairs() { return &cpu::portable_int8_kernels(); }

bool allow(const std::string& name) {
  const Allowed all[] = {{"VNNI", "AVX3", "AVX512_CORE", cpu::vnni_int8_kernels},
                         {"AVX3", "AVX3", "AVX512_CORE", pairs},
                         {"AVX-VNNI", "AVX2", "AVX2", cpu::avx_vnni_int8_kernels},
                         {"AVX2", "AVX2", "AVX2", pairs},
                         {"SSE4", "SSE4", "SSE41", pairs}};
  if (name == "best") return true;
  for (const Allowed& a : all)
    for (const auto there : cpu::instruction_sets())
      if (name == a.name && std::string(cpu::name_of(there)) == a.set && a.kernels()) {
        cpu::use_instruction_set(there);
        cpu::use_int8_kernels(a.kernels());
        setenv("ONEDNN_MAX_CPU_ISA", a.onednn, 1);  // which it reads once, at its first call
        return true;
      }
  return false;
}

}  // namespace

int main(int count, char** words) try {
  set_num_threads(count > 1 ? std::atoi(words[1]) : 1);
  if (count > 2 && !allow(words[2]))
    return std::fprintf(stderr, "bench_integers: this processor, or Veldt, has no %s\n", words[2]), 2;
  std::printf("floats and integers, %d threads, %s, products of bytes by %s\n", num_threads(),
              cpu::name_of(cpu::instruction_set_in_use()), cpu::int8_kernels(256).name);
  for (const Case& c : cases())
    if (count <= 3 || c.name.starts_with(words[3])) compare(c);
  return 0;
} catch (const Error& error) {
  return std::fprintf(stderr, "bench_integers: %s\n", error.what()), 1;
}
