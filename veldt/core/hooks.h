// Lists of functions that are called until somebody takes them out again.
// Tests: tests/tensor/hooks_test.cpp, tests/nn/hooks_test.cpp
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace veldt {

// A hook's place in its list. The hook stays when the handle ends; remove() takes it out.
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::weak_ptr<bool> is_on) : is_on_(std::move(is_on)) {}
  void remove() {
    if (const std::shared_ptr<bool> on = is_on_.lock()) *on = false;
  }

 private:
  std::weak_ptr<bool> is_on_;
};

// Hooks in the order in which they were added. A copy has the same ones; a handle removes its hook from both.
template <class Hook> class HookList {
 public:
  HookHandle add(Hook hook) {
    std::erase_if(entries_, [](const Entry& e) { return !*e.is_on; });
    entries_.push_back({std::make_shared<bool>(true), std::move(hook)});
    return HookHandle(entries_.back().is_on);
  }
  // Calls `each` with every hook; one that is added meanwhile waits for the next time.
  template <class Each> void for_each(const Each& each) const {
    const std::size_t count = entries_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Entry entry = entries_[i];  // a hook may add others
      if (*entry.is_on) each(entry.hook);
    }
  }

 private:
  struct Entry {
    std::shared_ptr<bool> is_on;
    Hook hook;
  };
  std::vector<Entry> entries_;
};

}  // namespace veldt
