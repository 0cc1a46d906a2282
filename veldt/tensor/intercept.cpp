// One wrapper serves every entry of the waist: it packs the arguments into a KernelCall.
#include "veldt/tensor/intercept.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "veldt/core/entry_flops.h"
#include "veldt/core/error.h"
#include "veldt/core/grid.h"
#include "veldt/core/optimizer_step.h"
#include "veldt/core/pooling.h"

namespace veldt {
namespace {

// The table's member of an entry, and what its calls cost.
template <Entry kEntry> struct Of;
#define VELDT_ENTRY(name, parameters, flops_, ...)     \
  template <> struct Of<Entry::name> {                 \
    static constexpr auto member = &Backend::name;     \
    static constexpr auto flops = entry_flops::flops_; \
  };
#define VELDT_ANSWER(result, name, ...)               \
  template <> struct Of<Entry::name> {                \
    static constexpr auto member = &Backend::name;    \
    static constexpr const char* called = #name "()"; \
  };
#include "veldt/core/entries.inc"

// How an argument is kept, and handed on.
template <class Arg> struct Kept {
  static constexpr int views = 0;
  std::decay_t<Arg> value;
  Kept(std::decay_t<Arg> v, View*&) : value(v) {}
  Arg pass(const View*&) const { return value; }
};
template <> struct Kept<const View&> {
  static constexpr int views = 1;
  Kept(const View& v, View*& into) { *into++ = v; }
  const View& pass(const View*& from) const { return *from++; }
};
// Null or not, it takes a place among the views, so that their numbers are fixed; a null one is empty there.
template <> struct Kept<const View*> {
  static constexpr int views = 1;
  bool given;
  Kept(const View* v, View*& into) : given(v != nullptr) { *into++ = v ? *v : View{}; }
  const View* pass(const View*& from) const {
    const View* v = from++;
    return given ? v : nullptr;
  }
};

template <Entry kEntry, class Member> class Call;
template <Entry kEntry, class... Args>
class Call<kEntry, void (*Backend::*const)(Args...)> final : public KernelCall {
 public:
  explicit Call(Args... args)
      : kept_([&] {
          View* at = views_.data();
          return std::tuple<Kept<Args>...>{Kept<Args>(args, at)...};  // braces: in the order of arguments
        }()) {}

  void run(const Backend& backend) const override { std::apply(backend.*Of<kEntry>::member, arguments()); }
  std::unique_ptr<KernelCall> copy() const override { return std::make_unique<Call>(*this); }
  const EntryFacts& facts() const override { return facts_of(kEntry); }
  std::string name(const Backend& backend) const override {
    if constexpr (std::is_same_v<std::tuple_element_t<0, std::tuple<Args...>>, int>) {
      const char* formula = backend.formula_name(kEntry, std::get<0>(kept_).value);
      return kEntry == Entry::unary_slope ? str(formula, " slope") : formula;
    } else {
      return facts().name;
    }
  }
  std::span<View> views() override { return views_; }
  bool writes(std::size_t i) const override { return (facts().writes >> i & 1) != 0; }
  double flops() const override {
    return std::apply([&](const auto&... arguments) { return Of<kEntry>::flops(views_, arguments...); },
                      arguments());
  }

 private:
  std::tuple<Args...> arguments() const {
    const View* at = views_.data();
    return std::apply([&](const auto&... kept) { return std::tuple<Args...>{kept.pass(at)...}; }, kept_);
  }

  std::array<View, static_cast<std::size_t>((Kept<Args>::views + ...))> views_;
  std::tuple<Kept<Args>...> kept_;
};

// An entry whose views are counted at run time: an optimizer's step, which a Plan records whole, as a host
// function, so that this is for those who watch; and a stack of layers.
template <Entry kEntry, class Step>
class Call<kEntry, void (*Backend::*const)(const Step&, const View*, int)> final : public KernelCall {
 public:
  Call(const Step& step, const View* arrays, int count) : step_(step), views_(arrays, arrays + count) {}
  void run(const Backend& backend) const override {
    (backend.*Of<kEntry>::member)(step_, views_.data(), static_cast<int>(views_.size()));
  }
  std::unique_ptr<KernelCall> copy() const override { return std::make_unique<Call>(*this); }
  const EntryFacts& facts() const override { return facts_of(kEntry); }
  std::string name(const Backend&) const override { return step_.name(); }
  std::span<View> views() override { return views_; }
  bool writes(std::size_t i) const override { return step_.writes(i, views_.size()); }
  double flops() const override { return Of<kEntry>::flops(views_, step_); }

 private:
  Step step_;
  std::vector<View> views_;
};

// What the wrapped calls go to in the end: the backends, by the kind of their device.
std::array<const Backend*, kMostBackends> g_real{};

template <std::size_t kKind, Entry kEntry, class Member = decltype(Of<kEntry>::member)> struct Wrapped;
template <std::size_t kKind, Entry kEntry, class Result, class... Args>
struct Wrapped<kKind, kEntry, Result (*Backend::*const)(Args...)> {
  static void watched(Args... args) {
    Interceptor* const interceptor = t_interceptor;
    InterceptorScope real(nullptr);  // what the interceptor runs goes to the backend
    interceptor->on_call(Call<kEntry, decltype(Of<kEntry>::member)>(args...), *g_real[kKind]);
  }
  static Result answered(Args... args) {
    t_interceptor->on_transfer(Of<kEntry>::called);
    return (g_real[kKind]->*Of<kEntry>::member)(args...);
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

// The services that are not here pass as they are.
template <std::size_t kKind> const Backend& wrapped(const Backend& real) {
  static const Backend table = [&] {
    g_real[kKind] = &real;
    Backend b = real;
    b.upload = &upload<kKind>;
    b.download = &download<kKind>;
#define VELDT_ENTRY(name, ...) b.name = &Wrapped<kKind, Entry::name>::watched;
#define VELDT_ANSWER(result, name, ...) b.name = &Wrapped<kKind, Entry::name>::answered;
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
