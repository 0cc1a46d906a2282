// Lists of functions that are called until somebody takes them out again.
// Tests: tests/tensor/hooks_test.cpp, tests/nn/hooks_test.cpp
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace veldt {

// Where a hook is kept; empty once it is removed.
using HookSlot = std::shared_ptr<const void>;

// A hook's place in its list. The hook stays when the handle ends; remove() takes it out, and lets go of what
// it captured.
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::weak_ptr<HookSlot> slot) : slot_(std::move(slot)) {}
  void remove() {
    if (const std::shared_ptr<HookSlot> slot = slot_.lock()) slot->reset();
  }

 private:
  std::weak_ptr<HookSlot> slot_;
};

// Hooks that are removed when this ends, by an exception too.
class ScopedHooks {
 public:
  ScopedHooks() = default;
  explicit ScopedHooks(HookHandle hook) { add(std::move(hook)); }
  ~ScopedHooks() {
    for (HookHandle& hook : hooks_) hook.remove();
  }
  ScopedHooks(const ScopedHooks&) = delete;
  ScopedHooks& operator=(const ScopedHooks&) = delete;
  void add(HookHandle hook) { hooks_.push_back(std::move(hook)); }
  bool empty() const { return hooks_.empty(); }

 private:
  std::vector<HookHandle> hooks_;
};

// Hooks in the order in which they were added. A copy has the same ones; a handle removes its hook from both.
template <class Hook> class HookList {
 public:
  HookHandle add(Hook hook) {
    auto slots = std::make_shared<Slots>();  // a new list: the old one may be running
    if (slots_)
      std::copy_if(slots_->begin(), slots_->end(), std::back_inserter(*slots),
                   [](const auto& s) { return *s; });
    slots->push_back(std::make_shared<HookSlot>(std::make_shared<const Hook>(std::move(hook))));
    slots_ = std::move(slots);
    return HookHandle(slots_->back());
  }
  bool empty() const {
    return !slots_ || std::none_of(slots_->begin(), slots_->end(), [](const auto& s) { return *s; });
  }
  // Calls `each` with every hook. One that is added meanwhile waits for the next time, one that is removed is
  // not called any more.
  template <class Each> void for_each(const Each& each) const {
    const std::shared_ptr<const Slots> slots = slots_;
    if (!slots) return;
    for (const std::shared_ptr<HookSlot>& slot : *slots)
      if (const HookSlot running = *slot) each(*static_cast<const Hook*>(running.get()));
  }

 private:
  using Slots = std::vector<std::shared_ptr<HookSlot>>;
  std::shared_ptr<const Slots> slots_;
};

}  // namespace veldt
