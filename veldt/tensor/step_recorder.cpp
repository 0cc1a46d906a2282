// Handles each event of a step, and builds a RecordedStep.
#include "veldt/tensor/step_recorder.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/tensor/backends.h"

namespace veldt {
namespace {

bool overlap(const View& a, const View& b) { return extent_of(a).overlaps(extent_of(b)); }

// The view that the call fills completely without reading it; null if it does something else.
View* filled_at(KernelCall& call, const void* data) {
  if (call.facts().updates) return nullptr;
  for (std::size_t i = 0; i < call.views().size(); ++i)
    if (call.views()[i].data == data) return call.writes(i) ? &call.views()[i] : nullptr;
  return nullptr;
}

// Whether this copy is not needed, because its source is now written directly to its destination.
bool redirect(KernelCalls& calls, PlannedMemory& memory, std::size_t copy_at) {
  const std::span<const View> copy = calls[copy_at]->views();
  const View &from = copy[0], &to = copy[1];
  if (from.dtype != to.dtype || PlannedMemory::holds(to.data) || !PlannedMemory::holds(from.data) ||
      !is_contiguous(from.shape, from.strides) || !is_contiguous(to.shape, to.strides))
    return false;
  const PlannedMemory::Block& block = memory.block_of(from.data);
  if (block.settled || block.uses != 2 || block.last != static_cast<int>(copy_at)) return false;
  KernelCall& maker = *calls[static_cast<std::size_t>(block.first)];
  View* const out = filled_at(maker, from.data);
  if (!out || numel(out->shape) != numel(from.shape) || !is_contiguous(out->shape, out->strides))
    return false;
  // No call in between may read the destination, neither the old values nor the new ones early.
  for (std::size_t i = static_cast<std::size_t>(block.first); i < copy_at; ++i) {
    if (!calls[i]) continue;
    if (calls[i]->kind() != CallKind::kernel) return false;  // it may reach anything
    for (const View& view : std::as_const(*calls[i]).views())
      if (overlap(view, to)) return false;
  }
  out->data = to.data;
  return true;
}

// A result that only a copy reads (a gradient on its way into an optimizer's slab) is written to the copy's
// destination, and the copy is dropped.
void write_straight_into_copies(KernelCalls& calls, PlannedMemory& memory) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i]->is(Entry::copy) && redirect(calls, memory, i)) {
      memory.block_of(std::as_const(*calls[i]).views()[0].data).first = -1;  // no longer needs a place
      calls[i] = nullptr;
    }
  std::vector<int> now_at(calls.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    now_at[i] = static_cast<int>(count);
    if (calls[i]) calls[count++] = std::move(calls[i]);
  }
  calls.resize(count);
  memory.renumber(now_at);
}

}  // namespace

void StepRecorder::on_view(const std::shared_ptr<Storage>& storage) {
  if (!PlannedMemory::holds(storage->data()) && seen_.insert(storage.get()).second) held_.push_back(storage);
}

// Gradients that were cleared before the step may not be cleared at a replay, so they are added to, and a
// replay zeroes those that are cleared then.
bool StepRecorder::on_leaf_gradient(const Tensor& leaf, bool first) {
  remember(leaf);
  if (!leaf.impl()->grad.defined()) {
    fresh_.push_back(leaf);
    return true;
  }
  if (leaf.impl()->grad_stale && !forgotten_.contains(leaf.impl())) {
    carried_.push_back(leaf);
    return false;
  }
  return first;
}

void StepRecorder::on_transfer(const char* what, const Tensor*) {
  throw Error(str("a plan cannot record ", what), "a replay only runs kernels, and the host would not see it",
              "move it out of the step: give data as tensors made before, read outputs after replay()");
}

// The device of the step is that of its first tensor.
void StepRecorder::settle_on(Device device) {
  if (real_ && real_->device == device) return;
  if (real_)
    throw Error(str("a plan cannot record a step on ", real_->device, " and on ", device),
                "a replay runs on one device", "move all tensors of the step to one device before");
  const InterceptorScope off(nullptr);  // a Profile may be watching
  real_ = &backend(device);
  pool_ = &pool(device);
}

// Recording computes nothing, so cleared gradients stay cleared.
void StepRecorder::restore_gradients() const {
  for (const auto& [leaf, stale] : before_)
    if (leaf.impl()->grad.defined()) leaf.impl()->grad_stale = stale;
  for (const Tensor& leaf : fresh_) leaf.impl()->grad_stale = leaf.impl()->grad.defined();
}

std::unique_ptr<RecordedStep> StepRecorder::finish(TensorList outputs, bool runs) {
  if (!real_) settle_on(Device{});  // nothing but host functions
  auto r = std::make_unique<RecordedStep>();
  for (const auto& storage : held_) r->facts.held_bytes += Pool::size_class(storage->bytes());
  write_straight_into_copies(calls_, memory_);
  r->facts.eager_bytes = memory_.peak();
  r->facts.calls = static_cast<std::int64_t>(calls_.size());
  for (const auto& call : calls_) {
    r->facts.names.push_back(call->name(*real_));
    if (call->kind() == CallKind::host) r->facts.waits.push_back(r->facts.names.back());
    r->facts.flops += call->flops();
  }
  r->facts.planned_bytes = memory_.place();
  if (!runs) return r;
  r->arena = std::make_unique<Storage>(*pool_, r->facts.planned_bytes);
  r->arena->set_label("plan");
  memory_.turn(calls_, *r->arena);
  r->written = find_written();
  r->calls = std::move(calls_);
  r->held = std::move(held_);
  for (const auto& [leaf, stale] : before_)
    if (leaf.impl()->grad.defined())
      r->leaves.push_back({leaf, leaf.view().data, leaf.impl()->grad.view().data});
  r->carried = std::move(carried_);
  r->outputs = std::move(outputs);
  if (!r->outputs.empty() && r->outputs[0].numel() == 1)
    r->result = {r->outputs[0].view().data, r->outputs[0].dtype(), {1}, {1}};
  r->backend = real_;
  return r;
}

Storages StepRecorder::find_written() const {
  Storages found;
  for (const auto& storage : held_) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(storage->data()),
                         end = begin + storage->bytes();
    const auto into = [&](const auto& call) {
      for (std::size_t i = 0; i < call->views().size(); ++i)
        if (const std::uintptr_t p = reinterpret_cast<std::uintptr_t>(call->views()[i].data);
            call->writes(i) && p >= begin && p < end)
          return true;
      return false;
    };
    if (std::any_of(calls_.begin(), calls_.end(), into)) found.push_back(storage);
  }
  return found;
}

}  // namespace veldt
