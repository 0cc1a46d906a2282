// Exported modules, checked by the onnx package and run by onnxruntime, where a Python has them: the same
// numbers to 1e-4, with batches of other sizes than those that were traced.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/module_table.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/npy.h"
#include "veldt/onnx/export.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {
namespace {

using test::TempDir;

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

}  // namespace
}  // namespace veldt::onnx
