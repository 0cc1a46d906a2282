// The base of all optimizers: the slab of parameters, groups with their own options, the rate, clipping, and
// saving.
//
// Gradients of several batches add up until zero_grad(): for a step with the mean gradient of k batches of
// equal size, call `(loss / k).backward()` for each of them, then step().
// Tests: tests/optim/optimizer_test.cpp, tests/optim/group_test.cpp, tests/optim/golden_test.cpp
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "veldt/core/optimizer_step.h"
#include "veldt/optim/slab.h"
#include "veldt/optim/state_slabs.h"

namespace veldt::optim {

// Limits that step() applies to the gradients first; 0: none. Values are clipped before the norm.
struct Clip {
  double norm = 0;   // of all gradients of the optimizer together: see clip_gradients()
  double value = 0;  // of each number: see clip_gradient_values()
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Changes the parameters by one step along the gradients that backward() left. A parameter without a
  // gradient stays unchanged, and so does its state, as in torch.optim. Rates, the count of steps and the
  // scale of clipping are read when it runs. After the first run it allocates no memory, and it only reads
  // the clipped norm from the device. Throws Error if a parameter was moved since construction, and the
  // errors of clipping; then nothing has changed.
  void step();
  // Does the same if `wanted` returns true; it is called when the gradients are in slab(), before clipping.
  // Otherwise nothing changes, not even the count of steps.
  void step_if(const std::function<bool()>& wanted);
  // For step_if(): divides the gradients in slab() by `scale`; false if one of them is not finite.
  bool unscale_gradients(double scale);
  // Clears the gradients without freeing their memory.
  void zero_grad();

  // The rate of the next step, of the first group. set_lr() sets that one, and scales all other groups' rates
  // in their original proportion to it (1 if it was 0), so that a schedule controls them all. Throws
  // ConfigError below 0 or not finite.
  double lr() const { return groups_.front().lr; }
  void set_lr(double lr);
  // One group's rate. set_group_lr() holds until the next set_lr(). ConfigError for a group that does not
  // exist.
  double group_lr(std::size_t group) const;
  void set_group_lr(std::size_t group, double lr);
  std::size_t group_count() const { return groups_.size(); }
  // The number of steps taken, including those before a load_state_dict().
  std::int64_t steps() const { return steps_; }

  const std::vector<Tensor>& parameters() const { return slab_.parameters(); }
  const std::vector<std::string>& names() const { return slab_.names(); }
  // All values and gradients, for an all-reduce or an inspection.
  const Slab& slab() const { return slab_; }

  // Completes the gradients in slab(), as step() does: those that are elsewhere are copied there, and
  // parameters without one have zeros. For who adds up the gradients of several processes before a step.
  void collect_gradients() { slab_.collect(); }
  // From now on parameter i has the gradient that is in slab(), as if backward() had left it there.
  void take_gradient(std::size_t i) { slab_.take_gradient(i); }
  // Called before step(), clipping and gradient_norm() look at the gradients, once a step: it may change
  // them, as the sum over processes does. Empty: nothing is.
  void before_use(std::function<void()> change) { change_ = std::move(change); }

  // From now on this process keeps the state of its own ranges alone, and step() ends when it has the
  // parameters that the others have changed. Every process calls it, and has the count of steps, the rates
  // and the state of process 0 afterwards; so they do step(), gradient_norm(), clip_gradients(),
  // first_bad_gradient() and state_dict(). Gradients need be right in the own ranges only; the functions that
  // look at all of them get the others' first. Throws ConfigError for an optimizer whose state does not
  // belong to single numbers (Muon, LBFGS).
  void share_state(std::shared_ptr<const StateSharing> sharing);
  // Ends that. `gathers`: every process calls it, process 0 has the whole state afterwards and the others
  // zeros. Otherwise the state is lost: step() and state_dict() throw Error until load_state_dict().
  void end_sharing(bool gathers);

  // The Euclidean norm of all gradients together.
  double gradient_norm();
  // Scales the gradients so that their norm is at most `max_norm`; returns the norm before. Throws
  // DivergedError naming the first parameter whose gradient is not finite, ConfigError for max_norm <= 0, and
  // Error within a Plan; use the option Clip there.
  double clip_gradients(double max_norm);
  // Clamps each number of the gradients to -limit .. limit; a NaN stays NaN. Throws ConfigError for a limit
  // <= 0.
  void clip_gradient_values(double limit);
  // The name of the first parameter whose gradient / values hold a NaN or an infinity. Takes one pass if
  // there is none.
  std::optional<std::string> first_bad_gradient();
  std::optional<std::string> first_bad_parameter() const;

  // The state with which a resumed run continues with the same bits: "step" (i64), "lr" (f64; [groups] if
  // there are several) and the optimizer's own, such as "exp_avg.0.weight". Shares memory. Where the state is
  // shared out every process calls it: process 0 gets all of it, gathered, and the others what is no slab.
  NamedTensors state_dict() const;
  // Copies a state_dict() back. Throws Error listing tensors that are missing, unexpected or of another
  // shape; then nothing has changed. Options other than the rates are the constructor's. Where the state is
  // shared out each process is given the whole one, and keeps its part.
  void load_state_dict(const NamedTensors& state);

 protected:
  struct GroupSetup {
    NamedTensors parameters;
    double lr = 0;
    Clip clip = {};
  };

  // `kinds`: the names of the optimizer's state slabs. Throws as Slab does, and ConfigError for a bad rate,
  // or for groups that ask for different clipping.
  Optimizer(const NamedTensors& parameters, double lr, const std::vector<std::string>& kinds)
      : Optimizer({{parameters, lr}}, kinds) {}
  Optimizer(const std::vector<GroupSetup>& groups, const std::vector<std::string>& kinds);

  // One step over part of a group, whose parameters are adjacent; steps() already counts this one. Gradients
  // are not recorded. Ops may be used: Slab::part() gives the range of a slab as a tensor.
  virtual void update(std::size_t group, Slab::Range range) = 0;
  // Whether update() does nothing but call optimize(), the same calls at each step.
  virtual bool updates_in_place() const { return true; }
  // A state of a range, [end - begin], zeros at first. Shares memory.
  Tensor state(std::size_t kind, Slab::Range range) const { return states_.part(slab_, kind, range); }
  // The same of the whole slab. Throws Error where the state is shared out.
  const Tensor& state_slab(std::size_t kind) const { return states_.whole(slab_, kind); }
  const Tensor& state_slab(std::string_view kind) const { return state_slab(states_.number_of(kind)); }
  // Runs a kernel over the range of the values, the states and the gradients, in this order.
  void optimize(const OptimizerStep& step, Slab::Range range, std::initializer_list<std::string_view> kinds);
  // Saves and loads a tensor besides the slabs, under its name.
  void add_state(std::string name, Tensor tensor) { own_.push_back({std::move(name), std::move(tensor)}); }
  // For gradients as left by Slab::collect(), and values changed without the knowledge of backward().
  Slab& own_slab() { return slab_; }
  void count_step() { ++steps_; }  // step() does

 private:
  struct GroupState {
    std::int64_t end = 0;  // of its part of the slab, in elements
    double lr = 0;
    double proportion = 1;  // to the first group's rate
  };

  std::optional<std::string> first_bad(const Tensor& slab) const;
  const std::vector<Slab::Range>& use_gradients();
  double norm_of_collected();
  void step_over(const std::vector<Slab::Range>& ranges);
  void take_step(const std::function<bool()>& wanted);
  double clip_norm(double max_norm);
  void clip_collected(const ClipStep& step);
  static NamedTensors parameters_of(const std::vector<GroupSetup>& groups);
  NamedTensors common_state() const;
  void load_common_state(const std::map<std::string, Tensor>& state);
  const Tensor& whole_gradients();

  Slab slab_;
  StateSlabs states_;
  NamedTensors own_;
  std::vector<GroupState> groups_;
  Clip clip_;
  std::int64_t steps_ = 0;
  std::function<void()> change_;
  bool changed_ = false;   // since the last step, or zero_grad()
  bool gathered_ = false;  // gradients of other processes, since then
};

// Parameters under the names "0", "1", ..., for lists without any: a state with such names does not fit an
// optimizer of a module's named_parameters(), and the error says so.
NamedTensors numbered(const std::vector<Tensor>& parameters);
// The upper bound of an unbounded option.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Throws ConfigError unless low <= value < high.
void check_option(const char* name, double value, double low, double high);
// The saved tensors by name. Throws Error listing each that is missing, unexpected or of another shape than
// the owner's; count_of() throws it for a count that is not an integer of 0 or more.
std::map<std::string, Tensor> matched(const char* owner, const NamedTensors& own, const NamedTensors& state);
std::int64_t count_of(const char* owner, const char* name, const Tensor& saved);
// Throws ConfigError unless eps is a normal number of the dtype: a smaller one could count as 0, and with a
// gradient of 0 the result would be 0 / 0.
void check_eps(double eps, DType dtype);

}  // namespace veldt::optim
