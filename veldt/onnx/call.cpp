// How an operator reads its inputs and attributes.
#include "veldt/onnx/call.h"

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {

namespace {

// The host for texts and what is absent. Of a sequence, where its first item is.
Device place_of(const Value& value) {
  if (value.is_tensor()) return value.tensor().device();
  if (value.kind() != Value::Kind::sequence && value.kind() != Value::Kind::optional) return {};
  return value.items().empty() ? Device{} : place_of(value.items().front());
}

}  // namespace

Call::Call(const Node& node, std::int64_t opset, std::span<const Value> inputs, Bodies& bodies, Rng& rng)
    : node_(node), opset_(opset), inputs_(inputs), bodies_(bodies), rng_(rng) {
  for (std::size_t i = 0; i < inputs.size() && device_ == Device{}; ++i) device_ = place_of(inputs[i]);
}

void Call::fail(const std::string& why) const {
  throw Error(str(node_.op, " cannot run"), why,
              "check the graph that was exported; veldt info lists its nodes");
}

const Value& Call::value(std::size_t i) const {
  if (!has(i)) fail(str("its input ", i, " is missing"));
  return inputs_[i];
}

const Tensor& Call::tensor(std::size_t i) const {
  const Tensor& x = value(i).tensor();
  if (x.device() == device_) return x;
  moved_.resize(inputs_.size());  // once, so that references last
  if (!moved_[i].defined()) moved_[i] = here(x);
  return moved_[i];
}

Tensor Call::real(std::size_t i) const {
  const Tensor& x = tensor(i);
  return is_float(x.dtype()) ? x : to(x, DType::f32);
}

std::vector<std::int64_t> Call::integers(std::size_t i) const {
  return to(value(i).tensor(), DType::i64).values<std::int64_t>();
}
std::vector<double> Call::reals(std::size_t i) const {
  return to(value(i).tensor(), DType::f64).values<double>();
}

std::int64_t Call::integer(std::size_t i) const {
  const Tensor& x = value(i).tensor();
  if (x.numel() != 1) fail(str("its input ", i, " is ", value(i).description(), ", not one number"));
  return x.item<std::int64_t>();
}

double Call::number(std::size_t i) const {
  const Tensor& x = value(i).tensor();
  if (x.numel() != 1) fail(str("its input ", i, " is ", value(i).description(), ", not one number"));
  return x.item<double>();
}

const Attribute* Call::find(std::string_view name) const {
  for (const Attribute& a : node_.attributes)
    if (a.name == name && a.kind != Attribute::Kind::none) return &a;
  return nullptr;
}

const Attribute* Call::find(std::string_view name, Attribute::Kind kind) const {
  const Attribute* found = find(name);
  if (found != nullptr && found->kind != kind)
    fail(str("its attribute ", name, " is of another type than it should be"));
  return found;
}

std::int64_t Call::integer(std::string_view name, std::int64_t otherwise) const {
  const Attribute* found = find(name, Attribute::Kind::integer);
  return found != nullptr ? found->integer : otherwise;
}

std::int64_t Call::integer(std::string_view name) const {
  if (!has(name)) fail(str("its attribute ", name, " is missing"));
  return integer(name, 0);
}

double Call::real(std::string_view name, double otherwise) const {
  const Attribute* found = find(name, Attribute::Kind::real);
  return found != nullptr ? found->real : otherwise;
}

std::string Call::text(std::string_view name, std::string otherwise) const {
  const Attribute* found = find(name, Attribute::Kind::text);
  return found != nullptr ? found->text : otherwise;
}

std::vector<std::int64_t> Call::integers(std::string_view name, std::vector<std::int64_t> otherwise) const {
  const Attribute* found = find(name, Attribute::Kind::integers);
  return found != nullptr ? found->integers : otherwise;
}

std::vector<double> Call::reals(std::string_view name, std::vector<double> otherwise) const {
  const Attribute* found = find(name, Attribute::Kind::reals);
  return found != nullptr ? found->reals : otherwise;
}

std::vector<std::string> Call::texts(std::string_view name) const {
  const Attribute* found = find(name, Attribute::Kind::texts);
  return found != nullptr ? found->texts : std::vector<std::string>();
}

const Value& Call::value(std::string_view name) const {
  const Attribute* found = find(name, Attribute::Kind::value);
  if (found == nullptr) fail(str("its attribute ", name, " is missing"));
  return found->values.front();
}

std::optional<std::vector<std::int64_t>> Call::given(std::size_t i, std::string_view name) const {
  if (has(i)) return integers(i);
  if (has(name)) return integers(name);
  return {};
}

int Call::axis(std::int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank)
    fail(str("it names the axis ", axis, " of ", rank, rank == 1 ? " dimension" : " dimensions"));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace veldt::onnx
