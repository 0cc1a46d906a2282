// Convolutions and their transposes as calls of one entry; their gradients are calls of it too.
#include "veldt/ops/convolution.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "veldt/core/convolution.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using Three = std::array<Tensor, 3>;  // x, w and y, in the order of ConvPart

// The tensor of `part`, which has this shape, from the other two of `given`.
Tensor convolved(const char* name, const ConvLayout& layout, ConvPart part, const Three& given,
                 const Shape& shape, const Tensor& bias = {}) {
  const auto self = static_cast<std::size_t>(part), first = self == 0 ? std::size_t{1} : 0,
             second = 3 - self - first;
  const Tensor a = contiguous(given[first]), b = contiguous(given[second]);
  const Tensor added = bias.defined() ? contiguous(bias) : bias;
  const Tensor out = empty(shape, a);
  const View bias_view = added.defined() ? added.view() : View{};
  kernels(a).convolve(layout, part, a.view(), b.view(), added.defined() ? &bias_view : nullptr, out.view());
  return record(name, out, {a, b, added}, [=](const Tensor& g) -> Grads {
    const auto gradient = [&](std::size_t wanted, std::size_t other, const Tensor& x, const Tensor& kept) {
      static constexpr const char* kNames[] = {"conv input gradient", "conv weight gradient", "conv"};
      if (!needs_grad(x)) return Tensor();
      Three with_g;
      with_g[self] = g;
      with_g[other] = kept;
      return convolved(kNames[wanted], layout, static_cast<ConvPart>(wanted), with_g, x.shape());
    };
    Tensor by_bias;
    if (added.defined() && needs_grad(added)) {
      Dims others = {0};
      for (int d = 2; d < g.rank(); ++d) others.push_back(d);
      by_bias = sum(g, others);
    }
    return {gradient(first, second, a, b), gradient(second, first, b, a), by_bias};
  });
}

// "[out, in / groups, kernel, kernel]", for errors.
std::string weight_form(int dims, bool transposed) {
  std::string text = transposed ? "[in, out / groups" : "[out, in / groups";
  for (int d = 0; d < dims; ++d) text += ", kernel";
  return text + ']';
}

void check_convolution_number(const char* name, const char* what, std::int64_t value, std::int64_t least) {
  if (value < least || value > ConvLayout::kMost)
    throw ConfigError(str(name, " cannot have a ", what, " of ", value),
                      str("it must be from ", least, " to ", ConvLayout::kMost),
                      "choose one within these bounds");
}

// Shapes and dtypes that fit each other; the layout without its padding.
ConvLayout checked(const char* name, int dims, bool transposed, const Tensor& x, const Tensor& w,
                   const Tensor& bias, const PerDim& stride, const PerDim& dilation, std::int64_t groups) {
  const std::string what = str(name, " cannot apply a weight of ", w.shape(), " to ", x.shape());
  if (w.rank() != dims + 2 || (x.rank() != dims + 2 && x.rank() != dims + 1))
    throw ShapeError(what,
                     str("the weight is ", weight_form(dims, transposed), " and the input [n, in, ..] or ",
                         "[in, ..], with ", dims, " spatial dimensions"),
                     "reshape the input, or use the op of its number of dimensions");
  check_convolution_number(name, "number of groups", groups, 1);
  const std::int64_t channels = x.size(-1 - dims), wanted = transposed ? w.size(0) : w.size(1);
  if (w.size(0) % groups != 0)
    throw ShapeError(what, str("its ", w.size(0), " channels do not come in ", groups, " equal groups"),
                     "choose a number of groups that divides the channels");
  if (transposed ? channels != wanted : channels % groups != 0 || channels / groups != wanted)
    throw ShapeError(
        what,
        str("the weight is ", weight_form(dims, transposed), " and so reads ", wanted,
            transposed || groups == 1 ? "" : str(" times ", groups), " channels, the input has ", channels),
        "check the layer's input channels and its groups");
  for (int d = 2; d < w.rank(); ++d)
    if (w.size(d) < 1 || w.size(d) > ConvLayout::kMost || x.size(d - w.rank()) < 1 ||
        x.size(d - w.rank()) > ConvLayout::kMost)
      throw ShapeError(what, str("a spatial size must be from 1 to ", ConvLayout::kMost), "give it elements");
  const std::int64_t outputs = transposed ? w.size(1) * groups : w.size(0);
  if (bias.defined() && bias.shape() != Shape{outputs})
    throw ShapeError(str(name, " cannot add a bias of ", bias.shape(), " with a weight of ", w.shape()),
                     str("there are ", outputs, " output channels"),
                     str("give a bias of shape [", outputs, "]"));
  check_same_device(name, x, w);
  if (bias.defined()) check_same_device(name, x, bias);
  ConvLayout layout{.dims = dims, .groups = groups, .coarse = grad_enabled() && w.requires_grad()};
  const Shape strides = stride.of(dims), dilations = dilation.of(dims);
  for (int d = 0; d < dims; ++d) {
    check_convolution_number(name, "stride", strides[d], 1);
    check_convolution_number(name, "dilation", dilations[d], 1);
    layout.stride[static_cast<std::size_t>(d)] = strides[d];
    layout.dilation[static_cast<std::size_t>(d)] = dilations[d];
  }
  return layout;
}

void check_one_dtype(const char* name, const Tensor& x, const Tensor& w, const Tensor& bias) {
  if (x.dtype() != w.dtype() || (bias.defined() && bias.dtype() != w.dtype()))
    throw ShapeError(str(name, " cannot apply a weight of ", w.dtype(), " to ", x.dtype()),
                     "all of input, weight and bias need one dtype",
                     "convert the input or the layer with to()");
}

// fn(x, w, bias) in a dtype with kernels, for a batch; the result has x's form.
template <class Fn>
Tensor as_batch_of_floats(int dims, const Tensor& x, const Tensor& w, const Tensor& bias, const Fn& fn) {
  if (x.rank() == dims + 1) return squeeze(as_batch_of_floats(dims, unsqueeze(x, 0), w, bias, fn), 0);
  if (x.dtype() == DType::f32 || x.dtype() == DType::f64) return fn(x, w, bias);
  const Tensor y = fn(to(x, DType::f32), to(w, DType::f32), bias.defined() ? to(bias, DType::f32) : bias);
  return is_float(x.dtype()) ? to(y, x.dtype()) : y;
}

PlannedConv planned(const char* name, int dims, const Tensor& x, const Tensor& w, const Tensor& bias,
                    const ConvOptions& options) {
  ConvLayout layout =
      checked(name, dims, false, x, w, bias, options.stride, options.dilation, options.groups);
  const Shape amounts_before = options.padding.before().of(dims),
              amounts_after = options.padding.after().of(dims);
  Shape size;
  std::vector<std::int64_t> around;  // as pad() takes them
  for (int d = 0; d < dims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    check_convolution_number(name, "padding", std::min(amounts_before[d], amounts_after[d]), 0);
    check_convolution_number(name, "padding", std::max(amounts_before[d], amounts_after[d]), 0);
    const std::int64_t kernel = w.size(2 + d), input = x.size(d - dims);
    std::int64_t before = amounts_before[d], after = amounts_after[d];
    if (options.padding.same()) {
      if (layout.stride[at] != 1)
        throw ConfigError(str(name, " cannot have padding \"same\" with a stride of ", layout.stride[at]),
                          "the result would be smaller than the input",
                          "use a stride of 1, or pad by numbers");
      const std::int64_t all = layout.reach(d, kernel) - 1;
      before = all / 2;
      after = all - before;
    }
    layout.padding[at] = before;
    size.push_back(layout.output_size(d, input + before + after, kernel));
    if (layout.reach(d, kernel) > ConvLayout::kMost || size[d] < 1 || size[d] > ConvLayout::kMost)
      throw ShapeError(str(name, " cannot apply a weight of ", w.shape(), " to ", x.shape()),
                       str("dimension ", d - dims, " has ", input, " elements and ", before + after,
                           " of padding, and the kernel reaches over ", layout.reach(d, kernel)),
                       "use a smaller kernel or dilation, or more padding");
    around.insert(around.begin(), {before, after});
  }
  if (options.padding_mode == PadMode::zeros) return {layout, size, {}};
  layout.padding = {};
  return {layout, size, around};
}

Tensor conv(const char* name, int dims, const Tensor& x, const Tensor& w, const Tensor& bias,
            const ConvOptions& options) {
  if (casts(x, w, bias)) return conv(name, dims, lowered(x), lowered(w), lowered(bias), options);
  const PlannedConv plan = planned(name, dims, x, w, bias, options);
  check_one_dtype(name, x, w, bias);
  return as_batch_of_floats(
      dims, x, w, bias, [&](const Tensor& input, const Tensor& weight, const Tensor& added) {
        Shape shape = {input.size(0), weight.size(0)};
        for (const std::int64_t s : plan.size) shape.push_back(s);
        return convolved(
            name, plan.layout, ConvPart::output,
            {plan.around.empty() ? input : pad(input, plan.around, options.padding_mode), weight, Tensor()},
            shape, added);
      });
}

Tensor conv_transpose(const char* name, int dims, const Tensor& x, const Tensor& w, const Tensor& bias,
                      const ConvTransposeOptions& options) {
  if (casts(x, w, bias)) return conv_transpose(name, dims, lowered(x), lowered(w), lowered(bias), options);
  ConvLayout layout = checked(name, dims, true, x, w, bias, options.stride, options.dilation, options.groups);
  check_one_dtype(name, x, w, bias);
  const Shape padding = options.padding.of(dims), behind = options.output_padding.of(dims);
  Shape size;
  for (int d = 0; d < dims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    check_convolution_number(name, "padding", padding[d], 0);
    check_convolution_number(name, "output_padding", behind[d], 0);
    if (behind[d] >= std::max(layout.stride[at], layout.dilation[at]))
      throw ConfigError(str(name, " cannot have an output_padding of ", behind[d]),
                        str("the stride is ", layout.stride[at], ", the dilation ", layout.dilation[at]),
                        "keep it below one of them");
    layout.padding[at] = padding[d];
    const std::int64_t reach = layout.reach(d, w.size(2 + d));
    size.push_back((x.size(d - dims) - 1) * layout.stride[at] - 2 * padding[d] + reach + behind[d]);
    if (reach > ConvLayout::kMost || size[d] < 1 || size[d] > ConvLayout::kMost)
      throw ShapeError(str(name, " cannot apply a weight of ", w.shape(), " to ", x.shape()),
                       str("dimension ", d - dims, " of the result would have ", size[d], " elements"),
                       str("keep it from 1 to ", ConvLayout::kMost, " by padding and stride"));
  }
  return as_batch_of_floats(
      dims, x, w, bias, [&](const Tensor& input, const Tensor& weight, const Tensor& added) {
        Shape shape = {input.size(0), weight.size(1) * options.groups};
        for (const std::int64_t s : size) shape.push_back(s);
        const Tensor y = convolved(name, layout, ConvPart::input_gradient, {Tensor(), weight, input}, shape);
        if (!added.defined()) return y;
        Shape column = Shape::filled(dims + 1, 1);
        column[0] = added.size(0);
        return y + reshape(added, column);
      });
}

}  // namespace

Shape PerDim::of(int dims) const {
  if (numbers_.rank() == dims) return numbers_;
  if (numbers_.rank() != 1)
    throw ConfigError(str("an option for ", dims, " spatial dimensions was given the ", numbers_.rank(),
                          " numbers ", numbers_),
                      "it is one number, or one for each spatial dimension", str("give 1 or ", dims));
  return Shape::filled(dims, numbers_[0]);
}

ConvPadding::ConvPadding(std::string_view name) : same_(name == "same") {
  if (!same_ && name != "valid")
    throw ConfigError(str("a convolution cannot have padding \"", name, '"'), "a name is same or valid",
                      "use one of them, or numbers");
}

PlannedConv planned_convolution(int dims, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                const ConvOptions& options) {
  constexpr const char* kNames[] = {"conv1d", "conv2d", "conv3d"};
  return planned(kNames[dims - 1], dims, x, weight, bias, options);
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return conv("conv1d", 1, x, weight, bias, options);
}
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return conv("conv2d", 2, x, weight, bias, options);
}
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return conv("conv3d", 3, x, weight, bias, options);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return conv_transpose("conv_transpose1d", 1, x, weight, bias, options);
}
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return conv_transpose("conv_transpose2d", 2, x, weight, bias, options);
}
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return conv_transpose("conv_transpose3d", 3, x, weight, bias, options);
}

}  // namespace veldt
