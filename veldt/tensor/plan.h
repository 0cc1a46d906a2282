// Plan: a training step is recorded once and replayed, without dispatch, graph or allocation, over memory
// planned ahead. Replays give the bits that the step itself would give.
//
//   optim::Adam adam(model.named_parameters(), {.lr = 0.01});
//   Plan plan([&] {
//     const Tensor loss = mse_loss(model(x), y);
//     adam.zero_grad();
//     loss.backward();
//     adam.step();
//     return loss;
//   });
//   for (int i = 0; i < 1000; ++i) plan.replay();
//
// Between replays change data by x.assign(batch) and the rate by adam.set_lr(); random ops continue their
// Rng. Shapes, and every branch in the step's C++ code, stay as recorded, and so do the tensors themselves:
// pass a state to the next step by state.assign(next), not by state = next.
// Tests: tests/tensor/plan_test.cpp, tests/optim/plan_test.cpp, tests/cuda/plan_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "veldt/tensor/graph.h"
#include "veldt/tensor/intercept.h"
#include "veldt/tensor/step_facts.h"

namespace veldt {

struct RecordedStep;

class Plan {
 public:
  // Calls `step` without computing anything (twice if it makes the first gradient of a leaf), and records
  // what it would have computed. `step` returns nothing, a Tensor, or a TensorList: the outputs, detached
  // from the graph. Optimizers, Rngs and modules that it uses must outlive the plan. Throws Error naming a
  // call that cannot be recorded: item(), values(), bytes(), data(), Tensor::from() and the like within the
  // step.
  template <class Step>
  requires std::is_invocable_v<Step&>
  explicit Plan(Step&& step) : Plan(as_list_step(step), true) {}
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  // Runs the recorded step this many times. A GPU gets up to 64 steps at a time and runs asynchronously,
  // without copies or checks by the host, unless a step has a host function that does more than set its
  // numbers (facts().waits). `results`, [times], gets output 0, one element, of each step. Throws ShapeError
  // for results that do not fit, ConfigError for less than one time.
  void replay(std::int64_t times = 1);
  void replay(std::int64_t times, const Tensor& results);
  // The step's output i, in memory that each replay overwrites. Uninitialised before the first.
  const Tensor& output(std::size_t i = 0) const;
  const StepFacts& facts() const;

 private:
  template <class Step> friend StepFacts step_facts(Step&& step);
  using ListStep = std::function<TensorList()>;
  template <class Step> static ListStep as_list_step(Step& step) {
    if constexpr (std::is_void_v<std::invoke_result_t<Step&>>)
      return [&step] { return step(), TensorList(); };
    else if constexpr (std::is_same_v<std::decay_t<std::invoke_result_t<Step&>>, Tensor>)
      return [&step] { return TensorList{step()}; };
    else
      return [&step] { return TensorList(step()); };
  }
  Plan(const ListStep& step, bool runs);

  std::unique_ptr<RecordedStep> recorded_;
};

// The cost of `step`, without running it or allocating its memory. It is called as in Plan's constructor.
template <class Step> StepFacts step_facts(Step&& step) {
  return Plan(Plan::as_list_step(step), false).facts();
}

// True while this thread records a Plan.
bool recording();
// Adds a host function to the plan being recorded: replays call it, at this place in the order, with the
// views given here. With the kind `numbers` it runs ahead of the device (intercept.h). Throws Error if no
// plan is being recorded.
void record_host(const char* name, std::vector<View> views,
                 std::function<void(std::span<const View>)> function, CallKind kind = CallKind::host);
// For ops that do more than call kernels (a check of an index, numbers from an Rng, an optimizer's count):
// does `work` now or, while a plan is recorded, at each replay.
template <class Work>
requires std::is_invocable_v<const Work&, std::span<const View>>
void host_work(const char* name, std::initializer_list<View> views, const Work& work,
               CallKind kind = CallKind::host) {
  if (recording())
    record_host(name, views, work, kind);
  else
    work(std::span<const View>(views.begin(), views.size()));
}

}  // namespace veldt
