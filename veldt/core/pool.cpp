// Size classes, the list of allocations, and the error when memory is full.
#include "veldt/core/pool.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "veldt/core/error.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VELDT_UNDER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(VELDT_UNDER_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#endif

namespace veldt {
namespace {

// AddressSanitizer knows malloc's blocks. This informs it about ours: only the first `used` of `size` bytes
// may be accessed.
void open_for_use(const Backend& backend, void* p, std::size_t used, std::size_t size) {
  if (backend.device.kind != DeviceKind::cpu) return;
  ASAN_POISON_MEMORY_REGION(p, size);
  ASAN_UNPOISON_MEMORY_REGION(p, used);
}

// The position of a size class among all: by power of two, then by quarter.
std::size_t index_of(std::size_t size) {
  if (size <= 64) return 0;
  const std::size_t top = std::bit_floor(size - 1);
  return static_cast<std::size_t>(std::countr_zero(top)) * 4 + (size - top - 1) / (top / 4);
}

// Unlocks a lock while it exists.
struct Unlocked {
  explicit Unlocked(std::unique_lock<std::mutex>& lock) : lock_(lock) { lock_.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  std::unique_lock<std::mutex>& lock_;
};

// Adds to a sum while it exists.
struct Added {
  Added(std::size_t& sum, std::size_t more) : sum_(sum), more_(more) { sum_ += more_; }
  ~Added() { sum_ -= more_; }
  Added(const Added&) = delete;
  Added& operator=(const Added&) = delete;
  std::size_t& sum_;
  std::size_t more_;
};

}  // namespace

std::string bytes_text(std::size_t bytes) {
  if (bytes < 1024) return str(bytes, bytes == 1 ? " byte" : " bytes");
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

void Storage::move_to(Pool& pool) {
  void* const place = pool.take(bytes_, *this);  // first: it may throw
  memory_->give(data_, bytes_, *this);           // a planner has no list, so the pool's link stays
  memory_ = &pool;
  data_ = place;
}

std::size_t Pool::size_class(std::size_t bytes) {
  if (bytes <= 64) return 64;
  const std::size_t top = std::bit_floor(bytes - 1);  // the power of two below
  const std::size_t step = top / 4 < 64 ? 64 : top / 4;
  return (bytes + step - 1) / step * step;
}

void Pool::link(Storage& owner) {
  owner.before_ = nullptr;
  owner.after_ = held_;
  if (held_) held_->before_ = &owner;
  held_ = &owner;
}

void Pool::unlink(Storage& owner) noexcept {
  (owner.before_ ? owner.before_->after_ : held_) = owner.after_;
  if (owner.after_) owner.after_->before_ = owner.before_;
}

void* Pool::take(std::size_t bytes, Storage& owner) {
  const std::size_t size = size_class(bytes);
  Lock lock(mutex_);
  Class& kept = cached_[index_of(size)];
  void* p = nullptr;
  if (!kept.blocks.empty()) {
    p = kept.blocks.back();
    kept.blocks.pop_back();
    stats_.bytes_cached -= size;
  } else {
    kept.size = size;
    p = from_system(size, lock);
  }
  open_for_use(backend_, p, bytes, size);
  link(owner);
  stats_.bytes_in_use += size;
  ++stats_.blocks_in_use;
  if (stats_.bytes_in_use > stats_.peak_bytes) stats_.peak_bytes = stats_.bytes_in_use;
  return p;
}

void* Pool::from_system(std::size_t size, Lock& lock) {
  const auto is_too_much = [&] {
    const std::size_t bytes = stats_.bytes_in_use + stats_.bytes_cached + bytes_asked_for_ + size;
    return stats_.limit > 0 && bytes > stats_.limit;
  };
  if (is_too_much()) {
    give_back_cached(lock);
    if (is_too_much()) refuse(size, str("the limit is ", bytes_text(stats_.limit)));
  }
  ++stats_.system_allocations;
  const Added asked(bytes_asked_for_, size);
  const std::int64_t before = times_given_back_;
  try {
    const Unlocked open(lock);
    return backend_.allocate(size);
  } catch (const OutOfMemory& e) {
    if (stats_.bytes_cached == 0 && giving_back_ == 0 && times_given_back_ == before) refuse(size, e.why());
  }
  give_back_cached(lock);
  // Memory that other threads are returning may be enough. The wait is short, because one may be waiting for
  // a device that this thread holds.
  given_back_.wait_for(lock, std::chrono::seconds(1), [this] { return giving_back_ == 0; });
  try {
    const Unlocked open(lock);
    return backend_.allocate(size);
  } catch (const OutOfMemory& again) {
    refuse(size, again.why());
  }
}

void Pool::refuse(std::size_t size, const std::string& reason) const {
  std::string held;
  const std::vector<Holding> ledger = ledger_locked();
  for (std::size_t i = 0; i < ledger.size() && i < 4; ++i)
    held += str(i ? ", " : ": ", ledger[i].label, ' ', bytes_text(ledger[i].bytes));
  if (ledger.size() > 4) held += ", ...";
  std::string fits = "free tensors that are no longer needed";
  if (stats_.limit > 0)
    fits = str("at most ",
               bytes_text(stats_.limit > stats_.bytes_in_use ? stats_.limit - stats_.bytes_in_use : 0),
               " fits now");
  throw OutOfMemory(str("cannot allocate ", bytes_text(size), " on ", backend_.device),
                    str(reason, "; tensors hold ", bytes_text(stats_.bytes_in_use), held),
                    str(fits, "; use a smaller batch, network or picture"));
}

void Pool::give(void* p, std::size_t bytes, Storage& owner) noexcept {
  const std::size_t size = size_class(bytes);
  {
    std::lock_guard lock(mutex_);
    unlink(owner);
    stats_.bytes_in_use -= size;
    --stats_.blocks_in_use;
    try {
      cached_[index_of(size)].blocks.push_back(p);
      stats_.bytes_cached += size;
      open_for_use(backend_, p, 0, size);
      return;
    } catch (...) {  // there is no memory to record it
    }
  }
  open_for_use(backend_, p, size, size);
  backend_.deallocate(p, size);
}

void Pool::set_limit(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  stats_.limit = bytes;
}

void Pool::give_back_cached(Lock& lock) noexcept {
  std::array<Class, 64 * 4> taken;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    taken[i].size = cached_[i].size;
    taken[i].blocks.swap(cached_[i].blocks);
  }
  stats_.bytes_cached = 0;
  ++giving_back_;
  {
    const Unlocked open(lock);
    for (const Class& kept : taken)
      for (void* const block : kept.blocks) {
        open_for_use(backend_, block, kept.size, kept.size);
        backend_.deallocate(block, kept.size);
      }
  }
  --giving_back_;
  ++times_given_back_;
  given_back_.notify_all();
}

void Pool::trim() noexcept {
  Lock lock(mutex_);
  give_back_cached(lock);
}

PoolStats Pool::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Pool::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.bytes_in_use;
}

std::vector<Holding> Pool::ledger_locked() const {
  std::vector<Holding> lines;
  for (const Storage* s = held_; s; s = s->after_) {
    const auto same = [s](const Holding& line) { return line.label == s->label(); };
    auto line = std::find_if(lines.begin(), lines.end(), same);
    if (line == lines.end()) line = lines.insert(lines.end(), {s->label(), 0, 0});
    line->bytes += size_class(s->bytes());
    ++line->blocks;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Holding& a, const Holding& b) { return a.bytes > b.bytes; });
  return lines;
}

std::vector<Holding> Pool::ledger() const {
  std::lock_guard lock(mutex_);
  return ledger_locked();
}

}  // namespace veldt
