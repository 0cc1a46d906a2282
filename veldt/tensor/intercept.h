// All work passes the waist (core/backend.h), so an interceptor there sees a whole training step: Plan
// records the calls, Profile times them. While a thread has an Interceptor, its kernel calls go to that
// instead of the backend.
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
  // A tensor's memory is about to be passed to a kernel.
  virtual void on_view(const std::shared_ptr<Storage>&) {}
  // backward() is about to give a leaf its gradient: the `first` since it was cleared, or one to add. Returns
  // which of the two to do.
  virtual bool on_leaf_gradient(const Tensor& /*leaf*/, bool first) { return first; }
  virtual void on_zero_grad(const Tensor& /*leaf*/) {}
  // Work that is not a kernel; only a recorder is given any.
  virtual void on_host_call(std::unique_ptr<KernelCall>) {}
  // The allocator of new tensors while a step is recorded; null: the pool.
  virtual Memory* memory(Device) { return nullptr; }
  // Whether this one records a step instead of computing it.
  virtual bool records() const { return false; }
  // Values are about to be copied between the host and a tensor. `what` names the function that was called,
  // `read` is the tensor that the host reads, where it is known.
  virtual void on_transfer(const char* /*what*/, const Tensor* /*read*/ = nullptr) {}

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

// A backend that passes every call of `real` to the thread's interceptor.
const Backend& intercepting_backend(const Backend& real);

}  // namespace veldt
