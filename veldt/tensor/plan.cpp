// Recording works on addresses that no memory is behind: while it lasts, new tensors get theirs from a range
// that a processor cannot use. Afterwards those that are still alive (outputs, gradients) get memory of their
// own, the others a place in one arena, shared by those that are never needed at the same time.
#include "veldt/tensor/plan.h"

#include <algorithm>
#include <unordered_set>

#include "veldt/core/error.h"
#include "veldt/tensor/arena.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/captured.h"
#include "veldt/tensor/fallback.h"
#include "veldt/tensor/impl.h"
#include "veldt/tensor/intercept.h"

namespace veldt {
namespace {

// Bits 48 to 55 differ from the sign: no x86 or ARM processor maps such an address.
constexpr std::uintptr_t kNowhere = std::uintptr_t{0x00F0} << 48;
constexpr std::uintptr_t kNowhereEnd = std::uintptr_t{0x00F8} << 48;

std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
bool is_nowhere(const void* p) { return address_of(p) >= kNowhere && address_of(p) < kNowhereEnd; }

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

struct Plan::Recording {
  struct Leaf {
    Tensor handle;
    const void *values, *gradient;  // where they were
  };
  std::vector<std::unique_ptr<KernelCall>> calls;
  std::unique_ptr<Storage> arena;
  std::vector<std::shared_ptr<Storage>> held;     // what the calls reach besides
  std::vector<std::shared_ptr<Storage>> written;  // those of them that a replay changes
  std::vector<Leaf> leaves;                       // get gradients from each replay
  TensorList carried;                             // those of them that the step adds to
  TensorList outputs;
  View result;  // output 0 as a list, if it is one element
  const Backend* backend = nullptr;
  StepFacts facts;
  std::unique_ptr<CapturedCalls> captured = {};  // on a device that keeps work

  void run(std::int64_t times, const View* results) {
    if (backend->steps && !captured && lacking(*backend).empty())
      captured = std::make_unique<CapturedCalls>(calls, *backend, result.data ? &result : nullptr);
    if (captured) return captured->replay(times, results);
    for (std::int64_t i = 0; i < times; ++i) {
      for (const auto& call : calls) call->run(*backend);
      if (results) backend->copy(result, part_of(*results, i, 1));
    }
  }
};

class Plan::Recorder final : public Interceptor, public Memory {
 public:
  // --- while the step runs

  void* take(std::size_t bytes, Storage& owner) override {
    const std::size_t size = Pool::size_class(bytes);
    if (size > kNowhereEnd - next_)
      throw OutOfMemory(str("a plan cannot hold another ", bytes_text(bytes)),
                        "its range of addresses is used up", "record a smaller step");
    const std::uintptr_t address = next_;
    next_ += size;
    blocks_.push_back({address, size, &owner});
    alive_ += size;
    peak_ = std::max(peak_, alive_);
    return reinterpret_cast<void*>(address);
  }
  void give(void* p, std::size_t, Storage&) noexcept override {
    Block& block = blocks_[block_at(p)];
    block.owner = nullptr;
    alive_ -= block.size;
  }
  Memory* memory(Device device) override {
    settle_on(device);
    return this;
  }
  bool records() const override { return true; }

  void on_view(const std::shared_ptr<Storage>& storage) override {
    if (!is_nowhere(storage->data()) && seen_.insert(storage.get()).second) held_.push_back(storage);
  }
  void on_host_call(std::unique_ptr<KernelCall> call) override { add(std::move(call)); }
  void on_call(const KernelCall& call, const Backend& backend) override {
    settle_on(backend.device);
    add(call.copy());
  }
  void on_zero_grad(const Tensor& leaf) override {
    remember(leaf);
    forgotten_.insert(leaf.impl());
  }
  // What was forgotten before the step began may not be so at a replay: such gradients are added to, and a
  // replay clears those that are forgotten then.
  bool on_leaf_gradient(const Tensor& leaf, bool first) override {
    remember(leaf);
    if (!leaf.impl()->grad.defined()) {
      fresh_.push_back(leaf);
      return true;
    }
    if (leaf.impl()->grad_stale && !forgotten_.contains(leaf.impl())) {
      carried_.push_back(leaf);
      return false;
    }
    return first;
  }
  void on_transfer(const char* what) override {
    throw Error(str("a plan cannot record ", what),
                "a replay runs kernels alone, and the host would not see it",
                "move it out of the step: give data as tensors made before, read outputs after replay()");
  }

  void add(std::unique_ptr<KernelCall> call) {
    const int at = static_cast<int>(calls_.size());
    for (const View& view : call->views())
      if (is_nowhere(view.data)) {
        Block& block = blocks_[block_at(view.data)];
        if (block.first < 0) block.first = at;
        block.last = at;
        ++block.uses;
      }
    calls_.push_back(std::move(call));
  }

  // --- afterwards

  // The device of the step is that of its first tensor.
  void settle_on(Device device) {
    if (real_ && real_->device == device) return;
    if (real_)
      throw Error(str("a plan cannot record a step on ", real_->device, " and on ", device),
                  "a replay runs on one device", "move all tensors of the step to one device before");
    const InterceptorScope off(nullptr);  // a Profile may be watching
    real_ = &backend(device);
    pool_ = &pool(device);
  }

  // Gives what is still alive memory of its own, full of zeros. Also after a step that threw.
  void settle() {
    for (Block& block : blocks_) {
      if (!block.owner) continue;
      block.settled = block.owner->shared_from_this();
      block.owner->move_to(*pool_);
      const auto bytes = static_cast<std::int64_t>(block.settled->bytes());
      real_->fill({block.settled->data(), DType::u8, {bytes}, {1}}, 0);
      held_.push_back(block.settled);
    }
  }
  bool settled() const {
    return std::none_of(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.owner != nullptr; });
  }
  // Leaves that were given the first gradient of their lives.
  const TensorList& fresh() const { return fresh_; }
  // Recording computes nothing, so gradients are as forgotten as they were.
  void restore_gradients() const {
    for (const auto& [leaf, stale] : before_)
      if (leaf.impl()->grad.defined()) leaf.impl()->grad_stale = stale;
    for (const Tensor& leaf : fresh_) leaf.impl()->grad_stale = leaf.impl()->grad.defined();
  }

  std::unique_ptr<Recording> finish(TensorList outputs, bool runs) {
    if (!real_) settle_on(Device{});  // nothing but host functions
    auto r = std::make_unique<Recording>();
    for (const auto& storage : held_) r->facts.held_bytes += Pool::size_class(storage->bytes());
    write_straight_into_copies();
    r->facts.eager_bytes = peak_;
    r->facts.calls = static_cast<std::int64_t>(calls_.size());
    for (const auto& call : calls_) {
      r->facts.names.push_back(call->name(*real_));
      if (call->kind() == CallKind::host) r->facts.waits.push_back(r->facts.names.back());
      r->facts.flops += call->flops();
    }
    place(*r, runs);
    if (!runs) return r;
    r->written = find_written();
    r->calls = std::move(calls_);
    r->held = std::move(held_);
    for (const auto& [leaf, stale] : before_)
      if (leaf.impl()->grad.defined())
        r->leaves.push_back({leaf, leaf.view().data, leaf.impl()->grad.view().data});
    r->carried = std::move(carried_);
    r->outputs = std::move(outputs);
    if (!r->outputs.empty() && r->outputs[0].numel() == 1)
      r->result = {r->outputs[0].view().data, r->outputs[0].dtype(), {1}, {1}};
    r->backend = real_;
    return r;
  }

 private:
  struct Block {
    std::uintptr_t address;
    std::size_t size;
    Storage* owner;                         // null once it died or has settled
    std::shared_ptr<Storage> settled = {};  // what outlived the step
    int first = -1, last = -1, uses = 0;    // the calls that touch it
  };

  std::size_t block_at(const void* p) const {
    const auto above = std::upper_bound(blocks_.begin(), blocks_.end(), address_of(p),
                                        [](std::uintptr_t a, const Block& b) { return a < b.address; });
    return static_cast<std::size_t>(above - blocks_.begin()) - 1;
  }

  // A result that only a copy reads (a gradient on its way into an optimizer's slab) is written where the
  // copy would put it, and the copy is dropped.
  void write_straight_into_copies();
  bool redirect(std::size_t copy_at);

  // Finds each block its place and, if the plan is to run, turns the views there.
  void place(Recording& r, bool runs) {
    std::vector<ArenaBlock> wanted;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (!blocks_[i].settled && blocks_[i].first >= 0) {
        wanted.push_back({blocks_[i].size, blocks_[i].first, blocks_[i].last, 0});
        which.push_back(i);
      }
    r.facts.planned_bytes = place_in_arena(wanted);
    if (!runs) return;
    r.arena = std::make_unique<Storage>(*pool_, r.facts.planned_bytes);
    r.arena->set_label("plan");
    std::vector<char*> base(blocks_.size(), nullptr);
    for (std::size_t i = 0; i < which.size(); ++i)
      base[which[i]] = static_cast<char*>(r.arena->data()) + wanted[i].offset;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (blocks_[i].settled) base[i] = static_cast<char*>(blocks_[i].settled->data());
    for (const auto& call : calls_)
      for (View& view : call->views())
        if (is_nowhere(view.data)) {
          const std::size_t i = block_at(view.data);
          view.data = base[i] + (address_of(view.data) - blocks_[i].address);
        }
  }

  std::vector<std::shared_ptr<Storage>> find_written() const {
    std::vector<std::shared_ptr<Storage>> found;
    for (const auto& storage : held_) {
      const std::uintptr_t begin = address_of(storage->data()), end = begin + storage->bytes();
      const auto into = [&](const auto& call) {
        for (std::size_t i = 0; i < call->views().size(); ++i)
          if (const std::uintptr_t p = address_of(call->views()[i].data);
              call->writes(i) && p >= begin && p < end)
            return true;
        return false;
      };
      if (std::any_of(calls_.begin(), calls_.end(), into)) found.push_back(storage);
    }
    return found;
  }

  const Backend* real_ = nullptr;
  Pool* pool_ = nullptr;
  std::uintptr_t next_ = kNowhere;
  std::size_t alive_ = 0, peak_ = 0;
  std::vector<Block> blocks_;
  std::vector<std::shared_ptr<Storage>> held_;
  std::unordered_set<const Storage*> seen_;
  std::vector<std::unique_ptr<KernelCall>> calls_;
  // Each leaf that the step touches, once, and whether its gradient was forgotten before.
  void remember(const Tensor& leaf) {
    if (known_.insert(leaf.impl()).second) before_.emplace_back(leaf, leaf.impl()->grad_stale);
  }

  std::vector<std::pair<Tensor, bool>> before_;
  std::unordered_set<const TensorImpl*> known_, forgotten_;
  TensorList fresh_, carried_;
};

namespace {

bool overlap(const View& a, const View& b) { return extent_of(a).overlaps(extent_of(b)); }

// The view that the call fills there, reading nothing of what it holds; null where it does something else.
View* filled_at(KernelCall& call, const void* data) {
  if (call.facts().updates) return nullptr;
  for (std::size_t i = 0; i < call.views().size(); ++i)
    if (call.views()[i].data == data) return call.writes(i) ? &call.views()[i] : nullptr;
  return nullptr;
}

}  // namespace

bool Plan::Recorder::redirect(std::size_t copy_at) {
  const std::span<const View> copy = calls_[copy_at]->views();
  const View &from = copy[0], &to = copy[1];
  if (from.dtype != to.dtype || is_nowhere(to.data) || !is_nowhere(from.data) ||
      !is_contiguous(from.shape, from.strides) || !is_contiguous(to.shape, to.strides))
    return false;
  const Block& block = blocks_[block_at(from.data)];
  if (block.settled || block.uses != 2 || block.last != static_cast<int>(copy_at)) return false;
  KernelCall& maker = *calls_[static_cast<std::size_t>(block.first)];
  View* const out = filled_at(maker, from.data);
  if (!out || numel(out->shape) != numel(from.shape) || !is_contiguous(out->shape, out->strides))
    return false;
  // Nothing from there to here may look at the destination: neither the old values nor the new ones early.
  for (std::size_t i = static_cast<std::size_t>(block.first); i < copy_at; ++i) {
    if (!calls_[i]) continue;
    if (calls_[i]->kind() != CallKind::kernel) return false;  // it may reach anything
    for (const View& view : std::as_const(*calls_[i]).views())
      if (overlap(view, to)) return false;
  }
  out->data = to.data;
  return true;
}

void Plan::Recorder::write_straight_into_copies() {
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i]->is(Entry::copy) && redirect(i)) {
      blocks_[block_at(std::as_const(*calls_[i]).views()[0].data)].first = -1;  // needs no place any more
      calls_[i] = nullptr;
    }
  std::vector<int> now_at(calls_.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    now_at[i] = static_cast<int>(count);
    if (calls_[i]) calls_[count++] = std::move(calls_[i]);
  }
  calls_.resize(count);
  for (Block& block : blocks_)
    if (block.first >= 0) {
      block.first = now_at[static_cast<std::size_t>(block.first)];
      block.last = now_at[static_cast<std::size_t>(block.last)];
    }
}

Plan::Plan(const ListStep& step, bool runs) {
  if (recording())
    throw Error("a plan cannot be recorded within another", "its kernels would belong to both",
                "build the inner plan before");
  TensorList fresh;  // of both passes
  for (int pass = 1; !recording_; ++pass) {
    auto recorder = std::make_unique<Recorder>();
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
      // A leaf that has just been given its first gradient would be given the next one otherwise. Leaves that
      // the step makes are new each time.
      const bool again = runs && pass == 1 && !recorder->fresh().empty();
      fresh.insert(fresh.end(), recorder->fresh().begin(), recorder->fresh().end());
      if (!again) recording_ = recorder->finish(std::move(outputs), runs);
    } catch (...) {
      recorder->restore_gradients();
      for (const TensorList* leaves : std::initializer_list<const TensorList*>{&fresh, &recorder->fresh()})
        for (const Tensor& leaf : *leaves) {
          leaf.impl()->grad = Tensor();
          leaf.impl()->grad_stale = false;
        }
      // Without memory to settle in, what the step left behind still refers to the recorder.
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
  Recording& r = *recording_;
  if (times < 1)
    throw ConfigError(str("a plan cannot be replayed ", times, " times"), "a replay is one step or more",
                      "give 1 or more");
  if (results.defined() && (results.shape() != Shape{times} || output().numel() != 1 ||
                            results.dtype() != output().dtype() || results.device() != output().device()))
    throw ShapeError(str("a plan cannot write the results of ", times, " steps into ", results.dtype(), ' ',
                         results.shape(), " on ", results.device()),
                     str("its first output is ", output().dtype(), ' ', output().shape(), " on ",
                         output().device(), ", and it takes one number a step"),
                     "give a list of that dtype, one element a step");
  if (recording())
    throw Error("a plan cannot be replayed while another is recorded", "its kernels would not be seen",
                "replay it outside of the step");
  const View wanted = results.defined() ? results.view() : View();
  Interceptor* const watching = t_interceptor;  // a Profile wants to see the calls too
  InterceptorScope real(nullptr);
  for (const auto& [leaf, values, gradient] : r.leaves)
    if (leaf.view().data != values || !leaf.impl()->grad.defined() ||
        leaf.impl()->grad.view().data != gradient)
      throw Error(str("a parameter of shape ", leaf.shape(), " was moved after the plan was recorded"),
                  "its values or its gradient no longer lie where the plan changes them",
                  "build optimizers and convert modules first, and the plan last");
  for (const Tensor& leaf : r.carried)
    if (leaf.impl()->grad_stale) r.backend->fill(leaf.impl()->grad.view(), 0);
  for (const auto& storage : r.written) storage->bump_version();  // first: a call may throw
  if (results.defined()) mark_changed(results);
  for (const Recording::Leaf& leaf : r.leaves) leaf.handle.impl()->grad_stale = false;
  if (watching)
    for (std::int64_t i = 0; i < times; ++i) {
      for (const auto& call : r.calls) watching->on_call(*call, *r.backend);
      if (wanted.data) r.backend->copy(r.result, part_of(wanted, i, 1));
    }
  else
    r.run(times, wanted.data ? &wanted : nullptr);
}

const Tensor& Plan::output(std::size_t i) const {
  if (i >= recording_->outputs.size())
    throw Error(str("the plan has no output ", i), str("its step returned ", recording_->outputs.size()),
                "return the tensor from the step");
  return recording_->outputs[i];
}

const StepFacts& Plan::facts() const { return recording_->facts; }

bool recording() { return t_interceptor != nullptr && t_interceptor->records(); }

void record_host(const char* name, std::vector<View> views,
                 std::function<void(std::span<const View>)> function, CallKind kind) {
  if (!recording())
    throw Error(str("there is no plan that could record ", name), "none is being recorded",
                "ask recording() first");
  t_interceptor->on_host_call(std::make_unique<HostCall>(name, std::move(views), std::move(function), kind));
}

}  // namespace veldt
