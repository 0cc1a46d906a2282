// Convolutional layers: they check and print options, initialise weights, and count operations.
#include "veldt/nn/convolution.h"

#include <cmath>

#include "veldt/core/error.h"

namespace veldt::nn {
namespace {

// "3" or "[3, 5]"
std::string numbers_text(const Shape& numbers) {
  for (const std::int64_t n : numbers)
    if (n != numbers[0]) return str(numbers);
  return str(numbers[0]);
}

// ", stride 2", or nothing if all numbers are the defaults.
std::string unless(std::int64_t by_default, const char* name, const Shape& numbers) {
  return numbers == Shape::filled(numbers.rank(), by_default) ? ""
                                                              : str(", ", name, ' ', numbers_text(numbers));
}

const char* name_of(PadMode mode) {
  switch (mode) {
    case PadMode::zeros: return "zeros";
    case PadMode::reflect: return "reflect";
    case PadMode::replicate: return "replicate";
    case PadMode::circular: return "circular";
  }
  return "";
}

// Checks the numbers of a layer, makes its parameters and fills them. The weight has `first` channels, then
// `second` / groups.
template <class Options>
void make(const std::string& layer, std::int64_t first, std::int64_t second, const Shape& kernel,
          std::int64_t bias_size, const Options& options, Rng& rng, Tensor& weight, Tensor& bias) {
  bool positive = first >= 1 && second >= 1;
  for (const std::int64_t k : kernel) positive = positive && k >= 1;
  if (!positive)
    throw ConfigError("cannot build " + layer, "it needs a channel and an element of the kernel or more",
                      "give positive sizes");
  if (options.groups < 1 || first % options.groups != 0 || second % options.groups != 0)
    throw ConfigError("cannot build " + layer,
                      str(options.groups, " groups do not divide ", first, " and ", second, " channels"),
                      "choose a number of groups that divides both");
  Shape shape = {first, second / options.groups};
  for (const std::int64_t k : kernel) shape.push_back(k);
  weight = parameter(empty(shape, options.dtype, options.device));
  init::kaiming_uniform(weight, std::sqrt(5.0), rng);
  if (!options.bias) return;
  bias = parameter(empty({bias_size}, options.dtype, options.device));
  const double bound = 1 / std::sqrt(static_cast<double>(init::fans_of(weight).in));
  init::uniform(bias, -bound, bound, rng);
}

Shape kernel_of(const Shape& weight) {
  Shape kernel;
  for (int d = 2; d < weight.rank(); ++d) kernel.push_back(weight[d]);
  return kernel;
}

// Each element of the smaller side (the input of a transpose) is multiplied with a channel of weights.
double flops_of(const Shape& weight, const Shape& shape) {
  return 2 * static_cast<double>(weight[1]) * static_cast<double>(numel(kernel_of(weight))) *
         static_cast<double>(numel(shape));
}

}  // namespace

template <int kDims>
Conv<kDims>::Conv(std::int64_t in, std::int64_t out, PerDim kernel, ConvLayerOptions options, Rng& rng)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .dilation = options.dilation,
               .groups = options.groups,
               .padding_mode = options.padding_mode},
      is_depthwise_(options.groups > 1 && options.groups == in && in == out) {
  const Shape sizes = kernel.of(kDims);
  Tensor weight;
  make(str("Conv", kDims, "d(", in, ", ", out, ", ", numbers_text(sizes), ")"), out, in, sizes, out, options,
       rng, weight, bias_);
  weight_ = weight;
}

template <int kDims> Tensor Conv<kDims>::forward(const Tensor& x) const {
  ConvOptions options = options_;
  options.groups = groups();
  return convolved(x, options);
}

template <int kDims> std::string Conv<kDims>::title() const {
  std::string text =
      str("Conv", kDims, "d(", weight_.size(1) * groups(), ", ", weight_.size(0), ", ",
          numbers_text(kernel_of(weight_.shape())), unless(1, "stride", options_.stride.of(kDims)));
  const ConvPadding& padding = options_.padding;
  const Shape before = padding.before().of(kDims), after = padding.after().of(kDims);
  text += padding.same() ? ", padding same"
          : before == after
              ? unless(0, "padding", before)
              : str(", padding ", numbers_text(before), " before and ", numbers_text(after), " after");
  text += unless(1, "dilation", options_.dilation.of(kDims)) + unless(1, "groups", {groups()});
  if (options_.padding_mode != PadMode::zeros) text += str(", ", name_of(options_.padding_mode));
  return text + (bias_.defined() ? ")" : ", no bias)");
}

template <int kDims> double Conv<kDims>::flops(const Shape&, const Shape& output) const {
  return flops_of(weight_.shape(), output);
}

template <int kDims>
ConvTranspose<kDims>::ConvTranspose(std::int64_t in, std::int64_t out, PerDim kernel,
                                    ConvTransposeLayerOptions options, Rng& rng)
    : options_{.stride = options.stride,
               .padding = options.padding,
               .output_padding = options.output_padding,
               .dilation = options.dilation,
               .groups = options.groups} {
  const Shape sizes = kernel.of(kDims);
  make(str("ConvTranspose", kDims, "d(", in, ", ", out, ", ", numbers_text(sizes), ")"), in, out, sizes, out,
       options, rng, weight_, bias_);
}

template <int kDims> Tensor ConvTranspose<kDims>::forward(const Tensor& x) const {
  if constexpr (kDims == 1) return conv_transpose1d(x, weight_, bias_, options_);
  if constexpr (kDims == 2) return conv_transpose2d(x, weight_, bias_, options_);
  return conv_transpose3d(x, weight_, bias_, options_);
}

template <int kDims> std::string ConvTranspose<kDims>::title() const {
  return str("ConvTranspose", kDims, "d(", weight_.size(0), ", ", weight_.size(1) * options_.groups, ", ",
             numbers_text(kernel_of(weight_.shape())), unless(1, "stride", options_.stride.of(kDims)),
             unless(0, "padding", options_.padding.of(kDims)),
             unless(0, "output padding", options_.output_padding.of(kDims)),
             unless(1, "dilation", options_.dilation.of(kDims)), unless(1, "groups", {options_.groups}),
             bias_.defined() ? ")" : ", no bias)");
}

template <int kDims> double ConvTranspose<kDims>::flops(const Shape& input, const Shape&) const {
  return flops_of(weight_.shape(), input);
}

template class Conv<1>;
template class Conv<2>;
template class Conv<3>;
template class ConvTranspose<1>;
template class ConvTranspose<2>;
template class ConvTranspose<3>;

}  // namespace veldt::nn
