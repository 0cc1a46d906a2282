// The arguments of a call of any entry of the waist, kept by value, with its views in one array.
// Tests: tests/tensor/profile_test.cpp, tests/train/small_backend_test.cpp
#pragma once

#include <array>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "veldt/core/entry_flops.h"
#include "veldt/core/error.h"
#include "veldt/core/grid.h"
#include "veldt/core/optimizer_step.h"
#include "veldt/core/pooling.h"
#include "veldt/core/backend.h"

namespace veldt {

// The table's member of an entry, and the cost and name of its calls.
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

// How an argument is stored and passed on.
template <class Arg> struct Kept {
  static constexpr std::size_t views = 0;
  std::decay_t<Arg> value;
  Kept(std::decay_t<Arg> v, View*&) : value(v) {}
  Arg pass(const View*&) const { return value; }
};
template <> struct Kept<const View&> {
  static constexpr std::size_t views = 1;
  Kept(const View& v, View*& into) { *into++ = v; }
  const View& pass(const View*& from) const { return *from++; }
};
// Null or not, it has a place among the views, so that their indices are fixed; a null one is an empty view.
template <> struct Kept<const View*> {
  static constexpr std::size_t views = 1;
  bool given;
  Kept(const View* v, View*& into) : given(v != nullptr) { *into++ = v ? *v : View{}; }
  const View* pass(const View*& from) const {
    const View* v = from++;
    return given ? v : nullptr;
  }
};

// The arguments of a call of kEntry.
template <Entry kEntry, class Member = decltype(Of<kEntry>::member)> class KeptArguments;
template <Entry kEntry, class Result, class... Args>
class KeptArguments<kEntry, Result (*Backend::*const)(Args...)> {
 public:
  explicit KeptArguments(Args... args)
      : kept_([&] {
          View* at = views_.data();
          return std::tuple<Kept<Args>...>{Kept<Args>(args, at)...};  // braces: in the order of arguments
        }()) {}

  std::span<View> views() { return views_; }
  bool writes(std::size_t i) const { return (facts_of(kEntry).writes >> i & 1) != 0; }
  std::tuple<Args...> get() const {
    const View* at = views_.data();
    return std::apply([&](const auto&... kept) { return std::tuple<Args...>{kept.pass(at)...}; }, kept_);
  }
  double flops() const {
    return std::apply([&](const auto&... arguments) { return Of<kEntry>::flops(views_, arguments...); },
                      get());
  }
  std::string name(const Backend& backend) const {
    if constexpr (std::is_same_v<std::tuple_element_t<0, std::tuple<Args...>>, int>) {
      if (backend.formula_name) {
        const char* const formula = backend.formula_name(kEntry, std::get<0>(kept_).value);
        return kEntry == Entry::unary_slope ? str(formula, " slope") : formula;
      }
    }
    return facts_of(kEntry).name;
  }

 private:
  std::array<View, (Kept<Args>::views + ...)> views_;
  std::tuple<Kept<Args>...> kept_;
};

// An entry with a variable number of views: an optimizer's step, which a Plan records as one host function,
// so that this is only for observers; and a stack of layers.
template <Entry kEntry, class Step>
class KeptArguments<kEntry, void (*Backend::*const)(const Step&, const View*, int)> {
 public:
  KeptArguments(const Step& step, const View* arrays, int count)
      : step_(step), views_(arrays, arrays + count) {}

  std::span<View> views() { return views_; }
  bool writes(std::size_t i) const { return step_.writes(i, views_.size()); }
  std::tuple<const Step&, const View*, int> get() const {
    return {step_, views_.data(), static_cast<int>(views_.size())};
  }
  double flops() const { return Of<kEntry>::flops(views_, step_); }
  std::string name(const Backend&) const { return step_.name(); }

 private:
  Step step_;
  std::vector<View> views_;
};

}  // namespace veldt
