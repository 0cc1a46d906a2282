// Executes on the cpu the entries that another backend lacks. The bytes that the views reach are copied
// unchanged, with strides and overlaps, so that the facts in the list are enough for any entry.
#include "veldt/tensor/fallback.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <span>
#include <utility>

#include "veldt/core/function_ref.h"
#include "veldt/core/pool.h"
#include "veldt/tensor/entry_call.h"

namespace veldt {
namespace {

constexpr std::size_t kEntries = std::size(kEntryFacts);

struct Lent {
  const Backend *real = nullptr, *cpu = nullptr;
  std::array<bool, kEntries> lacks{};
  bool lacks_any = false;
  std::array<std::atomic<std::int64_t>, kEntries> calls{}, bytes{};
};
constinit std::array<Lent, kMostBackends> g_lent{};  // by the kind of the device
constinit std::atomic<bool> g_on_host = false;

Lent& lent_by(const Backend& backend) { return g_lent[static_cast<std::size_t>(backend.device.kind)]; }

// Frees memory of the cpu's backend.
struct Free {
  const Backend* cpu = nullptr;
  std::size_t bytes = 0;
  void operator()(char* p) const { cpu->deallocate(p, bytes); }
};

// A host copy of the device memory that the views of a call reach.
class HostCopies {
 public:
  // Redirects `views` to the host. `updates`: the call reads what it writes.
  HostCopies(const Backend& device, const Backend& cpu, std::span<View> views,
             FunctionRef<bool(std::size_t)> writes, bool updates)
      : device_(device) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      const View& v = views[i];
      const Extent extent = extent_of(v);
      const bool fills = writes(i) && !updates &&
                         extent.bytes() == static_cast<std::size_t>(numel(v.shape)) * size_of(v.dtype);
      if (extent.bytes() > 0) add({extent, !fills, writes(i)});
    }
    for (Block& b : blocks_) {
      b.copy = std::unique_ptr<char, Free>(static_cast<char*>(cpu.allocate(b.extent.bytes())),
                                           {&cpu, b.extent.bytes()});
      if (b.read) device_.download(b.copy.get(), on_device(b), b.extent.bytes());
      bytes_ += b.read ? b.extent.bytes() : 0;
    }
    for (View& v : views)
      for (const Block& b : blocks_)
        if (const Extent e = extent_of(v); e.bytes() > 0 && b.extent.overlaps(e)) {
          v.data = b.copy.get() + (reinterpret_cast<std::uintptr_t>(v.data) - b.extent.begin);
          break;
        }
  }
  void give_back() {
    for (const Block& b : blocks_)
      if (b.written) {
        device_.upload(on_device(b), b.copy.get(), b.extent.bytes());
        bytes_ += b.extent.bytes();
      }
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Block {
    Extent extent;
    bool read = false, written = false;
    std::unique_ptr<char, Free> copy = {};
  };
  static void* on_device(const Block& b) { return reinterpret_cast<void*>(b.extent.begin); }

  // Views that share bytes share a block.
  void add(Block block) {
    for (std::size_t i = 0; i < blocks_.size();) {
      const Block& other = blocks_[i];
      if (!other.extent.overlaps(block.extent)) {
        ++i;
        continue;
      }
      block = {
          {std::min(block.extent.begin, other.extent.begin), std::max(block.extent.end, other.extent.end)},
          true,
          block.written || other.written};
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;  // the merged block may overlap earlier ones
    }
    blocks_.push_back(std::move(block));
  }

  const Backend& device_;
  std::vector<Block> blocks_;
  std::size_t bytes_ = 0;
};

// Runs one call of a device on the cpu, on copies.
void run_on_host(Lent& lent, Entry entry, std::span<View> views, FunctionRef<bool(std::size_t)> writes,
                 FunctionRef<void(const Backend&)> run) {
  const EntryFacts& facts = facts_of(entry);
  if (!g_on_host)
    throw NoKernel(str("there is no kernel of ", facts.name, " on ", lent.real->device),
                   "its backend does not have that function",
                   "let the cpu do it (--fallback host, or set_host_fallback(true)), or use another device");
  HostCopies copies(*lent.real, *lent.cpu, views, writes, facts.updates);
  run(*lent.cpu);
  copies.give_back();
  lent.calls[static_cast<std::size_t>(entry)] += 1;
  lent.bytes[static_cast<std::size_t>(entry)] += static_cast<std::int64_t>(copies.bytes());
}

template <Entry kEntry, class Member = decltype(Of<kEntry>::member)> struct Stand;
template <Entry kEntry, class Result, class... Args>
struct Stand<kEntry, Result (*Backend::*const)(Args...)> {
  [[gnu::noinline]] static Result in_for(Lent& lent, Args... args) {
    KeptArguments<kEntry> call(args...);
    const auto writes = [&](std::size_t i) { return call.writes(i); };
    if constexpr (std::is_void_v<Result>) {
      run_on_host(lent, kEntry, call.views(), writes,
                  [&](const Backend& cpu) { std::apply(cpu.*Of<kEntry>::member, call.get()); });
    } else {
      Result result{};
      run_on_host(lent, kEntry, call.views(), writes,
                  [&](const Backend& cpu) { result = std::apply(cpu.*Of<kEntry>::member, call.get()); });
      return result;
    }
  }
  template <std::size_t kKind> static Result in(Args... args) { return in_for(g_lent[kKind], args...); }
};

bool multiplies_wide(DType dtype, std::int64_t, std::int64_t) { return kF32F64.has(dtype); }
std::size_t no_workspace(const MlpStep&, std::int64_t, bool) { return 0; }

template <std::size_t kKind> const Backend& completed_as(const Backend& real, const Backend& cpu) {
  static const Backend table = [&] {
    Lent& lent = g_lent[kKind];
    lent.real = &real;
    lent.cpu = &cpu;
    Backend b = real;
    if (!b.multiplies || !b.matmul) b.multiplies = multiplies_wide;
    if (!b.mlp_workspace || !b.mlp) b.mlp_workspace = no_workspace;
    const auto fill = [&]<Entry kEntry>() {
      auto& place = b.*Of<kEntry>::member;
      lent.lacks[static_cast<std::size_t>(kEntry)] = place == nullptr;
      lent.lacks_any = lent.lacks_any || place == nullptr;
      if (!place) place = &Stand<kEntry>::template in<kKind>;
    };
    if (!b.convolve_frozen) b.freezes_convolutions = nullptr;
    if (!b.convolve_quantized || !b.multiply_narrow) b.multiplies_integers = nullptr;
    if (!b.lstm_quantized) b.steps_integers = nullptr;
#define VELDT_OPTIONAL(name, ...) \
  if (!b.name) b.name = &Stand<Entry::name>::template in<kKind>;
#define VELDT_ENTRY(name, ...) fill.template operator()<Entry::name>();
#define VELDT_ANSWER(result, name, ...) fill.template operator()<Entry::name>();
#include "veldt/core/entries.inc"
    return b;
  }();
  return table;
}

}  // namespace

void set_host_fallback(bool on) { g_on_host = on; }

bool lacks(const Backend& backend, Entry entry) {
  return lent_by(backend).lacks[static_cast<std::size_t>(entry)];
}

bool lacks_any(const Backend& backend) { return lent_by(backend).lacks_any; }

std::vector<const char*> lacking(const Backend& backend) {
  std::vector<const char*> names;
  for (std::size_t i = 0; i < kEntries; ++i)
    if (lacks(backend, static_cast<Entry>(i))) names.push_back(kEntryFacts[i].name);
  return names;
}

std::vector<FallbackCount> fallback_counts() {
  std::vector<FallbackCount> counts;
  for (const Lent& lent : g_lent)
    for (std::size_t i = 0; i < kEntries; ++i)
      if (const std::int64_t calls = lent.calls[i]; calls > 0)
        counts.push_back(
            {str(lent.real->device), kEntryFacts[i].name, calls, static_cast<double>(lent.bytes[i])});
  std::stable_sort(counts.begin(), counts.end(),
                   [](const FallbackCount& a, const FallbackCount& b) { return a.calls > b.calls; });
  return counts;
}

std::string fallback_text() {
  std::map<std::string, std::pair<std::string, double>> devices;
  for (const FallbackCount& c : fallback_counts()) {
    auto& [text, bytes] = devices[c.device];
    text += str(text.empty() ? "" : ", ", c.entry, ' ', c.calls, c.calls == 1 ? " time" : " times");
    bytes += c.bytes;
  }
  std::string all;
  for (const auto& [device, done] : devices)
    all += str(all.empty() ? "" : "; ", "the cpu did for ", device, ": ", done.first, " (",
               bytes_text(static_cast<std::size_t>(done.second)), " copied)");
  return all;
}

const Backend& completed(const Backend& real, const Backend& cpu) {
  static constexpr auto tables = []<std::size_t... kKinds>(std::index_sequence<kKinds...>) {
    return std::array{&completed_as<kKinds>...};
  }
  (std::make_index_sequence<kMostBackends>());
  return tables[static_cast<std::size_t>(real.device.kind)](real, cpu);
}

}  // namespace veldt
