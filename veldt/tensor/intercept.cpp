// One wrapper serves every entry of the table: it packs the arguments into a KernelCall. A new entry needs a
// line in kInfo and one in make_table.
#include "veldt/tensor/intercept.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "veldt/core/convolution.h"
#include "veldt/core/error.h"
#include "veldt/core/grid.h"
#include "veldt/core/mlp.h"
#include "veldt/core/optimizer_step.h"
#include "veldt/core/pooling.h"

namespace veldt {
namespace {

struct EntryInfo {
  const char* name = nullptr;
  unsigned written = 0;  // bit i: the call writes into its view i
};

template <auto Entry> inline constexpr EntryInfo kInfo{};
template <> inline constexpr EntryInfo kInfo<&Backend::fill>{"fill", 0b1};
template <> inline constexpr EntryInfo kInfo<&Backend::copy>{"copy", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::unary>{"unary", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::unary_slope>{"unary_slope", 0b1000};
template <> inline constexpr EntryInfo kInfo<&Backend::binary>{"binary", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::ternary>{"ternary", 0b1000};
template <> inline constexpr EntryInfo kInfo<&Backend::compare>{"compare", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::accumulate>{"accumulate", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::where>{"where", 0b1000};
template <> inline constexpr EntryInfo kInfo<&Backend::reduce>{"reduce", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::arg_reduce>{"arg_reduce", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::softmax>{"softmax", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::softmax_slope>{"softmax_slope", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::layer_norm>{"layer_norm", 0b11000};
template <> inline constexpr EntryInfo kInfo<&Backend::layer_norm_slope>{"layer_norm_slope", 0b1110000};
template <> inline constexpr EntryInfo kInfo<&Backend::attend>{"attend", 0b110000};
template <> inline constexpr EntryInfo kInfo<&Backend::attend_slope>{"attend_slope", 0b1110000000};
template <> inline constexpr EntryInfo kInfo<&Backend::lstm>{"lstm", 0b110000};
template <> inline constexpr EntryInfo kInfo<&Backend::lstm_slope>{"lstm_slope", 0b11100000};
template <> inline constexpr EntryInfo kInfo<&Backend::recurrence>{"recurrence", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::argsort>{"argsort", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::search>{"search", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::matmul>{"matmul", 0b1000};
template <> inline constexpr EntryInfo kInfo<&Backend::convolve>{"convolve", 0b1000};
template <> inline constexpr EntryInfo kInfo<&Backend::max_pool>{"max_pool", 0b110};
template <> inline constexpr EntryInfo kInfo<&Backend::avg_pool>{"avg_pool", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::gather>{"gather", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::scatter_add>{"scatter_add", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::scatter>{"scatter", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::positions>{"positions", 0b10};
template <> inline constexpr EntryInfo kInfo<&Backend::ramp>{"ramp", 0b1};
template <> inline constexpr EntryInfo kInfo<&Backend::grid_encode>{"grid_encode", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::grid_scatter>{"grid_scatter", 0b100};
template <> inline constexpr EntryInfo kInfo<&Backend::random>{"random", 0b1};

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

template <auto Entry> class Call;
template <class... Args, void (*Backend::*Entry)(Args...)> class Call<Entry> final : public KernelCall {
 public:
  explicit Call(Args... args)
      : kept_([&] {
          View* at = views_.data();
          return std::tuple<Kept<Args>...>{Kept<Args>(args, at)...};  // braces: in the order of arguments
        }()) {}

  void run(const Backend& backend) const override {
    const View* at = views_.data();
    const std::tuple<Args...> given =
        std::apply([&](const auto&... kept) { return std::tuple<Args...>{kept.pass(at)...}; }, kept_);
    std::apply(backend.*Entry, given);
  }
  std::unique_ptr<KernelCall> copy() const override { return std::make_unique<Call>(*this); }
  const char* entry() const override { return kInfo<Entry>.name; }
  std::string name(const Backend& backend) const override {
    if constexpr (std::is_same_v<std::tuple_element_t<0, std::tuple<Args...>>, int>) {
      const char* formula = backend.formula_name(entry(), std::get<0>(kept_).value);
      return std::strcmp(entry(), "unary_slope") == 0 ? str(formula, " slope") : formula;
    } else {
      return entry();
    }
  }
  std::span<View> views() override { return views_; }
  bool writes(std::size_t i) const override { return (kInfo<Entry>.written >> i & 1) != 0; }
  double flops() const override {
    const double n = static_cast<double>(numel(views_[0].shape));
    if constexpr (std::is_same_v<std::tuple_element_t<0, std::tuple<Args...>>, const ConvLayout&>) {
      const ConvSizes s(std::get<0>(kept_).value,
                        ConvViews(std::get<1>(kept_).value, views_[0], views_[1], views_[3]));
      return s.flops();
    }
    if (std::strcmp(entry(), "matmul") == 0)
      return 2 * static_cast<double>(numel(views_.back().shape)) *
             static_cast<double>(views_[0].shape.back());
    if (std::strncmp(entry(), "attend", 6) == 0)  // products with every key: 2 of them, or 5 for gradients
      return (std::strcmp(entry(), "attend") == 0 ? 4 : 10) * n *
             static_cast<double>(views_[1].shape[views_[1].shape.rank() - 2]);
    if (std::strcmp(entry(), "lstm") == 0) return 2 * n * static_cast<double>(views_[1].shape[1]);
    if (std::strcmp(entry(), "lstm_slope") == 0)
      return 2 * static_cast<double>(numel(views_[2].shape)) * static_cast<double>(views_[0].shape[1]);
    return std::strcmp(entry(), "copy") == 0 || std::strcmp(entry(), "fill") == 0 ? 0 : n;
  }

 private:
  static_assert(kInfo<Entry>.name != nullptr, "give the entry its line in kInfo");

  std::array<View, static_cast<std::size_t>((Kept<Args>::views + ...))> views_;
  std::tuple<Kept<Args>...> kept_;
};

// What the wrapped calls of a kind of device go to in the end.
template <DeviceKind kKind> const Backend* g_real = nullptr;

const char* list_entry(const OptimizerStep&) { return "optimize"; }
bool list_writes(const OptimizerStep&, std::size_t i, std::size_t count) {
  return i + 1 < count || count == 1;  // not the gradient
}
double list_flops(const OptimizerStep&, std::span<const View> views) {
  return static_cast<double>(numel(views[0].shape));
}
const char* list_entry(const MlpStep&) { return "mlp"; }
bool list_writes(const MlpStep& step, std::size_t i, std::size_t) { return step.writes(i); }
double list_flops(const MlpStep& step, std::span<const View> views) {
  return step.flops(views[MlpStep::x].shape[0], views[MlpStep::dx].data != nullptr);
}

template <DeviceKind kKind, auto Entry> struct Wrapped;
template <DeviceKind kKind, class... Args, void (*Backend::*Entry)(Args...)> struct Wrapped<kKind, Entry> {
  static void call(Args... args) {
    Interceptor* const interceptor = t_interceptor;
    InterceptorScope real(nullptr);  // what the interceptor runs goes to the backend
    interceptor->on_call(Call<Entry>(args...), *g_real<kKind>);
  }
};

template <DeviceKind kKind> void index_range(const View& index, std::int64_t* low, std::int64_t* high) {
  t_interceptor->on_transfer("index_range()");
  g_real<kKind>->index_range(index, low, high);
}

template <DeviceKind kKind> void upload(void* to, const void* from, std::size_t bytes) {
  t_interceptor->on_transfer("copying values from the host");
  g_real<kKind>->upload(to, from, bytes);
}

template <DeviceKind kKind> void download(void* to, const void* from, std::size_t bytes) {
  t_interceptor->on_transfer("reading values back");
  g_real<kKind>->download(to, from, bytes);
}

// An entry whose views are counted at run time: an optimizer's step, which a Plan records whole, as a host
// function, so that this is for those who watch; and a stack of layers.
template <DeviceKind kKind, class Step, auto Entry> class ListCall final : public KernelCall {
 public:
  ListCall(const Step& step, const View* arrays, int count) : step_(step), views_(arrays, arrays + count) {}
  void run(const Backend& backend) const override {
    (backend.*Entry)(step_, views_.data(), static_cast<int>(views_.size()));
  }
  std::unique_ptr<KernelCall> copy() const override { return std::make_unique<ListCall>(*this); }
  const char* entry() const override { return list_entry(step_); }
  std::string name(const Backend&) const override { return step_.name(); }
  std::span<View> views() override { return views_; }
  bool writes(std::size_t i) const override { return list_writes(step_, i, views_.size()); }
  double flops() const override { return list_flops(step_, views_); }

  static void call(const Step& step, const View* arrays, int count) {
    Interceptor* const interceptor = t_interceptor;
    InterceptorScope real(nullptr);
    interceptor->on_call(ListCall(step, arrays, count), *g_real<kKind>);
  }

 private:
  Step step_;
  std::vector<View> views_;
};

template <DeviceKind kKind> double dot(const View& a, const View& b) {
  t_interceptor->on_transfer("dot()");
  return g_real<kKind>->dot(a, b);
}

template <DeviceKind kKind, auto... Entries> void wrap(Backend& table) {
  ((table.*Entries = &Wrapped<kKind, Entries>::call), ...);
  // allocate, deallocate, synchronize, formula_name, multiplies and mlp_workspace pass as they are; six have
  // functions of their own.
  static_assert(sizeof(Backend) == sizeof(Device) + (sizeof...(Entries) + 12) * sizeof(void*),
                "a new entry of Backend has to be wrapped too");
}

template <DeviceKind kKind> Backend wrapped(const Backend& real) {
  g_real<kKind> = &real;
  Backend b = real;
  b.upload = &upload<kKind>;
  b.download = &download<kKind>;
  b.index_range = &index_range<kKind>;
  b.optimize = &ListCall<kKind, OptimizerStep, &Backend::optimize>::call;
  b.mlp = &ListCall<kKind, MlpStep, &Backend::mlp>::call;
  b.dot = &dot<kKind>;
  wrap<kKind, &Backend::fill, &Backend::copy, &Backend::unary, &Backend::unary_slope, &Backend::binary,
       &Backend::ternary, &Backend::compare, &Backend::accumulate, &Backend::where, &Backend::reduce,
       &Backend::arg_reduce, &Backend::softmax, &Backend::softmax_slope, &Backend::layer_norm,
       &Backend::layer_norm_slope, &Backend::attend, &Backend::attend_slope, &Backend::lstm,
       &Backend::lstm_slope, &Backend::recurrence, &Backend::argsort, &Backend::search, &Backend::scatter,
       &Backend::positions, &Backend::ramp, &Backend::matmul, &Backend::convolve, &Backend::max_pool,
       &Backend::avg_pool, &Backend::gather, &Backend::scatter_add, &Backend::grid_encode,
       &Backend::grid_scatter, &Backend::random>(b);
  return b;
}

}  // namespace

const Backend& intercepting_backend(const Backend& real) {
  if (real.device.kind == DeviceKind::cuda) {
    static const Backend cuda = wrapped<DeviceKind::cuda>(real);
    return cuda;
  }
  static const Backend cpu = wrapped<DeviceKind::cpu>(real);
  return cpu;
}

}  // namespace veldt
