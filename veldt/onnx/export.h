// Modules as ONNX files, for whatever runs them next.
//   onnx::export_model("digits.onnx", net, {batch});
// The module runs in evaluation mode without gradients, with batches of a few sizes, and what its ops compute
// is written down (docs/onnx.md). The file's batch has any size.
// Tests: tests/onnx/export_test.cpp, tests/onnx/export_peers_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::onnx {

// The version of ONNX's operators that is written.
inline constexpr std::int64_t kExportedOpset = 18;

struct ExportOptions {
  // "input" and "output" unless given; several are numbered: "input_0". None may be empty or there twice.
  std::vector<std::string> input_names = {}, output_names = {};
  // The dimension of each input that counts the examples, -1 for an input without. Unless given it is the
  // first one, which has to have the same size in all inputs then.
  std::vector<int> batch_dims = {};
  // false: the file takes batches of the size of the given inputs alone.
  bool dynamic_batch = true;
  std::string graph_name = "veldt";
  // For people and programs: entries of the file's metadata.
  std::map<std::string, std::string> metadata = {};
  // A model of this many bytes of parameters or more has them in a file beside it, PATH.data: protobuf's
  // limit is 2 GB.
  std::uint64_t most_inside = std::uint64_t{2000} << 20;
  // Runs the bytes of a model, with all its parameters inside, on inputs; unless given, onnx::Network does.
  // What it returns must be within `tolerance` of what the module gives, for each batch that was tried:
  // relative to the largest number, or to 1 if that is larger and no numbers become bytes.
  std::function<TensorList(const std::string& model, const TensorList& inputs)> run = {};
  // Unless given 1e-4; in a graph where numbers become bytes 0.02, because one at a half may become the byte
  // beside it.
  std::optional<double> tolerance = {};
};

struct Exported {
  std::int64_t nodes = 0;
  std::uint64_t bytes = 0;  // of all files
  bool dynamic_batch = false;
  double largest_difference = 0;  // between what the file gives and what the module gives
};

// Writes the file. `inputs`: an example of what the module takes, real enough for its checks (an index must
// be in range). Throws Error that lists all that has no form in ONNX, with the modules that ask for it; Error
// with the place if the steps depend on the batch's size; ShapeError as the module does, for one that takes
// the given batch alone, and for inputs of which it is not clear what counts the examples; IoError
// unwritable.
Exported export_model(const std::string& path, nn::Module& module, const TensorList& inputs,
                      const ExportOptions& options = {});

// What is exported may also be a function. Its tensors get the names given here.
using Exportable = std::function<TensorList(const TensorList& inputs)>;
Exported export_function(const std::string& path, const Exportable& function, const NamedTensors& tensors,
                         const TensorList& inputs, const ExportOptions& options = {});

}  // namespace veldt::onnx
