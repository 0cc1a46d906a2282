// The memory of a step that is being recorded: addresses without memory. Afterwards blocks that are still
// alive (outputs, gradients) get memory of their own, and the rest places in one arena, shared by blocks that
// are never needed at the same time.
// Tests: tests/tensor/plan_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "veldt/core/backend.h"
#include "veldt/core/pool.h"
#include "veldt/tensor/recorded_step.h"

namespace veldt {

class PlannedMemory final : public Memory {
 public:
  struct Block {
    std::uintptr_t address;
    std::size_t size;
    Storage* owner;                         // null once it was freed or has settled
    std::shared_ptr<Storage> settled = {};  // what outlived the step
    int first = -1, last = -1, uses = 0;    // the calls that touch it
  };

  // Whether it is one of these addresses.
  static bool holds(const void* p) { return address_of(p) >= kNowhere && address_of(p) < kNowhereEnd; }
  // The block of such an address.
  Block& block_of(const void* p) { return blocks_[block_at(p)]; }

  // Throws OutOfMemory when the addresses are used up.
  void* take(std::size_t bytes, Storage& owner) override;
  void give(void* p, std::size_t bytes, Storage& owner) noexcept override;
  std::size_t peak() const { return peak_; }  // the most bytes at once

  // Records that the call of this index reaches these views.
  void note(std::span<View> views, int call);
  // Call i is now_at[i] from here on.
  void renumber(const std::vector<int>& now_at);

  // Gives blocks that are still alive memory of their own, filled with zeros, and adds it to `held`. Also
  // after a step that threw.
  void settle(Pool& pool, const Backend& backend, Storages& held);
  bool settled() const;
  // Assigns each other block a place in an arena, and returns the arena's size.
  std::size_t place();
  // Redirects the calls' views to these places.
  void turn(KernelCalls& calls, const Storage& arena) const;

 private:
  // Bits 48 to 55 differ from the sign: no x86 or ARM processor maps such an address.
  static constexpr std::uintptr_t kNowhere = std::uintptr_t{0x00F0} << 48;
  static constexpr std::uintptr_t kNowhereEnd = std::uintptr_t{0x00F8} << 48;

  static std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
  std::size_t block_at(const void* p) const;

  std::uintptr_t next_ = kNowhere;
  std::size_t alive_ = 0, peak_ = 0;
  std::vector<Block> blocks_;         // by address
  std::vector<std::size_t> offsets_;  // of each block in the arena
};

}  // namespace veldt
