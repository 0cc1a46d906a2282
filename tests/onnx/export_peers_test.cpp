// Exported modules, checked by the onnx package and run by onnxruntime, where a Python has them: the same
// numbers to 1e-4, with batches of other sizes than those that were traced.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/module_table.h"
#include "tests/support/op_table.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/npy.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/sequential.h"
#include "veldt/onnx/export.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {
namespace {

using test::TempDir;
using namespace nn;

Tensor with_batch(const Tensor& x, int dim, std::int64_t batch) {
  std::vector<std::int64_t> rows;
  for (std::int64_t r = 0; r < batch; ++r) rows.push_back((r + 1) % x.size(dim));
  return index_select(x, dim, Tensor::from<std::int64_t>({batch}, rows));
}

// NAME.onnx, and NAME.npz with what the function gives for batches of 1 and 4.
void export_pair(const TempDir& dir, const std::string& name, const Exportable& function,
                 const NamedTensors& tensors, const TensorList& inputs, const std::vector<int>& batch_dims) {
  export_function(dir / (name + ".onnx"), function, tensors, inputs, {.batch_dims = batch_dims});
  const NoGrad off;
  NamedTensors arrays;
  for (const std::int64_t batch : {1, 4}) {
    TensorList given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      given.push_back(with_batch(inputs[i], batch_dims[i], batch));
      arrays.push_back({str('x', batch, '_', i), given.back()});
    }
    std::size_t i = 0;
    for (const Tensor& y : function(given)) arrays.push_back({str('y', batch, '_', i++), contiguous(y)});
  }
  io::write_npz(dir / (name + ".npz"), arrays);
}

int check_pairs(const TempDir& dir) {
  return test::run_python(str("-B ", VELDT_SOURCE, "/tests/onnx/peers.py ", dir.path()));
}

bool has_peers() { return test::python_has("numpy, onnx, onnxruntime"); }

#define NEEDS_PEERS() \
  if (!has_peers()) GTEST_SKIP() << test::python() << " has no onnx and onnxruntime; set VELDT_PYTHON"

TEST(SlowOnnxPeers, EveryModuleRunsInOnnxruntime) {
  NEEDS_PEERS();
  const TempDir dir;
  for (const test::ModuleRow& row : test::module_table()) {
    Rng rng(3);
    const auto module = row.make(rng);
    module->eval();
    const bool time_first =
        row.input == Shape{3, 2, 4} && row.name != "LastStep" && row.name != "PositionEmbedding";
    try {
      export_pair(dir, row.name, [&](const TensorList& in) { return TensorList{row.run(*module, in[0])}; },
                  module->state_dict(), {test::input_of(row)}, {time_first ? 1 : 0});
    } catch (const Error& error) {
      ADD_FAILURE() << row.name << ": " << error.what();
    }
  }
  EXPECT_EQ(check_pairs(dir), 0);
}

// Recurrent layers of each form, with first and last states, and several inputs and outputs.
TEST(SlowOnnxPeers, RecurrentLayersWithStatesRunInOnnxruntime) {
  NEEDS_PEERS();
  const TempDir dir;
  Rng rng(3);
  const auto add = [&](const std::string& name, const Module& layer, int layers) {
    for (const bool with_state : {false, true}) {
      TensorList inputs = {rand({3, 60, 4}, rng)};
      std::vector<int> dims = {0};
      for (int i = 0; with_state && i < (name.starts_with("lstm") ? 2 : 1); ++i) {
        inputs.push_back(rand({layers, 3, 5}, rng));
        dims.push_back(1);
      }
      const std::string file = str(name, with_state ? "_state" : "");
      export_pair(
          dir, file, [&](const TensorList& in) { return layer(in); }, layer.state_dict(), inputs, dims);
    }
  };
  const RecurrentOptions deep{.num_layers = 2, .batch_first = true, .bidirectional = true};
  add("lstm", LSTM(4, 5, deep, rng), 4);
  add("gru", GRU(4, 5, deep, rng), 4);
  add("gru_bare", GRU(4, 5, {.bias = false, .batch_first = true}, rng), 1);
  add("rnn", RNN(4, 5, {.num_layers = 2, .batch_first = true, .bidirectional = true}, rng), 4);
  add("rnn_relu", RNN(4, 5, {.nonlinearity = Nonlinearity::relu, .batch_first = true}, rng), 1);
  EXPECT_EQ(check_pairs(dir), 0);
}

TEST(SlowOnnxPeers, ParametersInAFileOfTheirOwnAreFound) {
  NEEDS_PEERS();
  const TempDir dir;
  Rng rng(3);
  const Sequential net{Linear(40, 30, rng), Tanh(), Linear(30, 20, rng)};
  const Tensor x = rand({4, 40}, rng);
  export_function(dir / "x.onnx", [&](const TensorList& in) { return TensorList{net(in[0])}; },
                  net.state_dict(), {x}, {.most_inside = 1000});
  ASSERT_GT(io::read_file(dir / "x.onnx.data").size(), 7000u);
  const NoGrad off;
  io::write_npz(dir / "x.npz", {{"x4_0", x}, {"y4_0", net(x)}});
  EXPECT_EQ(check_pairs(dir), 0);
}

// Ops that have no form in ONNX, and why.
const std::map<std::string, std::string>& ops_without_form() {
  static const std::map<std::string, std::string> ops = {
      {"rand", "draws numbers"},
      {"randn", "draws numbers"},
      {"randint", "draws numbers"},
      {"randperm", "draws numbers"},
      {"bernoulli", "draws numbers"},
      {"multinomial", "draws numbers"},
      {"nonzero", "its size depends on the numbers"},
      {"masked_select", "its size depends on the numbers"},
      {"lstm_steps", "one case reads the cell's states of all steps"},
      {"diag", "writes a list across the rows of a matrix"}};
  return ops;
}

TEST(SlowOnnxPeers, EveryOpRunsInOnnxruntime) {
  NEEDS_PEERS();
  const TempDir dir;
  std::map<std::string, std::string> refused;
  for (const test::OpRow& row : test::op_table()) {
    int number = 0;
    for (const test::OpCase& op_case : row.cases) {
      const std::string name = str(test::test_name(row), '_', number++);
      TensorList inputs;
      const std::vector<test::Values> values = test::inputs_for(row, op_case);
      for (std::size_t i = 0; i < values.size(); ++i)
        inputs.push_back(test::write(values[i], test::dtype_of_input(row, i, DType::f32)));
      const Exportable run = [&](const TensorList& in) {
        return TensorList{op_case.run(std::vector<Tensor>(in.begin(), in.end()))};
      };
      try {
        export_function(dir / (name + ".onnx"), run, {}, inputs, {.dynamic_batch = false});
        const NoGrad off;
        NamedTensors arrays = {{"y1_0", contiguous(run(inputs)[0])}};
        for (std::size_t i = 0; i < inputs.size(); ++i) arrays.push_back({str("x1_", i), inputs[i]});
        io::write_npz(dir / (name + ".npz"), arrays);
      } catch (const Error& error) {
        refused[row.name] = str(op_case.label, ": ", error.what());
      }
    }
  }
  for (const auto& [name, why] : refused)
    EXPECT_TRUE(ops_without_form().contains(name)) << name << ' ' << why;
  for (const auto& [name, why] : ops_without_form())
    EXPECT_TRUE(refused.contains(name)) << name << " has one";
  EXPECT_EQ(check_pairs(dir), 0);
}

}  // namespace
}  // namespace veldt::onnx
