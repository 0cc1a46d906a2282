// Operators that move numbers without computing, and make them: shapes, slices, joins, ramps.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"

namespace veldt::onnx {

namespace {

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
  t.add("Expand", expand_op, 1);
  t.add("Tile", tile_op, 1);
  t.add("Pad", pad_op, 1);
  t.add("ConstantOfShape", constant_of_shape);
  t.add("Range", range_op);
  t.add("EyeLike", eye_like);
  t.add("Trilu", trilu, 1);
  t.add("DepthToSpace", depth_to_space, 1);
  t.add("SpaceToDepth", space_to_depth, 1);
  t.add("CenterCropPad", center_crop_pad, 1);
}

}  // namespace veldt::onnx
