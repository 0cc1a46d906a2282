// A step around its kernel: collects gradients, clips, checks for NaN, and runs over the groups; and the
// state by name.
#include "veldt/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::optim {
namespace {

bool all_finite(const Tensor& t) {
  if (std::isfinite(kernels(t).dot(t.view(), t.view()))) return true;
  for (const double v :
       to(t, DType::f64).values<double>())  // large finite numbers may have squares beyond f64
    if (!std::isfinite(v)) return false;
  return true;
}

void check_limit(const char* what, double limit) {
  if (limit > 0) return;
  throw ConfigError(str("gradients cannot be clipped to a ", what, " of ", limit), "it must be above 0",
                    str("give a positive ", what, ", or do not clip"));
}

void check_group(std::size_t group, std::size_t count) {
  if (group < count) return;
  throw ConfigError(str("there is no group ", group), str("the optimizer has ", count), "count from 0");
}

// The single value that the groups request, 0 if none does.
void agree(const char* what, double& all, double wanted) {
  check_option(what, wanted, 0, kInfinity);
  if (wanted == 0) return;
  if (all != 0 && all != wanted)
    throw ConfigError(str("the groups of an optimizer ask for a ", what, " of ", all, " and of ", wanted),
                      "the gradients of all groups are clipped together", "give the limit to one group only");
  all = wanted;
}

}  // namespace

NamedTensors numbered(const std::vector<Tensor>& parameters) {
  NamedTensors out;
  for (const Tensor& p : parameters) out.push_back({std::to_string(out.size()), p});
  return out;
}

void check_option(const char* name, double value, double low, double high) {
  if (value >= low && value < high) return;  // false for a NaN
  throw ConfigError(str("the optimizer's ", name, " cannot be ", value),
                    high == kInfinity ? str("it must be a finite number of ", low, " or more")
                                      : str("it must be at least ", low, " and below ", high),
                    str("choose ", name, " within that range"));
}

void check_eps(double eps, DType dtype) {
  const double smallest = dtype == DType::f64 ? std::numeric_limits<double>::min()
                                              : static_cast<double>(std::numeric_limits<float>::min());
  check_option("eps", eps, smallest, kInfinity);
}

Optimizer::Optimizer(const std::vector<GroupSetup>& groups, const std::vector<std::string>& kinds)
    : slab_(parameters_of(groups)), states_(kinds) {
  std::size_t next = 0;  // of the slab's parameters, where one that is listed twice occurs once
  for (const GroupSetup& group : groups) {
    agree("clip.norm", clip_.norm, group.clip.norm);
    agree("clip.value", clip_.value, group.clip.value);
    std::set<const TensorImpl*> members;
    for (const auto& [name, tensor] : group.parameters) members.insert(tensor.impl());
    while (next < parameters().size() && members.contains(parameters()[next].impl())) ++next;
    const double first = groups.front().lr;
    groups_.push_back(
        {next == 0 ? 0 : slab_.range(next - 1).end, group.lr, first == 0 ? 1 : group.lr / first});
  }
  // A step that a device has recorded may run without the host, which therefore takes no memory in it.
  if (slab_.values().device().kind != DeviceKind::cpu) states_.make(slab_);
}

NamedTensors Optimizer::parameters_of(const std::vector<GroupSetup>& groups) {
  NamedTensors all;
  std::map<const TensorImpl*, const GroupSetup*> owners;
  for (const GroupSetup& group : groups) {
    check_option("lr", group.lr, 0, kInfinity);
    for (const NamedTensor& p : group.parameters) {
      all.push_back(p);
      if (owners.emplace(p.tensor.impl(), &group).first->second != &group)
        throw ConfigError(str("parameter ", p.name, " is in two groups"), "it can have one rate only",
                          "leave it out of one of them");
    }
  }
  return all;
}

void Optimizer::set_lr(double lr) {
  check_option("lr", lr, 0, kInfinity);
  for (GroupState& group : groups_) group.lr = lr * group.proportion;
}

double Optimizer::group_lr(std::size_t group) const {
  check_group(group, groups_.size());
  return groups_[group].lr;
}

void Optimizer::set_group_lr(std::size_t group, double lr) {
  check_group(group, groups_.size());
  check_option("lr", lr, 0, kInfinity);
  groups_[group].lr = lr;
}

void Optimizer::optimize(const OptimizerStep& step, Slab::Range range,
                         std::initializer_list<std::string_view> kinds) {
  std::array<View, 8> arrays;
  std::size_t count = 0;
  arrays[count++] = Slab::view(slab_.values(), range);
  for (const std::string_view kind : kinds)
    arrays[count++] = states_.view(slab_, states_.number_of(kind), range);
  arrays[count++] = Slab::view(slab_.gradients(), range);
  kernels(slab_.values()).optimize(step, arrays.data(), static_cast<int>(count));
}

void Optimizer::step_over(const std::vector<Slab::Range>& ranges) {
  if (clip_.value > 0) clip_collected({.limit = clip_.value});
  if (clip_.norm > 0) clip_norm(clip_.norm);
  const NoGrad off;
  const Autocast exact({});
  states_.make(slab_);
  ++steps_;
  std::vector<Slab::Range> own;
  if (states_.sharing() != nullptr)
    for (const Slab::Range range : ranges) states_.add_own(range, own);
  for (const Slab::Range range : states_.sharing() != nullptr ? own : ranges) {
    Slab::Range rest = range;
    for (std::size_t group = 0; rest.begin < range.end; ++group) {
      if (groups_[group].end <= rest.begin) continue;
      rest.end = std::min(range.end, groups_[group].end);
      update(group, rest);
      rest.begin = rest.end;
    }
  }
  if (states_.sharing() != nullptr) states_.sharing()->gather(slab_.values());
}

void Optimizer::step() { take_step({}); }
void Optimizer::step_if(const std::function<bool()>& wanted) { take_step(wanted); }

void Optimizer::take_step(const std::function<bool()>& wanted) {
  const std::vector<Slab::Range>& ranges = use_gradients();
  if (recording())
    record_host(
        "optimizer step", {slab_.values().view(), slab_.gradients().view()},
        [this, ranges, wanted](auto) {
          if (!wanted || wanted()) step_over(ranges);
          gathered_ = false;
        },
        wanted || clip_.norm > 0 || states_.sharing() != nullptr || !updates_in_place() ? CallKind::host
                                                                                        : CallKind::numbers);
  else if (!wanted || wanted())
    step_over(ranges);  // without the copy of the ranges
  slab_.mark_changed();
  changed_ = gathered_ = false;
}

void Optimizer::share_state(std::shared_ptr<const StateSharing> sharing) {
  if (!updates_in_place() || !own_.empty())
    throw ConfigError(
        "this optimizer's state cannot be shared out among processes",
        "a number of its state needs more than one number of the gradients, as with Muon and LBFGS, or it "
        "has state of its own beside that of each number",
        "use Adam, AdamW, SGD or another that takes each number by itself, or do not share it");
  NamedTensors common = common_state();
  std::map<std::string, Tensor> of_first;
  for (const auto& [name, tensor] : common) {
    sharing->broadcast(tensor);
    of_first.emplace(name, tensor);
  }
  load_common_state(of_first);
  states_.share(slab_, std::move(sharing));
}

void Optimizer::end_sharing(bool gathers) { states_.end_sharing(gathers); }

// With those of other processes.
const Tensor& Optimizer::whole_gradients() {
  if (states_.sharing() != nullptr && !std::exchange(gathered_, true)) {
    states_.sharing()->gather(slab_.gradients());
    veldt::mark_changed(slab_.gradients());
  }
  return slab_.gradients();
}

const std::vector<Slab::Range>& Optimizer::use_gradients() {
  if (change_ && !std::exchange(changed_, true)) change_();
  return slab_.collect();
}

bool Optimizer::unscale_gradients(double scale) {
  clip_collected({.scale = 1 / scale});
  const NoGrad off;
  return all_finite(whole_gradients());
}

void Optimizer::zero_grad() {
  for (Tensor p : slab_.parameters()) p.zero_grad();
  changed_ = gathered_ = false;
}

double Optimizer::norm_of_collected() {
  const Tensor& g = whole_gradients();
  const double squares = kernels(g).dot(g.view(), g.view());
  const bool in_range = std::isfinite(squares) && squares > 1e-280;
  if (in_range || g.dtype() == DType::f32) return std::sqrt(squares);  // f32's squares are all within f64
  NoGrad off;
  const double scale = std::isfinite(squares) ? 0x1p600 : 0x1p-600;
  const Tensor scaled = g * scale;
  return std::sqrt(kernels(g).dot(scaled.view(), scaled.view())) / scale;
}

double Optimizer::gradient_norm() {
  use_gradients();
  return norm_of_collected();
}

void Optimizer::clip_collected(const ClipStep& step) {
  const View gradients = slab_.gradients().view();
  kernels(slab_.gradients()).optimize({step}, &gradients, 1);
  veldt::mark_changed(slab_.gradients());
}

double Optimizer::clip_gradients(double max_norm) {
  check_limit("norm", max_norm);
  if (recording())
    throw Error("clip_gradients() cannot be recorded in a Plan",
                "it gives the norm back, which a replay cannot",
                "give the optimizer the option clip.norm; its step() then clips at each replay");
  use_gradients();
  return clip_norm(max_norm);
}

double Optimizer::clip_norm(double max_norm) {
  const double norm = norm_of_collected();
  if (!std::isfinite(norm))
    throw DivergedError(
        str("the gradient of ", first_bad_gradient().value_or("the parameters"), " is not finite"),
        str("after ", steps_, " steps the gradient norm is ", norm), "lower the learning rate");
  if (norm > max_norm) clip_collected({.scale = max_norm / norm});
  return norm;
}

void Optimizer::clip_gradient_values(double limit) {
  check_limit("value", limit);
  use_gradients();
  host_work(
      "clip", {slab_.gradients().view()}, [this, limit](auto) { clip_collected({.limit = limit}); },
      CallKind::numbers);
}

std::optional<std::string> Optimizer::first_bad(const Tensor& slab) const {
  NoGrad off;
  if (all_finite(slab)) return std::nullopt;
  for (std::size_t i = 0; i < names().size(); ++i)
    if (!all_finite(Slab::part(slab, slab_.range(i)))) return names()[i];
  return std::nullopt;
}

std::optional<std::string> Optimizer::first_bad_gradient() {
  use_gradients();
  return first_bad(whole_gradients());
}

std::optional<std::string> Optimizer::first_bad_parameter() const { return first_bad(slab_.values()); }

NamedTensors Optimizer::common_state() const {
  std::vector<double> rates;
  for (const GroupState& group : groups_) rates.push_back(group.lr);
  const Shape shape = rates.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(rates.size())};
  NamedTensors out{{"step", Tensor::from<std::int64_t>({}, std::span(&steps_, 1))},
                   {"lr", Tensor::from<double>(shape, rates)}};
  out.insert(out.end(), own_.begin(), own_.end());
  return out;
}

NamedTensors Optimizer::state_dict() const {
  NamedTensors out = common_state();
  const std::vector<Tensor> slabs = states_.collected(slab_);
  for (std::size_t kind = 0; kind < slabs.size(); ++kind)
    for (std::size_t i = 0; i < names().size(); ++i)
      out.push_back({str(states_.kinds()[kind], ".", names()[i]), slab_.part(slabs[kind], i)});
  return out;
}

namespace {

// Whether every name ends in a number, as those of numbered() do: "exp_avg.0".
bool are_numbered(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    const std::size_t last = name.find_last_not_of("0123456789");
    return last + 1 < name.size() && (last == std::string::npos || name[last] == '.');
  });
}

// For states of which the one was made from parameters(), and the other from named_parameters().
void refuse_numbers_for_names(const char* owner, const std::vector<std::string>& missing,
                              const std::vector<std::string>& unexpected) {
  if (missing.empty() || missing.size() != unexpected.size()) return;
  const bool numbered_here = are_numbered(missing);
  if (numbered_here == are_numbered(unexpected)) return;
  const std::string names = numbered_here ? unexpected.front() : missing.front(),
                    numbers = numbered_here ? missing.front() : unexpected.front();
  throw Error(
      str("the state does not fit the ", owner),
      numbered_here ? str("it has the parameters' names, ", names, ", and here they are numbers, ", numbers)
                    : str("it has numbers, ", numbers, ", and here parameters have names, ", names),
      numbered_here ? "build the optimizer from model.named_parameters(), not from model.parameters()"
                    : "it was saved from an optimizer of model.parameters(): build this one from them "
                      "too, or start anew, with model.named_parameters()");
}

}  // namespace

std::map<std::string, Tensor> matched(const char* owner, const NamedTensors& own, const NamedTensors& state) {
  std::map<std::string, Tensor> given, known;
  for (const auto& [name, tensor] : state) given.emplace(name, tensor);
  for (const auto& [name, tensor] : own) known.emplace(name, tensor);
  std::vector<std::string> missing, unexpected, wrong;
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end()) {
      missing.push_back(name);
      wrong.push_back(name + " is missing");
    } else if (found->second.shape() != tensor.shape()) {
      wrong.push_back(str(name, " is ", found->second.shape(), ", not ", tensor.shape()));
    }
  }
  for (const auto& [name, tensor] : given)
    if (!known.contains(name)) {
      unexpected.push_back(name);
      wrong.push_back(name + " is unexpected");
    }
  if (wrong.empty()) return given;
  if (wrong.size() == missing.size() + unexpected.size())
    refuse_numbers_for_names(owner, missing, unexpected);
  std::string why;
  for (const std::string& one : wrong) why += (why.empty() ? "" : "; ") + one;
  throw Error(str("the state does not fit the ", owner), why,
              str("use the ", owner, " and the model that it was saved from"));
}

std::int64_t count_of(const char* owner, const char* name, const Tensor& saved) {
  constexpr double kMost = 0x1p53;  // small enough that counting cannot overflow
  if (saved.dtype() == DType::i64 && saved.item() >= 0 && saved.item() < kMost)
    return saved.values<std::int64_t>()[0];
  throw Error(str("the state does not fit the ", owner),
              str("its ", name, " is ", saved.dtype(), ' ', saved.item()),
              str("use the ", owner, " and the model that it was saved from"));
}

void Optimizer::load_common_state(const std::map<std::string, Tensor>& state) {
  const std::int64_t steps = count_of("optimizer", "step", state.at("step"));
  const std::vector<double> rates = to(state.at("lr"), DType::f64).values<double>();
  for (const double lr : rates) check_option("lr", lr, 0, kInfinity);
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].lr = rates[i];
  steps_ = steps;
  for (auto& [name, tensor] : own_) tensor.assign(state.at(name));
}

void Optimizer::load_state_dict(const NamedTensors& state) {
  NamedTensors own = common_state();  // for names and shapes, which are those of the parameters
  for (const std::string& kind : states_.kinds())
    for (std::size_t i = 0; i < names().size(); ++i)
      own.push_back({str(kind, ".", names()[i]), parameters()[i]});
  const std::map<std::string, Tensor> given = matched("optimizer", own, state);
  load_common_state(given);
  states_.forget();
  for (std::size_t kind = 0; kind < states_.kinds().size(); ++kind)
    for (std::size_t i = 0; i < names().size(); ++i)
      states_.load(slab_, kind, i, given.at(str(states_.kinds()[kind], ".", names()[i])));
}

}  // namespace veldt::optim
