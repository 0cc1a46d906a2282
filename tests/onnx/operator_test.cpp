// Operators on values that ONNX's own cases do not have: NaN, texts beyond doubles, gradients that there are
// not.
#include "veldt/onnx/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "veldt/onnx/network.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"

namespace veldt::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The results of one node.
Values results_of(const char* op, const std::vector<Attribute>& attributes, const Values& inputs,
                  std::size_t outputs = 1) {
  Model model;
  model.opsets[""] = 22;
  Node node;
  node.op = op;
  node.attributes = attributes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node.inputs.push_back("x" + std::to_string(i));
    model.graph.inputs.push_back({node.inputs.back(), {}});
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back("y" + std::to_string(i));
    model.graph.outputs.push_back({node.outputs.back(), {}});
  }
  model.graph.nodes.push_back(std::move(node));
  return Network(model).run(inputs);
}

Attribute number_attribute(const char* name, std::int64_t value) {
  Attribute a;
  a.name = name;
  a.kind = Attribute::Kind::integer;
  a.integer = value;
  return a;
}
Attribute word_attribute(const char* name, const char* value) {
  Attribute a;
  a.name = name;
  a.kind = Attribute::Kind::text;
  a.text = value;
  return a;
}

// NaN equals itself here, and comes last.
TEST(OnnxOperator, UniqueTakesNanForOneNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Values out = results_of("Unique", {}, {Value(Tensor::of({6}, {nan, 3, nan, 1, 3, nan}))}, 4);
  const std::vector<float> values = out[0].tensor().values<float>();
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 3);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_THAT(out[1].tensor().values<std::int64_t>(), ElementsAre(3, 1, 0));
  EXPECT_THAT(out[2].tensor().values<std::int64_t>(), ElementsAre(2, 1, 2, 0, 1, 2));
  EXPECT_THAT(out[3].tensor().values<std::int64_t>(), ElementsAre(1, 2, 3));
}

TEST(OnnxOperator, TextsBecomeIntegersToTheLastDigit) {
  const auto cast = [](const std::vector<std::string>& texts, ElementType type) {
    const Texts list{{static_cast<std::int64_t>(texts.size())}, texts};
    return results_of("Cast", {number_attribute("to", static_cast<std::int64_t>(type))}, {Value(list)})[0]
        .tensor()
        .values<std::int64_t>();
  };
  EXPECT_THAT(cast({"9007199254740993", " -9223372036854775808", "+7", "2.5", "1e3"}, ElementType::int64),
              ElementsAre(9007199254740993, std::numeric_limits<std::int64_t>::min(), 7, 2, 1000));
  EXPECT_THAT(cast({"18446744073709551615"}, ElementType::uint64), ElementsAre(-1)) << "as its bits";
  for (const char* text : {"nan", "inf", "1e30", "9223372036854775808", "seven", ""})
    EXPECT_THAT(veldt::test::thrown_by([&] { cast({text}, ElementType::int64); }).what(), HasSubstr("is no"))
        << text;
}

// What is computed in the host's memory has no gradient, and says so instead of none.
TEST(OnnxOperator, ScatterOfProductsAndExtremesHasNoGradient) {
  for (const char* reduction : {"mul", "max", "min"})
    for (const bool flat : {false, true}) {
      Tensor x = ones({3}), source = ones({2});
      x.set_requires_grad();
      source.set_requires_grad();
      const Tensor index = Tensor::of({2}, {0, 0}, DType::i64),
                   places = Tensor::of({2, 1}, {0, 0}, DType::i64);
      const Values out =
          results_of(flat ? "ScatterElements" : "ScatterND", {word_attribute("reduction", reduction)},
                     {Value(x), Value(flat ? index : places), Value(source)});
      const std::string said = veldt::test::thrown_by([&] { sum(out[0].tensor()).backward(); }).what();
      EXPECT_THAT(said, HasSubstr("no gradient"));
    }
}

TEST(OnnxOperator, GradientsPassACastToFewBits) {
  Tensor x = Tensor::of({2}, {1.1, -3});
  x.set_requires_grad();
  const Values out = results_of(
      "Cast", {number_attribute("to", static_cast<std::int64_t>(ElementType::float8e5m2))}, {Value(x)});
  EXPECT_THAT(out[0].tensor().values<float>(), ElementsAre(1, -3));
  sum(out[0].tensor()).backward();
  EXPECT_THAT(x.grad().values<float>(), ElementsAre(1, 1));
}

}  // namespace
}  // namespace veldt::onnx
