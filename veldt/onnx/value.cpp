// Element types and values.
#include "veldt/onnx/value.h"

#include <array>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::onnx {

namespace {

constexpr std::array<std::string_view, kElementTypes> kNames = {
    "undefined", "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};

[[noreturn]] void refuse_kind(const Value& value, const char* wanted) {
  throw Error(str("a value is ", value.description(), ", not ", wanted),
              "the operator that reads it takes no other", "check the graph: veldt info lists its nodes");
}

}  // namespace

std::string_view name_of(ElementType type) {
  const auto i = static_cast<std::size_t>(type);
  return i < kNames.size() ? kNames[i] : std::string_view("unknown");
}

DType held_as(ElementType type) {
  switch (type) {
    case ElementType::float32: return DType::f32;
    case ElementType::float64: return DType::f64;
    case ElementType::float16: return DType::f16;
    case ElementType::bfloat16: return DType::bf16;
    case ElementType::uint8: return DType::u8;
    case ElementType::int8: return DType::i8;
    case ElementType::boolean: return DType::boolean;
    case ElementType::int64:
    case ElementType::uint32:
    case ElementType::uint64: return DType::i64;
    case ElementType::int32:
    case ElementType::int16:
    case ElementType::uint16:
    case ElementType::uint4:
    case ElementType::int4:
    case ElementType::uint2:
    case ElementType::int2: return DType::i32;
    case ElementType::float8e4m3fn:
    case ElementType::float8e4m3fnuz:
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
    case ElementType::float4e2m1:
    case ElementType::float8e8m0: return DType::f32;
    default: break;
  }
  throw Error(str("numbers of the type ", name_of(type), " cannot be held in a tensor"),
              "Veldt has real numbers, integers and booleans", "leave such values out of the graph");
}

ElementType type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return ElementType::float32;
    case DType::f64: return ElementType::float64;
    case DType::bf16: return ElementType::bfloat16;
    case DType::f16: return ElementType::float16;
    case DType::i64: return ElementType::int64;
    case DType::i32: return ElementType::int32;
    case DType::u8: return ElementType::uint8;
    case DType::i8: return ElementType::int8;
    case DType::boolean: return ElementType::boolean;
  }
  return ElementType::undefined;
}

bool is_integer(ElementType type) {
  switch (type) {
    case ElementType::uint8:
    case ElementType::int8:
    case ElementType::uint16:
    case ElementType::int16:
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::uint32:
    case ElementType::uint64:
    case ElementType::uint4:
    case ElementType::int4:
    case ElementType::uint2:
    case ElementType::int2: return true;
    default: return false;
  }
}

bool is_floating(ElementType type) {
  return type != ElementType::undefined && type != ElementType::string && type != ElementType::boolean &&
         type != ElementType::complex64 && type != ElementType::complex128 && !is_integer(type);
}

Value::Value(Tensor tensor)
    : kind_(Kind::tensor), type_(type_of(tensor.dtype())), tensor_(std::move(tensor)) {}

Value::Value(Tensor tensor, ElementType type) : kind_(Kind::tensor), type_(type), tensor_(std::move(tensor)) {
  if (tensor_.dtype() != held_as(type))
    throw Error(str("numbers of the type ", name_of(type), " are held in ", held_as(type), ", not in ",
                    tensor_.dtype()),
                "a Value must say what it holds", "convert the tensor with to()");
}

Value::Value(Texts texts)
    : kind_(Kind::texts),
      type_(ElementType::string),
      texts_(std::make_shared<const Texts>(std::move(texts))) {}

Value Value::sequence(std::vector<Value> items) {
  Value value;
  value.kind_ = Kind::sequence;
  value.items_ = std::make_shared<const std::vector<Value>>(std::move(items));
  return value;
}

Value Value::optional(std::vector<Value> none_or_one) {
  Value value = sequence(std::move(none_or_one));
  value.kind_ = Kind::optional;
  return value;
}

const Tensor& Value::tensor() const {
  if (kind_ == Kind::optional && items_->size() == 1) return items_->front().tensor();
  if (kind_ != Kind::tensor) refuse_kind(*this, "a tensor of numbers");
  return tensor_;
}

const Texts& Value::texts() const {
  if (kind_ == Kind::optional && items_->size() == 1) return items_->front().texts();
  if (kind_ != Kind::texts) refuse_kind(*this, "a tensor of texts");
  return *texts_;
}

const std::vector<Value>& Value::items() const {
  if (kind_ == Kind::optional && items_->size() == 1 && items_->front().kind() == Kind::sequence)
    return items_->front().items();
  if (kind_ != Kind::sequence && kind_ != Kind::optional) refuse_kind(*this, "a sequence");
  return *items_;
}

const std::vector<Value>& Value::held() const {
  if (kind_ != Kind::optional) refuse_kind(*this, "an optional");
  return *items_;
}

Shape Value::shape() const { return kind_ == Kind::texts ? texts_->shape : tensor().shape(); }

std::string Value::description() const {
  switch (kind_) {
    case Kind::absent: return "absent";
    case Kind::sequence: return str("a sequence of ", items_->size());
    case Kind::optional:
      return items_->empty() ? "an empty optional" : str("an optional ", items_->front().description());
    case Kind::texts:
    case Kind::tensor: break;
  }
  std::string text(name_of(type_));
  text += '[';
  const Shape sizes = shape();
  for (int i = 0; i < sizes.rank(); ++i) text += str(i ? "," : "", sizes[i]);
  return text + ']';
}

Value fitted(const Tensor& computed, ElementType type) {
  const DType held = held_as(type);
  const Tensor x = to(computed, held);
  const auto wrapped = [&](std::int64_t modulus, bool with_sign) {
    const std::int64_t half = with_sign ? modulus / 2 : 0;
    return Value(to(sub(remainder(add(x, Scalar(half)), Scalar(modulus)), Scalar(half)), held), type);
  };
  switch (type) {
    case ElementType::int16: return wrapped(65536, true);
    case ElementType::uint16: return wrapped(65536, false);
    case ElementType::uint32: return wrapped(std::int64_t{1} << 32, false);
    case ElementType::uint4: return wrapped(16, false);
    case ElementType::int4: return wrapped(16, true);
    case ElementType::uint2: return wrapped(4, false);
    case ElementType::int2: return wrapped(4, true);
    default: return Value(x, type);
  }
}

}  // namespace veldt::onnx
