// Matrix products and convolutions.
#include <algorithm>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/convolution.h"
#include "veldt/ops/einsum.h"
#include "veldt/ops/matmul.h"

namespace veldt::onnx {

namespace {

PerDim per_dim(const std::vector<std::int64_t>& each) { return PerDim(shape_from(each)); }

Values matmul_op(const Call& c) {
  if (is_float(c.tensor(0).dtype())) return {matmul(c.tensor(0), c.tensor(1))};
  return {fitted(matmul(to(c.tensor(0), DType::f64), to(c.tensor(1), DType::f64)), c.type(0))};
}

// alpha a b + beta c, a and b transposed as asked.
Values gemm(const Call& c) {
  const auto exact = [&](std::size_t i) {
    return is_float(c.tensor(i).dtype()) ? c.tensor(i) : to(c.tensor(i), DType::f64);
  };
  Tensor a = exact(0), b = exact(1);
  if (a.rank() != 2 || b.rank() != 2) c.fail("its factors are no matrices");
  if (c.integer("transA", 0) != 0) a = transpose(a);
  const bool across = c.integer("transB", 0) != 0;
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  // The layer of most networks, as one op.
  if (across && alpha == 1 && beta == 1 && c.has(2) && c.tensor(2).rank() == 1 &&
      c.tensor(2).dtype() == a.dtype() && c.tensor(2).size(0) == b.size(0))
    return {linear(a, b, c.tensor(2))};
  if (across) b = transpose(b);
  Tensor y = matmul(a, b);
  if (alpha != 1) y = mul(y, alpha);
  if (c.has(2)) {
    const Tensor bias = exact(2);
    y = add(y, beta != 1 ? mul(bias, beta) : bias);
  }
  return {fitted(y, c.type(0))};
}

Values einsum_op(const Call& c) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < c.size(); ++i)
    parts.push_back(is_float(c.tensor(i).dtype()) ? c.tensor(i) : to(c.tensor(i), DType::f64));
  std::string equation = c.text("equation");
  std::erase(equation, ' ');
  return {fitted(einsum(equation, parts), c.type(0))};
}

using ConvFn = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ConvOptions&);
constexpr ConvFn kConv[] = {conv1d, conv2d, conv3d};
using TransposeFn = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ConvTransposeOptions&);
constexpr TransposeFn kTranspose[] = {conv_transpose1d, conv_transpose2d, conv_transpose3d};

int spatial_dims(const Call& c, const Tensor& x, const Tensor& w) {
  const int dims = x.rank() - 2;
  if (dims < 1 || dims > 3 || w.rank() != x.rank())
    c.fail(str("its input is ", x.shape(), " and its weight ", w.shape(),
               "; it takes 1 to 3 spatial dimensions"));
  return dims;
}

std::vector<std::int64_t> kernel_of(const Call& c, const Tensor& w) {
  std::vector<std::int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  if (c.has("kernel_shape") && c.integers("kernel_shape") != kernel)
    c.fail("its kernel_shape is not that of its weight");
  return kernel;
}

}  // namespace

Tensor convolution(const Call& c, Tensor x, const Tensor& w, const Tensor& bias, double pad_value) {
  const int dims = spatial_dims(c, x, w);
  const Window window =
      window_of(c, kernel_of(c, w), std::span(x.shape().begin() + 2, static_cast<std::size_t>(dims)));
  ConvOptions options;
  options.stride = per_dim(window.stride);
  options.dilation = per_dim(window.dilation);
  options.groups = c.integer("group", 1);
  const std::vector<std::int64_t> around = window.padding.amounts();
  if (pad_value == 0 && std::all_of(around.begin(), around.end(), [](std::int64_t n) { return n >= 0; }))
    options.padding = ConvPadding(per_dim(window.padding.before), per_dim(window.padding.after));
  else
    x = pad(x, around, pad_value);
  return kConv[dims - 1](x, w, bias, options);
}

namespace {

Values conv(const Call& c) {
  return {convolution(c, c.tensor(0), c.tensor(1), c.has(2) ? c.tensor(2) : Tensor(), 0)};
}

Values conv_transpose(const Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  const int dims = spatial_dims(c, x, w);
  const std::vector<std::int64_t> kernel = kernel_of(c, w);
  const auto n = static_cast<std::size_t>(dims);
  Window window = window_of(c, kernel, std::span(x.shape().begin() + 2, n));
  const std::vector<std::int64_t> extra = c.integers("output_padding", std::vector<std::int64_t>(n));
  const std::vector<std::int64_t> wanted = c.integers("output_shape");
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (extra.size() != n || (!wanted.empty() && wanted.size() != n))
    c.fail("its output_padding or output_shape has another number of dimensions");
  // The whole result, from which padding is cut.
  ConvTransposeOptions options;
  options.stride = per_dim(window.stride);
  options.dilation = per_dim(window.dilation);
  options.groups = c.integer("group", 1);
  std::vector<std::int64_t> plain(n);
  bool direct =
      wanted.empty() && window.padding.symmetric() && automatic != "SAME_UPPER" && automatic != "SAME_LOWER";
  for (std::size_t d = 0; d < n; ++d)
    direct &= extra[d] < std::max(window.stride[d], window.dilation[d]) && window.padding.before[d] >= 0;
  const Tensor bias = c.has(2) ? c.tensor(2) : Tensor();
  if (direct) {
    options.padding = per_dim(window.padding.before);
    options.output_padding = per_dim(extra);
    return {kTranspose[dims - 1](x, w, bias, options)};
  }
  Tensor y = kTranspose[dims - 1](x, w, Tensor(), options);
  std::vector<std::int64_t> amounts;
  for (std::size_t d = n; d-- > 0;) {
    const std::int64_t full_size = y.size(static_cast<int>(d) + 2) + extra[d];
    std::int64_t before = window.padding.before[d], after = window.padding.after[d];
    if (!wanted.empty() || automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t size =
          !wanted.empty() ? wanted[d] : x.size(static_cast<int>(d) + 2) * window.stride[d];
      const std::int64_t cut = full_size - size;
      // What is missing is added behind.
      before = cut < 0 ? 0 : automatic == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      after = cut - before;
    }
    amounts.push_back(-before);
    amounts.push_back(extra[d] - after);
  }
  y = pad(y, amounts, 0.0);
  if (!bias.defined()) return {y};
  Shape across = Shape::filled(y.rank(), 1);
  across[1] = bias.size(0);
  return {add(y, reshape(bias, across))};
}

}  // namespace

void add_products(OperatorTable& t) {
  t.add("MatMul", matmul_op, 3);
  t.add("Gemm", gemm, 7);
  t.add("Einsum", einsum_op, ~0U);
  t.add("Conv", conv, 7);
  t.add("ConvTranspose", conv_transpose, 7);
}

}  // namespace veldt::onnx
