// Lists of functions that are called until somebody takes them out again.
// Tests: tests/tensor/hooks_test.cpp, tests/nn/hooks_test.cpp
#pragma once

#include <algorithm>
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
    auto entries = std::make_shared<Entries>();  // a new list: the old one may be running
    if (entries_)
      for (const Entry& e : *entries_)
        if (*e.is_on) entries->push_back(e);
    entries->push_back({std::make_shared<bool>(true), std::move(hook)});
    entries_ = std::move(entries);
    return HookHandle(entries_->back().is_on);
  }
  bool empty() const {
    return !entries_ ||
           std::none_of(entries_->begin(), entries_->end(), [](const Entry& e) { return *e.is_on; });
  }
  // Calls `each` with every hook. One that is added meanwhile waits for the next time, one that is removed is
  // not called any more.
  template <class Each> void for_each(const Each& each) const {
    const std::shared_ptr<const Entries> entries = entries_;
    if (!entries) return;
    for (const Entry& entry : *entries)
      if (*entry.is_on) each(entry.hook);
  }

 private:
  struct Entry {
    std::shared_ptr<bool> is_on;
    Hook hook;
  };
  using Entries = std::vector<Entry>;
  std::shared_ptr<const Entries> entries_;
};

}  // namespace veldt
