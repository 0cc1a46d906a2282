// Finds the backend of a device: the cpu's, one that the program has registered, or one of a library.
#include "veldt/tensor/backends.h"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/tensor/device_library.h"
#include "veldt/tensor/fallback.h"
#include "veldt/tensor/intercept.h"

namespace veldt {
namespace {

// The state of a kind of device in this process. Written once, under the lock; read without it.
struct Place {
  std::atomic<const Backend& (*)(Device)> open = nullptr;  // of a backend that the program has registered
  std::atomic<const Backend*> backend = nullptr;           // completed
  std::atomic<Pool*> pool = nullptr;  // never destroyed: tensors in static objects may outlive everything
};
constinit std::array<Place, kMostBackends> g_places{};
constinit std::mutex g_opening;

Place& place_of(DeviceKind kind) { return g_places[static_cast<std::size_t>(kind)]; }

// Indices of formulas are passed through the waist, so a table made from other lists would compute something
// else.
bool has_formulas_of_the_cpu(const Backend& real) {
  for (const Entry entry : {Entry::unary, Entry::binary, Entry::ternary, Entry::compare})
    for (int op = 0;; ++op) {
      const char* const name = cpu::backend().formula_name(entry, op);
      const char* const theirs = real.formula_name(entry, op);
      if (!name && !theirs) break;
      if (!name || !theirs || std::strcmp(name, theirs) != 0) return false;
    }
  return true;
}

const Backend& opened(Device device) {
  if (device.kind == DeviceKind::cpu) return cpu::backend();
  const auto open = place_of(device.kind).open.load();
  const Backend& real = open ? open(device) : device_library(device.kind).open(device);
  if (real.device != device)
    throw DeviceError(str("cannot use the device ", device), str("its table says that it is ", real.device),
                      "set the table's device to the one that open() is given");
  if (real.formula_name && !has_formulas_of_the_cpu(real))
    throw DeviceError(str("cannot use the device ", device),
                      "it numbers the formulas of kernels/ differently",
                      "build the program and that backend from the same source");
  return real;
}

// The first call, and refusals: kept out of the fast path.
[[gnu::cold, gnu::noinline]] const Backend& open_backend(Device device) {
  Place& place = place_of(device.kind);
  if (device.kind != DeviceKind::cpu) pool(Device{});  // open() may make tensors there
  const std::lock_guard lock(g_opening);
  if (device.kind == DeviceKind::cpu && device.index != 0)
    throw DeviceError(str("cannot use the device cpu:", device.index), "there is one cpu", "choose the cpu");
  const Backend& real = opened(device);  // for a second device its error may say more
  const Backend* found = place.backend.load();
  if (found && found->device != device)
    throw DeviceError(str("cannot use the device ", device),
                      str("the process already computes on ", found->device),
                      "use that one, or start another process");
  if (!found) place.backend.store(found = &completed(real, cpu::backend()), std::memory_order_release);
  return *found;
}

const Backend& real_backend(Device device) {
  const Backend* const found = place_of(device.kind).backend.load(std::memory_order_acquire);
  if (found && found->device == device) [[likely]]
    return *found;
  return open_backend(device);
}

// Only the devices' pools: the cpu's memory does not help a device.
void trim_pools() {
  for (Place& place : g_places)
    if (Pool* const pool = place.pool.load(); pool && pool->backend().device.kind != DeviceKind::cpu)
      pool->trim();
}

[[gnu::cold, gnu::noinline]] Pool& make_pool(Device device) {
  const Backend& real = real_backend(device);
  Place& place = place_of(device.kind);
  const std::lock_guard lock(g_opening);
  if (!place.pool.load()) {
    place.pool.store(new Pool(real), std::memory_order_release);
    if (real.on_full) real.on_full(trim_pools);
  }
  return *place.pool.load();
}

std::string cpu_text() {
  return str("cpu (", num_threads(), num_threads() == 1 ? " thread, " : " threads, ", cpu::instruction_set(),
             ")");
}

[[noreturn]] void refuse_name(std::string_view name, std::string_view example) {
  std::string known;
  for (std::size_t i = 0; i < device_kinds(); ++i) {
    const char* const kind = name_of(static_cast<DeviceKind>(i));
    known += i == 0 ? std::string(kind) : str(", ", kind, ", ", kind, ":N");
  }
  throw ConfigError(str("there is no device called '", name, "'"), str("devices are ", known, " and auto"),
                    str("use --device ", example, ", for example"));
}

// "cpu", "cuda", "cuda:N".
Device device_named(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view digits = colon == name.npos ? "0" : name.substr(colon + 1);
  const std::optional<DeviceKind> kind = device_kind(name.substr(0, colon));
  if (!kind || (kind == DeviceKind::cpu && colon != name.npos)) refuse_name(name, "cpu");
  if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != digits.npos)
    refuse_name(name, str(name_of(*kind), ":0"));
  return {*kind, std::stoi(std::string(digits))};
}

std::string text_of(Device device) {
  if (device.kind == DeviceKind::cpu) return cpu_text();
  if (place_of(device.kind).open.load()) return str(device);
  return str(device, " (", device_library(device.kind).facts(device.index).name, ")");
}

}  // namespace

const Backend& backend(Device device) {
  const Backend& real = real_backend(device);
  return t_interceptor ? intercepting_backend(real) : real;
}

Pool& pool(Device device) {
  Pool* const found = place_of(device.kind).pool.load(std::memory_order_acquire);
  if (found && found->backend().device == device) [[likely]]
    return *found;
  return make_pool(device);
}

Memory& memory(Device device) {
  if (t_interceptor)
    if (Memory* planned = t_interceptor->memory(device)) return *planned;
  return pool(device);
}

std::size_t bytes_for_tensors(Device device) {
  const PoolStats stats = pool(device).stats();
  if (stats.limit > 0) return stats.limit;
  const Backend& real = real_backend(device);
  return real.free_bytes ? stats.bytes_in_use + stats.bytes_cached + real.free_bytes() : 0;
}

DeviceKind register_backend(std::string_view name, const Backend& (*open)(Device)) {
  const DeviceKind kind = add_device_kind(name);
  place_of(kind).open.store(open);
  return kind;
}

DeviceChoice choose_device(std::string_view name) {
  if (name != "auto") {
    const Device device = device_named(name);
    backend(device);
    return {device, text_of(device)};
  }
  std::string reason;
  for (std::size_t i = 1; i <= kLibraryKinds; ++i) {
    const auto kind = static_cast<DeviceKind>(i);
    const DeviceReport found = look_for_devices(kind);
    if (found.usable)
      return {Device{},
              str(cpu_text(), "; --device ", name_of(kind), " would use the ", found.devices.front().name)};
    reason += (reason.empty() ? "" : "; ") + found.reason;
  }
  return {Device{}, str(cpu_text(), "; no GPU: ", reason)};
}

Device cuda_if_available() {
  return look_for_devices(DeviceKind::cuda).usable ? choose_device("cuda").device : Device{};
}

}  // namespace veldt
