// Traces a module with several batches, makes one graph of the traces, checks it and writes it.
#include "veldt/onnx/export.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/nn/evaluating.h"
#include "veldt/onnx/network.h"
#include "veldt/onnx/trace.h"
#include "veldt/onnx/write.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {
namespace {

// Primes, so that a size which happens to be a multiple of one is none of the next.
const std::vector<std::int64_t> kBatches = {2, 3, 5};

// One run of what is exported.
struct Run {
  TensorList inputs, outputs;
  TracedGraph graph;
};

// Runs a file's bytes as the reader of this folder does; its external data lie beside `path`.
std::function<TensorList(const std::string&, const TensorList&)> own_reader(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return [path, folder, network = std::shared_ptr<Network>()](const std::string& bytes,
                                                              const TensorList& inputs) mutable {
    if (!network) network = std::make_shared<Network>(parse_model(bytes, path, folder));
    return network->forward_list(inputs);
  };
}

std::uint64_t bytes_of(const TracedGraph& graph, const std::vector<int>& values) {
  std::uint64_t bytes = 0;
  for (const int v : values) bytes += content_of(graph[v]).size();
  return bytes;
}

// Of inputs with 8 and 5 rows, which dimension counts examples is not for us to guess.
void check_that_all_count_alike(const TensorList& given, const std::vector<int>& batch_dims) {
  std::int64_t count = -1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (batch_dims[i] < 0) continue;
    const std::int64_t own = given[i].size(batch_dims[i]);
    if (count >= 0 && own != count) {
      std::string shapes;
      for (const Tensor& input : given) shapes += str(shapes.empty() ? "" : ", ", input.shape());
      throw ShapeError(
          "it is not clear which dimensions of the inputs count the examples",
          str("the first ones are taken unless batch_dims says others, and they differ: ", shapes),
          "give batch_dims, {0, -1} for example, where -1 is an input without; or "
          "dynamic_batch = false");
    }
    count = own;
  }
}

// Names that are given have to be names, each of one value.
void check_names(const ExportOptions& options, std::size_t inputs, std::size_t outputs) {
  std::set<std::string> taken;
  const auto check = [&](const char* what, const std::vector<std::string>& names, std::size_t count) {
    if (names.size() > count)
      throw ConfigError(str("there are ", names.size(), " names for ", count, ' ', what), "each has one",
                        "give one for each, or none");
    for (const std::string& name : names)
      if (name.empty() || !taken.insert(name).second)
        throw ConfigError(str("the name '", name, "' is no name of one of the ", what),
                          name.empty() ? "it is empty" : "it is there twice", "give each its own");
  };
  check("inputs", options.input_names, inputs);
  check("outputs", options.output_names, outputs);
}

// How far two tensors are apart, relative to the larger of `least` and the largest number wanted; infinitely
// for other shapes. NaN is equal to NaN.
double difference(const Tensor& wanted, const Tensor& got, double least) {
  if (wanted.shape() != got.shape()) return std::numeric_limits<double>::infinity();
  const std::vector<double> a = to(wanted, DType::f64).values<double>(),
                            b = to(got, DType::f64).values<double>();
  double scale = least, largest = 0;
  for (const double v : a) scale = std::max(scale, std::isfinite(v) ? std::abs(v) : 0);
  for (std::size_t k = 0; k < a.size(); ++k) {
    const bool equal = a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]));
    const double apart = equal ? 0 : std::abs(a[k] - b[k]) / scale;
    largest = std::max(largest, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
  }
  return largest;
}

std::uint64_t write_data(const std::string& path, const TracedGraph& graph, const std::vector<int>& values) {
  io::AtomicFile file(path);
  std::uint64_t bytes = 0;
  const std::string nothing(kDataAlignment, '\0');
  for (const int v : values) {
    const std::string_view content = content_of(graph[v]);
    file.write(content.data(), content.size());
    const std::uint64_t rest = (kDataAlignment - content.size() % kDataAlignment) % kDataAlignment;
    file.write(nothing.data(), rest);
    bytes += content.size() + rest;
  }
  file.commit();
  return bytes;
}

// What the results of a graph may differ by, relative to the largest number, or to `least`.
struct Allowed {
  double difference = 0, least = 1;
};

// Steps of bytes are parts of the largest number, however small it is; the least is for zeros alone.
Allowed allowed_of(const ExportOptions& options, const TracedGraph& graph) {
  const bool rounds = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                  [](const TracedNode& n) { return n.op == "QuantizeLinear"; });
  return {options.tolerance.value_or(rounds ? 0.02 : 1e-4), rounds ? 1e-9 : 1};
}

class Export {
 public:
  Export(const Exportable& function, const NamedTensors& tensors, const nn::Module* module,
         const TensorList& inputs, const ExportOptions& options)
      : function_(function), tensors_(tensors), module_(module), given_(inputs), options_(options) {
    const std::vector<int>& told = options.batch_dims;
    if (told.size() > inputs.size())
      throw ShapeError(str("batch_dims has ", told.size(), " dimensions for ", inputs.size(), " inputs"),
                       "it has one for each, in their order", "give one for each input, or none");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int dim = i < told.size() ? told[i] : inputs[i].rank() > 0 ? 0 : -1;
      if (dim >= inputs[i].rank() || dim < -1)
        throw ShapeError(str("input ", i, " of ", inputs[i].shape(), " has no dimension ", dim),
                         "batch_dims names the one that counts the examples", "give -1 for an input without");
      if (options.dynamic_batch && dim >= 0 && inputs[i].size(dim) == 0)
        throw ShapeError(str("input ", i, " of ", inputs[i].shape(), " is no example"),
                         "batches of other sizes are made of it, and it has none", "give one of 1 or more");
      batch_dims_.push_back(options.dynamic_batch ? dim : -1);
    }
    if (told.size() < inputs.size()) check_that_all_count_alike(inputs, batch_dims_);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (batch_dims_[i] >= 0 && source_.input < 0) source_ = {static_cast<int>(i), batch_dims_[i]};
  }

  Exported write(const std::string& path) {
    const NoGrad off;
    std::vector<std::int64_t> batches = {0};
    if (source_.input >= 0) batches = kBatches;
    for (const std::int64_t batch : batches) runs_.push_back(run(batch));
    check_names(options_, given_.size(), runs_[0].outputs.size());
    check_problems(simplified(runs_[0].graph));
    std::vector<TracedGraph> graphs;
    for (Run& r : runs_) graphs.push_back(std::move(r.graph));
    BatchedGraph model = unified(graphs, batches, source_.input >= 0 ? source_ : BatchSource{});
    model.graph = simplified(model.graph);
    allowed_ = allowed_of(options_, model.graph);
    const std::string name = path.substr(path.find_last_of('/') + 1);
    WriteOptions how{kExportedOpset,    options_.graph_name,  options_.input_names, options_.output_names,
                     options_.metadata, options_.most_inside, name + ".data"};
    const WrittenModel file = written(model, how);
    Exported result{.nodes = std::ssize(model.graph.nodes),
                    .bytes = file.bytes.size(),
                    .dynamic_batch = source_.input >= 0};
    // What is checked has all numbers inside, so that nothing is written before; protobuf ends at 4 GB.
    constexpr std::uint64_t kMostChecked = std::uint64_t{3500} << 20;
    how.most_inside = std::numeric_limits<std::uint64_t>::max();
    if (file.outside.empty())
      result.largest_difference = checked(file.bytes, path);
    else if (bytes_of(model.graph, file.outside) < kMostChecked)
      result.largest_difference = checked(written(model, how).bytes, path);
    if (!file.outside.empty()) result.bytes += write_data(path + ".data", model.graph, file.outside);
    io::write_file(path, file.bytes);
    return result;
  }

 private:
  // The inputs with so many examples; 0: as they are.
  TensorList examples(std::int64_t batch) const {
    TensorList inputs;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      Tensor x = contiguous(given_[i].detach());
      if (batch > 0 && batch_dims_[i] >= 0) {
        std::vector<std::int64_t> rows;
        const std::int64_t count = x.size(batch_dims_[i]);
        for (std::int64_t r = 0; r < batch; ++r) rows.push_back(r % std::max<std::int64_t>(1, count));
        x = index_select(x, batch_dims_[i], Tensor::from<std::int64_t>({batch}, rows));
      }
      inputs.push_back(clone(x));
    }
    return inputs;
  }

  Run run(std::int64_t batch) {
    Run r;
    r.inputs = examples(batch);
    Tracer tracer(tensors_, module_);
    for (std::size_t i = 0; i < r.inputs.size(); ++i) tracer.add_input(str("input_", i), r.inputs[i]);
    try {
      const InterceptorScope scope(&tracer);
      r.outputs = function_(r.inputs);
    } catch (const Error& error) {
      if (batch > 0) refuse_batch(batch, error);
      throw;
    }
    std::erase_if(r.outputs, [](const Tensor& t) { return !t.defined(); });
    for (const Tensor& output : r.outputs) tracer.add_output(output);
    if (problems_.empty()) problems_ = tracer.problems();
    r.graph = std::move(tracer.nodes().graph());
    return r;
  }

  // Throws what the module says to the inputs as they were given, if it does not take those either.
  [[noreturn]] void refuse_batch(std::int64_t batch, const Error& error) const {
    function_(examples(0));
    throw ShapeError(
        str("the network cannot be exported for every batch size: it takes the example of ",
            given_[static_cast<std::size_t>(source_.input)].shape(), ", but not ", batch, " of them"),
        str(error.summary(), "; ", error.why()),
        "export it for one size, by dynamic_batch = false; or say by batch_dims which dimension counts "
        "the examples, -1 for none");
  }

  void check_problems(const TracedGraph& graph) {
    for (const TracedNode& node : graph.nodes)
      if (node.op == "?")
        if (const TraceProblem p{std::get<std::string>(node.attributes[0].second),
                                 graph.places[static_cast<std::size_t>(node.place)]};
            std::find(problems_.begin(), problems_.end(), p) == problems_.end())
          problems_.push_back(p);
    if (problems_.empty()) return;
    std::string list;
    for (const auto& [what, place] : problems_)
      list += str(list.empty() ? "" : "; ", what, place.empty() ? "" : " in ", place);
    throw Error("the network cannot be exported", list, "replace these by layers that have a form in ONNX");
  }

  double checked(const std::string& bytes, const std::string& path) const {
    double largest = 0;
    const auto run = options_.run ? options_.run : own_reader(path);
    for (const Run& r : runs_) {
      const TensorList found = run(bytes, r.inputs);
      for (std::size_t i = 0; i < r.outputs.size(); ++i) {
        const double apart = difference(r.outputs[i], found.at(i), allowed_.least);
        largest = std::max(largest, apart);
        if (apart > allowed_.difference)
          throw Error(str("the exported network does not give what this one gives: output ", i, " of ",
                          r.inputs.empty() ? Shape{} : r.inputs[0].shape()),
                      str("it gives ", found[i].shape(), ", and differs by ", apart, " where ",
                          allowed_.difference, " is allowed"),
                      "nothing was written; please report the network's layers");
      }
    }
    return largest;
  }

  const Exportable& function_;
  const NamedTensors& tensors_;
  const nn::Module* module_;
  const TensorList& given_;
  const ExportOptions& options_;
  std::vector<int> batch_dims_;
  BatchSource source_{-1, 0};
  std::vector<Run> runs_;
  std::vector<TraceProblem> problems_;
  Allowed allowed_;
};

}  // namespace

Exported export_model(const std::string& path, nn::Module& module, const TensorList& inputs,
                      const ExportOptions& options) {
  const nn::Evaluating evaluation(module);
  const NamedTensors tensors = module.state_dict();
  const Exportable call = [&](const TensorList& in) {
    return in.size() == 1 ? TensorList{module(in[0])} : module(in);
  };
  return Export(call, tensors, &module, inputs, options).write(path);
}

Exported export_function(const std::string& path, const Exportable& function, const NamedTensors& tensors,
                         const TensorList& inputs, const ExportOptions& options) {
  return Export(function, tensors, nullptr, inputs, options).write(path);
}

}  // namespace veldt::onnx
