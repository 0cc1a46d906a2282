// The arguments of Backend::mlp: a stack of fully connected layers, run forward, backward or through its loss
// in one call, so that a tile of rows stays in the cache from the first layer to the last and back.
// Tests: tests/ops/mlp_test.cpp, tests/cuda/mlp_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace veldt {

// y = f(z), with the constants of its layer:
//   sine sin(omega z), finer sin(omega (|z| + 1) z), gauss exp(-(omega z)^2),
//   wire cos(omega z) exp(-(scale z)^2)
enum class MlpActivation : std::uint8_t { identity, relu, tanh, sigmoid, sine, finer, gauss, wire };

// z = x W^T + b, W [out, in]
struct MlpLayer {
  std::int64_t in = 0, out = 0;
  MlpActivation activation = MlpActivation::identity;
  float omega = 1, scale = 1;
};

// How an output is compared with its target. bce takes logits; hinge is max(0, 1 - t p)^2.
enum class MlpError : std::uint8_t { squared, hinge, bce };
// The function of an output before that: none; clamping to -1..1, beyond which the gradient is 0 except where
// a step along it leads back; the logistic function.
enum class MlpSquash : std::uint8_t { none, clamp, sigmoid };

// The mean over all targets' numbers. The first `pooled` rows are in groups of `group`, and the mean of each
// group's squashed outputs has one target; every other row has its own target.
struct MlpLoss {
  MlpError error = MlpError::squared;
  MlpSquash squash = MlpSquash::none;
  std::int64_t group = 1, pooled = 0;

  std::int64_t targets(std::int64_t rows) const { return pooled / group + rows - pooled; }
};

// The number format of the products of a stack; sums are always f32. bf16: weights and activations rounded to
// it. tf32: rounded to 10 bits of mantissa, as tensor cores multiply them.
enum class Precision : std::uint8_t { f32, bf16, tf32 };

// The rows of a call, split into tiles that do not split a group. constexpr, for use in a GPU's kernels.
struct MlpTiles {
  struct Tile {
    std::int64_t row, target;  // its first ones
    int rows, group;
  };
  std::int64_t rows;
  int tile_rows;
  MlpLoss loss;  // where the rows are grouped

  constexpr std::int64_t pooled_rows() const { return tile_rows / loss.group * loss.group; }
  constexpr std::int64_t pooled_tiles() const { return (loss.pooled + pooled_rows() - 1) / pooled_rows(); }
  constexpr std::int64_t count() const {
    return pooled_tiles() + (rows - loss.pooled + tile_rows - 1) / tile_rows;
  }
  constexpr Tile operator[](std::int64_t i) const {
    const std::int64_t pooled = pooled_tiles();
    if (i < pooled) {
      const std::int64_t row = i * pooled_rows();
      return {row, row / loss.group, least(pooled_rows(), loss.pooled - row), static_cast<int>(loss.group)};
    }
    const std::int64_t after = (i - pooled) * tile_rows, row = loss.pooled + after;
    return {row, loss.pooled / loss.group + after, least(tile_rows, rows - row), 1};
  }

 private:
  static constexpr int least(std::int64_t a, std::int64_t b) { return static_cast<int>(a < b ? a : b); }
};

// forward: out. backward: gradients, given that of the output. loss: out, the loss and its gradients.
enum class MlpPass : std::uint8_t { forward, backward, loss };

struct MlpStep {
  static constexpr std::size_t kMaxLayers = 32;

  MlpPass pass = MlpPass::forward;
  Precision precision = Precision::f32;
  // The number of partial sums of the gradients; the bits depend on it.
  int threads = 1;
  std::size_t depth = 0;
  std::array<MlpLayer, kMaxLayers> layers = {};
  MlpLoss loss = {};

  // A first layer of a few inputs (coordinates) and a last one of a few outputs are always f32.
  static constexpr std::int64_t kThinInput = 8, kThinOutput = 4;
  bool thin_input() const { return layers[0].in <= kThinInput; }
  bool thin_output() const {
    const MlpLayer& last = layers[depth - 1];
    return depth > 1 && last.out <= kThinOutput && last.activation == MlpActivation::identity;
  }
  // Whether layer l is a product of numbers of that precision.
  bool is_product(std::size_t l) const {
    return !(l == 0 && thin_input()) && !(l + 1 == depth && thin_output());
  }

  // The arrays of a call, all f32 except the workspace; a view without data is absent.
  enum Array : std::size_t {
    workspace,  // bytes, as many as Backend::mlp_workspace asks for
    x,          // [n, in]
    out,        // [n, out]; not in a backward pass
    given,      // backward: the gradient of out [n, out]; loss: the targets [targets, out]
    weight,     // loss: how much each target counts [targets]; absent: 1 each
    value,      // loss: the loss []
    dx,         // [n, in]; absent if it is not needed
    first_layer
  };
  // W, b (absent without one) and, except in a forward pass, their gradients.
  enum Part : std::size_t { w, b, dw, db, parts };
  static std::size_t layer_array(std::size_t layer, Part part) { return first_layer + parts * layer + part; }
  static constexpr std::size_t kMaxArrays = first_layer + parts * kMaxLayers;
  std::size_t arrays() const { return first_layer + parts * depth; }

  bool writes(std::size_t array, std::size_t /*arrays*/) const {
    if (array >= first_layer) return (array - first_layer) % parts >= dw;
    return array == workspace || array == value || array == dx || (array == out && pass != MlpPass::backward);
  }
  const char* name() const {
    return pass == MlpPass::forward ? "mlp" : pass == MlpPass::backward ? "mlp backward" : "mlp loss";
  }
  // Floating point operations over n rows, the forward pass that backward repeats included.
  double flops(std::int64_t n, bool wants_dx) const {
    double total = 0;
    for (std::size_t l = 0; l < depth; ++l) {
      const double product = 2.0 * static_cast<double>(layers[l].in * layers[l].out) * static_cast<double>(n);
      total += product * (pass == MlpPass::forward ? 1 : l == 0 && !wants_dx ? 2 : 3);
    }
    return total;
  }
};

}  // namespace veldt
