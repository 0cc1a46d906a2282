// Calls of ops that come from outside: JSON arguments read as the types that an op takes.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "veldt/core/error.h"
#include "veldt/veldt.h"

namespace veldt::peers {

using nlohmann::json;
using Tensors = std::vector<Tensor>;

inline DType dtype_named(const std::string& name) {
  for (const DType t : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8,
                        DType::i8, DType::boolean})
    if (name == name_of(t)) return t;
  throw ConfigError(str("there is no dtype ", name), "the driver sent it", "fix the driver");
}

inline double real_in(const json& value) {  // JSON has no NaN and no infinity
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

// Argument `value` as a T. A tensor is {"tensor": its number}, one that is not given null.
template <class T> T read(const json& value, const Tensors& tensors) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return value.is_null() ? Tensor() : tensors.at(value.at("tensor").get<std::size_t>());
  } else if constexpr (std::is_same_v<T, Tensors>) {
    Tensors list;
    for (const json& each : value) list.push_back(read<Tensor>(each, tensors));
    return list;
  } else if constexpr (std::is_same_v<T, Shape> || std::is_same_v<T, PerDim>) {
    return T(Shape(value.get<std::vector<std::int64_t>>()));
  } else if constexpr (std::is_same_v<T, Scalar>) {
    if (value.is_boolean()) return value.get<bool>();
    return value.is_number_integer() ? Scalar(value.get<std::int64_t>()) : Scalar(real_in(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return real_in(value);
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    return value.is_null() ? std::optional<double>() : real_in(value);
  } else if constexpr (std::is_same_v<T, std::optional<PerDim>>) {
    return value.is_null() ? std::optional<PerDim>() : read<PerDim>(value, tensors);
  } else if constexpr (std::is_same_v<T, DType>) {
    return dtype_named(value.get<std::string>());
  } else if constexpr (std::is_same_v<T, std::optional<DType>>) {
    return value.is_null() ? std::optional<DType>() : read<DType>(value, tensors);
  } else if constexpr (std::is_same_v<T, Device>) {
    return {};
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(value.get<int>());
  } else {
    return value.get<T>();
  }
}

// The arguments of one call.
struct Call {
  const json& arguments;
  const Tensors& tensors;

  std::size_t count() const { return arguments.size(); }
  template <class T> T at(std::size_t i) const { return read<T>(arguments.at(i), tensors); }
  Tensor tensor(std::size_t i) const { return at<Tensor>(i); }
  // The argument `name` of the options, which are the last argument, if it is there.
  template <class T> void option(const char* name, T& value) const {
    if (const json& options = arguments.back(); options.contains(name))
      value = read<T>(options.at(name), tensors);
  }
};

using Op = std::function<Tensors(const Call&)>;
using Ops = std::map<std::string, Op>;

inline Tensors listed(Tensor t) { return {std::move(t)}; }
inline Tensors listed(Tensors list) { return list; }
inline Tensors listed(Sorted s) { return {s.values, s.indices}; }

// A function as an op; where fewer arguments come than it has, another overload is meant.
template <class R, class... A, std::size_t... I> Op bound(R (*function)(A...), std::index_sequence<I...>) {
  return [function](const Call& call) { return listed(function(call.at<std::remove_cvref_t<A>>(I)...)); };
}
template <class R, class... A> Op op(R (*function)(A...)) {
  return bound(function, std::index_sequence_for<A...>());
}
// One that is not a plain function: it takes the call.
template <class Fn> Op with_call(Fn fn) {
  return [fn](const Call& call) { return listed(fn(call)); };
}

// The families.
void add_elementwise_ops(Ops& ops);
void add_tensor_ops(Ops& ops);
void add_layer_ops(Ops& ops);
void add_loss_ops(Ops& ops);

}  // namespace veldt::peers
