// Frees a thread's lists when it ends.
#include "veldt/core/small_blocks.h"

namespace veldt {

thread_local constinit SmallBlocks::List SmallBlocks::lists_[kLargest / kStep] = {};

namespace {
thread_local constinit bool t_ended = false;
}

// Frees the thread's blocks when it ends.
struct SmallBlocks::Owner {
  bool open = true;
  ~Owner() {
    t_ended = true;
    for (List& list : lists_) {
      while (Free* block = list.first) {
        list.first = block->next;
        ::operator delete(block);
      }
      list.count = 0;
    }
  }
};

bool SmallBlocks::opens() noexcept {
  static thread_local Owner owner;
  return !t_ended && owner.open;
}

}  // namespace veldt
