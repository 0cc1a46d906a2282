// Values of graphs: types, and arithmetic that wraps around.
#include "veldt/onnx/value.h"

#include <gtest/gtest.h>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {
namespace {

std::vector<std::int64_t> whole(const Value& value) {
  return to(value.tensor(), DType::i64).values<std::int64_t>();
}

TEST(OnnxValue, NarrowIntegersWrapAround) {
  const Tensor x = Tensor::of({6}, {127, 128, -129, 255, 256, -1}, DType::i64);
  EXPECT_EQ(whole(fitted(x, ElementType::int8)), (std::vector<std::int64_t>{127, -128, 127, -1, 0, -1}));
  EXPECT_EQ(whole(fitted(x, ElementType::uint8)), (std::vector<std::int64_t>{127, 128, 127, 255, 0, 255}));
  EXPECT_EQ(whole(fitted(x, ElementType::uint16)),
            (std::vector<std::int64_t>{127, 128, 65407, 255, 256, 65535}));
  EXPECT_EQ(whole(fitted(x, ElementType::int4)), (std::vector<std::int64_t>{-1, 0, -1, -1, 0, -1}));
  EXPECT_EQ(whole(fitted(x, ElementType::uint32)).back(), 4294967295);
}

TEST(OnnxValue, SaysWhatItIs) {
  EXPECT_EQ(Value(zeros({2, 3})).description(), "float[2,3]");
  EXPECT_EQ(Value(zeros({}, DType::i8), ElementType::int8).description(), "int8[]");
  EXPECT_EQ(Value(Texts{{2}, {"a", "b"}}).description(), "string[2]");
  EXPECT_EQ(Value::sequence({Value(zeros({1})), Value(zeros({1}))}).description(), "a sequence of 2");
  EXPECT_EQ(Value::optional({}).description(), "an empty optional");
}

TEST(OnnxValue, OfAnotherKindIsRefused) {
  EXPECT_THROW(Value(Texts{{1}, {"a"}}).tensor(), Error);
  EXPECT_THROW(Value(zeros({1})).items(), Error);
  EXPECT_THROW(Value().tensor(), Error);
  EXPECT_THROW(Value(zeros({1}), ElementType::int8), Error) << "int8 is held in i8";
  EXPECT_THROW(held_as(ElementType::complex64), Error);
}

TEST(OnnxValue, EveryTypeHasAName) {
  for (int i = 0; i < kElementTypes; ++i) EXPECT_FALSE(name_of(static_cast<ElementType>(i)).empty()) << i;
  EXPECT_EQ(name_of(ElementType::int2), "int2");
  EXPECT_EQ(name_of(ElementType::float64), "double");
}

}  // namespace
}  // namespace veldt::onnx
