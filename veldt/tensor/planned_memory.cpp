// Hands out addresses without memory, records when each is needed, and assigns places to them.
#include "veldt/tensor/planned_memory.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/tensor/arena.h"

namespace veldt {

void* PlannedMemory::take(std::size_t bytes, Storage& owner) {
  const std::size_t size = Pool::size_class(bytes);
  if (size > kNowhereEnd - next_)
    throw OutOfMemory(str("a plan cannot hold another ", bytes_text(bytes)),
                      "its range of addresses is used up", "record a smaller step");
  const std::uintptr_t address = next_;
  next_ += size;
  blocks_.push_back({address, size, &owner});
  alive_ += size;
  peak_ = std::max(peak_, alive_);
  return reinterpret_cast<void*>(address);
}

void PlannedMemory::give(void* p, std::size_t, Storage&) noexcept {
  Block& block = block_of(p);
  block.owner = nullptr;
  alive_ -= block.size;
}

std::size_t PlannedMemory::block_at(const void* p) const {
  const auto above = std::upper_bound(blocks_.begin(), blocks_.end(), address_of(p),
                                      [](std::uintptr_t a, const Block& b) { return a < b.address; });
  return static_cast<std::size_t>(above - blocks_.begin()) - 1;
}

void PlannedMemory::note(std::span<View> views, int call) {
  for (const View& view : views)
    if (holds(view.data)) {
      Block& block = block_of(view.data);
      if (block.first < 0) block.first = call;
      block.last = call;
      ++block.uses;
    }
}

void PlannedMemory::renumber(const std::vector<int>& now_at) {
  for (Block& block : blocks_)
    if (block.first >= 0) {
      block.first = now_at[static_cast<std::size_t>(block.first)];
      block.last = now_at[static_cast<std::size_t>(block.last)];
    }
}

void PlannedMemory::settle(Pool& pool, const Backend& backend, Storages& held) {
  for (Block& block : blocks_) {
    if (!block.owner) continue;
    block.settled = block.owner->shared_from_this();
    block.owner->move_to(pool);
    const auto bytes = static_cast<std::int64_t>(block.settled->bytes());
    backend.fill({block.settled->data(), DType::u8, {bytes}, {1}}, 0);
    held.push_back(block.settled);
  }
}

bool PlannedMemory::settled() const {
  return std::none_of(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.owner != nullptr; });
}

std::size_t PlannedMemory::place() {
  std::vector<ArenaBlock> wanted;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (!blocks_[i].settled && blocks_[i].first >= 0) {
      wanted.push_back({blocks_[i].size, blocks_[i].first, blocks_[i].last, 0});
      which.push_back(i);
    }
  const std::size_t bytes = place_in_arena(wanted);
  offsets_.assign(blocks_.size(), 0);
  for (std::size_t i = 0; i < which.size(); ++i) offsets_[which[i]] = wanted[i].offset;
  return bytes;
}

void PlannedMemory::turn(KernelCalls& calls, const Storage& arena) const {
  for (const auto& call : calls)
    for (View& view : call->views())
      if (holds(view.data)) {
        const std::size_t i = block_at(view.data);
        const Block& block = blocks_[i];
        char* const base = block.settled ? static_cast<char*>(block.settled->data())
                                         : static_cast<char*>(arena.data()) + offsets_[i];
        view.data = base + (address_of(view.data) - block.address);
      }
}

}  // namespace veldt
