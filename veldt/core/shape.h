// The sizes of a tensor, and the strides of its memory layout.
// Tests: tests/core/shape_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>

namespace veldt {

inline constexpr int kMaxRank = 8;

// Up to kMaxRank sizes, stored in place: copying never allocates. Used for strides too.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t s : sizes) push_back(s);
  }
  explicit Shape(std::span<const std::int64_t> sizes) {
    for (const std::int64_t s : sizes) push_back(s);
  }
  // `rank` entries, all `value`.
  static Shape filled(int rank, std::int64_t value) {
    Shape s;
    for (int i = 0; i < rank; ++i) s.push_back(value);
    return s;
  }

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return sizes_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return sizes_[static_cast<std::size_t>(i)]; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  std::int64_t back() const { return sizes_[static_cast<std::size_t>(rank_ - 1)]; }

  // Throws ShapeError beyond kMaxRank.
  void push_back(std::int64_t size) {
    if (rank_ == kMaxRank) refuse_rank();
    sizes_[static_cast<std::size_t>(rank_++)] = size;
  }
  // The shape without / with one more entry at position i.
  Shape without(int i) const;
  Shape with_inserted(int i, std::int64_t size) const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  [[noreturn]] static void refuse_rank();

  int rank_ = 0;
  std::array<std::int64_t, kMaxRank> sizes_{};
};

using Strides = Shape;

// "[32, 784]"
std::ostream& operator<<(std::ostream& out, const Shape& shape);

inline constexpr std::int64_t kMaxNumel = std::int64_t{1} << 62;
// numel() for shapes whose sizes are below zero, or whose product may not fit.
std::int64_t numel_checked(const Shape& shape);
// The number of elements. Throws ShapeError on a negative size or a product beyond 2^62.
inline std::int64_t numel(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t s : shape)
    if (s < 0 || __builtin_mul_overflow(n, s, &n) || n > kMaxNumel) return numel_checked(shape);
  return n;
}

// Row-major strides, in elements.
inline Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  // Without elements strides do not matter, and the product of the other sizes may overflow.
  const bool nothing = std::find(shape.begin(), shape.end(), 0) != shape.end();
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    if (!nothing) step *= shape[i];
  }
  return strides;
}

// True if (shape, strides) walks memory in row-major order without gaps.
inline bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t step = 1;
  bool dense = true;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) dense = false;
    step *= dense ? shape[i] : 1;
  }
  return dense;
}

// The shape both broadcast to (NumPy's rule). Throws ShapeError naming `op` and both shapes.
Shape broadcast(const Shape& a, const Shape& b, const char* op);

// A dimension that may count from the end, as 0..rank-1. Throws ShapeError naming `op`.
int wrap_dim(int dim, int rank, const char* op);

}  // namespace veldt
