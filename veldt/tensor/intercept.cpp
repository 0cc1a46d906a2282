// One wrapper serves every entry of the waist: it packs the arguments into a KernelCall.
#include "veldt/tensor/intercept.h"

#include <array>
#include <utility>

#include "veldt/tensor/entry_call.h"
#include "veldt/tensor/kernel_call.h"

namespace veldt {
namespace {

// The backends that finally execute wrapped calls, by the kind of their device.
std::array<const Backend*, kMostBackends> g_real{};

template <Entry kEntry> class Call final : public KernelCall {
 public:
  template <class... Args> explicit Call(const Args&... args) : arguments_(args...) {}

  void run(const Backend& backend) const override {
    std::apply(backend.*Of<kEntry>::member, arguments_.get());
  }
  std::unique_ptr<KernelCall> copy() const override { return std::make_unique<Call>(*this); }
  const EntryFacts& facts() const override { return facts_of(kEntry); }
  std::string name(const Backend& backend) const override { return arguments_.name(backend); }
  std::span<View> views() override { return arguments_.views(); }
  bool writes(std::size_t i) const override { return arguments_.writes(i); }
  double flops() const override { return arguments_.flops(); }

 private:
  KeptArguments<kEntry> arguments_;
};

// The work is compiled once for each entry; the functions in a table, separate for every kind of device, only
// select the backend.
template <Entry kEntry, class Member = decltype(Of<kEntry>::member)> struct Wrapped;
template <Entry kEntry, class Result, class... Args>
struct Wrapped<kEntry, Result (*Backend::*const)(Args...)> {
  [[gnu::noinline]] static void watch(const Backend& real, Args... args) {
    Interceptor* const interceptor = t_interceptor;
    InterceptorScope through(nullptr);  // calls of the interceptor go to the backend
    interceptor->on_call(Call<kEntry>(args...), real);
  }
  [[gnu::noinline]] static Result answer(const Backend& real, Args... args) {
    t_interceptor->on_transfer(Of<kEntry>::called);
    return (real.*Of<kEntry>::member)(args...);
  }

  template <std::size_t kKind> static void watched(Args... args) { watch(*g_real[kKind], args...); }
  template <std::size_t kKind> static Result answered(Args... args) {
    return answer(*g_real[kKind], args...);
  }
};

template <std::size_t kKind> void upload(void* to, const void* from, std::size_t bytes) {
  t_interceptor->on_transfer("copying values from the host");
  g_real[kKind]->upload(to, from, bytes);
}

template <std::size_t kKind> void download(void* to, const void* from, std::size_t bytes) {
  t_interceptor->on_transfer("reading values back");
  g_real[kKind]->download(to, from, bytes);
}

// Services that are not here are passed through.
template <std::size_t kKind> const Backend& wrapped(const Backend& real) {
  static const Backend table = [&] {
    g_real[kKind] = &real;
    Backend b = real;
    b.upload = &upload<kKind>;
    b.download = &download<kKind>;
#define VELDT_ENTRY(name, ...) b.name = &Wrapped<Entry::name>::watched<kKind>;
#define VELDT_ANSWER(result, name, ...) b.name = &Wrapped<Entry::name>::answered<kKind>;
#include "veldt/core/entries.inc"
    return b;
  }();
  return table;
}

}  // namespace

const Backend& intercepting_backend(const Backend& real) {
  static constexpr auto tables = []<std::size_t... kKinds>(std::index_sequence<kKinds...>) {
    return std::array{&wrapped<kKinds>...};
  }
  (std::make_index_sequence<kMostBackends>());
  return tables[static_cast<std::size_t>(real.device.kind)](real);
}

}  // namespace veldt
