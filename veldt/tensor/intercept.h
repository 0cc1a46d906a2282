// All work passes the waist (core/backend.h), so whoever stands there sees a whole training step: Plan writes
// the calls down, Profile times them. While an Interceptor of a thread is set, that thread's kernel calls go
// to it instead of the backend.
// Tests: tests/tensor/profile_test.cpp, tests/tensor/plan_test.cpp
#pragma once

#include <memory>

#include "veldt/core/backend.h"
#include "veldt/core/pool.h"
#include "veldt/tensor/kernel_call.h"

namespace veldt {

class Tensor;

class Interceptor {
 public:
  virtual void on_call(const KernelCall& call, const Backend& backend) = 0;
  // A tensor's memory is about to be handed to a kernel.
  virtual void on_view(const std::shared_ptr<Storage>&) {}
  // backward() is about to give a leaf its gradient: as the `first` since it was forgotten, or to add to what
  // is there. Returns which it shall be.
  virtual bool on_leaf_gradient(const Tensor& /*leaf*/, bool first) { return first; }
  virtual void on_zero_grad(const Tensor& /*leaf*/) {}
  // Work that is not a kernel; only a recorder is given any.
  virtual void on_host_call(std::unique_ptr<KernelCall>) {}
  // Where new tensors get their memory while a step is recorded; null: from the pool.
  virtual Memory* memory(Device) { return nullptr; }
  // Whether this one writes a step down instead of computing it.
  virtual bool records() const { return false; }
  // Values are about to travel between the host and a tensor. `what` names the function that was called.
  virtual void on_transfer(const char* /*what*/) {}

 protected:
  ~Interceptor() = default;
};

// The interceptor of this thread, or null.
inline thread_local constinit Interceptor* t_interceptor = nullptr;

class InterceptorScope {
 public:
  explicit InterceptorScope(Interceptor* i) : before_(t_interceptor) { t_interceptor = i; }
  ~InterceptorScope() { t_interceptor = before_; }
  InterceptorScope(const InterceptorScope&) = delete;
  InterceptorScope& operator=(const InterceptorScope&) = delete;

 private:
  Interceptor* before_;
};

// A backend that hands every call over `real` to the thread's interceptor.
const Backend& intercepting_backend(const Backend& real);

}  // namespace veldt
