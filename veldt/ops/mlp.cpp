// Chooses between the fused kernels and single layers, with the gradients of both.
#include "veldt/ops/mlp.h"

#include <algorithm>
#include <array>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

constexpr std::int64_t kMaxInput = 512, kMaxWidth = 256;
constexpr std::int64_t kMaxGroup = 64;  // rows that share a target: a tile of rows has to hold them

// Whether the device has kernels for stacks of layers in this precision.
bool has_kernels(Device device, Precision precision) {
  MlpStep step;
  step.precision = precision;
  step.depth = 1;
  step.layers[0] = {16, 16};
  return backend(device).mlp_workspace(step, 1, false) > 0;
}

bool is_fused(const Tensor& x, std::span<const DenseLayer> layers) {
  if (x.dtype() != DType::f32) return false;
  // The cpu always has them, and for tiny networks every call matters.
  if (x.device().kind != DeviceKind::cpu && !has_kernels(x.device(), Precision::f32)) return false;
  std::vector<std::int64_t, SmallAllocator<std::int64_t>> sizes = {x.size(-1)};
  for (const DenseLayer& layer : layers) sizes.push_back(layer.weight.size(0));
  return is_fused_mlp(sizes);
}

void check(const Tensor& x, std::span<const DenseLayer> layers, Precision precision) {
  if (layers.empty())
    throw ConfigError("mlp has no layers", "it needs at least one", "give a layer with a weight [out, in]");
  if (x.rank() < 1) throw ShapeError("mlp cannot take a number", "it has no dimension", "give [.., in]");
  std::int64_t in = x.size(-1);
  for (const DenseLayer& layer : layers) {
    if (layer.weight.rank() != 2 || layer.weight.size(1) != in)
      throw ShapeError(str("mlp cannot apply a weight of ", layer.weight.shape(), " to ", in, " features"),
                       "the weight is [out, in], and in must equal what comes before",
                       "check the sizes of the layers");
    in = layer.weight.size(0);
    if (layer.bias.defined() && layer.bias.shape() != Shape{in})
      throw ShapeError(str("mlp cannot add a bias of ", layer.bias.shape()),
                       str("the layer has ", in, " outputs"), str("give a bias of shape [", in, "]"));
    for (const Tensor& t : {layer.weight, layer.bias})
      if (t.defined()) {
        check_same_device("mlp", x, t);
        if (t.dtype() != x.dtype())
          throw ShapeError(str("mlp cannot apply a layer of ", t.dtype(), " to ", x.dtype()),
                           "all of input, weights and biases need one dtype",
                           "convert the input or the layers with to()");
      }
  }
  if (precision == Precision::f32) return;
  const char* const name = precision == Precision::bf16 ? "bf16" : "tf32";
  if (!has_products(x.device(), precision))
    throw DeviceError(str("there are no ", name, " products on ", x.device()),
                      precision == Precision::bf16 ? "the processor has neither AMX nor AVX512_BF16"
                                                   : "only tensor cores multiply tf32",
                      precision == Precision::bf16 ? "use Precision::f32" : "use Precision::f32 or bf16");
  if (!is_fused(x, layers))
    throw ConfigError(str("mlp has no ", name, " products for these layers"),
                      str("they go one by one: ", x.dtype(), ", ", x.size(-1), " inputs, ", layers.size(),
                          " layers; ", name, " takes f32, at most ", kMaxInput, " inputs, ", kMaxWidth,
                          " outputs a layer and ", MlpStep::kMaxLayers, " layers"),
                      "use Precision::f32, or a narrower stack");
}

MlpStep step_of(MlpPass pass, std::span<const DenseLayer> layers, Precision precision) {
  MlpStep step;
  step.pass = pass;
  step.precision = precision;
  step.threads = num_threads();
  step.depth = layers.size();
  for (std::size_t l = 0; l < layers.size(); ++l)
    step.layers[l] = {layers[l].weight.size(1), layers[l].weight.size(0), layers[l].activation,
                      static_cast<float>(layers[l].omega), static_cast<float>(layers[l].scale)};
  return step;
}

// The arrays of one call. Kernels need dense inputs.
class MlpCall {
 public:
  MlpCall(const MlpStep& step, const Tensor& x, std::span<const DenseLayer> layers) : step_(step), x_(x) {
    give(MlpStep::x, x);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      give(MlpStep::layer_array(l, MlpStep::w), layers[l].weight);
      if (layers[l].bias.defined()) give(MlpStep::layer_array(l, MlpStep::b), layers[l].bias);
    }
  }
  void give(std::size_t array, const Tensor& t) {
    kept_.push_back(contiguous(t.detach()));
    views_[array] = kept_.back().view();
  }
  Tensor take(std::size_t array, const Shape& shape) {
    const Tensor t = empty(shape, x_);
    views_[array] = t.view();
    return t;
  }
  // The gradients of the inputs, in the order of inputs_of(), that `wanted` holds for.
  template <class Wanted> Grads take_gradients(const TensorList& inputs, Wanted wanted) {
    Grads grads(inputs.size());
    if (wanted(inputs[0])) grads[0] = take(MlpStep::dx, x_.shape());
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (inputs[i].defined() && wanted(inputs[i]))
        grads[i] = take(MlpStep::layer_array((i - 1) / 2, i % 2 == 1 ? MlpStep::dw : MlpStep::db),
                        inputs[i].shape());
    return grads;
  }
  void run() {
    NoGrad off;
    const Backend& k = kernels(x_);
    const std::size_t bytes = k.mlp_workspace(step_, x_.size(0), views_[MlpStep::dx].data != nullptr);
    const Tensor workspace = empty({static_cast<std::int64_t>(bytes)}, DType::u8, x_.device());
    views_[MlpStep::workspace] = workspace.view();
    k.mlp(step_, views_.data(), static_cast<int>(step_.arrays()));
  }

 private:
  const MlpStep& step_;
  const Tensor x_;
  TensorList kept_;
  std::array<View, MlpStep::kMaxArrays> views_;
};

// x, and of each layer its weight and bias (undefined without one).
TensorList inputs_of(const Tensor& x, std::span<const DenseLayer> layers) {
  TensorList inputs = {x};
  for (const DenseLayer& layer : layers) {
    inputs.push_back(layer.weight);
    inputs.push_back(layer.bias);
  }
  return inputs;
}

Tensor activate(const Tensor& z, const DenseLayer& layer) {
  switch (layer.activation) {
    case MlpActivation::identity: return z;
    case MlpActivation::relu: return relu(z);
    case MlpActivation::tanh: return tanh(z);
    case MlpActivation::sigmoid: return sigmoid(z);
    case MlpActivation::sine: return sine(z, layer.omega);
    case MlpActivation::finer: return finer(z, layer.omega);
    case MlpActivation::gauss: return gauss(z, layer.omega);
    case MlpActivation::wire: return wire(z, layer.omega, layer.scale);
  }
  return z;
}

Tensor by_layers(const Tensor& x, std::span<const DenseLayer> layers) {
  Tensor h = x;
  for (const DenseLayer& layer : layers) h = activate(linear(h, layer.weight, layer.bias), layer);
  return h;
}

// Aliases of the same inputs: a gradient by them ends there, even if one of the originals is used twice or
// depends on another.
struct Aliases {
  Tensor x;
  DenseLayers layers;
};
Tensor alias_of(const Tensor& t) {
  if (!t.defined() || !t.requires_grad()) return t;
  return record(
      "alias", t.detach(), {t}, [](const Tensor& g) -> Grads { return {g}; }, false);
}
Aliases aliases_of(const Tensor& x, const DenseLayers& layers) {
  Aliases out{alias_of(x), layers};
  for (DenseLayer& layer : out.layers) {
    layer.weight = alias_of(layer.weight);
    layer.bias = alias_of(layer.bias);
  }
  return out;
}

// The gradients of `composed`, computed by single ops from the aliases, so that they can be differentiated
// again. Those that the running backward() does not need are left out.
Grads differentiable(const Tensor& composed, const TensorList& inputs, const Aliases& aliases,
                     const Tensor& seed) {
  const TensorList stand_ins = inputs_of(aliases.x, aliases.layers);
  std::vector<Tensor> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && needs_grad(inputs[i])) wanted.push_back(stand_ins[i]);
  const Grads found = grad(composed, wanted, true, seed);
  Grads grads(inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && needs_grad(inputs[i])) grads[i] = found[next++];
  return grads;
}

Grads mlp_backward(const Tensor& x, const DenseLayers& layers, Precision precision, const Tensor& g) {
  const TensorList inputs = inputs_of(x, layers);
  if (grad_enabled()) {
    const Aliases aliases = aliases_of(x, layers);
    return differentiable(by_layers(aliases.x, aliases.layers), inputs, aliases, g);
  }
  const MlpStep step = step_of(MlpPass::backward, layers, precision);
  MlpCall call(step, x, layers);
  call.give(MlpStep::given, g);
  Grads grads = call.take_gradients(inputs, [](const Tensor& t) { return needs_grad(t); });
  call.run();
  return grads;
}

// Clamped to -1..1. Beyond the bounds the gradient is 0, except where a step along it leads back: an output
// beyond the wrong bound must be able to return.
Tensor clamp_with_way_back(const Tensor& x) {
  const Tensor fixed = x.detach(), y = clamp(fixed, -1, 1);
  return record("clamp_with_way_back", y, {x}, [beyond = fixed - y](const Tensor& g) -> Grads {
    const Tensor zero = zeros_like(g);
    return {where(less(beyond * g, zero), zero, g)};
  });
}

Tensor squashed(const Tensor& y, MlpSquash how) {
  switch (how) {
    case MlpSquash::none: return y;
    case MlpSquash::clamp: return clamp_with_way_back(y);
    case MlpSquash::sigmoid: return sigmoid(y);
  }
  return y;
}

// The loss of an output, from single ops.
Tensor loss_of(const Tensor& output, const Tensor& target, const MlpLossOptions& o) {
  Tensor p = squashed(output, o.squash);
  if (o.group > 1 && o.pooled > 0) {
    const std::int64_t m = o.pooled / o.group, width = p.size(1);
    const Tensor pooled = mean(reshape(slice(p, 0, 0, o.pooled), {m, o.group, width}), {1});
    p = o.pooled == p.size(0) ? pooled : cat({pooled, slice(p, 0, o.pooled, p.size(0))});
  }
  Tensor e;
  switch (o.error) {
    case MlpError::squared: e = square(p - target); break;
    case MlpError::hinge: e = square(relu(affine(target * p, -1, 1))); break;
    case MlpError::bce: e = softplus(p) - p * target; break;
  }
  return mean(o.weight.defined() ? e * unsqueeze(o.weight, 1) : e);
}

void check_loss(const Tensor& x, std::span<const DenseLayer> layers, const Tensor& target,
                const MlpLossOptions& o) {
  if (x.rank() != 2)
    throw ShapeError(str("mlp_loss cannot take rows of shape ", x.shape()), "it wants [n, in]",
                     "reshape the input");
  if (o.group < 1 || o.pooled < 0 || o.pooled > x.size(0) || o.pooled % o.group != 0)
    throw ConfigError(str("mlp_loss cannot pool ", o.pooled, " of ", x.size(0), " rows by ", o.group),
                      "groups have 1 row or more and are whole", "give a multiple of the group");
  const Shape wanted{o.pooled / o.group + x.size(0) - o.pooled, layers.back().weight.size(0)};
  if (target.shape() != wanted || target.dtype() != x.dtype())
    throw ShapeError(str("mlp_loss cannot compare with targets ", target.dtype(), ' ', target.shape()),
                     str("its outputs want ", x.dtype(), ' ', wanted), "check the batch and the last layer");
  if (o.weight.defined() && (o.weight.shape() != Shape{wanted[0]} || o.weight.dtype() != x.dtype()))
    throw ShapeError(str("mlp_loss cannot weigh by ", o.weight.dtype(), ' ', o.weight.shape()),
                     str("there are ", wanted[0], " targets"), "give one number for each");
  check_same_device("mlp_loss", x, target);
  if (o.weight.defined()) check_same_device("mlp_loss", x, o.weight);
}

// Halves as f32 under an Autocast, unless the layers are of halves themselves.
Tensor as_layers(std::span<const DenseLayer> layers, const Tensor& x) {
  const bool are_halves = !layers.empty() && is_half(layers.front().weight.dtype());
  return are_halves || !x.defined() ? x : widened(x);
}

}  // namespace

bool is_fused_mlp(std::span<const std::int64_t> sizes) {
  return sizes.size() >= 2 && sizes.size() <= MlpStep::kMaxLayers + 1 && sizes[0] >= 1 &&
         sizes[0] <= kMaxInput &&
         std::all_of(sizes.begin() + 1, sizes.end(), [](std::int64_t n) { return n >= 1 && n <= kMaxWidth; });
}

bool has_products(Device device, Precision precision) {
  return precision == Precision::f32 || has_kernels(device, precision);
}

Tensor mlp(const Tensor& x, std::span<const DenseLayer> layers, Precision precision) {
  if (autocast_dtype()) {  // it has a precision of its own
    const Tensor wide = as_layers(layers, x);
    const Autocast off({});
    return mlp(wide, layers, precision);
  }
  check(x, layers, precision);
  if (!is_fused(x, layers)) return by_layers(x, layers);
  const std::int64_t out = layers.back().weight.size(0);
  if (x.rank() != 2) {
    const Shape leading = x.shape().without(x.rank() - 1);
    const Tensor y = mlp(reshape(x, {numel(leading), x.size(-1)}), layers, precision);
    return reshape(y, leading.with_inserted(leading.rank(), out));
  }
  const MlpStep step = step_of(MlpPass::forward, layers, precision);
  MlpCall call(step, x, layers);
  const Tensor y = call.take(MlpStep::out, {x.size(0), out});
  call.run();
  return record("mlp", y, inputs_of(x, layers),
                [x, kept = DenseLayers(layers.begin(), layers.end()), precision](const Tensor& g) {
                  return mlp_backward(x, kept, precision, g);
                });
}

MlpLossResult mlp_loss(const Tensor& x, std::span<const DenseLayer> layers, const Tensor& target,
                       const MlpLossOptions& options) {
  if (autocast_dtype()) {
    MlpLossOptions o = options;
    o.weight = as_layers(layers, o.weight);
    const Tensor wide = as_layers(layers, x), wide_target = as_layers(layers, target);
    const Autocast off({});
    return mlp_loss(wide, layers, wide_target, o);
  }
  check(x, layers, options.precision);
  check_loss(x, layers, target, options);
  const TensorList inputs = inputs_of(x, layers);
  const bool wanted = grad_enabled() && std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
                        return t.defined() && t.requires_grad();
                      });
  const bool compared_is_constant =
      !target.requires_grad() && !(options.weight.defined() && options.weight.requires_grad());
  const bool fused = wanted && compared_is_constant && options.group <= kMaxGroup && is_fused(x, layers);
  MlpStep step;
  if (fused) {
    step = step_of(MlpPass::loss, layers, options.precision);
    step.loss = {options.error, options.squash, options.group, options.pooled};
  }
  // A small GPU may have no tile for large groups of wide layers.
  if (!fused || kernels(x).mlp_workspace(step, x.size(0), x.requires_grad()) == 0) {
    const Tensor output = mlp(x, layers, options.precision);
    return {loss_of(output, target, options), output.detach()};
  }
  MlpCall call(step, x, layers);
  call.give(MlpStep::given, target);
  if (options.weight.defined()) call.give(MlpStep::weight, options.weight);
  const Tensor output = call.take(MlpStep::out, {x.size(0), target.size(1)});
  const Tensor loss = call.take(MlpStep::value, {});
  // Not needs_grad(), which refers to a running backward() and its own graph.
  const Grads grads = call.take_gradients(inputs, [](const Tensor& t) { return t.requires_grad(); });
  call.run();
  const Tensor recorded =
      record("mlp_loss", loss, inputs,
             [x, kept = DenseLayers(layers.begin(), layers.end()), target, options, grads](const Tensor& g) {
               if (grad_enabled()) {
                 const Aliases aliases = aliases_of(x, kept);
                 return differentiable(loss_of(by_layers(aliases.x, aliases.layers), target, options),
                                       inputs_of(x, kept), aliases, g);
               }
               Grads scaled(grads.size());
               for (std::size_t i = 0; i < grads.size(); ++i)
                 if (grads[i].defined()) scaled[i] = grads[i] * g;
               return scaled;
             });
  return {recorded, output};
}

}  // namespace veldt
