// Moves numbers between vectors and tensors by bytes and strides, without any kernel.
#include "tests/support/values.h"

#include "veldt/kernels/convert.h"

namespace veldt::test {
namespace {

std::int64_t offset_of(const Tensor& t, const Shape& index) {
  std::int64_t offset = 0;
  for (int d = 0; d < t.rank(); ++d) offset += index[d] * t.strides()[d];
  return offset;
}

}  // namespace

Shape index_of(const Shape& shape, std::int64_t i) {
  Shape index = shape;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = i % shape[d];
    i /= shape[d];
  }
  return index;
}

std::int64_t position_of(const Shape& shape, const Shape& index) {
  std::int64_t position = 0;
  for (int d = 0; d < shape.rank(); ++d) position = position * shape[d] + index[d];
  return position;
}

double Values::at(const Shape& index) const {
  const int lead = index.rank() - shape.rank();
  std::int64_t position = 0;
  for (int d = 0; d < shape.rank(); ++d)
    position = position * shape[d] + (shape[d] == 1 ? 0 : index[lead + d]);
  return v[static_cast<std::size_t>(position)];
}

Values build(const Shape& shape, const std::function<double(const Shape& index)>& value) {
  Values out{shape, std::vector<double>(static_cast<std::size_t>(numel(shape)))};
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.v[static_cast<std::size_t>(i)] = value(index_of(shape, i));
  return out;
}

Values read(const Tensor& t) {
  Values out;
  scalar::with_type(t.dtype(), [&](auto type) {
    const auto* data = t.view().as<const decltype(type)>();
    out = build(t.shape(), [&](const Shape& index) {
      return static_cast<double>(scalar::load(data[offset_of(t, index)]));
    });
  });
  return out;
}

void write_into(const Tensor& t, const Values& values) {
  scalar::with_type(t.dtype(), [&](auto type) {
    using T = decltype(type);
    T* const data = t.view().as<T>();
    for (std::int64_t i = 0; i < values.size(); ++i)
      data[offset_of(t, index_of(t.shape(), i))] = scalar::store<T>(values.v[static_cast<std::size_t>(i)]);
  });
}

Tensor write(const Values& values, DType dtype) {
  const Tensor t = empty(values.shape, dtype);
  write_into(t, values);
  return t;
}

Values uniform(const Shape& shape, Rng& rng, double low, double high) {
  return build(shape, [&](const Shape&) {
    const double u = (static_cast<double>(rng.next_u32()) + 0.5) * 0x1p-32;
    return low + (high - low) * u;
  });
}

}  // namespace veldt::test
