// What agents record: numbers that the host writes for a step, and a network's outputs for observations.
// Tests: tests/rl/ppo_test.cpp, tests/rl/dqn_test.cpp
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "veldt/rl/policy.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::rl {

// A tensor on any device, which a recorded step reads and the host writes.
template <class T> class Input {
 public:
  Input(const Shape& shape, DType dtype, Device device)
      : tensor_(empty(shape, dtype, device)),
        host_(device.kind == DeviceKind::cpu ? tensor_ : empty(shape, dtype)) {}
  const Tensor& tensor() const { return tensor_; }
  T* host() { return host_.template data<T>(); }
  // After the host has written.
  void send() {
    if (tensor_.device().kind != DeviceKind::cpu) tensor_.assign(host_);
  }

 private:
  Tensor tensor_, host_;
};

// Copies a tensor's numbers to the host.
inline void fetch(const Tensor& from, std::vector<float>& into) {
  if (from.device().kind == DeviceKind::cpu && from.is_contiguous())
    into.assign(from.data<float>(), from.data<float>() + from.numel());
  else
    into = from.values<float>();
}

// A function of observations [rows, size], recorded once; it reads the weights that are there when it runs.
class Recorded {
 public:
  // Keeps no reference to `function`, but to what it uses.
  template <class Function>
  Recorded(std::int64_t rows, std::int64_t size, Device device, const Function& function)
      : input_({rows, size}, DType::f32, device), plan_([&] {
          const NoGrad none;
          return function(input_.tensor());
        }) {}
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  void operator()(std::span<const float> observations) {
    std::copy(observations.begin(), observations.end(), input_.host());
    input_.send();
    plan_.replay();
  }
  const Tensor& output(std::size_t i = 0) const { return plan_.output(i); }

 private:
  Input<float> input_;
  Plan plan_;
};

// The largest of a row, the first of several.
inline std::int64_t best_choice(std::span<const float> row) {
  return std::max_element(row.begin(), row.end()) - row.begin();
}

}  // namespace veldt::rl
