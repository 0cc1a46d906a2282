// What a Trainer calls in a step: the network on a batch, and the loss of its outputs.
// Tests: tests/train/outputs_test.cpp, tests/train/trainer_test.cpp
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "veldt/data/loader.h"
#include "veldt/nn/module.h"

namespace veldt::train {

namespace detail {

// An empty std::function or a null pointer to a function: as if none was given.
template <class Fn> bool is_empty(const Fn& fn) {
  if constexpr (requires { fn == nullptr; })
    return fn == nullptr;
  else
    return false;
}

}  // namespace detail

// The outputs of a model for a batch, of a function that gives one tensor or a TensorList:
//   .forward = [](const nn::Module& m, const data::Batch& b) { return m({b[0], b[1]}); }
class Forward {
 public:
  Forward() = default;
  template <class Fn>
  requires std::is_invocable_v<const Fn&, const nn::Module&, const data::Batch&> Forward(
      Fn fn) {  // NOLINT: a lambda is one
    if (detail::is_empty(fn)) return;
    fn_ = [fn = std::move(fn)](const nn::Module& model, const data::Batch& batch) {
      if constexpr (std::is_invocable_r_v<TensorList, const Fn&, const nn::Module&, const data::Batch&>)
        return TensorList(fn(model, batch));
      else
        return TensorList{fn(model, batch)};
    };
  }

  explicit operator bool() const { return static_cast<bool>(fn_); }
  TensorList operator()(const nn::Module& model, const data::Batch& batch) const { return fn_(model, batch); }

 private:
  std::function<TensorList(const nn::Module&, const data::Batch&)> fn_;
};

// One number to minimise, of a function of a model's first output, or of all of them:
//   .loss = [](const Tensor& y, const data::Batch& b) { return mse_loss(y, b.back()); }
//   .loss = [](const TensorList& y, const data::Batch& b) { return mse_loss(y[0], b[1]) + mse_loss(y[1],
//   b[2]); }
class Loss {
 public:
  Loss() = default;
  template <class Fn>
  requires std::is_invocable_r_v<Tensor, const Fn&, const Tensor&, const data::Batch&> Loss(
      Fn fn) {  // NOLINT: a lambda is one
    if (detail::is_empty(fn)) return;
    fn_ = [fn = std::move(fn)](const TensorList& y, const data::Batch& batch) { return fn(y.at(0), batch); };
  }
  template <class Fn>
  requires std::is_invocable_r_v<Tensor, const Fn&, const TensorList&, const data::Batch&> &&
      (!std::is_invocable_r_v<Tensor, const Fn&, const Tensor&, const data::Batch&>)Loss(Fn fn)  // NOLINT
      : fn_(std::move(fn)) {}

  explicit operator bool() const { return static_cast<bool>(fn_); }
  Tensor operator()(const TensorList& outputs, const data::Batch& batch) const { return fn_(outputs, batch); }

 private:
  std::function<Tensor(const TensorList&, const data::Batch&)> fn_;
};

}  // namespace veldt::train
