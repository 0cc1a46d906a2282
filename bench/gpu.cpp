// A GPU's best speeds, the times of training steps, drawings and fits, and whether a steady step allocates
// memory. Everything goes through the public API, so the same program runs on the CPU.
//   bench_gpu [--device cuda|cpu] [--quick] [--only PART] [--json FILE] [--cub FILE] [--data FOLDER]
//             [--seconds S]
//   --quick      tiny sizes, to see that all of it runs; the figures mean nothing
//   --only       steps (and ceilings), fits, or what the names of some of them begin with: "seed_net bf16"
//   --json       writes what is known so far after each figure, so that a run cut short leaves the rest
//   --cub        the drawing that is to be learned byte for byte (assets/cub.png)
//   --data       photographs (PNG) to fit for 1 and 3 seconds each
//   --seconds    begins no further part after so many (120)
//   --library    the CUDA backend's library, if not the one beside the program
// The status is 5 if there is no such device, 1 if something failed. tools/gpu_run runs it, and its peers in
// bench/peers/gpu.py.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "field_step.h"
#include "gpu_ceilings.h"
#include "gpu_layers.h"
#include "gpu_timing.h"
#include "veldt/tensor/device_library.h"

using namespace veldt;
using bench::Case;
using bench::Task;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string device = "cuda", only, json, cub = "assets/cub.png", data, library;
  bool quick = false;
  double seconds = 120;
};

// All that is known, on stdout and in the file.
class Report {
 public:
  explicit Report(const Options& options) : options_(options), end_(bench::seconds_now() + options.seconds) {}

  Json& operator[](const char* key) { return json_[key]; }
  void add(const char* list, Json row) {
    json_[list].push_back(std::move(row));
    save();
  }
  void save() const {
    if (options_.json.empty()) return;
    std::ofstream file(options_.json + ".part");
    file << json_.dump(1) << '\n';
    file.close();
    if (!file)
      throw Error("cannot write the figures", "writing to " + options_.json + " failed",
                  "choose another file");
    std::filesystem::rename(options_.json + ".part", options_.json);
  }
  void skip(const std::string& what, const std::string& why) {
    std::printf("%-30s skipped: %s\n", what.c_str(), why.c_str());
    add("skipped", {{"what", what}, {"why", why}});
  }
  // Parts that follow are of this kind.
  void begin(const char* kind) { kind_ = kind; }
  // Does `part` if it is asked for and there is time; what it throws is noted, and the next part goes on.
  template <class Part> void try_part(const std::string& what, const Part& part) {
    if (options_.only != kind_ && what.compare(0, options_.only.size(), options_.only) != 0) return;
    if (bench::seconds_now() > end_) return skip(what, "the time is over");
    try {
      part();
    } catch (const Error& e) {
      const std::string why = e.summary() + ": " + e.why();
      std::printf("%-30s FAILED: %s\n", what.c_str(), why.c_str());
      add("failed", {{"what", what}, {"why", why}});
    }
    std::fflush(stdout);
  }
  bool failed() const { return json_.contains("failed"); }

 private:
  const Options& options_;
  double end_;
  std::string kind_;
  Json json_;
};

// Tries `part` with every precision that Veldt has; one that the device or the network does not take is
// skipped.
template <class Part> void for_each_precision(Report& report, const std::string& what, const Part& part) {
  for (const std::string& name : field::precision_names())
    report.try_part(what + " " + name, [&] {
      try {
        part(field::precision_from(name));
      } catch (const DeviceError& e) {
        if (name == "f32") throw;
        report.skip(what + " " + name, e.why());
      }
    });
}

// --- steps

struct Taken {
  std::int64_t allocations;
  std::size_t bytes;
};
Taken taken(Device device) {
  const PoolStats stats = pool(device).stats();
  return {stats.system_allocations, stats.bytes_in_use};
}

Json difference(const Taken& before, const Taken& after) {
  return {{"steady_allocations", after.allocations - before.allocations},
          {"steady_bytes", static_cast<std::int64_t>(after.bytes) - static_cast<std::int64_t>(before.bytes)}};
}

Json row_of(const char* name, std::string_view precision, const bench::Timing& t, double gflop) {
  std::printf("%-18s %-5s %10.4f ms a step, %s\n", name, std::string(precision).c_str(), t.median(),
              str(t.ms.size(), " samples from ", *std::min_element(t.ms.begin(), t.ms.end()), " to ",
                  *std::max_element(t.ms.begin(), t.ms.end()))
                  .c_str());
  return {
      {"case", name}, {"precision", precision}, {"median_ms", t.median()}, {"ms", t.ms}, {"gflop", gflop}};
}

// XOR 2-4-1 with tanh, batch 4, Adam.
struct Xor {
  Tensor x, y;
  nn::Sequential model{nn::Linear(2, 4), nn::Tanh(), nn::Linear(4, 1)};
  optim::Adam adam;

  explicit Xor(Device device)
      : x(to(Tensor::of({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), device)),
        y(to(Tensor::of({4, 1}, {0, 1, 1, 0}), device)),
        adam((model.to(device), model.named_parameters()), {.lr = 0.05}) {}
  Tensor step() {
    const Tensor loss = mse_loss(model(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  }
};

void measure_xor(Report& report, Device device, bool quick) {
  nn::seed(1);
  Xor net(device);
  const double seconds = quick ? 0.005 : 0.5;
  report.add("steps", row_of("xor_eager", "f32", bench::time_steps([&] { net.step(); }, device, seconds), 0));
  Plan plan([&] { return net.step(); });
  Json row = row_of("xor_plan", "f32",
                    bench::time_steps([&](std::int64_t n) { plan.replay(n); }, device, seconds), 0);
  // Long enough that a step which keeps something shows.
  const Taken before = taken(device);
  const int steps = quick ? 100 : 10000;
  plan.replay(steps);
  const double loss = plan.output().item();
  const Taken after = taken(device);
  row.update(difference(before, after));
  row.update({{"steady_steps", steps}, {"loss", loss}});
  report.add("steps", row);
}

std::vector<Case> field_cases(bool quick) {
  const auto points = [quick](std::int64_t n) { return quick ? std::int64_t{64} : n; };
  return {
      {"seed_net",
       Task::train,
       {2, 128, 128, 256, 128, 64, 64, 64, 1},
       MlpActivation::tanh,
       1,
       points(40000)},
      {"siren_64k", Task::train, {2, 256, 256, 256, 256, 3}, MlpActivation::sine, 30, points(65536)},
      // Its sines go beyond the angles of which the hardware's know most, so bf16's loss tells something.
      {"finer_64k", Task::train, {2, 256, 256, 256, 256, 3}, MlpActivation::finer, 30, points(65536)},
      {"hash_grid_256k",
       Task::train_grid,
       {32, 64, 64, 3},
       MlpActivation::relu,
       1,
       points(1 << 18),
       quick ? 8 : 19},
      {"draw_1m", Task::draw, {2, 256, 256, 256, 256, 3}, MlpActivation::sine, 30, points(1 << 20)},
  };
}

void measure_field(Report& report, const Case& c, Precision precision, Device device, bool quick) {
  bench::Work work(c, precision, device);
  work.step();
  const double first = work.loss();
  for (int i = 0; i < 2; ++i) work.step();
  const Taken before = taken(device);
  const bench::Timing t =
      bench::time_steps([&](std::int64_t n) { work.step(n); }, device, quick ? 0.005 : 1.5);
  const Taken after = taken(device);
  Json row = row_of(c.name, field::name_of(precision), t, bench::gflop(c));
  row.update(difference(before, after));
  row["loss"] = {first, work.loss()};
  report.add("steps", row);
}

void measure_layers(Report& report, const bench::LayerCase& c, Device device, bool quick) {
  const bench::LayerStep step = c.make(device, quick);
  Plan plan([&] {
    const Tensor loss = step.loss();
    if (step.optimizer != nullptr) {
      step.optimizer->zero_grad();
      loss.backward();
      step.optimizer->step();
    }
    return loss;
  });
  const bench::Timing t =
      bench::time_steps([&](std::int64_t n) { plan.replay(n); }, device, quick ? 0.005 : 1);
  report.add("steps", row_of(c.name, "f32", t, step.gflop));
}

// What `veldt render` does before it encodes: levels in host memory, band after band.
void measure_render(Report& report, Precision precision, Device device, bool quick) {
  field::FieldOptions options{
      .activation = field::Activation::siren, .widths = {256, 256, 256, 256}, .channels = 3};
  options.width = options.height = quick ? 16 : 512;
  field::Field siren(options, 1);
  siren.network().set_precision(precision);
  siren.to(device);
  const std::int64_t side = quick ? 32 : 8192;
  std::int64_t rows = 0;
  const auto draw = [&](std::int64_t n) {
    const double start = bench::seconds_now();
    siren.render_bands({n, n}, {}, [&](const Tensor& band, std::int64_t) {
      rows += band.size(0);
      return true;
    });
    return 1e3 * (bench::seconds_now() - start);
  };
  draw(std::min<std::int64_t>(side, 512));  // opens what is opened once
  bench::Timing t;
  while (t.ms.size() < 3 && (t.ms.empty() || t.ms[0] < 5e3)) t.ms.push_back(draw(side));
  report.add("steps", row_of("render_8192", field::name_of(precision), t,
                             2e-9 * (2 * 256 + 3 * 256 * 256 + 256 * 3) * static_cast<double>(side * side)));
}

// --- fits

bool same_bytes(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = to(a, Device{}).values<float>(), y = to(b, Device{}).values<float>();
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](float p, float q) {
           return std::lround(255 * p) == std::lround(255 * q);
         });
}

struct Fitted {
  field::ImageField field;
  double seconds = 0;
  std::int64_t steps = 0;
};
Fitted fit(const Tensor& picture, const field::FitOptions& options) {
  std::int64_t steps = 0;
  train::Events events;
  events.on_step = [&](std::int64_t step, double) { steps = step; };
  const double start = bench::seconds_now();
  field::ImageField field = field::fit(picture, options, events);
  backend(options.device).synchronize();
  return {std::move(field), bench::seconds_now() - start, steps};
}

// A corner of it is enough to see that all of it runs.
Tensor read_picture(const std::string& file, bool quick) {
  const Tensor picture = io::read_image(file);
  return quick ? contiguous(slice(slice(picture, 0, 0, 16), 1, 0, 16)) : picture;
}

// The fewest of some numbers of steps after which no byte is wrong.
void measure_cub(Report& report, const Options& o, Device device) {
  const Tensor cub = read_picture(o.cub, o.quick);
  fit(cub, {.steps = 3, .device = device});
  for (const std::int64_t steps : {300, 450, 600}) {
    const Fitted f = fit(cub, {.seed = 7, .steps = o.quick ? 2 : steps, .device = device});
    const bool exact = same_bytes(f.field.render({cub.size(1), cub.size(0)}), cub);
    std::printf("%-18s %lld steps in %.3f s: %s\n", "cub", static_cast<long long>(f.steps), f.seconds,
                exact ? "byte for byte" : "not all bytes");
    report.add("fits", {{"case", "cub"}, {"steps", f.steps}, {"seconds", f.seconds}, {"exact", exact}});
    if (exact || o.quick) return;
  }
}

std::vector<std::filesystem::path> photographs(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".png") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// A SIREN after the same steps in each precision. A hash grid's closing would end all at the same bytes.
void measure_precision(Report& report, const Options& o, Precision precision, Device device) {
  const Tensor picture = read_picture(o.data.empty() ? o.cub : photographs(o.data).at(0).string(), o.quick);
  const Fitted f = fit(picture, {.seed = 1,
                                 .steps = o.quick ? 2 : 1000,
                                 .model = field::Model::siren,
                                 .precision = precision,
                                 .device = device});
  const double psnr = field::quality_of(f.field, picture);
  std::printf("%-18s %-5s %lld steps in %.1f s: %.2f dB\n", "siren", field::name_of(precision).data(),
              static_cast<long long>(f.steps), f.seconds, psnr);
  report.add("fits", {{"case", "siren"},
                      {"precision", field::name_of(precision)},
                      {"steps", f.steps},
                      {"seconds", f.seconds},
                      {"psnr", std::min(psnr, 1000.0)}});
}

void measure_photograph(Report& report, const std::filesystem::path& file, Device device, bool quick) {
  const Tensor picture = read_picture(file.string(), quick);
  for (const double seconds : {1.0, 3.0}) {
    const Fitted f = quick ? fit(picture, {.steps = 2, .device = device})
                           : fit(picture, {.seconds = seconds, .seed = 1, .device = device});
    const double psnr = field::quality_of(f.field, picture);
    std::printf("%-18s %.0f s: %lld steps in %.2f s: %.2f dB\n", file.filename().c_str(), seconds,
                static_cast<long long>(f.steps), f.seconds, psnr);
    report.add("fits", {{"case", "photograph"},
                        {"file", file.filename().string()},
                        {"limit", seconds},
                        {"steps", f.steps},
                        {"seconds", f.seconds},
                        {"psnr", std::min(psnr, 1000.0)}});
  }
}

// --- all of it

void measure_all(Report& report, const Options& o, Device device) {
  report.begin("steps");
  report.try_part("ceilings", [&] {
    bench::measure_ceilings(device, o.quick, [&](const bench::Figure& f) {
      std::printf("%-34s %12.4g %s\n", f.name.c_str(), f.value, f.unit.c_str());
      report.add("ceilings", {{"name", f.name}, {"unit", f.unit}, {"value", f.value}});
    });
  });
  report.try_part("xor", [&] { measure_xor(report, device, o.quick); });
  for (const Case& c : field_cases(o.quick))
    for_each_precision(report, c.name, [&](Precision p) { measure_field(report, c, p, device, o.quick); });
  for (const bench::LayerCase& c : bench::layer_cases())
    report.try_part(c.name, [&] { measure_layers(report, c, device, o.quick); });
  for_each_precision(report, "render_8192", [&](Precision p) { measure_render(report, p, device, o.quick); });
  report.begin("fits");
  report.try_part("cub", [&] { measure_cub(report, o, device); });
  for_each_precision(report, "siren", [&](Precision p) { measure_precision(report, o, p, device); });
  if (!o.data.empty())
    for (const std::filesystem::path& file : photographs(o.data))
      report.try_part(file.filename().string(), [&] { measure_photograph(report, file, device, o.quick); });
}

Json facts_of(Device device) {
  Json facts = {{"device", str(device)}};
  if (device.kind == DeviceKind::cpu) {
    facts["threads"] = num_threads();
    return facts;
  }
  const DeviceFacts f = device_library(DeviceKind::cuda).facts(device.index);
  facts.update({{"name", f.name},
                {"architecture", f.architecture},
                {"multiprocessors", f.multiprocessors},
                {"memory_bytes", f.memory_bytes},
                {"driver", f.driver_version},
                {"runtime", f.runtime_version}});
  return facts;
}

Options options_from(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--quick") {
      o.quick = true;
      continue;
    }
    std::string* const text = flag == "--device"    ? &o.device
                              : flag == "--only"    ? &o.only
                              : flag == "--json"    ? &o.json
                              : flag == "--cub"     ? &o.cub
                              : flag == "--data"    ? &o.data
                              : flag == "--library" ? &o.library
                                                    : nullptr;
    if ((text == nullptr && flag != "--seconds") || i + 1 == argc)
      throw ConfigError("bench_gpu does not know " + flag, "it is no flag, or lacks its value",
                        "read the beginning of bench/gpu.cpp");
    if (text != nullptr)
      *text = argv[++i];
    else
      o.seconds = std::atof(argv[++i]);
  }
  return o;
}

int run(const Options& o) {
  if (!o.library.empty()) set_device_library(DeviceKind::cuda, o.library);
  const DeviceChoice chosen = choose_device(o.device);
  std::printf("%s\n", chosen.reason.c_str());
  Report report(o);
  report["program"] = "Veldt";
  report["quick"] = o.quick;
  report["about"] = facts_of(chosen.device);
  report.save();
  measure_all(report, o, chosen.device);
  report["finished"] = true;
  report.save();
  return report.failed() ? 1 : 0;
}

int status_of(const Error& e) {
  if (dynamic_cast<const ConfigError*>(&e) != nullptr) return 2;
  return dynamic_cast<const DeviceError*>(&e) != nullptr ? 5 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(options_from(argc, argv));
  } catch (const Error& e) {
    std::fprintf(stderr, "bench_gpu: error: %s\n  why: %s\n  fix: %s\n", e.summary().c_str(), e.why().c_str(),
                 e.fix().c_str());
    return status_of(e);
  }
}
