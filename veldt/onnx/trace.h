// Runs a module and writes down, as nodes of ONNX, what it asks of the waist (core/backend.h): every
// kernel call becomes nodes; views of memory become Reshape, Transpose, Slice and their like; numbers
// that depend on no input become constants. ops and nn know nothing of it (docs/decisions/019).
// Tests: tests/onnx/export_test.cpp
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "veldt/nn/module.h"
#include "veldt/onnx/trace_memory.h"
#include "veldt/tensor/intercept.h"

namespace veldt::onnx {

// What has no form in ONNX, and the module that asked for it.
struct TraceProblem {
  std::string what, place;
  friend bool operator==(const TraceProblem&, const TraceProblem&) = default;
};

// How a fixed number was computed, for patterns such as a batch norm's.
struct FixedOrigin {
  std::string formula;
  Scalars scalars;
  std::vector<View> inputs;
};

class Tracer final : public Interceptor, public nn::CallListener {
 public:
  // `names`: of parameters and buffers. `root`: for the paths of modules; may be null.
  Tracer(const NamedTensors& names, const nn::Module* root);

  void add_input(const std::string& name, const Tensor& tensor);
  void add_output(const Tensor& tensor);

  TraceNodes& nodes() { return nodes_; }
  TraceMemory& held() { return memory_; }
  const std::vector<TraceProblem>& problems() const { return problems_; }
  // For the functions of entries: the call that is traced has no form in ONNX. The trace goes on, to find all
  // of them: what it writes are values of an operator "?", whose attribute "what" names it.
  void refuse_call();
  // The name of a formula: "tanh".
  std::string formula(Entry entry, int op) const;
  void remember_origin(const View& out, FixedOrigin origin);
  // Of the fixed number that was written at the start of this view; null for none.
  const FixedOrigin* origin_of(const View& view) const;

  void on_call(const KernelCall& call, const Backend& backend) override;
  void on_view(const std::shared_ptr<Storage>& storage) override { memory_.keep(storage); }
  void on_transfer(const char* what, const Tensor* read) override;
  void on_begin(const nn::Module& module, const TensorList& inputs) override;
  void on_call(const nn::Module& module, const TensorList& inputs, const TensorList& outputs) override;

 private:
  void refuse(const std::string& what);

  TraceNodes nodes_;
  TraceMemory memory_;
  std::map<const nn::Module*, std::string> paths_;
  std::vector<std::string> open_;  // the paths of the modules that are running, the innermost last
  // A module that is a node itself: what it computes is not traced.
  const nn::Module* whole_ = nullptr;
  std::vector<TraceProblem> problems_;
  std::map<const void*, FixedOrigin> origins_;
  const KernelCall* call_ = nullptr;
  const Backend* backend_ = nullptr;
};

// The tracer whose entries are being called on this thread.
Tracer& tracing();

// Whether a tracer sees the calls of this thread.
bool is_traced();

// Entries of the waist that trace a call, each with its own arguments: the table, and the files that fill it.
const Backend& tracing_backend();
void trace_elementwise(Backend& table);
void trace_reductions(Backend& table);
void trace_lookups(Backend& table);
void trace_products(Backend& table);
void trace_windows(Backend& table);
void trace_sequences(Backend& table);
void trace_fields(Backend& table);
// Modules that are nodes themselves: RNN and GRU, whose steps would be written one by one. It is asked before
// the call whether this one is, and traced after it.
bool is_one_node(const nn::Module& module, const TensorList& inputs);
void trace_module(Tracer& tracer, const nn::Module& module, const TensorList& inputs,
                  const TensorList& outputs);
// A weight of gates [gates * hidden, columns], its blocks of rows in this order, [1, gates * hidden,
// columns]: if it is a number, one that is named after the parameter whose rows it has, and the `suffix`.
int gate_weight(TraceNodes& nodes, int weight, std::int64_t hidden, const std::vector<std::int64_t>& order,
                const std::string& suffix);
// Its one entry, unary, keeps the constants of a fixed call.
const Backend& constants_backend();
Scalars last_constants();

}  // namespace veldt::onnx
