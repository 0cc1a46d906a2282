// What is called when a module is called: hooks that may look and change, and listeners of a whole thread.
// Tests: tests/nn/hooks_test.cpp
#pragma once

#include <cstddef>
#include <functional>

#include "veldt/core/hooks.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {

class Module;

// The lists hold one tensor for each argument and result, undefined ones for those that were not given. Masks
// and other options are not among them. What a hook writes into the list takes the tensor's place. A recorded
// step (Plan) runs hooks' C++ only when it is recorded.
using ForwardPreHook = std::function<void(const Module& module, TensorList& inputs)>;
using ForwardHook = std::function<void(const Module& module, const TensorList& inputs, TensorList& outputs)>;
// The gradient of an output of the module, by its number, once backward() has all of it; what the hook
// returns, unless it is undefined, takes its place. The module may be gone by then, so it is no argument.
using BackwardHook = std::function<Tensor(std::size_t output, const Tensor& gradient)>;

struct ModuleHooks {
  HookList<ForwardPreHook> before;
  HookList<ForwardHook> after;
  HookList<BackwardHook> backward;
};

// While one exists, it is notified of every module that this thread calls: for summaries and profiles. Of
// several only the innermost is.
class CallListener {
 public:
  CallListener();
  virtual ~CallListener();
  CallListener(const CallListener&) = delete;
  CallListener& operator=(const CallListener&) = delete;
  // Before the module's call, after hooks have had its inputs; outer modules come before inner ones.
  virtual void on_begin(const Module& /*module*/, const TensorList& /*inputs*/) {}
  // After the module's call returned; inner modules come before outer ones.
  virtual void on_call(const Module& module, const TensorList& inputs, const TensorList& outputs) = 0;

 private:
  CallListener* before_;
};

}  // namespace veldt::nn
