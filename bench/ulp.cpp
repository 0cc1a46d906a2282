// The error of each function of one f32 number, over all numbers or every n-th: bench_ulp [--every N]
// [FUNCTION]... Prints the table of docs/accuracy.md. The exact value is libm's in double; if MPFR was found,
// some of those are compared with 200 bits, including that of the largest error.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tests/support/accuracy.h"
#include "veldt/core/threads.h"

#if VELDT_HAVE_MPFR
#include <mpfr.h>
#endif

namespace veldt::test {
namespace {

struct Worst {
  double ulps = 0;
  float at = 0, got = 0;
};

// Bit patterns begin, begin + every, .. below end.
Worst worst_between(const AccuracyRow& row, std::uint64_t begin, std::uint64_t end, std::uint64_t every) {
  constexpr std::size_t kBlock = 1 << 14;
  Worst worst;
  std::vector<float> x;
  for (std::uint64_t bits = begin; bits < end;) {
    x.clear();
    for (; bits < end && x.size() < kBlock; bits += every)
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    const auto n = static_cast<std::int64_t>(x.size());
    const std::vector<float> y = row.op(Tensor::from<float>({n}, x)).values<float>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double off = ulps_between(y[i], row.exact(static_cast<double>(x[i])));
      if (off > worst.ulps) worst = {off, x[i], y[i]};
    }
  }
  return worst;
}

Worst worst_of(const AccuracyRow& row, std::uint64_t every) {
  constexpr std::uint64_t kAll = std::uint64_t(1) << 32;
  const std::uint64_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst> parts(threads);
  std::vector<std::thread> workers;
  for (std::uint64_t t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      const SerialScope alone;
      parts[t] = worst_between(row, kAll * t / threads, kAll * (t + 1) / threads, every);
    });
  for (std::thread& worker : workers) worker.join();
  return *std::max_element(parts.begin(), parts.end(),
                           [](const Worst& a, const Worst& b) { return a.ulps < b.ulps; });
}

#if VELDT_HAVE_MPFR
using Mpfr = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);
struct Precise {
  const char* name;
  Mpfr f;
};
constexpr Precise kPrecise[] = {
    {"exp", mpfr_exp},     {"exp2", mpfr_exp2},   {"expm1", mpfr_expm1}, {"log", mpfr_log},
    {"log2", mpfr_log2},   {"log10", mpfr_log10}, {"log1p", mpfr_log1p}, {"sin", mpfr_sin},
    {"cos", mpfr_cos},     {"tan", mpfr_tan},     {"asin", mpfr_asin},   {"acos", mpfr_acos},
    {"atan", mpfr_atan},   {"sinh", mpfr_sinh},   {"cosh", mpfr_cosh},   {"tanh", mpfr_tanh},
    {"asinh", mpfr_asinh}, {"acosh", mpfr_acosh}, {"atanh", mpfr_atanh}, {"erf", mpfr_erf},
    {"erfc", mpfr_erfc},
};

// How far libm's double is from 200 bits, in ulp of an f32, at `worst_at` and over about 100,000 numbers;
// negative where MPFR has no such function.
double reference_error(const AccuracyRow& row, float worst_at) {
  const auto* precise = std::find_if(std::begin(kPrecise), std::end(kPrecise),
                                     [&](const Precise& p) { return std::strcmp(p.name, row.name) == 0; });
  if (precise == std::end(kPrecise)) return -1;
  mpfr_t x, y;
  mpfr_inits2(200, x, y, nullptr);
  double worst = 0;
  const auto hold = [&](float number) {
    const double at = static_cast<double>(number), exact = row.exact(at);
    if (!std::isfinite(exact) || std::fabs(exact) < 0x1p-149 || std::fabs(exact) > 0x1p128) return;
    mpfr_set_d(x, at, MPFR_RNDN);
    precise->f(y, x, MPFR_RNDN);
    mpfr_sub_d(y, y, exact, MPFR_RNDN);
    const int exponent = std::max(std::ilogb(exact), -126);
    worst = std::max(worst, std::ldexp(std::fabs(mpfr_get_d(y, MPFR_RNDN)), 23 - exponent));
  };
  hold(worst_at);
  for (std::uint64_t bits = 0; bits < (std::uint64_t(1) << 32); bits += 40009)
    hold(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  mpfr_clears(x, y, nullptr);
  return worst;
}
#else
double reference_error(const AccuracyRow&, float) { return -1; }
#endif

int run(int argc, char** argv) {
  std::uint64_t every = 997;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--every") == 0 && i + 1 < argc)
      every = std::max<std::uint64_t>(1, std::strtoull(argv[++i], nullptr, 10));
    else
      names.push_back(argv[i]);
  std::printf("| function | largest error, ulp | at | gives | reference's own error, ulp |\n");
  std::printf("| --- | --- | --- | --- | --- |\n");
  bool good = true;
  for (const AccuracyRow& row : accuracy_rows()) {
    if (!names.empty() && std::find(names.begin(), names.end(), row.name) == names.end()) continue;
    const Worst worst = worst_of(row, every);
    const double own = reference_error(row, worst.at);
    std::printf("| %s | %.4f | %.9g | %.9g | ", row.name, worst.ulps, static_cast<double>(worst.at),
                static_cast<double>(worst.got));
    own < 0 ? std::printf("- |\n") : std::printf("%.1e |\n", own);
    std::fflush(stdout);
    good = good && worst.ulps <= row.ulps;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace veldt::test

int main(int argc, char** argv) { return veldt::test::run(argc, argv); }
