// Fused stacks of layers on the emulated device: fragments of tensor cores against products by hand, and
// every pass, precision and activation against layers in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <thread>

#include "tests/cuda/both_devices.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/mlp.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/device_library.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

using Layers = std::vector<DenseLayer>;

constexpr Precision kPrecisions[] = {Precision::f32, Precision::tf32, Precision::bf16};
const char* name_of(Precision p) {
  return p == Precision::f32 ? "f32" : p == Precision::tf32 ? "tf32" : "bf16";
}
double tolerance(Precision p) { return p == Precision::f32 ? 3e-6 : p == Precision::tf32 ? 4e-3 : 4e-2; }

// The furthest that outputs and gradients of a precision were from double. A device's arithmetic is not the
// emulated one's to the last bit, so what it leaves of the tolerance is worth a look where all tests pass.
struct Furthest {
  double output = 0, gradient = 0;
};
std::map<Precision, Furthest> g_furthest;

class CudaMlp : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
  // tools/gpu_run collects these lines.
  static void TearDownTestSuite() {
    for (const auto& [p, furthest] : g_furthest)
      std::printf("[ DISTANCE ] %s: outputs %.2g of %.2g, gradients %.2g of %.2g\n", name_of(p),
                  furthest.output, tolerance(p), furthest.gradient, 3 * tolerance(p));
  }
  static std::int64_t multiprocessors() { return device_library(DeviceKind::cuda).facts(0).multiprocessors; }
};

struct Net {
  std::vector<std::int64_t> sizes;
  MlpActivation activation = MlpActivation::tanh;
  double omega = 1;
  std::int64_t rows = 33;
  bool bias = true;
  MlpActivation last = MlpActivation::identity;
};

std::string name_of(const Net& net) {
  std::string name = str(net.rows, " rows, activation ", static_cast<int>(net.activation), ", sizes");
  for (const std::int64_t n : net.sizes) name += str(' ', n);
  return name;
}

// Weights that keep the size of what passes.
Layers make_layers(const Net& net) {
  Rng rng(3);
  Layers layers;
  for (std::size_t l = 0; l + 1 < net.sizes.size(); ++l) {
    const double bound = std::sqrt(3.0 / static_cast<double>(net.sizes[l])) / net.omega;
    DenseLayer layer;
    layer.weight = rand({net.sizes[l + 1], net.sizes[l]}, rng, -bound, bound);
    if (net.bias) layer.bias = rand({net.sizes[l + 1]}, rng, -0.5, 0.5);
    layer.activation = l + 2 < net.sizes.size() ? net.activation : net.last;
    layer.omega = net.omega;
    layers.push_back(layer);
  }
  return layers;
}

Layers as(const Layers& layers, DType dtype, Device device) {
  Layers out = layers;
  for (DenseLayer& l : out) {
    l.weight = to(to(l.weight.detach(), dtype), device).set_requires_grad();
    if (l.bias.defined()) l.bias = to(to(l.bias.detach(), dtype), device).set_requires_grad();
  }
  return out;
}

std::vector<Tensor> inputs_of(const Tensor& x, const Layers& layers) {
  std::vector<Tensor> all = {x};
  for (const DenseLayer& l : layers) {
    all.push_back(l.weight);
    if (l.bias.defined()) all.push_back(l.bias);
  }
  return all;
}

// The largest difference, of the largest number. `noted`: the precision that a comparison of two devices has
// to see in it; 0 where their numbers of multiprocessors make them different tests.
double distance(const Tensor& got, const Tensor& wanted, double noted) {
  const Tensor here = to(got.detach(), Device{});
  if (noted > 0) note_result(here, noted);
  const Values a = read(here), b = read(wanted);
  EXPECT_EQ(a.shape, b.shape);
  double largest = 1e-30, difference = 0;
  for (std::size_t i = 0; i < b.v.size(); ++i) {
    largest = std::max(largest, std::fabs(b.v[i]));
    if (!(std::fabs(a.v[i] - b.v[i]) <= difference)) difference = std::fabs(a.v[i] - b.v[i]);
  }
  return difference / largest;
}

// Output and all gradients of a net, against the same in double.
void expect_net(const Net& net, Precision precision, double slack = 1, bool noted = true) {
  const Layers layers = make_layers(net);
  Rng rng(5);
  const Tensor x = rand({net.rows, net.sizes[0]}, rng, -1, 1);
  const Layers exact = as(layers, DType::f64, Device{}), there = as(layers, DType::f32, kEmulated);
  const Tensor x64 = to(x, DType::f64).set_requires_grad(), x32 = to(x, kEmulated).set_requires_grad();
  const Tensor y64 = mlp(x64, exact), y = mlp(x32, there, precision);
  const Tensor seed = randn(y64.shape(), rng);
  const double note = noted ? 3 * slack * tolerance(precision) : 0;
  const auto expect_near = [&](const Tensor& got, const Tensor& wanted, double limit, double& furthest,
                               const std::string& what) {
    const double off = distance(got, wanted, note);
    furthest = std::max(furthest, off / slack);
    EXPECT_LT(off, slack * limit) << what << " of " << name_of(net) << ", " << name_of(precision);
  };
  Furthest& furthest = g_furthest[precision];
  expect_near(y, y64, tolerance(precision), furthest.output, "output");
  const Grads wanted = grad(y64, inputs_of(x64, exact), false, to(seed, DType::f64));
  const Grads got = grad(y, inputs_of(x32, there), false, to(seed, kEmulated));
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_near(got[i], wanted[i], 3 * tolerance(precision), furthest.gradient, str("gradient ", i));
  ASSERT_EQ(gpu::emulation::take_fault(), "");
}

TEST_F(CudaMlp, AgreesWithItsLayersInDouble) {
  EXPECT_TRUE(has_products(kEmulated, Precision::bf16) && has_products(kEmulated, Precision::tf32));
  for (const Precision p : kPrecisions) {
    // Few rows and many, which are cut into tiles of another size; widths of no tile's size.
    for (const Net& net : {Net{{2, 64, 64, 3}}, Net{{2, 33, 200, 7, 1}, MlpActivation::sine, 2, 20},
                           Net{{9, 40, 5}, MlpActivation::sigmoid, 1, 70}, Net{{3, 5}, {}, 1, 1},
                           Net{{32, 64, 64, 3}, MlpActivation::relu, 1, 65, false},
                           Net{{2, 16, 18, 1}, MlpActivation::tanh, 1, 500}, Net{{300, 20, 2}, {}, 1, 17},
                           Net{{1, 1}, {}, 1, 3, true, MlpActivation::tanh},
                           Net{{12, 16, 9}, {}, 1, 1100}})  // several tiles a block
      expect_net(net, p);
  }
}

TEST_F(CudaMlp, HasEveryActivationInAnyPlace) {
  for (const Precision p : kPrecisions)
    for (const MlpActivation f :
         {MlpActivation::identity, MlpActivation::relu, MlpActivation::tanh, MlpActivation::sigmoid,
          MlpActivation::sine, MlpActivation::finer, MlpActivation::gauss, MlpActivation::wire}) {
      expect_net({{2, 24, 20, 1}, f, 1.5, 21}, p);
      expect_net({{10, 20, 6}, f, 1.5, 21, true, f}, p);
    }
}

struct LossCase {
  MlpError error;
  MlpSquash squash;
  std::int64_t group, pooled;
  bool weighted;
  std::int64_t out = 3;
};

TEST_F(CudaMlp, GivesTheLossAndItsGradients) {
  for (const LossCase& c : {LossCase{MlpError::squared, MlpSquash::none, 1, 0, false},
                            LossCase{MlpError::squared, MlpSquash::clamp, 4, 140, true},
                            LossCase{MlpError::squared, MlpSquash::sigmoid, 9, 135, false, 6},
                            LossCase{MlpError::squared, MlpSquash::clamp, 64, 128, false},
                            LossCase{MlpError::hinge, MlpSquash::none, 1, 0, true, 1},
                            LossCase{MlpError::bce, MlpSquash::none, 1, 0, false}})
    for (const Precision p : {Precision::f32, Precision::bf16}) {
      Layers layers = make_layers({{2, 24, 20, c.out}, MlpActivation::sine, 3});
      layers.back().weight = layers.back().weight * 8;  // outputs beyond the bounds too
      const Layers exact = as(layers, DType::f64, Device{}), there = as(layers, DType::f32, kEmulated);
      Rng rng(5);
      const Tensor x = rand({145, 2}, rng, -1, 1);
      const std::int64_t targets = c.pooled / c.group + 145 - c.pooled;
      Tensor target = rand({targets, c.out}, rng, 0, 1);
      if (c.error == MlpError::hinge)
        target = affine(to(less(full({targets, c.out}, 0.5), target), DType::f32), 2, -1);
      MlpLossOptions options{c.error, c.squash, c.group, c.pooled}, options64 = options;
      options.precision = p;
      if (c.weighted) {
        const Tensor weight = rand({targets}, rng, 0, 2);
        options.weight = to(weight, kEmulated);
        options64.weight = to(weight, DType::f64);
      }
      const std::string label = str("error ", static_cast<int>(c.error), ", squash ",
                                    static_cast<int>(c.squash), ", group ", c.group, ", ", name_of(p));
      const MlpLossResult wanted = mlp_loss(to(x, DType::f64), exact, to(target, DType::f64), options64),
                          got = mlp_loss(to(x, kEmulated), there, to(target, kEmulated), options);
      EXPECT_LT(distance(got.loss, wanted.loss, tolerance(p)), 2 * tolerance(p)) << label;
      EXPECT_LT(distance(got.output, wanted.output, tolerance(p)), 2 * tolerance(p)) << label;
      std::vector<Tensor> inputs = inputs_of({}, exact), inputs_there = inputs_of({}, there);
      inputs.erase(inputs.begin());
      inputs_there.erase(inputs_there.begin());
      const Grads g64 = grad(wanted.loss, inputs), g = grad(got.loss, inputs_there);
      // What a bound lets through, a rounded output decides otherwise.
      const bool comparable = p == Precision::f32 || c.squash != MlpSquash::clamp;
      for (std::size_t i = 0; comparable && i < g.size(); ++i) {
        EXPECT_LT(distance(g[i], g64[i], tolerance(p)), 5 * tolerance(p))
            << "gradient " << i << ", " << label;
      }
      ASSERT_EQ(gpu::emulation::take_fault(), "");
    }
}

// The loss and all gradients of one step, as bits.
std::vector<std::vector<float>> step_of(const Layers& layers, std::int64_t rows, Precision precision) {
  const Layers there = as(layers, DType::f32, kEmulated);
  Rng rng(5);
  const Tensor x = rand({rows, layers[0].weight.size(1)}, rng, -1, 1);
  const Tensor target = rand({rows, layers.back().weight.size(0)}, rng);
  const Tensor at = to(x, kEmulated).set_requires_grad();
  const Tensor loss = mlp_loss(at, there, to(target, kEmulated), {.precision = precision}).loss;
  std::vector<std::vector<float>> all = {to(loss.detach(), Device{}).values<float>()};
  for (const Tensor& g : grad(loss, inputs_of(at, there))) all.push_back(to(g, Device{}).values<float>());
  return all;
}

TEST_F(CudaMlp, GivesTheSameBitsInAnyOrderOfItsThreads) {
  for (const Precision p : kPrecisions)
    for (const Net& net : {Net{{2, 40, 33, 3}, MlpActivation::sine, 1, 300}, Net{{12, 16, 9}, {}, 1, 1100}}) {
      const Layers layers = make_layers(net);
      const auto expected = step_of(layers, net.rows, p);
      for (const gpu::emulation::Order order : kOrders) {
        const InOrder in_order(order);
        EXPECT_EQ(step_of(layers, net.rows, p), expected) << name_of(net) << ", " << name_of(p);
      }
    }
}

TEST_F(CudaMlp, LeavesOutWhatIsNotWanted) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{2, 20, 24, 1}, std::vector<std::int64_t>{12, 20, 24, 6}}) {
    const Net net{sizes};
    const Layers there = as(make_layers(net), DType::f32, kEmulated);
    Rng rng(5);
    const Tensor x = to(rand({40, sizes[0]}, rng, -1, 1), kEmulated);
    const Tensor seed = to(randn({40, sizes.back()}, rng), kEmulated);
    const std::vector<Tensor> all = inputs_of(Tensor(x).set_requires_grad(), there);
    const Grads expected = grad(mlp(x, there), all, false, seed);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Grads one = grad(mlp(x, there), {all[i]}, false, seed);
      EXPECT_EQ(to(one[0], Device{}).values<float>(), to(expected[i], Device{}).values<float>()) << i;
    }
  }
}

// Of 31 products the cache holds a tile for each multiprocessor, or less; so three turns are three chunks.
TEST_F(CudaMlp, AddsUpTheGradientsOfSeveralChunks) {
  Net net;
  net.sizes.assign(33, 16);
  net.sizes.front() = 2;
  net.sizes.back() = 1;
  net.rows = 3 * 64 * multiprocessors();
  expect_net(net, Precision::f32, 3, false);
}

// More rows than the multiprocessors take at a time: the larger tiles, several of them a block, and chunks.
TEST_F(CudaMlp, FillsTheDevice) {
  const std::int64_t rows = 256 * multiprocessors() + 17;
  for (const Precision p : kPrecisions)
    for (const Net& net : {Net{{2, 20, 24, 1}, MlpActivation::sine, 1, rows}, Net{{12, 24, 9}, {}, 1, rows}})
      expect_net(net, p, 3, false);
}

TEST_F(CudaMlp, NeedsNoMoreMemoryForMoreRows) {
  MlpStep step;
  step.pass = MlpPass::loss;
  step.depth = 3;
  step.layers = {MlpLayer{2, 64, MlpActivation::sine}, {64, 64, MlpActivation::sine}, {64, 1}};
  for (const Precision p : kPrecisions) {
    step.precision = p;
    // As many as keep all multiprocessors at work to the end.
    const std::size_t bytes = backend(kEmulated).mlp_workspace(step, multiprocessors() << 20, true);
    EXPECT_EQ(backend(kEmulated).mlp_workspace(step, std::int64_t{1} << 32, true), bytes);
  }
}

// What a kernel takes of the device is asked of it too.
TEST_F(CudaMlp, IsLaidOutByAThreadThatIsNewToTheDevice) {
  MlpStep step;
  step.pass = MlpPass::backward;
  step.depth = 1;
  step.layers = {MlpLayer{64, 64}};
  backend(kEmulated).synchronize();
  const std::size_t here = backend(kEmulated).mlp_workspace(step, 100, true);
  std::size_t there = 0;
  std::string refused;
  std::thread([&] {
    try {
      there = backend(kEmulated).mlp_workspace(step, 100, true);
    } catch (const Error& e) {
      refused = e.what();
    }
  }).join();
  EXPECT_EQ(there, here) << refused;
}

TEST_F(CudaMlp, KeepsANotANumberInItsRow) {
  for (const Precision p : kPrecisions) {
    const Layers there = as(make_layers({{2, 20, 20, 1}, MlpActivation::sine}), DType::f32, kEmulated);
    Rng rng(5);
    const Tensor points = rand({40, 2}, rng);
    slice(slice(points, 0, 7, 8), 1, 0, 1).assign(full({1, 1}, NAN));
    const Tensor x = to(points, kEmulated);
    const std::vector<float> y = to(mlp(x, there, p).detach(), Device{}).values<float>();
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i == 7) << i;
    EXPECT_TRUE(std::isnan(
        to(mlp_loss(x, there, to(zeros({40, 1}), kEmulated), {.precision = p}).loss.detach(), Device{})
            .item()));
  }
}

// Without an activation that has a limit. What stands for an f32 number in parts is finite in none of them.
TEST_F(CudaMlp, LetsNoRowWithAnInfinityBecomeFinite) {
  for (const Precision p : kPrecisions)
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{12, 20, 6}, std::vector<std::int64_t>{2, 20, 24, 3}}) {
      const Layers there = as(make_layers({sizes, MlpActivation::identity}), DType::f32, kEmulated);
      Rng rng(5);
      const Tensor points = rand({40, sizes[0]}, rng, -1, 1);
      const auto plant = [&](std::int64_t row, double number) {
        slice(slice(points, 0, row, row + 1), 1, 1, 2).assign(full({1, 1}, number));
      };
      plant(7, INFINITY);
      plant(9, -INFINITY);
      plant(11, NAN);
      const std::vector<float> y =
          to(mlp(to(points, kEmulated), there, p).detach(), Device{}).values<float>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t row = i / static_cast<std::size_t>(sizes.back());
        EXPECT_EQ(std::isfinite(y[i]), row != 7 && row != 9 && row != 11) << row << ", " << name_of(p);
      }
    }
}

TEST_F(CudaMlp, TakesNoRows) {
  const auto none = step_of(make_layers({{12, 20, 20, 1}}), 0, Precision::f32);
  EXPECT_TRUE(std::isnan(none[0][0]));
  for (std::size_t i = 2; i < none.size(); ++i)
    for (const float g : none[i]) EXPECT_EQ(g, 0);
}

TEST_F(CudaMlp, KeepsTf32FromTheCpu) {
  const Layers here = as(make_layers({{2, 20, 1}}), DType::f32, Device{});
  const std::string said = error_of<DeviceError>([&] { mlp(zeros({1, 2}), here, Precision::tf32); });
  EXPECT_NE(said.find("there are no tf32 products on cpu"), std::string::npos) << said;
}

}  // namespace
}  // namespace veldt::test
