// Operators that read and write numbers at places that other numbers say.
#include <algorithm>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"

namespace veldt::onnx {

namespace {

// Positions that may count from the end, as ones that do not.
Tensor positions(const Tensor& index, std::int64_t size) {
  const Tensor i = to(index, DType::i64);
  return where(less(i, 0), add(i, size), i);
}

Values gather_op(const Call& c) {
  const Shape shape = c.value(0).shape();
  const int axis = c.axis(c.integer("axis", 0), shape.rank());
  const Tensor& index = c.tensor(1);
  return {moved(c, [&](const Tensor& x) {
    const Tensor places = reshape(positions(index, shape[axis]), {index.numel()});
    const Tensor taken = index_select(x, axis, places);
    Shape out;
    for (int d = 0; d < axis; ++d) out.push_back(shape[d]);
    for (const std::int64_t size : index.shape()) out.push_back(size);
    for (int d = axis + 1; d < shape.rank(); ++d) out.push_back(shape[d]);
    return reshape(taken, out);
  })};
}

Values gather_elements(const Call& c) {
  const Shape shape = c.value(0).shape();
  const int axis = c.axis(c.integer("axis", 0), shape.rank());
  return {moved(c, [&](const Tensor& x) { return gather(x, axis, positions(c.tensor(1), shape[axis])); })};
}

// Places in x [all its first `depth` dimensions as one, ..] of indices [.., depth].
Tensor flat_places(const Call& c, const Tensor& indices, const Shape& shape, int first, int depth) {
  Tensor place = zeros(indices.shape().without(indices.rank() - 1), DType::i64, indices.device());
  for (int d = 0; d < depth; ++d) {
    const std::int64_t size = shape[first + d];
    const Tensor at = positions(select(indices, -1, d), size);
    if (at.numel() > 0 && (min(at).item<std::int64_t>() < 0 || max(at).item<std::int64_t>() >= size))
      c.fail(str("an index is beyond dimension ", first + d, " of size ", size));
    place = add(mul(place, size), at);
  }
  return place;
}

Values gather_nd(const Call& c) {
  const Shape shape = c.value(0).shape();
  const Tensor indices = to(c.tensor(1), DType::i64);
  const auto batch = static_cast<int>(c.integer("batch_dims", 0));
  const int depth = static_cast<int>(indices.size(-1));
  if (batch < 0 || batch + depth > shape.rank() || batch >= indices.rank())
    c.fail("its indices name more dimensions than the input has");
  std::int64_t batches = 1, each = 1, rest = 1;
  for (int d = 0; d < shape.rank(); ++d) (d < batch ? batches : d < batch + depth ? each : rest) *= shape[d];
  const Tensor place = flat_places(c, indices, shape, batch, depth);
  const std::int64_t per_batch = batches > 0 ? place.numel() / batches : 0;
  const Tensor first = mul(unsqueeze(ramp(c, batches), 1), each);
  const Tensor flat = reshape(add(reshape(place, {batches, per_batch}), first), {batches * per_batch});
  Shape out = place.shape();
  for (int d = batch + depth; d < shape.rank(); ++d) out.push_back(shape[d]);
  return {moved(c, [&](const Tensor& x) {
    return reshape(index_select(reshape(x, {batches * each, rest}), 0, flat), out);
  })};
}

// Writes source[i] to x[places[i]] along dimension 0 of matrices; fn says what becomes of what is there.
Value scattered(const Call& c, const Tensor& x, const Tensor& places, const Tensor& source,
                const std::string& reduction, ElementType type) {
  const Tensor index = expand(unsqueeze(places, 1), source.shape());
  if (reduction == "none") return {scatter(x, 0, index, source), type};
  if (reduction == "add") return fitted(scatter_add(x, 0, index, source), type);
  // One after the other, for an index may come again.
  const bool product = reduction == "mul", larger = reduction == "max";
  if (!product && !larger && reduction != "min")
    c.fail("its reduction is \"" + reduction + "\", which ONNX does not have");
  const std::int64_t width = x.numel() > 0 ? x.size(1) : 0;
  const std::vector<std::int64_t> at = host<std::int64_t>(places);
  for (const std::int64_t i : at)
    if (i < 0 || i >= x.size(0)) c.fail(str("an index is beyond its ", x.size(0), " places"));
  const auto combine = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> out = host<T>(x);
    const std::vector<T> from = host<T>(source);
    for (std::size_t i = 0; i < at.size(); ++i)
      for (std::int64_t j = 0; j < width; ++j) {
        T& to = out[static_cast<std::size_t>(at[i] * width + j)];
        const T value = from[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(j)];
        to = product ? to * value : larger ? std::max(to, value) : std::min(to, value);
      }
    return Tensor::from<T>(x.shape(), out, x.device());
  };
  if (!is_float(x.dtype())) return fitted(combine(std::int64_t{}), type);
  return fitted(without_gradient(c, combine(double{}), {x, source}), type);
}

Values scatter_elements(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int axis = c.axis(c.integer("axis", 0), x.rank());
  const Tensor index = positions(c.tensor(1), x.size(axis));
  const std::string reduction = c.text("reduction", "none");
  if (reduction == "none") return {{scatter(x, axis, index, c.tensor(2)), c.type(0)}};
  if (reduction == "add") return {fitted(scatter_add(x, axis, index, c.tensor(2)), c.type(0))};
  // As places in the flat tensor.
  const Strides strides = contiguous_strides(x.shape());
  Tensor place = zeros(index.shape(), DType::i64, index.device());
  for (int d = 0; d < x.rank(); ++d) {
    Shape along = Shape::filled(x.rank(), 1);
    along[d] = index.size(d);
    place = add(place, mul(d == axis ? index : reshape(ramp(c, index.size(d)), along), strides[d]));
  }
  const std::int64_t count = index.numel();
  const Value flat = scattered(c, reshape(x, {x.numel(), 1}), reshape(place, {count}),
                               reshape(c.tensor(2), {count, 1}), reduction, c.type(0));
  return {{reshape(flat.tensor(), x.shape()), c.type(0)}};
}

Values scatter_nd(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Tensor indices = to(c.tensor(1), DType::i64);
  const int depth = static_cast<int>(indices.size(-1));
  if (depth > x.rank()) c.fail("its indices name more dimensions than the input has");
  std::int64_t each = 1, rest = 1;
  for (int d = 0; d < x.rank(); ++d) (d < depth ? each : rest) *= x.size(d);
  const Tensor place = flat_places(c, indices, x.shape(), 0, depth);
  const Value flat =
      scattered(c, reshape(x, {each, rest}), reshape(place, {place.numel()}),
                reshape(c.tensor(2), {place.numel(), rest}), c.text("reduction", "none"), c.type(0));
  return {{reshape(flat.tensor(), x.shape()), c.type(0)}};
}

Values one_hot_op(const Call& c) {
  const std::int64_t depth = c.integer(1);
  const Tensor& given = c.tensor(0);
  check_size(c, given.shape().with_inserted(0, depth));
  const Tensor index = to(given, DType::i64);
  const int axis = c.axis(c.integer("axis", -1), given.rank() + 1);
  const Tensor hot =
      movedim(to(one_hot(where(less(index, 0), add(index, depth), index), depth), DType::boolean),
              given.rank(), axis);
  const Tensor& pair = c.tensor(2);
  return {{where(hot, select(pair, 0, 1), select(pair, 0, 0)), c.type(2)}};
}

Values compress(const Call& c) {
  const Tensor condition = reshape(c.tensor(1), {c.tensor(1).numel()});
  const std::vector<std::uint8_t> keep = host<std::uint8_t>(condition);
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < keep.size(); ++i)
    if (keep[i] != 0) kept.push_back(static_cast<std::int64_t>(i));
  return {moved(c, [&](const Tensor& x) {
    if (!c.has("axis")) return index_select(reshape(x, {x.numel()}), 0, list_of(kept, x.device()));
    return index_select(x, c.axis(c.integer("axis"), x.rank()), list_of(kept, x.device()));
  })};
}

Values nonzero_op(const Call& c) {
  const Tensor x = c.tensor(0).rank() == 0 ? reshape(c.tensor(0), {1}) : c.tensor(0);
  const Tensor found = transpose(nonzero(x), 0, 1);
  return {c.tensor(0).rank() == 0 ? zeros({0, found.size(1)}, DType::i64, x.device()) : contiguous(found)};
}

Values reverse_sequence(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int batch = c.axis(c.integer("batch_axis", 1), x.rank()),
            time = c.axis(c.integer("time_axis", 0), x.rank());
  const std::vector<std::int64_t> lengths = c.integers(1);
  const int beside = time < batch ? time + 1 : time;  // where time is, once the batch is first
  const Tensor ordered = movedim(movedim(x, batch, 0), beside, 1);
  if (static_cast<std::int64_t>(lengths.size()) != ordered.size(0))
    c.fail("it has not one length for each example");
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Tensor row = select(ordered, 0, static_cast<std::int64_t>(i));
    const std::int64_t n = std::clamp<std::int64_t>(lengths[i], 0, row.size(0));
    rows.push_back(cat({flip(narrow(row, 0, 0, n), {0}), narrow(row, 0, n, row.size(0) - n)}, 0));
  }
  const Tensor joined = stack(rows, 0);
  return {{movedim(movedim(joined, 1, beside), 0, batch), c.type(0)}};
}

}  // namespace

void add_indexing(OperatorTable& t) {
  t.add("Gather", gather_op, 1);
  t.add("GatherElements", gather_elements, 1);
  t.add("GatherND", gather_nd, 1);
  t.add("Scatter", scatter_elements, 5);
  t.add("ScatterElements", scatter_elements, 5);
  t.add("ScatterND", scatter_nd, 5);
  t.add("OneHot", one_hot_op);
  t.add("Compress", compress, 1);
  t.add("NonZero", nonzero_op);
  t.add("ReverseSequence", reverse_sequence, 1);
}

}  // namespace veldt::onnx
