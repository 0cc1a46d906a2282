// Runs prepared graphs.
#include "veldt/onnx/program.h"

#include <algorithm>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/onnx/frozen_convolution.h"
#include "veldt/ops/index.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {

namespace {

// How deep bodies and functions may be nested, so that no file can exhaust the stack.
constexpr int kMaxRunDepth = 64;
thread_local int t_depth = 0;

class Depth {
 public:
  Depth() {
    if (++t_depth > kMaxRunDepth) {
      --t_depth;
      throw Error(str("graphs are nested deeper than ", kMaxRunDepth),
                  "bodies and functions contain each other", "export the model with fewer of them");
    }
  }
  ~Depth() { --t_depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

}  // namespace

void Program::find_last_uses() {
  std::vector<int> last(slot_count_, -1);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const int slot : steps_[i].inputs)
      if (slot >= 0) last[static_cast<std::size_t>(slot)] = static_cast<int>(i);
    for (const auto& [name, body] : steps_[i].bodies)
      for (const auto& [inner, slot] : body->captured_)
        last[static_cast<std::size_t>(slot)] = static_cast<int>(i);
    for (const int slot : steps_[i].outputs)  // until a later step reads it
      if (slot >= 0) last[static_cast<std::size_t>(slot)] = static_cast<int>(i);
    steps_[i].done.clear();
  }
  for (const int slot : output_slots_) last[static_cast<std::size_t>(slot)] = -1;
  for (std::size_t slot = 0; slot < last.size(); ++slot)
    if (last[slot] >= 0) steps_[static_cast<std::size_t>(last[slot])].done.push_back(static_cast<int>(slot));
}

Values Program::run_step(const Step& step, const Context& context, Values& slots) const {
  Values inputs;
  inputs.reserve(step.inputs.size());
  for (const int slot : step.inputs)
    inputs.push_back(slot < 0 ? Value() : slots[static_cast<std::size_t>(slot)]);
  // What nothing reads any more may be reused by the operator; a body reads slots while it runs.
  if (step.bodies.empty())
    for (const int slot : step.done) slots[static_cast<std::size_t>(slot)] = Value();
  if (step.function) return step.function->run(context, std::move(inputs), slots);
  struct StepBodies final : Bodies {
    const Step& step;
    const Context& context;
    const Values& slots;
    StepBodies(const Step& s, const Context& c, const Values& v) : step(s), context(c), slots(v) {}
    const Program& body(std::string_view attribute) const {
      for (const auto& [name, program] : step.bodies)
        if (name == attribute) return *program;
      throw Error(str(step.node.op, " has no graph named ", attribute), "the operator runs it",
                  "export the model again");
    }
    Values run(std::string_view attribute, Values values) override {
      return body(attribute).run(context, std::move(values), slots);
    }
    const std::vector<ValueInfo>& outputs(std::string_view attribute) override {
      return body(attribute).outputs();
    }
  } bodies(step, context, slots);
  const Call call(step.node, step.opset, inputs, bodies, context.rng);
  if (!step.frozen) return step.entry->run(call);
  return step.frozen->run(call, step.entry->run, context.keeps_nan);
}

void Program::run_to_slots(const Step& step, const Context& context, Values& slots) const {
  try {
    Values results = run_step(step, context, slots);
    if (context.listener != nullptr) (*context.listener)(step.node, results);
    for (std::size_t i = 0; i < step.outputs.size() && i < results.size(); ++i)
      if (step.outputs[i] >= 0) slots[static_cast<std::size_t>(step.outputs[i])] = std::move(results[i]);
    if (!step.bodies.empty())
      for (const int slot : step.done) slots[static_cast<std::size_t>(slot)] = Value();
  } catch (Error& error) {
    if (error.place().outermost == nullptr && context.owner != nullptr) {
      Error::Place place;
      place.path =
          step.node.name.empty() && !step.node.outputs.empty() ? step.node.outputs.front() : step.node.name;
      place.title = step.node.op;
      place.outermost = context.owner;
      error.set_place(std::move(place));
    }
    throw;
  }
}

// What lies between the steps of a few examples stays in the caches; of a large batch it would not.
bool Program::run_head(const Context& context, Values& slots) const {
  if (head_.steps == 0 || context.listener != nullptr) return false;
  const Value& input = slots[static_cast<std::size_t>(head_.input)];
  if (!input.is_tensor()) return false;
  const Tensor x = input.tensor();
  if (x.rank() != 4 || x.numel() == 0 || (grad_enabled() && x.requires_grad())) return false;
  if (!freezes_convolutions(x)) return false;
  const Tensor weight = slots[static_cast<std::size_t>(head_.weight)].tensor();
  if (x.dtype() != DType::f32 || weight.dtype() != x.dtype() || weight.device() != x.device()) return false;
  constexpr std::int64_t kNumbers = 1 << 18;  // of x, that are enough to keep the threads busy
  const std::int64_t each = threads_here() * x.numel() / x.size(0),
                     share = threads_here() * std::max<std::int64_t>(1, kNumbers / each);
  if (share >= x.size(0)) return false;
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin < x.size(0); begin += share) {
    Values own = slots;
    own[static_cast<std::size_t>(head_.input)] =
        Value(slice(x, 0, begin, std::min(begin + share, x.size(0))), input.type());
    for (std::size_t i = 0; i < head_.steps; ++i) run_to_slots(steps_[i], context, own);
    parts.push_back(own[static_cast<std::size_t>(head_.output)].tensor());
  }
  slots[static_cast<std::size_t>(head_.output)] = Value(cat(parts, 0));
  return true;
}

Values Program::run(const Context& given, Values inputs, const Values& outer) const {
  const Depth depth;
  Context context = given;
  if (bounds_frozen_)
    for (const Value& input : inputs)
      context.keeps_nan |= input.is_tensor() && !is_seen_finite(input.tensor());
  if (inputs.size() > input_slots_.size())
    throw Error(str("a graph was given ", inputs.size(), " inputs"), str("it takes ", input_slots_.size()),
                "give it as many as it lists");
  Values slots(slot_count_);
  const bool recorded = grad_enabled();
  std::optional<EnableGrad> recording;
  if (!watched_.empty()) recording.emplace();
  // A value that is watched and has no graph yet begins one.
  const auto watch = [&](int slot) {
    Value& value = slots[static_cast<std::size_t>(slot)];
    if (!value.is_tensor() || !is_float(value.tensor().dtype()) || value.tensor().requires_grad()) return;
    value = Value(value.tensor().detach().set_requires_grad(), value.type());
  };
  for (const auto& [slot, place] : constants_)
    slots[static_cast<std::size_t>(slot)] = context.constants[place].value();
  for (const auto& [slot, from] : captured_)
    slots[static_cast<std::size_t>(slot)] = outer[static_cast<std::size_t>(from)];
  // An input that is not given keeps the constant of its name, if there is one.
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].present()) slots[static_cast<std::size_t>(input_slots_[i])] = std::move(inputs[i]);
  for (const int slot : watched_) watch(slot);
  for (std::size_t i = run_head(context, slots) ? head_.steps : 0; i < steps_.size(); ++i) {
    run_to_slots(steps_[i], context, slots);
    for (const int slot : watched_)
      if (std::count(steps_[i].outputs.begin(), steps_[i].outputs.end(), slot) > 0) watch(slot);
  }
  Values out;
  out.reserve(output_slots_.size());
  for (const int slot : output_slots_) {
    const Value& value = slots[static_cast<std::size_t>(slot)];
    const bool cut = recording && !recorded && value.is_tensor();
    out.push_back(cut ? Value(value.tensor().detach(), value.type()) : value);
  }
  return out;
}

}  // namespace veldt::onnx
