// A training step of neural fields, forward, loss, backward and Adam, recorded in a Plan; and drawing.
//   bench_field           measures every case once, for people
//   bench_field --json    the same as one JSON object
//   bench_field --serve   answers requests, a line each, with one JSON object a line, so that a driver can
//   run
//                         it in turn with other programs: "about", "probe", "run CASE PRECISION SECONDS"
// bench/peers/field.py is such a driver and has the same cases in PyTorch. The status is 1 if a steady step
// took memory or page faults.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "field_step.h"
#include "peak.h"

using namespace veldt;
using bench::Case;
using bench::Task;
using bench::Work;

namespace {

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"seed_net", Task::train, {2, 128, 128, 256, 128, 64, 64, 64, 1}, MlpActivation::tanh, 1, 40000},
      {"siren_16k", Task::train, {2, 256, 256, 256, 256, 3}, MlpActivation::sine, 30, 16384},
      {"siren_64k", Task::train, {2, 256, 256, 256, 256, 3}, MlpActivation::sine, 30, 65536},
      {"cub", Task::train, {2, 128, 128, 128, 128, 1}, MlpActivation::sine, 30, 4096},
      {"hash_grid", Task::train_grid, {32, 64, 64, 3}, MlpActivation::relu, 1, 65536},
      {"render_1024", Task::draw, {2, 256, 256, 256, 256, 3}, MlpActivation::sine, 30, 1 << 20},
  };
  return all;
}

struct Sample {
  std::vector<double> ms;
  double first_loss = 0, loss = 0;
  std::int64_t allocations = 0, page_faults = 0;
  bool steady() const { return allocations == 0 && page_faults == 0; }
  double median() const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

std::int64_t page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// One step unmeasured, then at least two, and as many as start within `seconds`. The first goes through the
// same code as the others, which the program has to be given pages for when it is first run.
Sample sample(Work& work, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kLeast = 2, kMost = 1000;
  std::vector<double> times(kMost, 1.0);
  Sample s;
  const auto timed_step = [&](Clock::time_point before, std::size_t i) {
    work.step();
    s.loss = work.loss();
    const Clock::time_point now = Clock::now();
    times[i] = std::chrono::duration<double, std::milli>(now - before).count();
    return now;
  };
  const auto count = [&](std::int64_t sign) {
    s.allocations += sign * pool(Device{}).stats().system_allocations;
    s.page_faults += sign * page_faults();
  };
  count(1);
  count(-1);
  timed_step(Clock::now(), 0);
  s.first_loss = s.loss;
  s.allocations = s.page_faults = 0;
  count(-1);
  const Clock::time_point start = Clock::now();
  Clock::time_point before = start;
  std::size_t steps = 0;
  while (steps < kMost && (steps < kLeast || std::chrono::duration<double>(before - start).count() < seconds))
    before = timed_step(before, steps++);
  count(1);
  s.ms.assign(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(steps));
  return s;
}

// Warmed up: the first steps make Adam's state and touch the plan's memory.
Work& work_for(const Case& c, Precision precision) {
  static std::map<std::pair<std::string, Precision>, std::unique_ptr<Work>> made;
  std::unique_ptr<Work>& work = made[{c.name, precision}];
  if (!work) {
    work = std::make_unique<Work>(c, precision);
    for (int i = 0; i < 3; ++i) work->step();
  }
  return *work;
}

std::string json(const Case& c, Precision precision, const Sample& s) {
  char text[256];
  std::snprintf(text, sizeof text, R"({"case": "%s", "precision": "%s", "gflop": %.4f, "ms": [)", c.name,
                field::name_of(precision).data(), bench::gflop(c));
  std::string out = text;
  for (std::size_t i = 0; i < s.ms.size(); ++i) {
    std::snprintf(text, sizeof text, "%s%.4f", i ? ", " : "", s.ms[i]);
    out += text;
  }
  std::snprintf(text, sizeof text,
                R"(], "loss": [%.6g, %.6g], "system_allocations": %lld, "page_faults": %lld, "steady": %s})",
                s.first_loss, s.loss, static_cast<long long>(s.allocations),
                static_cast<long long>(s.page_faults), s.steady() ? "true" : "false");
  return out + text;
}

struct Peaks {
  bench::Peak f32, bf16;
};
Peaks probe() {
  return {bench::measure(bench::f32_burst(), 0.004), bench::measure(bench::bf16_burst(), 0.004)};
}

std::string json(const Peaks& p) {
  char text[256];
  std::snprintf(text, sizeof text,
                R"({"f32": {"unit": "%s", "gflops": %.1f}, "bf16": {"unit": "%s", "gflops": %.1f}})",
                p.f32.unit, p.f32.gflops, p.bf16.unit, p.bf16.gflops);
  return text;
}

std::string about() {
  return str(R"({"program": "Veldt", "threads": )", num_threads(), R"(, "fast_bf16": )",
             has_products(Device{}, Precision::bf16) ? "true}" : "false}");
}

std::string answer(const std::string& request) {
  std::istringstream words(request);
  std::string verb, name, precision;
  double seconds = 0;
  words >> verb;
  if (verb == "about") return about();
  if (verb == "probe") return json(probe());
  words >> name >> precision >> seconds;
  const auto found =
      std::find_if(cases().begin(), cases().end(), [&](const Case& c) { return c.name == name; });
  if (verb != "run" || !words || found == cases().end() || (precision != "f32" && precision != "bf16"))
    return R"({"error": "a request is: about, probe, or run CASE f32|bf16 SECONDS"})";
  const Precision p = precision == "f32" ? Precision::f32 : Precision::bf16;
  return json(*found, p, sample(work_for(*found, p), seconds));
}

int serve() {
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line) << std::endl;
  return 0;
}

int run_all(bool as_json) {
  Peaks best = probe();
  for (int i = 0; i < 4; ++i) {
    const Peaks p = probe();
    if (p.f32.gflops > best.f32.gflops) best.f32 = p.f32;
    if (p.bf16.gflops > best.bf16.gflops) best.bf16 = p.bf16;
  }
  bool steady = true;
  std::string samples;
  if (!as_json)
    std::printf("%s: %.0f GFLOP/s; bf16 %s: %.0f\n", best.f32.unit, best.f32.gflops, best.bf16.unit,
                best.bf16.gflops);
  for (const Case& c : cases())
    for (const Precision p : {Precision::f32, Precision::bf16}) {
      if (p == Precision::bf16 && !has_products(Device{}, Precision::bf16)) continue;
      const Sample s = sample(work_for(c, p), 1);
      steady = steady && s.steady();
      samples += (samples.empty() ? "" : ", ") + json(c, p, s);
      const double rate = bench::gflop(c) / s.median() * 1e3;
      if (!as_json)
        std::printf("%-12s %-4s %9.3f ms %8.1f GFLOP/s %4.0f %%  loss %.4g to %.4g%s\n", c.name,
                    field::name_of(p).data(), s.median(), rate,
                    100 * rate / (p == Precision::f32 ? best.f32 : best.bf16).gflops, s.first_loss, s.loss,
                    s.steady() ? "" : "  NOT steady: it took memory or page faults");
    }
  if (as_json)
    std::printf("{\"about\": %s, \"peak\": %s, \"steady\": %s, \"cases\": [%s]}\n", about().c_str(),
                json(best).c_str(), steady ? "true" : "false", samples.c_str());
  return steady ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--serve") return serve();
  if (mode.empty() || mode == "--json") return run_all(mode == "--json");
  std::fprintf(stderr, "usage: bench_field [--json | --serve]\n");
  return 2;
}
