// Operators that move numbers without computing: shapes, slices, joins, indices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"

namespace veldt::onnx {

namespace {

// A Value with the type of the first input; texts are moved by their places: fn works on a tensor either way.
template <class Fn> Value moved(const Call& c, const Fn& fn) {
  const Value& like = c.value(0);
  if (like.kind() != Value::Kind::texts) return {fn(c.tensor(0)), like.type()};
  const Texts& texts = like.texts();
  const Tensor places = fn(reshape(ramp(c, numel(texts.shape)), texts.shape));
  Texts out{places.shape(), {}};
  for (const std::int64_t i : host<std::int64_t>(places))
    out.values.push_back(texts.values.at(static_cast<std::size_t>(i)));
  return Value(std::move(out));
}

Values identity(const Call& c) { return {c.value(0)}; }

Values shape_op(const Call& c) {
  const std::vector<std::int64_t> sizes = sizes_of(c.value(0).shape());
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = place(c.integer("start", 0)), end = place(c.integer("end", rank));
  return {list_of(start < end ? std::vector<std::int64_t>(sizes.begin() + start, sizes.begin() + end)
                              : std::vector<std::int64_t>())};
}

Values size_op(const Call& c) {
  const std::int64_t count = numel(c.value(0).shape());
  return {Tensor::from<std::int64_t>({}, std::span(&count, 1))};
}

Values reshape_op(const Call& c) {
  std::vector<std::int64_t> sizes = c.given(1, "shape").value_or(std::vector<std::int64_t>());
  const Shape from = c.value(0).shape();
  // 0 keeps a size, unless zeros are allowed to be what they say.
  if (c.integer("allowzero", 0) == 0)
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] == 0) {
        if (static_cast<int>(d) >= from.rank())
          c.fail(str("size ", d, " is to be kept, and the input has ", from.rank(), " dimensions"));
        sizes[d] = from[static_cast<int>(d)];
      }
  return {moved(c, [&](const Tensor& x) {
    // A size to be found beside a size of 0 cannot be divided for.
    if (x.numel() == 0 && std::count(sizes.begin(), sizes.end(), 0) > 0)
      std::replace(sizes.begin(), sizes.end(), std::int64_t{-1}, std::int64_t{0});
    return reshape(x, shape_from(sizes));
  })};
}

Values flatten_op(const Call& c) {
  const Shape shape = c.value(0).shape();
  const std::int64_t axis = c.integer("axis", 1);
  const int first = axis == shape.rank() ? shape.rank() : c.axis(axis, std::max(shape.rank(), 1));
  std::int64_t before = 1, after = 1;
  for (int d = 0; d < shape.rank(); ++d) (d < first ? before : after) *= shape[d];
  return {moved(c, [&](const Tensor& x) { return reshape(x, {before, after}); })};
}

Values transpose_op(const Call& c) {
  const int rank = c.value(0).shape().rank();
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  for (int d = 0; d < rank; ++d) order[static_cast<std::size_t>(d)] = rank - 1 - d;
  const std::vector<int> axes = axes_of(c, c.integers("perm", order), rank);
  return {moved(c, [&](const Tensor& x) { return permute(x, axes); })};
}

Values squeeze_op(const Call& c) {
  const Shape from = c.value(0).shape();
  const auto axes = c.given(1, "axes");
  std::vector<bool> gone(static_cast<std::size_t>(from.rank()));
  if (axes) {
    for (const int d : axes_of(c, *axes, from.rank())) {
      if (from[d] != 1) c.fail(str("dimension ", d, " is of size ", from[d], ", not 1"));
      gone[static_cast<std::size_t>(d)] = true;
    }
  }
  Shape shape;
  for (int d = 0; d < from.rank(); ++d)
    if (axes ? !gone[static_cast<std::size_t>(d)] : from[d] != 1) shape.push_back(from[d]);
  return {moved(c, [&](const Tensor& x) { return reshape(x, shape); })};
}

Values unsqueeze_op(const Call& c) {
  const Shape from = c.value(0).shape();
  const std::vector<std::int64_t> axes = c.given(1, "axes").value_or(std::vector<std::int64_t>());
  const int rank = from.rank() + static_cast<int>(axes.size());
  if (rank > kMaxRank)
    c.fail(str("its result would have ", rank, " dimensions; Veldt takes up to ", kMaxRank));
  Shape shape = Shape::filled(rank, -1);
  for (const int d : axes_of(c, axes, rank)) {
    if (shape[d] != -1) c.fail(str("it names the axis ", d, " twice"));
    shape[d] = 1;
  }
  int next = 0;
  for (int d = 0; d < rank; ++d)
    if (shape[d] == -1) shape[d] = from[next++];
  return {moved(c, [&](const Tensor& x) { return reshape(x, shape); })};
}

Values concat_op(const Call& c) {
  if (c.size() == 0) c.fail("it has no inputs");
  const int axis = c.axis(c.integer("axis", 1), c.value(0).shape().rank());
  if (c.value(0).kind() == Value::Kind::texts) {
    // The places of all texts, one list after the other.
    std::vector<Tensor> places;
    std::vector<const std::string*> all;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const Texts& texts = c.value(i).texts();
      places.push_back(
          add(reshape(arange(numel(texts.shape)), texts.shape), static_cast<std::int64_t>(all.size())));
      for (const std::string& text : texts.values) all.push_back(&text);
    }
    const Tensor joined = cat(places, axis);
    Texts out{joined.shape(), {}};
    for (const std::int64_t i : host<std::int64_t>(joined))
      out.values.push_back(*all[static_cast<std::size_t>(i)]);
    return {Value(std::move(out))};
  }
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < c.size(); ++i) parts.push_back(c.tensor(i));
  return {{cat(parts, axis), c.type(0)}};
}

Values split_op(const Call& c) {
  const Shape shape = c.value(0).shape();
  const int axis = c.axis(c.integer("axis", 0), shape.rank());
  std::vector<std::int64_t> sizes = c.given(1, "split").value_or(std::vector<std::int64_t>());
  if (sizes.empty()) {
    const std::int64_t parts = c.integer("num_outputs", static_cast<std::int64_t>(c.outputs()));
    if (parts < 1 || parts > std::int64_t{1} << 20) c.fail(str("it is to make ", parts, " parts"));
    const std::int64_t each = (shape[axis] + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<std::int64_t>(shape[axis] - i * each, 0, each));
  }
  Values out;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    out.push_back(moved(c, [&](const Tensor& x) { return narrow(x, axis, begin, size); }));
    begin += size;
  }
  if (begin != shape[axis]) c.fail(str("its parts have ", begin, " positions, the input has ", shape[axis]));
  return out;
}

Values slice_op(const Call& c) {
  const int rank = c.value(0).shape().rank();
  const auto starts = c.given(1, "starts"), ends = c.given(2, "ends");
  if (!starts || !ends || starts->size() != ends->size())
    c.fail("it lacks its starts or its ends, or has fewer of them");
  std::vector<std::int64_t> all(starts->size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> axes = axes_of(c, c.given(3, "axes").value_or(all), rank);
  const std::vector<std::int64_t> steps =
      c.given(4, "steps").value_or(std::vector<std::int64_t>(starts->size(), 1));
  if (axes.size() != starts->size() || steps.size() != starts->size())
    c.fail("its starts, ends, axes and steps are not equally many");
  return {moved(c, [&](const Tensor& input) {
    Tensor x = input;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t size = x.size(axes[i]), step = steps[i];
      if (step == 0) c.fail("a step is 0");
      std::int64_t begin = (*starts)[i], end = (*ends)[i];
      if (begin < 0) begin = begin < -size ? -1 : begin + size;
      if (end < 0) end = end < -size ? -1 : end + size;
      // Now -1 is before the first.
      begin =
          step > 0 ? std::clamp<std::int64_t>(begin, 0, size) : std::clamp<std::int64_t>(begin, -1, size - 1);
      end = step > 0 ? std::clamp<std::int64_t>(end, 0, size) : std::clamp<std::int64_t>(end, -1, size - 1);
      const bool nothing = step > 0 ? begin >= end : begin <= end;
      if (nothing)
        x = narrow(x, axes[i], 0, 0);
      else
        x = slice(x, axes[i], begin, step < 0 && end == -1 ? -size - 1 : end,
                  std::clamp<std::int64_t>(step, -size - 1, size + 1));
    }
    return x;
  })};
}

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

Values expand_op(const Call& c) {
  const Shape shape = broadcast(c.value(0).shape(), shape_from(c.integers(1)), "Expand");
  return {moved(c, [&](const Tensor& x) { return expand(x, shape); })};
}

Values tile_op(const Call& c) {
  const Shape shape = c.value(0).shape();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(shape.rank()), 1);
  if (c.size() == 3)  // version 1: how often, and along which axis
    counts[static_cast<std::size_t>(c.axis(c.integer(2), shape.rank()))] = c.integer(1);
  else
    counts = c.integers(1);
  if (static_cast<int>(counts.size()) != shape.rank())
    c.fail("it has not one number of times for each dimension");
  Shape whole = shape;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::int64_t count = counts[static_cast<std::size_t>(d)];
    if (count < 0 || count > std::int64_t{1} << 31) c.fail(str("it is to repeat ", count, " times"));
    whole[d] *= count;
  }
  check_size(c, whole);
  return {moved(c, [&](const Tensor& x) { return repeat(x, counts); })};
}

Values pad_op(const Call& c) {
  const Value& input = c.value(0);
  const int rank = input.shape().rank();
  const std::vector<std::int64_t> pads =
      c.given(1, c.has("paddings") ? "paddings" : "pads").value_or(std::vector<std::int64_t>());
  std::vector<std::int64_t> all(static_cast<std::size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> axes = axes_of(c, c.has(3) ? c.integers(3) : all, rank);
  if (pads.size() != 2 * axes.size()) c.fail(str("it has ", pads.size(), " pads for ", axes.size(), " axes"));
  Padding padding{std::vector<std::int64_t>(static_cast<std::size_t>(rank)),
                  std::vector<std::int64_t>(static_cast<std::size_t>(rank))};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    padding.before[static_cast<std::size_t>(axes[i])] = pads[i];
    padding.after[static_cast<std::size_t>(axes[i])] = pads[axes.size() + i];
  }
  const std::string mode = c.text("mode", "constant");
  const Tensor& x = c.tensor(0);
  if (mode == "constant") {
    const double value = c.has(2) ? c.number(2) : c.real("value", 0);
    return {{pad(x, padding.amounts(), value), input.type()}};
  }
  const PadMode how = mode == "reflect" ? PadMode::reflect
                      : mode == "edge"  ? PadMode::replicate
                                        : PadMode::circular;
  return {{pad(x, padding.amounts(), how), input.type()}};
}

Values constant_of_shape(const Call& c) {
  const Shape shape = shape_from(c.integers(0));
  check_size(c, shape);
  if (!c.has("value")) return {zeros(shape)};
  const Value& value = c.value("value");
  return {{expand(reshape(value.tensor(), Shape::filled(shape.rank(), 1)), shape), value.type()}};
}

Values range_op(const Call& c) {
  const ElementType type = c.type(0);
  if (is_integer(type)) {
    const double steps = (c.number(1) - c.number(0)) / c.number(2);
    if (std::isfinite(steps)) check_size(c, {static_cast<std::int64_t>(std::clamp(steps, 0.0, 1e15))});
    return {
        fitted(arange(Scalar(c.integer(0)), Scalar(c.integer(1)), Scalar(c.integer(2)), DType::i64), type)};
  }
  const double start = c.number(0), step = c.number(2);
  const double count = std::ceil((c.number(1) - start) / step);
  if (!(count < 1e15)) c.fail("no number of steps leads from its start to its limit");
  const auto n = static_cast<std::int64_t>(std::max(count, 0.0));
  check_size(c, {n});
  return {{to(add(mul(arange(n, DType::f64), step), start), c.tensor(0).dtype()), type}};
}

Values eye_like(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.rank() != 2) c.fail("its input is no matrix");
  const ElementType type = element_of(c, c.integer("dtype", static_cast<std::int64_t>(c.type(0))));
  return {
      cast(Value(triu(tril(ones(x.shape(), DType::f32, x.device()), c.integer("k", 0)), c.integer("k", 0))),
           type, true)};
}

Values trilu(const Call& c) {
  const std::int64_t k = c.has(1) ? c.integer(1) : 0;
  const std::int64_t near = std::clamp<std::int64_t>(k, -(std::int64_t{1} << 40), std::int64_t{1} << 40);
  return {{c.integer("upper", 1) != 0 ? triu(c.tensor(0), near) : tril(c.tensor(0), near), c.type(0)}};
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

Values depth_to_space(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t r = c.integer("blocksize");
  if (r < 1 || x.rank() != 4 || r > x.size(1) || x.size(1) % (r * r) != 0)
    c.fail("its channels are no multiple of the block");
  const std::int64_t n = x.size(0), k = x.size(1) / (r * r), h = x.size(2), w = x.size(3);
  const bool crd = c.text("mode", "DCR") == "CRD";
  const Tensor parts = crd ? reshape(x, {n, k, r, r, h, w}) : reshape(x, {n, r, r, k, h, w});
  const Tensor ordered = crd ? permute(parts, {0, 1, 4, 2, 5, 3}) : permute(parts, {0, 3, 4, 1, 5, 2});
  return {{reshape(ordered, {n, k, h * r, w * r}), c.type(0)}};
}

Values space_to_depth(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t r = c.integer("blocksize");
  if (r < 1 || x.rank() != 4 || x.size(2) % r != 0 || x.size(3) % r != 0)
    c.fail("its sizes are no multiple of the block");
  const std::int64_t n = x.size(0), k = x.size(1), h = x.size(2) / r, w = x.size(3) / r;
  const bool crd = c.text("mode", "DCR") == "CRD";
  const Tensor parts = reshape(x, {n, k, h, r, w, r});
  const Tensor ordered = crd ? permute(parts, {0, 1, 3, 5, 2, 4}) : permute(parts, {0, 3, 5, 1, 2, 4});
  return {{reshape(ordered, {n, k * r * r, h, w}), c.type(0)}};
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

Values center_crop_pad(const Call& c) {
  Tensor x = c.tensor(0);
  const std::vector<std::int64_t> sizes = c.integers(1);
  std::vector<std::int64_t> all(static_cast<std::size_t>(x.rank()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> axes = axes_of(c, c.integers("axes", all), x.rank());
  if (axes.size() != sizes.size()) c.fail("it has not one size for each axis");
  Padding padding{std::vector<std::int64_t>(static_cast<std::size_t>(x.rank())),
                  std::vector<std::int64_t>(static_cast<std::size_t>(x.rank()))};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t have = x.size(axes[i]), want = sizes[i];
    if (have >= want) {
      x = narrow(x, axes[i], (have - want) / 2, want);
    } else {
      padding.before[static_cast<std::size_t>(axes[i])] = (want - have) / 2;
      padding.after[static_cast<std::size_t>(axes[i])] = want - have - (want - have) / 2;
    }
  }
  return {{pad(x, padding.amounts(), 0.0), c.type(0)}};
}

}  // namespace

void add_shape_operators(OperatorTable& t) {
  t.add("Identity", identity, 1);
  t.add("Shape", shape_op);
  t.add("Size", size_op);
  t.add("Reshape", reshape_op, 1);
  t.add("Flatten", flatten_op, 1);
  t.add("Transpose", transpose_op, 1);
  t.add("Squeeze", squeeze_op, 1);
  t.add("Unsqueeze", unsqueeze_op, 1);
  t.add("Concat", concat_op, ~0U);
  t.add("Split", split_op, 1);
  t.add("Slice", slice_op, 1);
  t.add("Gather", gather_op, 1);
  t.add("GatherElements", gather_elements, 1);
  t.add("GatherND", gather_nd, 1);
  t.add("Scatter", scatter_elements, 5);
  t.add("ScatterElements", scatter_elements, 5);
  t.add("ScatterND", scatter_nd, 5);
  t.add("Expand", expand_op, 1);
  t.add("Tile", tile_op, 1);
  t.add("Pad", pad_op, 1);
  t.add("ConstantOfShape", constant_of_shape);
  t.add("Range", range_op);
  t.add("EyeLike", eye_like);
  t.add("Trilu", trilu, 1);
  t.add("OneHot", one_hot_op);
  t.add("Compress", compress, 1);
  t.add("NonZero", nonzero_op);
  t.add("DepthToSpace", depth_to_space, 1);
  t.add("SpaceToDepth", space_to_depth, 1);
  t.add("ReverseSequence", reverse_sequence, 1);
  t.add("CenterCropPad", center_crop_pad, 1);
}

}  // namespace veldt::onnx
