// Folding, over the steps of a program. Bodies of If, Loop and Scan, and functions, stay as they are.
#include "veldt/onnx/optimize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/onnx/frozen_convolution.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {

namespace {

// Since then an Add, Sub, Mul or Div aligns its operands from the right; before, an axis may be given.
constexpr std::int64_t kBroadcasts = 7;

// A constant may be as large as this, or four times what it is made of.
constexpr std::int64_t kMaxFolded = std::int64_t{1} << 20;

bool draws_numbers(const Node& node) {
  return node.op.find("Random") != std::string::npos || node.op == "Bernoulli" || node.op == "Multinomial" ||
         node.op == "Dropout";
}

// Whether an operator makes something as large as its inputs say, and they say it is large.
bool may_grow(const Node& node, const Values& inputs) {
  static const std::set<std::string> kGrowing = {
      "ConstantOfShape", "Expand",        "Tile",    "Range",      "Resize",        "Upsample",
      "OneHot",          "Pad",           "EyeLike", "HannWindow", "HammingWindow", "BlackmanWindow",
      "MelWeightMatrix", "CenterCropPad", "Col2Im",  "MaxUnpool",  "AffineGrid",    "DFT"};
  if (!kGrowing.contains(node.op)) return false;
  for (const Value& input : inputs) {
    if (!input.is_tensor() || input.tensor().numel() > 16) continue;
    double product = 1;
    for (const double v : to(input.tensor(), DType::f64).values<double>())
      product *= std::max(1.0, std::fabs(v));
    if (!(product <= static_cast<double>(kMaxFolded))) return true;
  }
  return false;
}

std::int64_t elements(const Value& value) { return value.is_tensor() ? value.tensor().numel() : 0; }

}  // namespace

struct Program::Optimizer {
  std::shared_ptr<Program> program;
  std::vector<Constant>& constants;
  std::map<int, std::size_t> constant_of = {};
  std::vector<int> uses = {};  // of each slot, by steps, bodies and as a result

  void count_uses() {
    uses.assign(program->slot_count_, 0);
    for (const Step& step : program->steps_) {
      for (const int slot : step.inputs)
        if (slot >= 0) ++uses[static_cast<std::size_t>(slot)];
      for (const auto& [name, body] : step.bodies)
        for (const auto& [inner, slot] : body->captured_) ++uses[static_cast<std::size_t>(slot)];
    }
    for (const int slot : program->output_slots_) ++uses[static_cast<std::size_t>(slot)];
  }

  int add_constant(const Value& value) {
    const int slot = static_cast<int>(program->slot_count_++);
    set_constant(slot, value);
    return slot;
  }
  void set_constant(int slot, const Value& value) {
    Constant constant;
    constant.type = value.type();
    if (value.is_tensor())
      constant.tensor = value.tensor();
    else
      constant.other = value;
    constant_of[slot] = constants.size();
    program->constants_.emplace_back(slot, constants.size());
    constants.push_back(std::move(constant));
  }

  void run() {
    for (const auto& [slot, place] : program->constants_) constant_of[slot] = place;
    program->overridable_.clear();  // what is folded does not change any more
    program->input_slots_.resize(program->inputs_.size());
    Rng unused(0);
    fold({constants, unused, nullptr, nullptr});
    absorb();
    fuse();
    program->find_last_uses();
    find_head();
  }
  void fold(const Context& context);
  void absorb();
  // Puts scale and shift (undefined: none) of each channel into the convolution.
  bool scale(Step& conv, const Tensor& factor, const Tensor& shift);
  bool absorb_into(Step& conv, const Step& next);
  bool keeps_finite(const Step& step) const;
  void fuse();
  void remove(const std::set<std::size_t>& gone);
  void find_head();
  // Whether the bounds of a Relu or a Clip, which follows, are known and those of `conv` from now on.
  bool bound(FrozenConvolution& conv, const Step& next) const;
  Tensor constant(int slot) const {
    const auto found = slot < 0 ? constant_of.end() : constant_of.find(slot);
    return found == constant_of.end() ? Tensor() : constants[found->second].tensor;
  }
};

void Program::Optimizer::fold(const Context& context) {
  std::vector<Step> kept;
  Values slots(program->slot_count_);
  for (Step& step : program->steps_) {
    const auto known = [&](int slot) { return slot < 0 || constant_of.contains(slot); };
    bool all = step.bodies.empty() && !step.function && !step.inputs.empty() && !draws_numbers(step.node) &&
               std::all_of(step.inputs.begin(), step.inputs.end(), known);
    Values results;
    if (all) {
      std::int64_t from = kMaxFolded;
      for (const int slot : step.inputs) {
        if (slot < 0) continue;
        slots[static_cast<std::size_t>(slot)] = constants[constant_of.at(slot)].value();
        from = std::max(from, 4 * elements(slots[static_cast<std::size_t>(slot)]));
      }
      Values given;
      for (const int slot : step.inputs)
        if (slot >= 0) given.push_back(slots[static_cast<std::size_t>(slot)]);
      all = !may_grow(step.node, given);
      Step alone = step;
      alone.done.clear();
      // What fails does so when the network runs, if it comes to that.
      try {
        if (all) results = program->run_step(alone, context, slots);
      } catch (const Error&) {
        all = false;
      }
      all = all && !results.empty() && std::all_of(results.begin(), results.end(), [&](const Value& v) {
              return v.kind() != Value::Kind::sequence && v.kind() != Value::Kind::optional && v.present() &&
                     elements(v) <= from;
            });
    }
    if (!all) {
      kept.push_back(std::move(step));
      continue;
    }
    for (std::size_t i = 0; i < step.outputs.size() && i < results.size(); ++i)
      if (step.outputs[i] >= 0) set_constant(step.outputs[i], results[i]);
  }
  program->steps_ = std::move(kept);
}

namespace {

// A constant that is one number, or one for each of `channels` beside [n, channels, ..] of this rank, as a
// list; undefined for another.
Tensor channel_list(const Tensor& c, std::int64_t channels, int rank) {
  if (!c.defined() || c.rank() > rank) return {};
  if (c.numel() == 1) return expand(reshape(c, {1}), {channels});
  const int axis = c.rank() - (rank - 1);  // of the channels, counted from the right as broadcasting does
  if (c.numel() != channels || axis < 0 || axis >= c.rank() || c.size(axis) != channels) return {};
  return reshape(c, {channels});
}

}  // namespace

bool Program::Optimizer::scale(Step& conv, const Tensor& factor, const Tensor& shift) {
  const Tensor weight = constant(conv.inputs[1]);
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2] >= 0;
  const Tensor bias = has_bias ? constant(conv.inputs[2]) : Tensor();
  if (has_bias && !bias.defined()) return false;
  Shape rows = Shape::filled(weight.rank(), 1);
  rows[0] = weight.size(0);
  if (factor.defined()) conv.inputs[1] = add_constant(Value(contiguous(mul(weight, reshape(factor, rows)))));
  Tensor moved = !has_bias ? shift : factor.defined() ? mul(bias, factor) : bias;
  if (has_bias && shift.defined()) moved = add(moved, shift);
  if (moved.defined()) {
    conv.inputs.resize(3, -1);
    conv.inputs[2] = add_constant(Value(contiguous(moved)));
  }
  return true;
}

bool Program::Optimizer::absorb_into(Step& conv, const Step& next) {
  const Tensor weight = constant(conv.inputs[1]);
  if (!weight.defined() || weight.dtype() != DType::f32 || next.inputs.empty()) return false;
  const std::int64_t channels = weight.size(0);
  const int conv_slot = conv.outputs[0];
  if (next.node.op == "BatchNormalization") {
    for (const Attribute& a : next.node.attributes)
      if (a.name == "training_mode" && a.integer != 0) return false;
    if (next.inputs.size() != 5 || next.inputs[0] != conv_slot) return false;
    double eps = 1e-5;
    for (const Attribute& a : next.node.attributes)
      if (a.name == "epsilon") eps = a.real;
    Tensor in[5];
    for (std::size_t i = 1; i < 5; ++i) {
      in[i] = constant(next.inputs[i]);
      if (!in[i].defined() || in[i].dtype() != DType::f32 || in[i].numel() != channels) return false;
    }
    const Tensor factor = div(in[1], sqrt(add(in[4], eps)));
    return scale(conv, factor, sub(in[2], mul(in[3], factor)));
  }
  if (next.inputs.size() != 2) return false;
  const bool first = next.inputs[0] == conv_slot;
  const Tensor list = channel_list(constant(next.inputs[first ? 1 : 0]), channels, weight.rank());
  if (!list.defined() || list.dtype() != DType::f32) return false;
  if (next.node.op == "Mul") return scale(conv, list, {});
  if (next.node.op == "Add") return scale(conv, {}, list);
  if (next.node.op == "Sub" && first) return scale(conv, {}, neg(list));
  if (next.node.op == "Div" && first) return scale(conv, reciprocal(list), {});
  return false;
}

// A step after a convolution that its weights can do; again and again, for there may be several.
void Program::Optimizer::absorb() {
  count_uses();
  std::map<int, std::size_t> conv_of;  // slot -> the Conv step that makes it
  std::set<std::size_t> gone;
  for (std::size_t i = 0; i < program->steps_.size(); ++i) {
    Step& step = program->steps_[i];
    if (step.function || step.frozen || !step.node.domain.empty()) continue;
    if (step.node.op == "Conv" && step.inputs.size() > 1 && step.outputs.size() == 1) {
      conv_of[step.outputs[0]] = i;
      continue;
    }
    for (const int slot : step.inputs) {
      const auto made = conv_of.find(slot);
      if (made == conv_of.end() || uses[static_cast<std::size_t>(slot)] != 1 || step.outputs.empty())
        continue;
      const std::size_t at = made->second;
      if (!absorb_into(program->steps_[at], step)) continue;
      program->steps_[at].outputs[0] = step.outputs[0];
      conv_of.erase(made);
      conv_of[step.outputs[0]] = at;
      gone.insert(i);
      break;
    }
  }
  remove(gone);
}

void Program::Optimizer::remove(const std::set<std::size_t>& gone) {
  std::vector<Step> kept;
  for (std::size_t i = 0; i < program->steps_.size(); ++i)
    if (!gone.contains(i)) kept.push_back(std::move(program->steps_[i]));
  program->steps_ = std::move(kept);
}

bool Program::Optimizer::bound(FrozenConvolution& conv, const Step& next) const {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  double bounds[] = {-kEndless, kEndless};
  if (next.node.op == "Relu") {
    bounds[0] = 0;
  } else {
    for (const Attribute& a : next.node.attributes)
      if (a.name == "min" || a.name == "max") bounds[a.name == "max"] = a.real;
    for (std::size_t i = 1; i < next.inputs.size() && i < 3; ++i) {
      if (next.inputs[i] < 0) continue;
      const Tensor c = constant(next.inputs[i]);
      if (!c.defined() || c.numel() != 1 || !is_float(c.dtype())) return false;
      bounds[i - 1] = to(reshape(c, {}), DType::f64).item();
    }
    if (!(bounds[0] <= bounds[1])) return false;
  }
  conv.set_bounds(bounds[0], bounds[1]);
  return true;
}

// Whether a step makes finite numbers of finite ones, but for overflows.
bool Program::Optimizer::keeps_finite(const Step& step) const {
  static const std::set<std::string> kKeeping = {"Abs",
                                                 "Add",
                                                 "And",
                                                 "AveragePool",
                                                 "Cast",
                                                 "Ceil",
                                                 "Clip",
                                                 "Concat",
                                                 "Conv",
                                                 "ConvTranspose",
                                                 "Dropout",
                                                 "Elu",
                                                 "Equal",
                                                 "Erf",
                                                 "Expand",
                                                 "Flatten",
                                                 "Floor",
                                                 "Gather",
                                                 "Gelu",
                                                 "Gemm",
                                                 "GlobalAveragePool",
                                                 "GlobalMaxPool",
                                                 "Greater",
                                                 "GroupNormalization",
                                                 "HardSigmoid",
                                                 "HardSwish",
                                                 "Identity",
                                                 "InstanceNormalization",
                                                 "LayerNormalization",
                                                 "LeakyRelu",
                                                 "Less",
                                                 "MatMul",
                                                 "Max",
                                                 "MaxPool",
                                                 "Min",
                                                 "Mish",
                                                 "Mul",
                                                 "Neg",
                                                 "Not",
                                                 "Or",
                                                 "PRelu",
                                                 "Pad",
                                                 "Range",
                                                 "ReduceMax",
                                                 "ReduceMean",
                                                 "ReduceMin",
                                                 "ReduceSum",
                                                 "Relu",
                                                 "Reshape",
                                                 "Resize",
                                                 "Round",
                                                 "Shape",
                                                 "Sigmoid",
                                                 "Size",
                                                 "Slice",
                                                 "Softmax",
                                                 "Softplus",
                                                 "Split",
                                                 "Squeeze",
                                                 "Sub",
                                                 "Tanh",
                                                 "Transpose",
                                                 "Unsqueeze",
                                                 "Upsample",
                                                 "Where"};
  if (step.function || !step.bodies.empty() || !step.node.domain.empty()) return false;
  if (step.node.op == "BatchNormalization" && step.inputs.size() == 5) {
    const Tensor variance = constant(step.inputs[4]);
    return variance.defined() && variance.numel() > 0 && min(variance).item() >= 0;
  }
  if (step.node.op == "Div" && step.inputs.size() == 2) {
    const Tensor by = constant(step.inputs[1]);
    return by.defined() && by.numel() > 0 && min(abs(by)).item() > 0;
  }
  return kKeeping.contains(step.node.op);
}

// An Add of the result of a convolution, and a Relu or a Clip after it, become part of it.
void Program::Optimizer::fuse() {
  std::vector<Step>& steps = program->steps_;
  if (std::none_of(steps.begin(), steps.end(), [](const Step& s) { return s.node.op == "Conv"; })) return;
  count_uses();
  std::map<int, std::size_t> conv_of;  // slot -> the Conv step that makes it
  std::set<std::size_t> gone;
  // The convolution that `slot` is the result of, if nothing else reads that and it can take more in.
  const auto open = [&](int slot) -> Step* {
    const auto made = conv_of.find(slot);
    if (made == conv_of.end() || uses[static_cast<std::size_t>(slot)] != 1) return nullptr;
    Step& step = steps[made->second];
    return step.frozen->bounded() ? nullptr : &step;
  };
  // Slots that are finite if the inputs of the graph are, which a run looks at. Only after these may bounds
  // be computed in the pass of a convolution, where a NaN may become the lower one.
  std::set<int> tame(program->input_slots_.begin(), program->input_slots_.end());
  const auto all_tame = [&](const Step& step) {
    return std::all_of(step.inputs.begin(), step.inputs.end(), [&](int slot) {
      if (slot < 0 || tame.contains(slot)) return true;
      const Tensor c = constant(slot);
      if (c.defined() && all_finite(c)) tame.insert(slot);
      return tame.contains(slot);
    });
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    if (keeps_finite(step) && all_tame(step)) tame.insert(step.outputs.begin(), step.outputs.end());
    if (step.function || step.frozen || !step.node.domain.empty() || step.inputs.empty() ||
        step.outputs.size() != 1)
      continue;
    if (step.node.op == "Conv" && step.inputs.size() > 1 && constant(step.inputs[1]).defined() &&
        (step.inputs.size() < 3 || step.inputs[2] < 0 || constant(step.inputs[2]).defined())) {
      step.frozen = std::make_shared<FrozenConvolution>();
      conv_of[step.outputs[0]] = i;
    } else if (step.node.op == "Relu" || step.node.op == "Clip") {
      Step* const conv = open(step.inputs[0]);
      if (conv == nullptr || !all_tame(*conv) || !bound(*conv->frozen, step)) continue;
      program->bounds_frozen_ = true;
      conv->outputs[0] = step.outputs[0];
      gone.insert(i);
    } else if (step.node.op == "Add" && step.inputs.size() == 2 && step.opset >= kBroadcasts) {
      // The later of two, which can wait for the other.
      Step *conv = open(step.inputs[0]), *other = open(step.inputs[1]);
      if (other > conv) std::swap(conv, other);
      if (conv == nullptr || conv->frozen->adds()) continue;
      const int more = step.inputs[conv->outputs[0] == step.inputs[0] ? 1 : 0], out = step.outputs[0];
      gone.insert(static_cast<std::size_t>(conv - steps.data()));
      steps[i] = std::move(*conv);
      steps[i].inputs.resize(FrozenConvolution::kAdded, -1);
      steps[i].inputs.push_back(more);
      steps[i].outputs[0] = out;
      steps[i].frozen->set_adds();
      conv_of[out] = i;
    }
  }
  remove(gone);
}

namespace {

// Whether a step's result for an example is made of that example alone, if all that it reads besides
// constants is [n, ..] of `rank` dimensions; then the rank of its result, otherwise 0.
int rank_by_example(const Node& node, std::int64_t opset, int rank, bool frozen) {
  static const std::set<std::string> kSameRank = {
      "Relu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish",   "LeakyRelu",         "Elu",     "Tanh", "Add",
      "Sub",  "Mul",  "Div",     "MaxPool",     "AveragePool", "GlobalAveragePool", "Identity"};
  static const std::set<std::string> kArithmetic = {"Add", "Sub", "Mul", "Div"};
  if (!node.domain.empty() || (opset < kBroadcasts && kArithmetic.contains(node.op))) return 0;
  if (frozen || kSameRank.contains(node.op)) return rank;
  const auto axis = [&](std::int64_t otherwise) {
    for (const Attribute& a : node.attributes)
      if (a.name == "axis") return a.integer;
    return otherwise;
  };
  if (node.op == "Concat") return axis(0) % rank != 0 && axis(0) > -rank ? rank : 0;
  return node.op == "Flatten" && axis(1) == 1 ? 2 : 0;
}

}  // namespace

// The longest run of steps after which one value of theirs is all that is read.
void Program::Optimizer::find_head() {
  const std::vector<Step>& steps = program->steps_;
  std::map<int, int> ranks;  // of slots that hold a number of examples
  std::set<int> open;        // those of them, but for the input, that later steps read
  int input = -1, weight = -1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.function || !step.bodies.empty() || step.outputs.size() != 1) return;
    if (input < 0 && step.frozen && !constant_of.contains(step.inputs[0])) {
      input = step.inputs[0];
      weight = step.inputs[1];
      ranks[input] = constant(weight).rank();
    }
    int rank = 0;
    for (const int slot : step.inputs) {
      if (slot < 0) continue;
      const auto found = ranks.find(slot);
      if (found != ranks.end() && (rank == 0 || rank == found->second))
        rank = found->second;
      else if (!constant_of.contains(slot))
        return;
    }
    // A constant, but for a convolution's weight and bias, must not have numbers of its own for each example.
    for (std::size_t k = step.frozen ? FrozenConvolution::kAdded : 0; k < step.inputs.size(); ++k)
      if (const int slot = step.inputs[k]; slot >= 0 && constant_of.contains(slot))
        if (const Tensor c = constant(slot); !c.defined() || c.rank() >= rank) return;
    rank = rank > 0 ? rank_by_example(step.node, step.opset, rank, step.frozen != nullptr) : 0;
    if (rank == 0) return;
    ranks[step.outputs[0]] = rank;
    open.insert(step.outputs[0]);
    for (const int slot : step.done) open.erase(slot);
    if (open.size() == 1) program->head_ = {i + 1, input, *open.begin(), weight};
  }
}

Prepared optimized(const Prepared& from) {
  const NoGrad off;
  Prepared out;
  out.constants = from.constants;
  for (Constant& c : out.constants)
    if (c.tensor.defined())
      c.tensor = c.name.empty() ? c.tensor.detach() : clone(c.tensor.detach());  // what a program may change
  Program::Optimizer optimizer{std::make_shared<Program>(*from.program), out.constants};
  if (!from.program->differentiates()) optimizer.run();  // what is folded has no gradient
  out.program = optimizer.program;
  return out;
}

}  // namespace veldt::onnx
