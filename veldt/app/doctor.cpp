// veldt doctor: does Veldt work here, and how fast.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "veldt/cli/config.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/help.h"
#include "veldt/app/known_answers.h"
#include "veldt/app/machine.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/dist/mpi.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/device_library.h"
#include "veldt/tensor/fallback.h"

namespace veldt::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMegabyte = 1 << 20;

struct DoctorFlags {
  std::string device = "auto";
  double seconds = 2;
};

// Prints each line as soon as it is known.
class Report {
 public:
  explicit Report(Context& context) : context_(context) {}

  void add(const std::string& name, bool ok, const std::string& detail, Json numbers = Json::object()) {
    all_ok_ &= ok;
    Json row = {{"name", name}, {"ok", ok}, {"detail", detail}};
    row.update(numbers);
    rows_.push_back(row);
    if (!context_.json)
      context_.out.text(fmt::format("{}  {:<14}  {}\n", ok ? "OK  " : "FAIL", name,
                                    wrapped(on_one_line(detail), 22, width_)));
  }
  // A check whose exception is its failure.
  template <class Check> void try_one(const std::string& name, const Check& check) {
    try {
      const Finding finding = check();
      add(name, finding.ok, finding.detail);
    } catch (const Error& error) {
      add(name, false, fmt::format("{}: {}; {}", error.summary(), error.why(), error.fix()));
    } catch (const std::exception& error) {
      add(name, false, error.what());
    }
  }
  int finish() {
    if (context_.json) context_.out.json({{"ok", all_ok_}, {"checks", rows_}});
    return all_ok_ ? kOk : kInternal;
  }

 private:
  Context& context_;
  const std::size_t width_ = static_cast<std::size_t>(std::clamp(stderr_terminal().width, 60, 110));
  Json rows_ = Json::array();
  bool all_ok_ = true;
};

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / kMegabyte / 1024);
}

void report_threads(Report& report, const Machine& machine) {
  const int threads = num_threads();
  std::string text = fmt::format("{}: {} {} may be used, on {} {}", threads, machine.allowed,
                                 machine.allowed == 1 ? "processor" : "processors", machine.cores,
                                 machine.cores == 1 ? "core" : "cores");
  Json numbers = {{"threads", threads}, {"processors", machine.allowed}, {"cores", machine.cores}};
  if (machine.cpu_quota) {
    text += fmt::format(", a control group allows the time of {:.3g}", *machine.cpu_quota);
    numbers["cpu_quota"] = *machine.cpu_quota;
  }
  if (const std::string shortage = thread_shortage(); !shortage.empty()) text += "; " + shortage;
  report.add("threads", true, text, numbers);
}

void report_memory(Report& report, const Machine& machine) {
  std::string text = fmt::format("{} of {} free", gigabytes(machine.memory_free), gigabytes(machine.memory));
  Json numbers = {{"bytes", machine.memory}, {"free_bytes", machine.memory_free}};
  if (machine.memory_limit) {
    text += fmt::format(", a control group allows {}", gigabytes(*machine.memory_limit));
    numbers["limit_bytes"] = *machine.memory_limit;
  }
  // A fit of a small picture takes some 100 MB.
  const bool enough =
      machine.memory_free == 0 || machine.memory_free > 200 * static_cast<std::int64_t>(kMegabyte);
  report.add("memory", enough, enough ? text : text + ": too little for a fit", numbers);
}

void report_libraries(Report& report) {
  std::string text;
  Json numbers = Json::object();
  for (const Version& v : library_versions()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", v.library, v.version);
    numbers[v.library] = v.version;
  }
  report.add("libraries", true, text, {{"versions", numbers}});
}

// None that is missing is a failure either: one process then trains by itself.
void report_mpi(Report& report) {
  std::string text;
  Json facts = Json::object();
  for (const dist::Mpi kind : {dist::Mpi::openmpi, dist::Mpi::mpich}) {
    const dist::MpiReport found = dist::look_for_mpi(kind);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", dist::name_of(kind),
                        found.usable ? fmt::format("{}, {}", found.version, found.path) : found.reason);
    facts[dist::name_of(kind)] = {
        {"usable", found.usable}, {"library", found.path}, {"version", found.version}};
  }
  report.add("mpi", true, text, {{"mpi", facts}});
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// What moves sums between devices of several processes.
std::string links_of(DeviceKind kind) {
  try {
    return link_library(kind);
  } catch (const Error& error) {
    return fmt::format("the memory of the host ({})", error.why());
  }
}

// A missing device is not a failure: the cpu then does all.
void report_devices(Report& report, DeviceKind kind) {
  const DeviceReport found = look_for_devices(kind);
  Json devices = Json::array();
  std::string text;
  for (const DeviceFacts& d : found.devices) {
    text += fmt::format("{}{}, {}, {} multiprocessors, {}", text.empty() ? "" : "; ", d.name, d.architecture,
                        d.multiprocessors, bytes_text(d.memory_bytes));
    devices.push_back({{"name", d.name},
                       {"architecture", d.architecture},
                       {"multiprocessors", d.multiprocessors},
                       {"memory_bytes", d.memory_bytes},
                       {"driver", version_text(d.driver_version)},
                       {"runtime", version_text(d.runtime_version)}});
  }
  Json facts{{"usable", found.usable}, {"library", found.path}, {"devices", devices}};
  if (found.usable) {
    const std::string products = device_library(kind).matrix_library();
    const std::string links = links_of(kind);
    text += fmt::format("; driver {}, runtime {}, {}; matrix products by {}; sums over processes by {}",
                        version_text(found.devices[0].driver_version),
                        version_text(found.devices[0].runtime_version), found.path, products, links);
    facts["matrix_products"] = products;
    facts["links"] = links;
  } else {
    text = "none: " + found.reason + (found.path.empty() ? "" : " (" + found.path + ")");
  }
  report.add(name_of(kind), true, text, facts);
}

// The operations that the chosen device leaves to the cpu, or refuses.
void report_lacking(Report& report, Device device) {
  const std::vector<const char*> names = lacking(backend(device));
  if (names.empty()) return;
  const std::string text = fmt::format("{} has no kernels of {}: {}", str(device), fmt::join(names, ", "),
                                       "with --fallback host the cpu does their work, on copies");
  report.add("lacking", true, text, {{"entries", names}});
}

// Settings for threads apply here too. An invalid one is reported as a finding and does not end the command.
void report_settings(Report& report, VerbOptions& verb, Context& context) {
  report.try_one("settings", [&]() -> Finding {
    const std::vector<ConfigFile> files = read_config(context.config, *context.tree);
    apply_environment(verb);
    apply_config(verb, files);
    if (context.threads) set_num_threads(static_cast<int>(*context.threads));
    std::string text;
    for (const ConfigFile& file : files) text += (text.empty() ? "" : ", ") + file.path;
    text = text.empty() ? "no configuration file" : "read from " + text;
    for (const std::string& note : mistyped_variables(*context.tree)) text += "; " + note;
    return {true, text};
  });
}

// True if files can be created in `path`, or in its nearest parent that exists.
bool is_writable(std::filesystem::path path) {
  std::error_code none;
  while (!std::filesystem::exists(path, none) && path.has_relative_path()) path = path.parent_path();
  return ::access(path.c_str(), W_OK) == 0;
}

// No verb needs all of them, so a missing one is not a failure.
void report_directories(Report& report) {
  Json rows = Json::array();
  std::string can, cannot;
  const auto look_at = [&](const std::string& name, const std::filesystem::path& path) {
    const bool writable = is_writable(path);
    rows.push_back({{"name", name}, {"path", path.string()}, {"writable", writable}});
    std::string& list = writable ? can : cannot;
    list += (list.empty() ? "" : ", ") + name + " " + path.string();
  };
  std::error_code none;
  look_at("here", std::filesystem::current_path(none));
  look_at("for temporary files", std::filesystem::temp_directory_path(none));
  const std::string own = config_places("").back().path;
  if (!own.empty()) look_at("for settings", std::filesystem::path(own).parent_path());
  std::string text = can.empty() ? "" : "writable: " + can;
  if (!cannot.empty()) text += (text.empty() ? "not writable: " : "; not writable: ") + cannot;
  report.add("directories", true, text, {{"directories", rows}});
}

void report_speed(Report& report, const Machine& machine, double seconds) {
  const Speed speed = measured_speed(seconds);
  const std::string set = cpu::instruction_set();
  const int used = std::min(num_threads(), machine.cores), flops = flops_a_cycle(set);
  const double most = machine.gigahertz * used * flops;
  std::string text = fmt::format("{:.0f} GFLOP/s", speed.gigaflops);
  if (most > 0)
    text += fmt::format(" of {:.0f} ({:.0f}%): {} x {:.1f} GHz, as the system says, x {} a cycle of {}", most,
                        100 * speed.gigaflops / most, used, machine.gigahertz, flops, set);
  const bool moves = speed.gigaflops > 0 && speed.gigabytes_a_second > 0;
  report.add("arithmetic", moves, text, {{"gflops", speed.gigaflops}, {"most_gflops", most}});
  report.add("bandwidth", moves, fmt::format("{:.1f} GB/s read and written", speed.gigabytes_a_second),
             {{"gbytes_per_second", speed.gigabytes_a_second}});
}

int doctor(const DoctorFlags& flags, VerbOptions& verb, Context& context) {
  choose_device(flags.device);  // a device that was asked for and is missing ends the command here
  const Machine machine = this_machine();
  Report report(context);
  report.add("veldt", true, VELDT_VERSION, {{"version", VELDT_VERSION}});
  report_settings(report, verb, context);
  const DeviceChoice chosen = choose_device(flags.device);  // the settings know how many threads
  report.add("device", true, chosen.reason);
  report.add("processor", true,
             fmt::format("{}, {}", machine.processor.empty() ? "unknown" : machine.processor,
                         cpu::instruction_set()),
             {{"instruction_set", cpu::instruction_set()}});
  for (std::size_t i = 1; i <= kLibraryKinds; ++i) report_devices(report, static_cast<DeviceKind>(i));
  report_mpi(report);
  report_lacking(report, chosen.device);
  report_threads(report, machine);
  report_memory(report, machine);
  report_libraries(report);
  report_directories(report);
  for (const KnownAnswer& answer : known_answers()) report.try_one(answer.name, answer.find);
  report_speed(report, machine, flags.seconds);
  return report.finish();
}

}  // namespace

Run add_doctor(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<DoctorFlags>();
  add_device(verb, flags->device).command_line_only();
  add_duration(verb, "--time", flags->seconds, "measure speed for this long").command_line_only();
  add_threads(verb, context);
  verb.examples(
      "  veldt doctor                     exits with 0 if all is well, with 1 if something is not\n"
      "  veldt doctor --json\n"
      "  veldt doctor --device cuda       exits with 5 if there is none\n");
  verb.reads_config = false;  // a broken file is one of its findings
  return [flags, &verb, &context] { return doctor(*flags, verb, context); };
}

}  // namespace veldt::app
