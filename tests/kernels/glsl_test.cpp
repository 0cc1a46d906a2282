// The formulas as GLSL: the same structs that the CPU compiles, written as text, compiled by glslc and run by
// Vulkan, give the CPU's numbers.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "tests/support/glsl.h"
#include "tests/support/sanitizers.h"
#include "tests/support/values.h"
#include "tests/support/vulkan.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/kernels/unary-inl.h"
#include "veldt/tensor/tensor.h"

namespace veldt::test {
namespace {

std::vector<float> floats(const Tensor& t) {
  const Values values = read(t);
  return {values.v.begin(), values.v.end()};
}

// Numbers of both signs: a dense stretch about 0, and some for each power of two from 2^-15 to 2^10. Beyond
// that finer(x) would be the sine of more than 6e6, where the CPU takes libm's, and quotients have more
// digits than fmod() has as text.
Tensor numbers(std::uint64_t seed) {
  Rng rng(seed);
  Values x = uniform({6000}, rng, -4, 4);
  const Values size = uniform({6000}, rng, -15, 10);
  for (std::size_t i = 0; i < 3000; ++i) x.v[i] = std::copysign(std::exp2(size.v[i]), x.v[i]);
  for (std::size_t i = 3000; i < 3200; ++i) x.v[i] = std::round(x.v[i]);
  return write(x, DType::f32);
}

// The CPU's results for the formula and the inputs of a shader.
Tensor expected(GlslFamily family, const GlslFormula& f, const std::vector<Tensor>& x) {
  Tensor out = write(read(x[0]), DType::f32);
  switch (family) {
    case GlslFamily::unary: kernels(out).unary(f.op, {f.a, f.b}, x[0].view(), out.view()); return out;
    case GlslFamily::slope: {
      const Tensor one = write(build(out.shape(), [](const Shape&) { return 1.0; }), DType::f32);
      kernels(out).unary_slope(f.op, {f.a, f.b}, x[0].view(), x[1].view(), one.view(), out.view());
      return out;
    }
    case GlslFamily::binary: kernels(out).binary(f.op, x[0].view(), x[1].view(), out.view()); return out;
    case GlslFamily::ternary:
      kernels(out).ternary(f.op, x[0].view(), x[1].view(), x[2].view(), out.view());
      return out;
    case GlslFamily::compare: break;
  }
  const Tensor truth = write(read(x[0]), DType::boolean);
  kernels(out).compare(f.op, x[0].view(), x[1].view(), truth.view());
  return write(read(truth), DType::f32);
}

// How far a function may be off in units in the last place, those of `size` where the result is smaller.
struct Allowed {
  double ulps = 4, size = 0;
};
Allowed allowed(const std::string& name) {
  // A difference of larger numbers where it passes 0.
  if (name == "slope_silu" || name == "slope_gelu") return {4, 1};
  // In doubles, as on CPUs without FMA; those with it take floats, whose e^(-x^2) is right to x^2 units.
  if (name == "slope_erfc") return {64};
  return {};
}

struct Difference {
  double ulps = 0;
  std::size_t at = 0;
};
// Compares numbers that are neither denormal nor infinite; Vulkan promises nothing about others.
Difference largest_difference(const std::vector<float>& got, const std::vector<float>& wanted, double least) {
  Difference worst;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double y = wanted[i], size = std::max(std::fabs(y), least);
    if (!std::isfinite(y) || (y != 0 && size < std::numeric_limits<float>::min())) continue;
    const double ulp = std::exp2(std::max(-126, std::ilogb(size)) - 23), off = std::fabs(got[i] - y) / ulp;
    if (!(off <= worst.ulps)) worst = {std::isnan(off) ? INFINITY : off, i};
  }
  return worst;
}

constexpr std::array kFamilies{GlslFamily::unary, GlslFamily::slope, GlslFamily::binary, GlslFamily::ternary,
                               GlslFamily::compare};

TEST(GlslText, ReadsLikeTheFormula) {
  for (const GlslFormula& f : glsl_formulas(GlslFamily::unary))
    if (f.name == "unary_relu") {
      EXPECT_EQ(f.text,
                "float unary_relu(float x0) {\n  bool v0 = 0.0 > x0;\n"
                "  precise float v1 = v0 ? 0.0 : x0;\n  return v1;\n}\n");
    }
}

TEST(GlslText, IsThereForEveryFormula) {
  const std::array expected{scalar::UnaryOps::size, scalar::UnaryOps::size, scalar::BinaryOps::size,
                            scalar::TernaryOps::size, CompareOps::size};
  std::set<std::string> names;
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    const auto formulas = glsl_formulas(kFamilies[i]);
    EXPECT_EQ(formulas.size(), static_cast<std::size_t>(expected[i]));
    for (const GlslFormula& f : formulas)
      EXPECT_TRUE(names.insert(f.name).second) << f.name << " is there twice";
  }
}

TEST(GlslText, Compiles) {
  if (!has_glslc()) GTEST_SKIP() << "glslc is not here (Debian: glslc)";
  for (GlslFamily family : kFamilies) EXPECT_NO_THROW(compile_glsl(glsl_shader(family)));
  EXPECT_THROW(compile_glsl("#version 450\nvoid main() { x = 1; }\n"), std::runtime_error);
}

class Glsl : public testing::TestWithParam<GlslFamily> {};

TEST_P(Glsl, GivesTheNumbersOfTheCpu) {
  if (kAddressSanitizer) GTEST_SKIP() << "Mesa's compiler is not for the sanitizers";
  Vulkan vulkan;
  if (!vulkan.missing().empty()) GTEST_SKIP() << vulkan.missing();
  const GlslFamily family = GetParam();
  const std::vector<GlslFormula> formulas = glsl_formulas(family), forward = glsl_formulas(GlslFamily::unary);
  std::vector<Tensor> x{numbers(1), numbers(2), numbers(3)};
  x.resize(static_cast<std::size_t>(arity(family)));
  const auto inputs_of = [&](std::size_t k) {
    if (family == GlslFamily::slope) x[1] = expected(GlslFamily::unary, forward[k], x);
    return x;
  };
  std::vector<std::vector<float>> inputs(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) inputs[i] = floats(x[i]);
  if (family == GlslFamily::slope) inputs[1].clear();
  for (std::size_t k = 0; k < formulas.size() && family == GlslFamily::slope; ++k)
    for (float y : floats(inputs_of(k)[1])) inputs[1].push_back(y);

  const auto got = vulkan.run(glsl_shader(family), inputs, static_cast<int>(formulas.size()));
  for (std::size_t k = 0; k < formulas.size(); ++k) {
    const std::vector<float> wanted = floats(expected(family, formulas[k], inputs_of(k)));
    const auto [ulps, size] = allowed(formulas[k].name);
    const Difference d = largest_difference(got[k], wanted, size);
    EXPECT_LE(d.ulps, ulps) << formulas[k].name << " at " << inputs[0][d.at] << ": " << got[k][d.at]
                            << ", not " << wanted[d.at];
  }
}

const char* name_of(GlslFamily family) {
  constexpr const char* names[] = {"unary", "slope", "binary", "ternary", "compare"};
  return names[static_cast<std::size_t>(family)];
}

INSTANTIATE_TEST_SUITE_P(Formulas, Glsl, testing::ValuesIn(kFamilies),
                         [](const auto& p) { return name_of(p.param); });

}  // namespace
}  // namespace veldt::test
