// What flows along the edges of an ONNX graph: tensors with ONNX's element types, texts, sequences,
// optionals.
// Tests: tests/onnx/value_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::onnx {

// TensorProto.DataType, by its numbers.
enum class ElementType : std::uint8_t {
  undefined,
  float32,
  uint8,
  int8,
  uint16,
  int16,
  int32,
  int64,
  string,
  boolean,
  float16,
  float64,
  uint32,
  uint64,
  complex64,
  complex128,
  bfloat16,
  float8e4m3fn,
  float8e4m3fnuz,
  float8e5m2,
  float8e5m2fnuz,
  uint4,
  int4,
  float4e2m1,
  float8e8m0,
  uint2,
  int2
};
inline constexpr int kElementTypes = static_cast<int>(ElementType::int2) + 1;

// ONNX's own word: "float", "int8", "bfloat16".
std::string_view name_of(ElementType type);
// The dtype that holds numbers of this type here. Veldt has no narrow integers and no 8-bit floats: int8,
// uint16 and their like are held in i32, uint32 and uint64 in i64 (a uint64 beyond 2^63 as its bits), float8
// in f32. A Value remembers which they are, and fitted() keeps results in their range. Throws Error for texts
// and complex numbers.
DType held_as(ElementType type);
ElementType type_of(DType dtype);
// Whether it is of whole numbers; booleans are not.
bool is_integer(ElementType type);
bool is_floating(ElementType type);

// A tensor of texts.
struct Texts {
  Shape shape;
  std::vector<std::string> values;  // row-major
};

class Value {
 public:
  enum class Kind : std::uint8_t { absent, tensor, texts, sequence, optional };

  Value() = default;     // an optional input that was left out
  Value(Tensor tensor);  // NOLINT: is one
  // `tensor` holds numbers of `type`, in held_as(type).
  Value(Tensor tensor, ElementType type);
  Value(Texts texts);  // NOLINT: is one
  static Value sequence(std::vector<Value> items);
  static Value optional(std::vector<Value> none_or_one);

  Kind kind() const { return kind_; }
  bool present() const { return kind_ != Kind::absent; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  ElementType type() const { return type_; }  // of a tensor, or of texts

  // Throw Error unless the value is one.
  const Tensor& tensor() const;
  const Texts& texts() const;
  const std::vector<Value>& items() const;  // of a sequence, or of one in an optional
  const std::vector<Value>& held() const;   // by an optional: none or one
  // Of a tensor or of texts.
  Shape shape() const;

  // "float[1,3,224,224]", "sequence of 3".
  std::string description() const;

 private:
  Kind kind_ = Kind::absent;
  ElementType type_ = ElementType::undefined;
  Tensor tensor_;
  std::shared_ptr<const Texts> texts_;
  std::shared_ptr<const std::vector<Value>> items_;
};

using Values = std::vector<Value>;

// Numbers that an op computed in held_as(type), brought into the range of `type` as its arithmetic wraps
// around.
Value fitted(const Tensor& computed, ElementType type);

}  // namespace veldt::onnx
