// Follows calls of kernels and modules.
#include "veldt/onnx/trace.h"

#include <algorithm>
#include <cstring>

#include "veldt/core/error.h"
#include "veldt/tensor/backends.h"

namespace veldt::onnx {
namespace {

constinit thread_local Tracer* t_tracer = nullptr;

}  // namespace

Tracer& tracing() { return *t_tracer; }
bool is_traced() { return dynamic_cast<const Tracer*>(t_interceptor) != nullptr; }

Tracer::Tracer(const NamedTensors& names, const nn::Module* root) : memory_(nodes_) {
  t_tracer = this;
  const InterceptorScope scope(this);  // it sees the memory of the views
  for (const auto& [name, tensor] : names) {
    if (tensor.device() != Device{})
      throw DeviceError(str(name, " is on ", tensor.device()), "a network is exported from host memory",
                        "move it first: module.to(Device{})");
    memory_.add_parameter(name, tensor.view());
  }
  if (root)
    for (const auto& [name, module] : root->named_modules()) paths_.try_emplace(module, name);
}

void Tracer::add_input(const std::string& name, const Tensor& tensor) {
  const InterceptorScope scope(this);
  const View view = tensor.view();
  const int value = nodes_.graph().add({.kind = TracedValue::Kind::input,
                                        .dtype = tensor.dtype(),
                                        .shape = {view.shape.begin(), view.shape.end()},
                                        .name = name});
  nodes_.graph().inputs.push_back(value);
  memory_.write(view, value);
}

void Tracer::add_output(const Tensor& tensor) {
  const InterceptorScope scope(this);
  const View view = tensor.view();
  nodes_.graph().outputs.push_back(memory_.read(view));
}

void Tracer::refuse(const std::string& what) {
  const TraceProblem problem{what, nodes_.place()};
  if (std::find(problems_.begin(), problems_.end(), problem) == problems_.end()) problems_.push_back(problem);
}

void Tracer::refuse_call() {
  for (std::size_t i = 0; i < call_->views().size(); ++i)
    if (const View& out = call_->views()[i]; call_->writes(i) && out.data != nullptr)
      memory_.write(out, nodes_.node("?", {}, out.dtype, {out.shape.begin(), out.shape.end()},
                                     {{"what", call_->name(*backend_)}}));
}

std::string Tracer::formula(Entry entry, int op) const { return backend_->formula_name(entry, op); }

void Tracer::remember_origin(const View& out, FixedOrigin origin) { origins_[out.data] = std::move(origin); }

const FixedOrigin* Tracer::origin_of(const View& view) const {
  const auto found = origins_.find(view.data);
  return found == origins_.end() || !memory_.is_fixed(view) ? nullptr : &found->second;
}

// Before the kernel runs: what it updates is still what it was.
void Tracer::on_call(const KernelCall& call, const Backend& backend) {
  if (whole_) return call.run(backend);
  call_ = &call;
  backend_ = &backend;
  t_tracer = this;
  bool is_fixed = true;
  const std::span<const View> views = call.views();
  for (std::size_t i = 0; i < views.size(); ++i)
    if (views[i].data != nullptr && (!call.writes(i) || call.facts().updates))
      is_fixed = is_fixed && memory_.is_fixed(views[i]);
  is_fixed = is_fixed && !call.is(Entry::random);
  for (std::size_t i = 0; i < views.size(); ++i)
    if (call.writes(i) && views[i].data != nullptr && memory_.is_parameter(views[i]))
      refuse(str("it writes into a parameter or buffer (", call.name(backend), ')'));
  // A copy of a parameter is the parameter, under its name.
  const bool copies_parameter =
      call.is(Entry::copy) && views[0].dtype == views[1].dtype && memory_.is_parameter(views[0]);
  if (is_fixed && !copies_parameter) {
    FixedOrigin origin{call.name(backend), {}, {}};
    if (call.is(Entry::unary)) {
      call.run(constants_backend());
      origin.scalars = last_constants();
    }
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (call.writes(i)) continue;
      origin.inputs.push_back(views[i]);
    }
    for (std::size_t i = 0; i < views.size(); ++i)
      if (call.writes(i) && views[i].data != nullptr) {
        memory_.write_fixed(views[i]);
        remember_origin(views[i], origin);
      }
  } else {
    call.run(tracing_backend());
  }
  call.run(backend);
}

void Tracer::on_transfer(const char* what, const Tensor* read) {
  // Nor do numbers that depend on no input: sizes, bounds.
  if (read != nullptr && memory_.is_fixed(read->view())) return;
  // New tensors of numbers, and checks of an index, say nothing of the inputs.
  for (const char* harmless :
       {"Tensor::from()", "Tensor::from_bytes()", "copying values from the host", "index_range()"})
    if (std::strcmp(what, harmless) == 0) return;
  // What item() and values() do after they have said so.
  if (std::strcmp(what, "reading values back") == 0) return;
  refuse(str("C++ code reads numbers by ", what));
}

void Tracer::on_begin(const nn::Module& module, const TensorList& inputs) {
  const auto found = paths_.find(&module);
  open_.push_back(found != paths_.end() ? found->second : open_.empty() ? "" : open_.back());
  nodes_.set_place(open_.back());
  if (!whole_ && is_one_node(module, inputs)) whole_ = &module;
}

void Tracer::on_call(const nn::Module& module, const TensorList& inputs, const TensorList& outputs) {
  if (whole_ == &module) {
    whole_ = nullptr;
    const InterceptorScope off(nullptr);
    trace_module(*this, module, inputs, outputs);
  }
  open_.pop_back();
  nodes_.set_place(open_.empty() ? "" : open_.back());
}

}  // namespace veldt::onnx
