// Arrays that own their numbers, and the views of them that kernels are tested on.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/core/view.h"

namespace veldt::test {

// bool is stored as bytes, as in a View.
template <class T> class Array {
 public:
  explicit Array(Shape shape, T value = T(0))
      : shape_(shape), values_(static_cast<std::size_t>(numel(shape)), Stored(value)) {}
  Array(Shape shape, std::vector<T> values) : shape_(shape), values_(values.begin(), values.end()) {}

  // Uniform in [low, high).
  static Array random(Shape shape, std::uint64_t seed, double low = -1, double high = 1) {
    Array out(shape);
    Rng rng(seed);
    for (auto& v : out.values_)
      v = static_cast<T>(low + (high - low) * static_cast<double>(rng.next_uniform()));
    return out;
  }

  View view() { return {values_.data(), dtype_of<T>, shape_, contiguous_strides(shape_)}; }
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  auto& operator[](std::int64_t i) { return values_[static_cast<std::size_t>(i)]; }
  const auto& values() const { return values_; }

 private:
  using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  Shape shape_;
  std::vector<Stored> values_;
};

inline View transposed(View v, int i, int j) {
  std::swap(v.shape[i], v.shape[j]);
  std::swap(v.strides[i], v.strides[j]);
  return v;
}

// Elements begin, begin + step, .. of dimension `dim`, `count` of them.
template <class T>
View sliced(View v, int dim, std::int64_t begin, std::int64_t count, std::int64_t step = 1) {
  v.data = v.as<T>() + begin * v.strides[dim];
  v.shape[dim] = count;
  v.strides[dim] *= step;
  return v;
}

// A dimension of size 1 repeated `count` times.
inline View repeated(View v, int dim, std::int64_t count) {
  v.shape[dim] = count;
  v.strides[dim] = 0;
  return v;
}

template <class Each> void for_each_index(const Shape& shape, const Each& each) {
  const std::int64_t n = numel(shape);
  for (std::int64_t i = 0; i < n; ++i) {
    Shape index = shape;
    std::int64_t rest = i;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      index[d] = rest % shape[d];
      rest /= shape[d];
    }
    each(index);
  }
}

// The element at `index`; an index into a dimension of size 1 may be anything (it is broadcast).
template <class T> T& at(const View& v, const Shape& index) {
  std::int64_t offset = 0;
  for (int d = 0; d < v.shape.rank(); ++d) offset += (v.shape[d] == 1 ? 0 : index[d]) * v.strides[d];
  return v.as<T>()[offset];
}

// All elements in row-major order.
template <class T> std::vector<T> elements(const View& v) {
  std::vector<T> out;
  for_each_index(v.shape, [&](const Shape& index) { out.push_back(at<T>(v, index)); });
  return out;
}

}  // namespace veldt::test
