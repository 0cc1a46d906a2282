// Quantised networks as ONNX graphs with QuantizeLinear and DequantizeLinear: what this program and
// onnxruntime, where a Python has it, make of them.
#include <gtest/gtest.h>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/compress/quantize.h"
#include "veldt/veldt.h"

namespace veldt::test {
namespace {

using namespace compress;

nn::Sequential network_of_pictures() {
  Rng rng(1);
  return nn::Sequential{nn::Conv2d(3, 16, 3, {.padding = 1}, rng),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Conv2d(16, 32, 3, {.stride = 2, .padding = 1, .groups = 2}, rng),
                        nn::ReLU(),
                        nn::Flatten(),
                        nn::Linear(32 * 2 * 2, 64, rng),
                        nn::Tanh(),
                        nn::Linear(64, 10, rng)};
}

// Its states become bytes at each step.
nn::Sequential network_of_sequences() {
  Rng rng(3);
  return nn::Sequential{nn::LSTM(8, 12, {.num_layers = 2, .batch_first = true, .bidirectional = true}, rng),
                        nn::LastStep(), nn::Linear(24, 10, rng)};
}

double largest_difference(const Tensor& a, const Tensor& b) { return (max(abs(a - b)) / max(abs(a))).item(); }

TEST(QuantizedExport, GivesTheSameNumbersElsewhere) {
  const NoGrad off;
  const TempDir dir;
  Rng rng(2);
  const Tensor x = rand({64, 3, 8, 8}, rng, -1, 1);
  const compress::QuantizeOptions kinds[] = {
      {}, {.method = Method::dynamic}, {.method = Method::weights}, {.bits = 4}};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    nn::Sequential network = network_of_pictures();
    network.eval();
    quantize(network, kinds[i], [&] { network(x); });
    link_layers(network, x);
    const Tensor wanted = network(x);
    unlink_layers(network);
    const std::string name = str("q", i);
    onnx::export_model(dir / (name + ".onnx"), network, {x});
    const onnx::Network read = onnx::load(dir / (name + ".onnx"));
    // A number at a half may become its neighbour: a step of one byte, in a few places.
    EXPECT_LT(largest_difference(wanted, read(x)), 0.02) << i;
    // Ranges that are found: integers are multiplied, and a row's range is its own.
    if (kinds[i].method == Method::dynamic) {
      EXPECT_NE(io::read_file(dir / (name + ".onnx")).find("MatMulInteger"), std::string::npos);
      EXPECT_LT(largest_difference(wanted[0], read(narrow(x, 0, 0, 1))[0]), 1e-3);
      EXPECT_LT(largest_difference(wanted, read(x)), 1e-3);
    }
    io::write_npz(dir / (name + ".npz"), {{"x", x}, {"y", wanted}});
  }
  const Tensor steps = randn({64, 5, 8}, rng);
  for (const Method method : {Method::calibrated, Method::dynamic}) {
    nn::Sequential reader = network_of_sequences();
    reader.eval();
    quantize(reader, {.method = method}, [&] { reader(steps); });
    const Tensor wanted = reader(steps);
    const std::string name = method == Method::dynamic ? "lstm_dynamic" : "lstm";
    onnx::export_model(dir / (name + ".onnx"), reader, {steps});
    EXPECT_LT(largest_difference(wanted, onnx::load(dir / (name + ".onnx"))(steps)), 0.02) << name;
    io::write_npz(dir / (name + ".npz"), {{"x", steps}, {"y", wanted}});
  }
  if (!python_has("numpy, onnx, onnxruntime"))
    GTEST_SKIP() << python() << " has no onnx and onnxruntime; set VELDT_PYTHON";
  EXPECT_EQ(run_python(str("-B ", VELDT_SOURCE, "/tests/app/qdq.py ", dir.path())), 0);
}

}  // namespace
}  // namespace veldt::test
