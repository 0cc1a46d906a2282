// Weights as floats and as integers: the formats, the search for the nearest ones, and the calls of kernels.
#include "veldt/nn/weight.h"

#include <cmath>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/tensor/impl.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/quantize.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/recompute.h"

namespace veldt::nn {
namespace {

constexpr std::int64_t kGroup = 32;  // numbers of 4 bits that share a scale
constexpr QuantizeOptions kWeightRange{.low = -127, .high = 127};
constexpr QuantizeOptions kNibbleRange{.low = -8, .high = 7};
constexpr QuantizeOptions kByteRange{.low = 0, .high = 255};

// [out, in] as [out, in / 32, 32].
Tensor in_groups(const Tensor& w) { return reshape(w, {w.size(0), w.size(1) / kGroup, kGroup}); }

// The largest magnitude of each output's weights, or of each group's, over `range`; where all are 0, 1.
Tensor scales_of(const Tensor& w, int bits) {
  Dims others;
  if (bits == 8)
    for (int d = 1; d < w.rank(); ++d) others.push_back(d);
  const Tensor most = bits == 8 ? max(abs(w), others) : max(abs(in_groups(w)), Dims{2});
  const Tensor scale = most / (bits == 8 ? 127.0 : 8.0);
  return where(less(scale, 1e-30), ones_like(scale), scale);
}

// Of several scales for each group the one whose integers are nearest, by the sum of squares; the numbers of
// the largest magnitude may then lie beyond the range, and with a scale below 0 the wider side of it is
// theirs.
Tensor nearest_group_scales(const Tensor& w) {
  const Tensor groups = in_groups(w);
  const Tensor whole = unsqueeze(scales_of(w, 4), 2);
  // The wider side, of 8, for the sign that the largest has.
  const Tensor high = max(groups, Dims{2}, true), low = min(groups, Dims{2}, true);
  const Tensor sign = where(greater(high, neg(low)), neg(ones_like(whole)), ones_like(whole));
  Tensor best, least;
  for (int step = 0; step < 12; ++step) {
    for (const double side : {1.0, -1.0}) {
      const Tensor scale = whole * sign * (side * (1.15 - 0.04 * step));
      const Tensor q = clamp(round(groups / scale), -8, 7);
      const Tensor error = sum(square(q * scale - groups), Dims{2}, true);
      if (!best.defined()) {
        best = scale, least = error;
        continue;
      }
      const Tensor better = less(error, least);
      best = where(better, scale, best);
      least = where(better, error, least);
    }
  }
  return squeeze(best, 2);
}

Tensor scale_and_zero(float low, float high) {
  low = std::min(low, 0.0F), high = std::max(high, 0.0F);
  const float span = high - low, scale = span > 1e-30F ? span / 255 : 1;
  return Tensor::of({2}, {scale, std::nearbyint(-low / scale)});
}

// The mean of the ranges of batches, of which each has a weight of a hundredth; the first all of it.
void follow(Tensor range, const Tensor& x) {
  const Tensor now = stack({clamp(min(x), -INFINITY, 0), clamp(max(x), 0, INFINITY)});
  const Tensor begun = any(greater(abs(range), 0));
  range.assign(where(begun, range * 0.99 + now * 0.01, now));
}

// [n, channels, ..] with the channels last in memory.
Tensor with_channels_last(const Tensor& x) {
  std::vector<int> last = {0}, first = {0, x.rank() - 1};
  for (int d = 2; d < x.rank(); ++d) last.push_back(d), first.push_back(d - 1);
  last.push_back(1);
  return permute(contiguous(permute(x, last)), first);
}
Tensor empty_with_channels_last(const Shape& shape, DType dtype, Device device) {
  Shape turned = {shape[0]};
  std::vector<int> first = {0, shape.rank() - 1};
  for (int d = 2; d < shape.rank(); ++d) turned.push_back(shape[d]), first.push_back(d - 1);
  turned.push_back(shape[1]);
  return permute(empty(turned, dtype, device), first);
}

}  // namespace

Weight& Weight::operator=(const Tensor& floats) {
  floats_ = floats;
  if (!is_quantized()) return *this;  // simulate() goes on
  values_ = scale_ = input_ = Tensor();
  format_.reset();
  return *this;
}

Tensor Weight::outputs_first() const { return in_first_ ? transpose(floats_) : floats_; }

Tensor Weight::numbers() const {
  if (!is_quantized()) return floats_;
  if (format_->bits == 8) return dequantize(values_, scale_);
  const NoGrad off;
  return reshape(to(in_groups(unpack_nibbles(values_)), scale_.dtype()) * unsqueeze(scale_, 2), shape());
}

Shape Weight::shape() const {
  if (!is_quantized()) return floats_.shape();
  Shape shape = values_.shape();
  if (format_->bits == 4) shape[1] *= 2;
  return shape;
}

std::size_t Weight::bytes() const {
  std::size_t all = 0;
  for (const Tensor* t : {&floats_, &values_, &scale_, &input_})
    if (t->defined()) all += static_cast<std::size_t>(t->numel()) * size_of(t->dtype());
  return all;
}

void Weight::fields(Fields& f, std::string_view name) {
  const std::string own(name);
  f(own, floats_)(own, values_)(own + "_scale", scale_)(own + "_input", input_)(own + "_range", range_);
}

bool Weight::has_groups() const { return shape().rank() == 2 && shape()[in_first_ ? 0 : 1] % kGroup == 0; }

void Weight::check_format(const WeightFormat& format) const {
  const auto refuse = [&](const std::string& why, const char* fix) {
    throw ConfigError(str("a weight of ", shape(), " cannot have integers of ", format.bits, " bits"), why,
                      fix);
  };
  if (format.bits != 8 && format.bits != 4) refuse("there are 8 and 4", "choose one of these");
  if (is_quantized()) refuse("it has integers already", "begin with the network of floats");
  if (format.bits == 8) return;
  if (!has_groups()) refuse(str("they come in groups of ", kGroup, " of a matrix's row"), "use 8 bits");
  if (format.input != QuantizedInput::floats)
    refuse("they are multiplied by floats", "leave its input floats");
}

void Weight::quantize(const WeightFormat& format, float low, float high) {
  check_format(format);
  const NoGrad off;
  const Tensor w = contiguous(to(outputs_first().detach(), DType::f32));
  if (!all(isfinite(w)).item<bool>())
    throw Error(str("a weight of ", shape(), " cannot become integers"), "it holds NaN or infinite numbers",
                "train the network again, at a lower rate");
  if (format.bits == 8) {
    scale_ = scales_of(w, 8);
    values_ = veldt::quantize(w, scale_, {}, kWeightRange);
  } else {
    scale_ = nearest_group_scales(w);
    values_ = pack_nibbles(
        reshape(veldt::quantize(in_groups(w), unsqueeze(scale_, 2), {}, kNibbleRange), w.shape()));
  }
  if (format.input == QuantizedInput::fixed) input_ = to(scale_and_zero(low, high), w.device());
  format_ = format;
  call_.kept = std::make_shared<QuantizedConv::Kept>();
  floats_ = range_ = Tensor();
  in_first_ = false;
}

void Weight::expect(const WeightFormat& format) {
  check_format(format);
  Shape held = outputs_first().shape(), scales = {held[0]};
  const Device device = floats_.device();
  if (format.bits == 4) scales.push_back(held[1] / kGroup), held[1] /= 2;
  values_ = zeros(held, format.bits == 8 ? DType::i8 : DType::u8, device);
  scale_ = ones(scales, DType::f32, device);
  if (format.input == QuantizedInput::fixed) input_ = ones({2}, DType::f32, device);
  format_ = format;
  call_.kept = std::make_shared<QuantizedConv::Kept>();
  floats_ = range_ = Tensor();
  in_first_ = false;
}

void Weight::check(const std::string& name) const {
  const auto refuse = [&](const std::string& why) {
    throw IoError(IoError::Kind::corrupt, str("the integers of ", name, " have no meaning"), why,
                  "quantize the network again");
  };
  for (const double scale : to(to(scale_, DType::f64), Device{}).values<double>())
    if (!std::isfinite(scale) || scale == 0 || (scale < 0 && format_->bits == 8))
      refuse(str("a scale is ", scale));
  if (!input_.defined()) return;
  const auto input = to(to(input_, DType::f64), Device{}).values<double>();
  if (!std::isfinite(input[0]) || !(input[0] > 0)) refuse(str("the scale of its input is ", input[0]));
  if (!(input[1] >= 0 && input[1] <= 255) || input[1] != std::nearbyint(input[1]))
    refuse(str("the zero point of its input is ", input[1]));
}

void Weight::simulate(const std::optional<WeightFormat>& format) {
  if (!format) {
    format_.reset();
    range_ = Tensor();
    return;
  }
  check_format(*format);
  format_ = format;
  if (format->input == QuantizedInput::fixed) range_ = zeros({2}, DType::f32, floats_.device());
}

void Weight::set_simulated_range(float low, float high) {
  range_ = to(Tensor::of({2}, {std::min(low, 0.0F), std::max(high, 0.0F)}), floats_.device());
}

bool Weight::gives_bytes_to(const Weight& next) const {
  return is_quantized() && format_->input != QuantizedInput::floats && next.is_quantized() &&
         next.input_.defined();
}
void Weight::set_output(const Weight& next, bool relu) {
  output_ = next.input_;
  call_.low = relu ? 0 : -std::numeric_limits<float>::infinity();
}
void Weight::clear_output() {
  output_ = Tensor();
  call_.low = -std::numeric_limits<float>::infinity();
}

// Where a product goes: bytes, or numbers.
Tensor Weight::result_in(const Shape& shape, const Tensor& x, bool channels_last) const {
  const DType dtype = output_.defined() ? DType::u8 : DType::f32;
  return channels_last ? empty_with_channels_last(shape, dtype, x.device()) : empty(shape, dtype, x.device());
}
// Of an input that another product has left as bytes.
Tensor Weight::numbers_of(const Tensor& bytes) const {
  return dequantize(bytes, select(input_, 0, 0), select(input_, 0, 1));
}
Tensor Weight::bounded(const Tensor& y) const {
  return std::isfinite(call_.low) || std::isfinite(call_.high) ? clamp(y, call_.low, call_.high) : y;
}

Tensor Weight::seen() const {
  if (is_quantized()) return numbers();
  const Tensor floats = outputs_first();
  if (!is_simulated()) return floats;
  Tensor scale;
  {
    const NoGrad off;
    const Tensor w = contiguous(floats.detach());
    scale = format_->bits == 8 ? scales_of(w, 8) : unsqueeze(nearest_group_scales(w), 2);
  }
  if (format_->bits == 8) return fake_quantize(floats, scale, {}, kWeightRange);
  return reshape(fake_quantize(in_groups(floats), scale, {}, kNibbleRange), floats.shape());
}

// As the bytes that a kernel would make of it, for weights that are seen as floats.
Tensor Weight::seen_input(const Tensor& x, bool by_row) const {
  if (!format_ || format_->input == QuantizedInput::floats) return x;
  const bool learns = grad_enabled() && !recomputing();
  Tensor scale, zero;
  {
    const NoGrad off;
    const Tensor wide = to(x.detach(), DType::f32);
    if (input_.defined()) {
      const Tensor input = to(input_, DType::f32);
      scale = select(input, 0, 0), zero = select(input, 0, 1);
    } else {
      Tensor low, high;
      if (range_.defined()) {
        if (learns) follow(range_, wide);
        // Before the first batch of training its own range has to do.
        const Tensor begun = any(greater(abs(range_), 0));
        low = where(begun, select(range_, 0, 0), min(wide));
        high = where(begun, select(range_, 0, 1), max(wide));
        low = clamp(low, -INFINITY, 0), high = clamp(high, 0, INFINITY);
      } else {
        Dims dims;
        for (int d = by_row ? x.rank() - 1 : 1; d < x.rank(); ++d) dims.push_back(d);
        low = clamp(min(wide, dims, true), -INFINITY, 0), high = clamp(max(wide, dims, true), 0, INFINITY);
      }
      const Tensor span = high - low;
      scale = where(less(span, 1e-30), ones_like(span), span / 255.0);
      zero = round(neg(low) / scale);
    }
  }
  return fake_quantize(x, scale, zero, kByteRange);
}

// Of the memory of the integers and of what is added to their products.
std::uint64_t Weight::state_with(const Tensor& bias) const {
  std::uint64_t state = 0;
  for (const Tensor* t : {&values_, &scale_, &bias})
    if (t->defined()) {
      const auto& storage = t->impl()->storage;
      state = (state ^ reinterpret_cast<std::uintptr_t>(storage.get())) * 0x9E3779B97F4A7C15u;
      state = (state ^ static_cast<std::uint64_t>(storage->version())) * 0x9E3779B97F4A7C15u;
    }
  return state;
}

bool Weight::multiplies_integers(const Tensor& x) const {
  if (!is_quantized() || scale_.dtype() != DType::f32 || casts(x)) return false;
  if (x.dtype() != DType::f32 && !(x.dtype() == DType::u8 && input_.defined())) return false;
  if (x.device() != values_.device() || (grad_enabled() && x.requires_grad())) return false;
  const Backend& backend = kernels(x);
  return backend.multiplies_integers && backend.multiplies_integers();
}

Tensor Weight::linear(const Tensor& x, const Tensor& bias) const {
  if (!multiplies_integers(x) || shape()[1] > QuantizedConv::kMostTerms) {
    if (x.dtype() == DType::u8 && input_.defined()) return linear(numbers_of(x), bias);
    if (!format_ && in_first_) return bias.defined() ? matmul(x, floats_) + bias : matmul(x, floats_);
    if (!format_) return veldt::linear(x, floats_, bias);
    const Tensor y = veldt::linear(seen_input(x, true), to(seen(), x.dtype()), bias);
    return bounded(y);
  }
  const std::int64_t in = shape()[1], out = shape()[0];
  if (x.rank() == 0 || x.size(-1) != in)
    throw ShapeError(str("a layer of integers cannot take ", x.shape()), str("its inputs are [.., ", in, ']'),
                     "reshape the input, or build the layer for its last size");
  const NoGrad off;
  Shape shape = x.shape();
  shape[x.rank() - 1] = out;
  const Tensor rows = contiguous(reshape(x, {x.numel() / in, in}));
  const Tensor y = result_in({rows.size(0), out}, x, false);
  const Tensor added = bias.defined() ? contiguous(bias) : bias;
  if (format_->input == QuantizedInput::floats) {
    kernels(x).multiply_narrow(rows.view(), values_.view(), scale_.view(), OptionalView(added), y.view());
    return reshape(y, shape);
  }
  QuantizedConv call = call_;
  call.state = state_with(bias);
  call.layout = {.dims = 0};
  kernels(x).convolve_quantized(call, rows.view(), values_.view(), scale_.view(), OptionalView(added),
                                OptionalView(input_), OptionalView(output_), y.view());
  return reshape(y, shape);
}

Tensor Weight::convolve(int dims, const Tensor& x, const Tensor& bias, const ConvOptions& options) const {
  if (!multiplies_integers(x) || format_->input == QuantizedInput::floats ||
      numel(shape()) / shape()[0] > QuantizedConv::kMostTerms) {
    if (x.dtype() == DType::u8 && input_.defined()) return convolve(dims, numbers_of(x), bias, options);
    const Tensor from = seen_input(x, false), w = to(seen(), x.dtype());
    const Tensor y = dims == 1   ? conv1d(from, w, bias, options)
                     : dims == 2 ? conv2d(from, w, bias, options)
                                 : conv3d(from, w, bias, options);
    return bounded(y);
  }
  if (x.rank() == dims + 1) return squeeze(convolve(dims, unsqueeze(x, 0), bias, options), 0);
  const NoGrad off;
  const PlannedConv plan = planned_convolution(dims, x, values_, bias, options);
  Shape shape = {x.size(0), values_.size(0)};
  for (const std::int64_t size : plan.size) shape.push_back(size);
  const Tensor from = with_channels_last(plan.around.empty() ? x : pad(x, plan.around, options.padding_mode));
  const Tensor y = result_in(shape, x, true), added = bias.defined() ? contiguous(bias) : bias;
  QuantizedConv call = call_;
  call.state = state_with(bias);
  call.layout = plan.layout;
  kernels(x).convolve_quantized(call, from.view(), values_.view(), scale_.view(), OptionalView(added),
                                OptionalView(input_), OptionalView(output_), y.view());
  return y;
}

bool Weight::steps_integers(const Tensor& inputs, const Tensor& h, const Tensor& c) const {
  const auto fits = [&](const Tensor& t) { return t.dtype() == DType::f32 && multiplies_integers(t); };
  if (!input_.defined() || shape()[1] > QuantizedConv::kMostTerms) return false;
  if (!fits(inputs) || !fits(h) || !fits(c)) return false;
  const Backend& backend = kernels(inputs);
  return backend.steps_integers && backend.steps_integers();
}

std::pair<Tensor, Tensor> Weight::lstm_steps(const Tensor& inputs, const Tensor& bias, const Tensor& h,
                                             const Tensor& c, bool backward) const {
  const NoGrad off;
  const std::int64_t time = inputs.size(0), n = inputs.size(1), hidden = shape()[1];
  const Tensor x = contiguous(inputs), h0 = contiguous(h), c0 = contiguous(c),
               added = bias.defined() ? contiguous(bias) : bias, out = empty({time, n, hidden}, x),
               cell = empty({n, hidden}, x);
  QuantizedConv call = call_;
  call.state = state_with(bias);
  kernels(x).lstm_quantized(call, backward, x.view(), values_.view(), scale_.view(), OptionalView(added),
                            input_.view(), h0.view(), c0.view(), out.view(), cell.view());
  return {out, cell};
}

Tensor Weight::rows(const Tensor& index) const {
  if (!is_quantized()) {
    const Tensor found = index_select(floats_, 0, index);
    if (!is_simulated()) return found;
    Tensor scale;  // of each row
    {
      const NoGrad off;
      scale = scales_of(contiguous(found.detach()), 8);
    }
    return fake_quantize(found, scale, {}, kWeightRange);
  }
  const NoGrad off;
  return to(index_select(values_, 0, index), scale_.dtype()) * unsqueeze(index_select(scale_, 0, index), 1);
}

}  // namespace veldt::nn
