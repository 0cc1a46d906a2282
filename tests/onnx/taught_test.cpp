// A network of another program, taught further here, and given back.
#include <gtest/gtest.h>

#include <string>

#include "tests/onnx/make_model.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/npy.h"
#include "veldt/nn/losses.h"
#include "veldt/onnx/export.h"
#include "veldt/onnx/network.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/close.h"
#include "veldt/ops/random.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {
namespace {

// Steps of plain gradient descent on a batch; returns the first loss and the last.
std::pair<double, double> teach(Network& net, const Tensor& x, const Tensor& labels, int steps, double rate) {
  double first = 0, last = 0;
  for (int step = 0; step < steps; ++step) {
    const Tensor loss = cross_entropy(net(x), labels);
    last = loss.item();
    if (step == 0) first = last;
    const std::vector<Tensor> parameters = net.parameters();
    const Grads slopes = grad(loss, parameters);
    const NoGrad off;
    for (std::size_t i = 0; i < slopes.size(); ++i)
      Tensor(parameters[i]).assign(parameters[i] - slopes[i] * rate);
  }
  return {first, last};
}

void expect_taught(const std::string& from, const std::string& to, const Tensor& x, std::int64_t classes,
                   double rate) {
  Network net = load(from);
  Rng rng(5);
  const auto [first, last] = teach(net, x, randint({x.size(0)}, rng, 0, classes), 8, rate);
  EXPECT_LT(last, 0.9 * first);
  EXPECT_LE(export_model(to, net, {x}).largest_difference, 1e-4);
  const NoGrad off;
  EXPECT_TRUE(allclose(load(to)(x), net(x), 1e-4, 1e-5));
  EXPECT_TRUE(allclose(net.frozen()(x), net(x), 1e-4, 1e-5));
}

TEST(OnnxTaught, ASmallNetworkGoesThereAndBack) {
  using namespace test;  // NOLINT: its names are those of messages
  const veldt::test::TempDir dir;
  Rng rng(1);
  const auto weights = [&](const char* name, const std::vector<std::int64_t>& dims) {
    std::int64_t count = 1;
    for (const std::int64_t d : dims) count *= d;
    return floats(name, dims, randn({count}, rng, 0, 0.3).values<float>());
  };
  io::write_file(
      dir / "a.onnx",
      model(
          graph({.nodes = {node("Conv", {"x", "w"}, {"c"}), node("Relu", {"c"}, {"r"}),
                           node("GlobalAveragePool", {"r"}, {"p"}), node("Flatten", {"p"}, {"f"}),
                           node("Gemm", {"f", "head", "bias"}, {"y"})},
                 .initializers = {weights("w", {8, 1, 3, 3}), weights("head", {8, 4}), weights("bias", {4})},
                 .inputs = {value("x", {-1, 1, 8, 8})},
                 .outputs = {value("y", {-1, 4})}})));
  expect_taught(dir / "a.onnx", dir / "b.onnx", randn({12, 1, 8, 8}, rng), 4, 1.0);
}

// PyTorch writes it, Veldt teaches it, onnxruntime runs what Veldt wrote.
TEST(SlowOnnxPeers, ANetworkOfPyTorchIsTaughtFurther) {
  if (!veldt::test::python_has("torch, torchvision, onnx, onnxruntime"))
    GTEST_SKIP() << veldt::test::python() << " has no torch, torchvision and onnxruntime; set VELDT_PYTHON";
  const veldt::test::TempDir dir;
  const std::string script = str("-B ", VELDT_SOURCE, "/tests/onnx/network_peers.py ");
  ASSERT_EQ(veldt::test::run_python(str(script, "write ", VELDT_BINARY, " ", dir.path())), 0);
  for (const char* name : {"resnet18", "mobilenet_v2"}) {
    const Tensor x = io::read_npy(dir / "x.npy");
    expect_taught(str(dir.path(), "/", name, ".onnx"), str(dir.path(), "/", name, "_taught.onnx"), x, 10,
                  0.02);
    const NoGrad off;
    io::write_npy(str(dir.path(), "/", name, ".npy"), load(str(dir.path(), "/", name, "_taught.onnx"))(x));
  }
  EXPECT_EQ(veldt::test::run_python(str(script, "compare ", VELDT_BINARY, " ", dir.path())), 0);
}

}  // namespace
}  // namespace veldt::onnx
