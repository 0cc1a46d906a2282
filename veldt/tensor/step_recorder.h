// Records a step while it runs without computing anything: its calls, the memory they reach, and its leaves.
// Tests: tests/tensor/plan_test.cpp, tests/optim/plan_test.cpp
#pragma once

#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "veldt/core/backend.h"
#include "veldt/core/pool.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/impl.h"
#include "veldt/tensor/intercept.h"
#include "veldt/tensor/planned_memory.h"
#include "veldt/tensor/recorded_step.h"

namespace veldt {

class StepRecorder final : public Interceptor {
 public:
  // --- while the step runs

  Memory* memory(Device device) override {
    settle_on(device);
    return &memory_;
  }
  bool records() const override { return true; }
  void on_view(const std::shared_ptr<Storage>& storage) override;
  void on_host_call(std::unique_ptr<KernelCall> call) override { add(std::move(call)); }
  void on_call(const KernelCall& call, const Backend& backend) override {
    settle_on(backend.device);
    add(call.copy());
  }
  void on_zero_grad(const Tensor& leaf) override {
    remember(leaf);
    forgotten_.insert(leaf.impl());
  }
  bool on_leaf_gradient(const Tensor& leaf, bool first) override;
  // Throws Error: a plan cannot record it.
  void on_transfer(const char* what, const Tensor* read) override;

  // --- afterwards

  // Gives blocks that are still alive memory of their own, filled with zeros. Also after a step that threw.
  void settle() {
    if (real_) memory_.settle(*pool_, *real_, held_);
  }
  bool settled() const { return memory_.settled(); }
  // Leaves that got their very first gradient.
  const TensorList& fresh() const { return fresh_; }
  void restore_gradients() const;
  // The recorded step; without memory and calls unless it will run.
  std::unique_ptr<RecordedStep> finish(TensorList outputs, bool runs);

 private:
  void settle_on(Device device);
  void add(std::unique_ptr<KernelCall> call) {
    memory_.note(call->views(), static_cast<int>(calls_.size()));
    calls_.push_back(std::move(call));
  }
  // Each leaf that the step touches, once, and whether its gradient was cleared before.
  void remember(const Tensor& leaf) {
    if (known_.insert(leaf.impl()).second) before_.emplace_back(leaf, leaf.impl()->grad_stale);
  }
  Storages find_written() const;

  const Backend* real_ = nullptr;
  Pool* pool_ = nullptr;
  PlannedMemory memory_;
  KernelCalls calls_;
  Storages held_;
  std::unordered_set<const Storage*> seen_;
  std::vector<std::pair<Tensor, bool>> before_;
  std::unordered_set<const TensorImpl*> known_, forgotten_;
  TensorList fresh_, carried_;
};

}  // namespace veldt
