// Random numbers. The network's own stream gives them, in the order of the nodes; a node with a seed has the
// same numbers in every run. They are not those of other runtimes.
#include <bit>
#include <cmath>

#include "veldt/ops/random.h"

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"

namespace veldt::onnx {

namespace {

// fn(rng), with the node's own stream if it has a seed.
template <class Fn> Tensor drawn(const Call& c, const Fn& fn) {
  if (!c.has("seed")) return fn(c.rng());
  Rng own(std::bit_cast<std::uint64_t>(c.real("seed", 0)));
  return fn(own);
}

ElementType type_asked(const Call& c, ElementType otherwise) {
  const auto type = element_of(c, c.integer("dtype", static_cast<std::int64_t>(otherwise)));
  if (type != ElementType::float32 && type != ElementType::float64 && type != ElementType::float16 &&
      type != ElementType::bfloat16)
    c.fail("it draws numbers of float types only");
  return type;
}

Value normal(const Call& c, const Shape& shape, ElementType type) {
  check_size(c, shape);
  const double mean = c.real("mean", 0), deviation = c.real("scale", 1);
  return {drawn(c, [&](Rng& rng) { return randn(shape, rng, mean, deviation, held_as(type), c.device()); }),
          type};
}
Value uniform(const Call& c, const Shape& shape, ElementType type) {
  check_size(c, shape);
  const double low = c.real("low", 0), high = c.real("high", 1);
  return {drawn(c, [&](Rng& rng) { return rand(shape, rng, low, high, held_as(type), c.device()); }), type};
}

Shape shape_asked(const Call& c) {
  if (!c.has("shape")) c.fail("its attribute shape is missing");
  return shape_from(c.integers("shape"));
}
// The type of an input that may not be a float.
ElementType like(const Call& c) { return is_floating(c.type(0)) ? c.type(0) : ElementType::float32; }

Values random_normal(const Call& c) {
  return {normal(c, shape_asked(c), type_asked(c, ElementType::float32))};
}
Values random_uniform(const Call& c) {
  return {uniform(c, shape_asked(c), type_asked(c, ElementType::float32))};
}
Values random_normal_like(const Call& c) { return {normal(c, c.value(0).shape(), type_asked(c, like(c)))}; }
Values random_uniform_like(const Call& c) { return {uniform(c, c.value(0).shape(), type_asked(c, like(c)))}; }

Values bernoulli_op(const Call& c) {
  const auto type = element_of(c, c.integer("dtype", static_cast<std::int64_t>(c.type(0))));
  return {cast(Value(drawn(c, [&](Rng& rng) { return bernoulli(c.real(0), rng); })), type, true)};
}

// Draws classes by logarithms of their weights.
Values multinomial_op(const Call& c) {
  const Tensor logs = to(c.tensor(0), DType::f64);
  const std::int64_t count = c.integer("sample_size", 1);
  if (logs.rank() != 2 || logs.size(1) < 1 || count < 0) c.fail(str("its input is ", c.tensor(0).shape()));
  check_size(c, {logs.size(0), count});
  const Tensor weights = exp(sub(logs, max(logs, {1}, true)));
  const auto type = element_of(c, c.integer("dtype", static_cast<std::int64_t>(ElementType::int32)));
  return {fitted(drawn(c, [&](Rng& rng) { return multinomial(weights, count, rng); }), type)};
}

}  // namespace

void add_random(OperatorTable& t) {
  t.add("RandomNormal", random_normal);
  t.add("RandomUniform", random_uniform);
  t.add("RandomNormalLike", random_normal_like);
  t.add("RandomUniformLike", random_uniform_like);
  t.add("Bernoulli", bernoulli_op);
  t.add("Multinomial", multinomial_op);
}

}  // namespace veldt::onnx
