// Records a step, twice where it makes gradients, and replays it.
#include "veldt/tensor/plan.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/tensor/impl.h"
#include "veldt/tensor/recorded_step.h"
#include "veldt/tensor/step_recorder.h"

namespace veldt {
namespace {

class HostCall final : public KernelCall {
 public:
  HostCall(const char* name, std::vector<View> views, std::function<void(std::span<const View>)> function,
           CallKind kind)
      : name_(name), views_(std::move(views)), function_(std::move(function)), kind_(kind) {}
  void run(const Backend&) const override { function_(views_); }
  std::unique_ptr<KernelCall> copy() const override { return std::make_unique<HostCall>(*this); }
  std::string name(const Backend&) const override { return name_; }
  const EntryFacts& facts() const override {
    static constexpr EntryFacts host{.name = "host", .updates = true};
    return host;
  }
  CallKind kind() const override { return kind_; }
  std::span<View> views() override { return views_; }
  bool writes(std::size_t) const override { return true; }
  double flops() const override { return 0; }

 private:
  const char* name_;
  std::vector<View> views_;
  std::function<void(std::span<const View>)> function_;
  CallKind kind_;
};

}  // namespace

Plan::Plan(const ListStep& step, bool runs) {
  if (recording())
    throw Error("a plan cannot be recorded within another", "its kernels would belong to both",
                "build the inner plan first");
  TensorList fresh;  // of both passes
  for (int pass = 1; !recorded_; ++pass) {
    auto recorder = std::make_unique<StepRecorder>();
    try {
      TensorList outputs;
      try {
        InterceptorScope scope(recorder.get());
        for (const Tensor& output : step()) outputs.push_back(output.detach());
      } catch (...) {
        recorder->settle();
        throw;
      }
      recorder->settle();
      recorder->restore_gradients();
      // A leaf's first gradient is assigned differently from the next one. Leaves that the step creates are
      // new each time.
      const bool again = runs && pass == 1 && !recorder->fresh().empty();
      fresh.insert(fresh.end(), recorder->fresh().begin(), recorder->fresh().end());
      if (!again) recorded_ = recorder->finish(std::move(outputs), runs);
    } catch (...) {
      recorder->restore_gradients();
      for (const TensorList* leaves : std::initializer_list<const TensorList*>{&fresh, &recorder->fresh()})
        for (const Tensor& leaf : *leaves) {
          leaf.impl()->grad = Tensor();
          leaf.impl()->grad_stale = false;
        }
      // If there is no memory to settle in, tensors of the step still refer to the recorder.
      if (!recorder->settled()) static_cast<void>(recorder.release());
      throw;
    }
  }
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

void Plan::replay(std::int64_t times) { replay(times, Tensor()); }

void Plan::replay(std::int64_t times, const Tensor& results) {
  RecordedStep& r = *recorded_;
  if (times < 1)
    throw ConfigError(str("a plan cannot be replayed ", times, " times"), "a replay is one step or more",
                      "give 1 or more");
  if (results.defined() && (results.shape() != Shape{times} || output().numel() != 1 ||
                            results.dtype() != output().dtype() || results.device() != output().device()))
    throw ShapeError(str("a plan cannot write the results of ", times, " steps into ", results.dtype(), ' ',
                         results.shape(), " on ", results.device()),
                     str("its first output is ", output().dtype(), ' ', output().shape(), " on ",
                         output().device(), ", and it takes one number a step"),
                     "give a list of that dtype, one element per step");
  if (recording())
    throw Error("a plan cannot be replayed while another is recorded", "its kernels would not be seen",
                "replay it outside of the step");
  const View wanted = results.defined() ? results.view() : View();
  Interceptor* const watching = t_interceptor;  // a Profile must see the calls too
  InterceptorScope real(nullptr);
  for (const auto& [leaf, values, gradient] : r.leaves)
    if (leaf.view().data != values || !leaf.impl()->grad.defined() ||
        leaf.impl()->grad.view().data != gradient)
      throw Error(str("a parameter of shape ", leaf.shape(), " was moved after the plan was recorded"),
                  "its values or its gradient are no longer where the plan changes them",
                  "build optimizers and convert modules first, and the plan last");
  for (const Tensor& leaf : r.carried)
    if (leaf.impl()->grad_stale) r.backend->fill(leaf.impl()->grad.view(), 0);
  for (const auto& storage : r.written) storage->bump_version();  // first: a call may throw
  if (results.defined()) mark_changed(results);
  for (const RecordedStep::Leaf& leaf : r.leaves) leaf.handle.impl()->grad_stale = false;
  if (watching)
    for (std::int64_t i = 0; i < times; ++i) {
      for (const auto& call : r.calls) watching->on_call(*call, *r.backend);
      if (wanted.data) r.backend->copy(r.result, part_of(wanted, i, 1));
    }
  else
    r.run(times, wanted.data ? &wanted : nullptr);
}

const Tensor& Plan::output(std::size_t i) const {
  if (i >= recorded_->outputs.size())
    throw Error(str("the plan has no output ", i), str("its step returned ", recorded_->outputs.size()),
                "return the tensor from the step");
  return recorded_->outputs[i];
}

const StepFacts& Plan::facts() const { return recorded_->facts; }

bool recording() { return t_interceptor != nullptr && t_interceptor->records(); }

void record_host(const char* name, std::vector<View> views,
                 std::function<void(std::span<const View>)> function, CallKind kind) {
  if (!recording())
    throw Error(str("there is no plan that could record ", name), "none is being recorded",
                "ask recording() first");
  t_interceptor->on_host_call(std::make_unique<HostCall>(name, std::move(views), std::move(function), kind));
}

}  // namespace veldt
