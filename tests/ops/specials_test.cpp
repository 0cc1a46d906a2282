// Elementwise ops at the edges of their number types: infinities, NaN, denormals, the largest numbers. Each
// goes through as libm and IEEE 754 have it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/allclose.h"
#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/unary.h"

namespace veldt::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Numbers that break naive formulas; all are exact in `dtype`.
std::vector<double> specials(DType dtype, double limit) {
  std::vector<double> all = {0,    -0.0, 1,    -1,    0.5, -0.5, 2,     -3,     1e-3, -1e-3, 1e-20, -1e-20,
                             10,   -10,  16.5, -16.5, 40,  -40,  87.25, -87.25, -95,  100,   -100,  700,
                             -700, -740, 800,  -800,  1e3, -1e3, 2e4,   -2e4,   1e10, -1e10};
  const auto add_limits = [&](auto type) {
    using Limits = std::numeric_limits<decltype(type)>;
    for (auto x : {Limits::denorm_min(), Limits::min(), Limits::min() / 2, Limits::max(), Limits::epsilon()})
      for (double sign : {1.0, -1.0}) all.push_back(sign * static_cast<double>(x));
  };
  dtype == DType::f32 ? add_limits(float()) : add_limits(double());
  std::vector<double> out = {kInf, -kInf, kNaN};
  for (double x : all)
    if (std::fabs(x) <= limit) out.push_back(rounded(x, dtype));
  return out;
}

// Operators of a tensor and a number round and overflow between their steps; their parts have rows of their
// own.
std::vector<OpRowRef> rows_of_one_step() {
  std::vector<OpRowRef> rows = elementwise_rows();
  std::erase_if(rows, [](const OpRow& row) { return row.name.starts_with("operator"); });
  return rows;
}

// Every combination of special numbers over the inputs, as one long row, so that whole registers meet them.
std::vector<Values> combinations(const OpRow& row, DType dtype) {
  std::vector<std::vector<double>> choices;
  std::int64_t n = 1;
  for (const OpInput& in : row.inputs) {
    if (in.dtype == DType::boolean)
      choices.push_back({0, 1});
    else
      choices.push_back(specials(dtype, row.special_limit));
    n *= static_cast<std::int64_t>(choices.back().size());
  }
  std::vector<Values> out;
  std::int64_t stride = 1;
  for (const auto& choice : choices) {
    const auto size = static_cast<std::int64_t>(choice.size());
    out.push_back(
        build({n}, [&](const Shape& at) { return choice[static_cast<std::size_t>(at[0] / stride % size)]; }));
    stride *= size;
  }
  return out;
}

class Specials : public testing::TestWithParam<OpRowRef> {};

TEST_P(Specials, GoThroughAsInLibm) {
  const OpRow& row = GetParam();
  for (DType dtype : {DType::f32, DType::f64}) {
    const std::vector<Values> values = combinations(row, dtype);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < values.size(); ++i)
      inputs.push_back(write(values[i], dtype_of_input(row, i, dtype)));
    for (const Formula& formula : row.formulas) {
      const auto point = [&](std::int64_t i) {
        std::vector<double> x;
        for (const Values& v : values) x.push_back(v.v[static_cast<std::size_t>(i)]);
        return x;
      };
      std::vector<double> magnitude;
      const Values expected = build(values[0].shape, [&](const Shape& at) {
        const std::vector<double> x = point(at[0]);
        magnitude.push_back(formula.magnitude ? formula.magnitude(x) : 0);
        return formula.value(x);
      });
      const Comparison c = compare(formula.run(inputs), expected, row.ulps, magnitude);
      std::string where_to_look;
      for (double x : point(c.at)) where_to_look += str(' ', x);
      EXPECT_TRUE(c.ok) << row.name << ' ' << formula.label << " at" << where_to_look << ": " << c.message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OpTable, Specials, testing::ValuesIn(rows_of_one_step()),
                         [](const auto& p) { return test_name(p.param); });

double of_one(Tensor (*op)(const Tensor&), double x, DType dtype) {
  return op(Tensor::of({1}, {x}, dtype)).item();
}

// A few said in words, so that the oracle is not the only witness.
TEST(Elementwise, FollowsLibmAtInfinityAndZero) {
  for (DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(of_one(exp, -kInf, dtype), 0);
    EXPECT_EQ(of_one(exp, kInf, dtype), kInf);
    EXPECT_EQ(of_one(log, 0, dtype), -kInf);
    EXPECT_TRUE(std::isnan(of_one(log, -1, dtype)));
    EXPECT_TRUE(std::isnan(of_one(sin, kInf, dtype)));
    EXPECT_EQ(of_one(tanh, kInf, dtype), 1);
    EXPECT_EQ(of_one(tanh, -kInf, dtype), -1);
    EXPECT_EQ(of_one(sigmoid, 800, dtype), 1);
    EXPECT_EQ(of_one(sigmoid, -800, dtype), 0);
    EXPECT_EQ(of_one(softplus, 800, dtype), 800);
    EXPECT_EQ(of_one(softplus, -kInf, dtype), 0);
    EXPECT_TRUE(std::isnan(of_one(relu, kNaN, dtype)));
    EXPECT_TRUE(std::isnan(of_one(sign, kNaN, dtype)));
  }
}

TEST(Elementwise, KeepsTheSignOfZero) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor plus = Tensor::of({1}, {0.0}, dtype), minus = Tensor::of({1}, {-0.0}, dtype);
    EXPECT_TRUE(std::signbit(neg(plus).item()));
    EXPECT_FALSE(std::signbit((-minus).item()));
    EXPECT_TRUE(std::signbit((minus * 2.0).item()));
    EXPECT_TRUE(std::signbit((plus * -2.0).item()));
    EXPECT_TRUE(std::signbit((minus / 2.0).item()));
    EXPECT_TRUE(std::signbit((2.0 / Tensor::of({1}, {-kInf}, dtype)).item()));
    EXPECT_FALSE(std::signbit((minus + 0.0).item()));
    EXPECT_TRUE(std::signbit((minus - 0.0).item()));
    EXPECT_FALSE(std::signbit((0.0 - plus).item()));
    for (Tensor (*odd)(const Tensor&) : {sin, tan, asin, atan, sinh, asinh, tanh, atanh, erf, expm1, log1p}) {
      EXPECT_TRUE(std::signbit(odd(minus).item()));
      EXPECT_FALSE(std::signbit(odd(plus).item()));
    }
  }
}

// Numbers that lie about evenly over the exponents from 2^low up to 2^high, of both signs.
Values over_exponents(std::int64_t n, double low, double high) {
  Rng rng(8);
  Values x = uniform({n}, rng, low, high);
  for (std::size_t i = 0; i < x.v.size(); ++i) x.v[i] = (i % 2 == 0 ? 1 : -1) * std::exp2(x.v[i]);
  return x;
}

TEST(Sine, IsGoodAtAnyMagnitude) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor t = write(over_exponents(20000, -30, dtype == DType::f32 ? 127.9 : 1023.9), dtype);
    const Values exact = read(t);
    const auto apply = [&](double (*f)(double)) {
      return build(exact.shape, [&](const Shape& at) { return f(exact.at(at)); });
    };
    const Comparison s = compare(sin(t), apply([](double v) { return std::sin(v); }), 3);
    EXPECT_TRUE(s.ok) << "sin: " << s.message;
    const Comparison c = compare(cos(t), apply([](double v) { return std::cos(v); }), 3);
    EXPECT_TRUE(c.ok) << "cos: " << c.message;
  }
}

TEST(Sine, AndItsSlopeAreGoodAtAnyMagnitude) {
  for (double x : {3e7, 1e8, 1e9, 1e12, 1e30}) {
    const double omega = 30, exact = static_cast<double>(static_cast<float>(x));
    Tensor t = Tensor::of({1}, {x}).set_requires_grad();
    const Tensor y = sine(t, omega);
    EXPECT_NEAR(y.item(), std::sin(omega * exact), 1e-6) << x;
    y.backward();
    EXPECT_NEAR(t.grad().item(), omega * std::cos(omega * exact), 1e-5) << x;
    EXPECT_LE(std::fabs(finer(t, omega).item()), 1) << x;
  }
}

TEST(Sine, DoesNotDependOnItsNeighbours) {
  const Values alone = read(sin(Tensor::of({8}, {0.5, 1e9, 3, -1e20, 1e-3, 2e7, 7, 8})));
  const Values near = read(sin(Tensor::of({8}, {0.5, 2, 3, 4, 1e-3, 6, 7, 8})));
  for (std::size_t i : {0, 2, 4, 6, 7}) EXPECT_EQ(alone.v[i], near.v[i]) << i;
}

std::vector<OpRowRef> rows_of_one_number() {
  std::vector<OpRowRef> rows = elementwise_rows();
  std::erase_if(rows, [](const OpRow& row) { return row.inputs.size() != 1; });
  return rows;
}

// A wide sweep of each function of one number, denser than the table's cases.
class Sweep : public testing::TestWithParam<OpRowRef> {};

TEST_P(Sweep, StaysWithinItsUlps) {
  const OpRow& row = GetParam();
  Rng rng(4);
  for (double reach : {1e-30, 1e-3, 1.0, 20.0, 100.0}) {
    if (reach > row.special_limit) continue;
    const Values x = uniform({2000}, rng, -reach, reach);
    for (DType dtype : {DType::f32, DType::f64})
      for (const Formula& formula : row.formulas) {
        const Tensor t = write(x, dtype);
        const Values exact = read(t);
        std::vector<double> magnitude;
        const Values expected = build(exact.shape, [&](const Shape& at) {
          const std::vector<double> v = {exact.at(at)};
          magnitude.push_back(formula.magnitude ? formula.magnitude(v) : 0);
          return formula.value(v);
        });
        const Comparison c = compare(formula.run({t}), expected, row.ulps, magnitude);
        EXPECT_TRUE(c.ok) << row.name << ' ' << formula.label << " within " << reach << ", " << dtype << ": "
                          << c.message;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(OpTable, Sweep, testing::ValuesIn(rows_of_one_number()),
                         [](const auto& p) { return test_name(p.param); });

// How far off a half is counts in its own last places: what a device rounds the other way is one of them.
TEST(Closeness, CountsTheLastPlacesOfHalves) {
  for (const auto& [dtype, step] : {std::pair{DType::f16, 0x1p-10}, {DType::bf16, 0x1p-7}}) {
    const Values expected{{2}, {1, 0.0150146484375}};
    const Tensor same = to(Tensor::from<double>({2}, expected.v), dtype);
    const Tensor next = to(Tensor::from<double>({2}, std::vector{1 + step, 0.0150146484375}), dtype);
    EXPECT_TRUE(compare(same, read(same), 0).ok);
    EXPECT_TRUE(compare(next, read(same), 1).ok);
    EXPECT_FALSE(compare(next, read(same), 0.5).ok);
  }
}

}  // namespace
}  // namespace veldt::test
