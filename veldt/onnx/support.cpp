// Windows, paddings and casts.
#include "veldt/onnx/support.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "veldt/core/error.h"

namespace veldt::onnx {

std::vector<int> axes_of(const Call& c, const std::vector<std::int64_t>& axes, int rank) {
  std::vector<int> out;
  for (const std::int64_t a : axes) out.push_back(c.axis(a, rank));
  return out;
}

ElementType element_of(const Call& c, std::int64_t number) {
  if (number < 1 || number >= kElementTypes)
    c.fail(str("it names the element type ", number, ", which ONNX does not have"));
  return static_cast<ElementType>(number);
}

bool Padding::any() const {
  const auto not_zero = [](std::int64_t n) { return n != 0; };
  return std::any_of(before.begin(), before.end(), not_zero) ||
         std::any_of(after.begin(), after.end(), not_zero);
}

std::vector<std::int64_t> Padding::amounts() const {
  std::vector<std::int64_t> out;
  for (std::size_t d = before.size(); d-- > 0;) {
    out.push_back(before[d]);
    out.push_back(after[d]);
  }
  return out;
}

Window window_of(const Call& c, const std::vector<std::int64_t>& kernel,
                 std::span<const std::int64_t> sizes) {
  const std::size_t dims = sizes.size();
  Window out;
  out.kernel = kernel;
  out.stride = c.integers("strides", std::vector<std::int64_t>(dims, 1));
  out.dilation = c.integers("dilations", std::vector<std::int64_t>(dims, 1));
  if (kernel.size() != dims || out.stride.size() != dims || out.dilation.size() != dims)
    c.fail(str("its windows have ", kernel.size(), " dimensions, its input has ", dims,
               " besides batch and channels"));
  for (std::size_t d = 0; d < dims; ++d)
    for (const std::int64_t n : {kernel[d], out.stride[d], out.dilation[d]})
      if (n < 1 || n > std::int64_t{1} << 31) c.fail(str("a kernel, a stride or a dilation is ", n));
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (std::size_t d = 0; d < dims; ++d) {
      const std::int64_t results = (sizes[d] + out.stride[d] - 1) / out.stride[d];
      const std::int64_t all = std::max<std::int64_t>(
          0, (results - 1) * out.stride[d] + (kernel[d] - 1) * out.dilation[d] + 1 - sizes[d]);
      const std::int64_t less = all / 2, more = all - less;
      out.padding.before.push_back(automatic == "SAME_UPPER" ? less : more);
      out.padding.after.push_back(automatic == "SAME_UPPER" ? more : less);
    }
    return out;
  }
  const std::vector<std::int64_t> pads =
      automatic == "VALID" ? std::vector<std::int64_t>() : c.integers("pads");
  if (!pads.empty() && pads.size() != 2 * dims)
    c.fail(str("it has ", pads.size(), " pads for ", dims, " dimensions"));
  for (const std::int64_t n : pads)
    if (n < -(std::int64_t{1} << 31) || n > std::int64_t{1} << 31) c.fail(str("it pads by ", n));
  out.padding.before.assign(dims, 0);
  out.padding.after.assign(dims, 0);
  for (std::size_t d = 0; d < pads.size() / 2; ++d) {
    out.padding.before[d] = pads[d];
    out.padding.after[d] = pads[dims + d];
  }
  return out;
}

void check_size(const Call& c, const Shape& shape) {
  double elements = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) c.fail(str("a size of its result is ", size));
    elements *= static_cast<double>(std::max<std::int64_t>(size, 1));  // a 0 excuses no other size
  }
  if (elements > 536870912.0) c.fail(str("its result would be ", shape, ", more than 2^29 elements"));
}

Tensor without_gradient(const Call& c, const Tensor& computed, const TensorList& inputs) {
  const std::string op = c.node().op;
  return record("an operator of ONNX", computed, inputs, [op](const Tensor&) -> Grads {
    throw Error(op + " has no gradient here", "Veldt computes it apart from the graph of gradients",
                "freeze what lies before it, or export the model without it");
  });
}

namespace {

// Without white space around it, and without a plus.
std::string_view bare(std::string_view text) {
  constexpr const char* kSpace = " \t\n\r";
  const std::size_t first = std::min(text.find_first_not_of(kSpace), text.size());
  text = text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
  return text.starts_with('+') ? text.substr(1) : text;
}

double number_from(const std::string& text) {
  const std::string_view digits = bare(text);
  double value = 0;
  const auto [end, code] = std::from_chars(digits.begin(), digits.end(), value);
  if (code == std::errc::result_out_of_range) return std::strtod(std::string(digits).c_str(), nullptr);
  if (code != std::errc() || end != digits.end())
    throw Error("Cast cannot run", "the text \"" + text + "\" is no number", "give it texts of numbers");
  return value;
}

// To the last digit where it is written as a whole number; others are cut. A uint64 as its bits.
std::int64_t whole_number_from(const std::string& text, ElementType type) {
  const std::string_view digits = bare(text);
  const auto exact = [&](auto value) {
    const auto [end, code] = std::from_chars(digits.begin(), digits.end(), value);
    return code == std::errc() && end == digits.end() ? std::optional(value) : std::nullopt;
  };
  if (const auto value = exact(std::int64_t{})) return *value;
  const bool unsigned_64 = type == ElementType::uint64;
  if (const auto value = exact(std::uint64_t{}); value && unsigned_64)
    return std::bit_cast<std::int64_t>(*value);
  const double value = number_from(text);
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (value >= -kLimit && value < kLimit) return static_cast<std::int64_t>(value);
  if (unsigned_64 && value >= kLimit && value < 2 * kLimit)
    return std::bit_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  throw Error("Cast cannot run", str("the text \"", text, "\" is no number of ", name_of(type)),
              "give it texts of numbers in the range of the type");
}

Value texts_from(const Value& x) {
  Texts out{x.shape(), {}};
  const Tensor& t = x.tensor();
  if (t.dtype() == DType::boolean) {
    for (const std::uint8_t v : host<std::uint8_t>(t)) out.values.push_back(v != 0 ? "True" : "False");
  } else if (t.dtype() == DType::f64) {
    for (const double v : host<double>(t)) out.values.push_back(fmt::format("{}", v));
  } else if (is_float(t.dtype())) {
    for (const float v : host<float>(t)) out.values.push_back(fmt::format("{}", v));
  } else {
    for (const std::int64_t v : host<std::int64_t>(t)) out.values.push_back(fmt::format("{}", v));
  }
  return Value(std::move(out));
}

}  // namespace

Value cast(const Value& x, ElementType type, bool saturate, Rounding rounding) {
  if (x.type() == type) return x;
  if (type == ElementType::string) return texts_from(x);
  const DType held = held_as(type);
  if (x.kind() == Value::Kind::texts) {
    const Texts& texts = x.texts();
    if (is_integer(type)) {
      std::vector<std::int64_t> numbers;
      for (const std::string& text : texts.values) numbers.push_back(whole_number_from(text, type));
      return fitted(Tensor::from<std::int64_t>(texts.shape, numbers), type);
    }
    std::vector<double> numbers;
    for (const std::string& text : texts.values) numbers.push_back(number_from(text));
    return cast(Value(Tensor::from<double>(texts.shape, numbers)), type, saturate, rounding);
  }
  const Tensor& t = x.tensor();
  if (held == DType::f32 && type != ElementType::float32) {
    std::vector<float> numbers = host<float>(t);
    for (float& v : numbers) v = rounded_to(type, v, saturate, rounding);
    const Tensor rounded = Tensor::from<float>(t.shape(), numbers, t.device());
    // The gradient passes, as it does through other casts between floats.
    return {
        record("Cast", rounded, {t}, [from = t.dtype()](const Tensor& g) -> Grads { return {to(g, from)}; }),
        type};
  }
  if (is_integer(type)) return fitted(is_float(t.dtype()) ? to(t, DType::i64) : t, type);
  return {to(t, held), type};
}

}  // namespace veldt::onnx
