// A callable passed down a call: two pointers, where std::function may copy its target to the heap.
// Tests: tests/core/function_ref_test.cpp
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace veldt {

template <class Signature> class FunctionRef;

// Refers to the callable it was made from, which must outlive it: for parameters, never for members.
template <class R, class... Args> class FunctionRef<R(Args...)> {
 public:
  template <class Fn>
  requires(!std::same_as<std::remove_cvref_t<Fn>, FunctionRef> && std::is_invocable_r_v<R, Fn&, Args...>)
      FunctionRef(Fn&& fn) {  // NOLINT: a lambda is one
    using Callable = std::remove_reference_t<Fn>;
    if constexpr (std::is_function_v<Callable>) {
      callable_ = reinterpret_cast<void*>(&fn);
      call_ = [](void* callable, Args... args) -> R {
        return reinterpret_cast<Callable*>(callable)(std::forward<Args>(args)...);
      };
    } else {
      callable_ = const_cast<void*>(static_cast<const void*>(std::addressof(fn)));
      call_ = [](void* callable, Args... args) -> R {
        return (*static_cast<Callable*>(callable))(std::forward<Args>(args)...);
      };
    }
  }

  R operator()(Args... args) const { return call_(callable_, std::forward<Args>(args)...); }

 private:
  void* callable_;
  R (*call_)(void*, Args...);
};

}  // namespace veldt
