// Windows, paddings and casts.
#include "veldt/onnx/support.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

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

namespace {

double number_from(const std::string& text) {
  std::size_t first = text.find_first_not_of(" \t\n\r");
  if (first == std::string::npos) first = text.size();
  if (first < text.size() && text[first] == '+') ++first;
  double value = 0;
  const auto [end, code] = std::from_chars(text.data() + first, text.data() + text.size(), value);
  if (code == std::errc::result_out_of_range) return std::strtod(text.c_str(), nullptr);
  if (code != std::errc())
    throw Error("Cast cannot run", "the text \"" + text + "\" is no number", "give it texts of numbers");
  return value;
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
      for (const std::string& text : texts.values)
        numbers.push_back(static_cast<std::int64_t>(number_from(text)));
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
    return {Tensor::from<float>(t.shape(), numbers, t.device()), type};
  }
  if (is_integer(type)) return fitted(is_float(t.dtype()) ? to(t, DType::i64) : t, type);
  return {to(t, held), type};
}

}  // namespace veldt::onnx
