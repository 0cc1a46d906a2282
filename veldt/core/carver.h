// Divides the workspace of a call into its pieces.
// Tests: tests/ops/mlp_test.cpp, tests/cuda/mlp_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace veldt {

// Neighbouring pieces of memory, each aligned to kAlignment if the first byte is. Starting from null it only
// counts: take() then returns the offset of the piece.
template <std::size_t kAlignment> class Carver {
 public:
  explicit Carver(void* from = nullptr) : at_(reinterpret_cast<std::uintptr_t>(from)) {}
  template <class T> T* take(std::int64_t n) {
    T* const p = reinterpret_cast<T*>(at_);
    at_ += (static_cast<std::size_t>(n) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return p;
  }
  std::uintptr_t at() const { return at_; }

 private:
  std::uintptr_t at_;
};

}  // namespace veldt
