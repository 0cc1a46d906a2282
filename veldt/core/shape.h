// The sizes of a tensor, and the strides that lay them out in memory.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>

namespace veldt {

inline constexpr int kMaxRank = 8;

// Up to kMaxRank sizes, kept in place: copying one never allocates. Used for strides too.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);
  // `rank` entries, all `value`.
  static Shape filled(int rank, std::int64_t value);

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return sizes_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return sizes_[static_cast<std::size_t>(i)]; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  std::int64_t back() const { return sizes_[static_cast<std::size_t>(rank_ - 1)]; }

  void push_back(std::int64_t size);
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
  int rank_ = 0;
  std::array<std::int64_t, kMaxRank> sizes_{};
};

using Strides = Shape;

// "[32, 784]"
std::ostream& operator<<(std::ostream& out, const Shape& shape);

// The number of elements. Throws ShapeError on a negative size or a product beyond 2^62.
std::int64_t numel(const Shape& shape);

// Row-major strides, in elements.
Strides contiguous_strides(const Shape& shape);

// True if (shape, strides) walks memory in row-major order without holes.
bool is_contiguous(const Shape& shape, const Strides& strides);

// The shape both broadcast to (NumPy's rule). Throws ShapeError naming `op` and both shapes.
Shape broadcast(const Shape& a, const Shape& b, const char* op);

// A dimension that may count from the end, brought into 0..rank-1. Throws ShapeError naming `op`.
int wrap_dim(int dim, int rank, const char* op);

}  // namespace veldt
