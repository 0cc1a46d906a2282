// Runs a part of the forward pass again during backward.
#include "veldt/tensor/recompute.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/impl.h"

namespace veldt {
namespace {

// The positions of a first call's draws, in order.
struct Tape {
  std::vector<std::shared_ptr<Rng>> draws;
  std::size_t next = 0;
};

// The state of a thread. A first call runs without a graph, so no other one can begin within it; one may
// begin within a second call.
thread_local constinit Tape* t_first = nullptr;
thread_local constinit Tape* t_second = nullptr;

class TapeScope {
 public:
  TapeScope(Tape* first, Tape* second)
      : first_(std::exchange(t_first, first)), second_(std::exchange(t_second, second)) {}
  ~TapeScope() { t_first = first_, t_second = second_; }
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

 private:
  Tape *first_, *second_;
};

class CaptureScope {
 public:
  CaptureScope() : before_(std::exchange(t_captures, &captures_)) { captures_.depth = t_no_grad_depth; }
  ~CaptureScope() { t_captures = before_; }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

  const TensorList& tensors() const { return captures_.tensors; }

 private:
  Captures captures_ = {};
  Captures* before_;
};

using Function = std::function<Tensor(const TensorList&)>;

// The same values without their graph; unlike detach() it is not reported as an end of the graph.
Tensor cut(const Tensor& t) { return t.defined() ? t.alias(t.shape(), t.strides(), 0) : t; }

template <class List> bool is_among(const Tensor& t, const List& list) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& other) { return other.impl() == t.impl(); });
}

Tensor result_of(const Function& f, const TensorList& inputs) {
  Tensor y = f(inputs);
  if (!y.defined())
    throw Error("a function in checkpoint() returned no tensor", "its result is undefined",
                "return its result, both times");
  return y;
}

struct RecomputedPart {
  Function f;
  TensorList inputs, captured;
  std::vector<char> captures_input;  // f also uses the input directly
  std::shared_ptr<Tape> tape;
  std::optional<DType> autocast;

  Tensor run_again(const TensorList& given) const {
    const EnableGrad on;
    const Autocast as_before(autocast);
    tape->next = 0;
    const TapeScope second(nullptr, tape.get());
    Tensor y = result_of(f, given);
    if (tape->next != tape->draws.size())
      throw Error(str("a function in checkpoint() drew ", tape->draws.size(), " times at first and then ",
                      tape->next),
                  "its gradient would belong to other numbers", "make it draw equally often both times");
    return y;
  }

  Grads operator()(const Tensor& g) const {
    // The gradient of a gradient continues past the inputs; else the walk ends at leaves that replace them.
    const bool goes_on = grad_enabled();
    TensorList given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool itself = goes_on || captures_input[i] != 0;
      given.push_back(itself ? inputs[i] : cut(inputs[i]));
      if (!itself && inputs[i].requires_grad()) given.back().set_requires_grad();
    }
    const Tensor y = run_again(given);
    Grads grads(inputs.size() + captured.size());
    std::vector<Tensor> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < inputs.size() + captured.size(); ++i) {
      const bool is_input = i < inputs.size();
      if (!needs_grad(is_input ? inputs[i] : captured[i - inputs.size()])) continue;
      const Tensor& t = is_input ? given[i] : captured[i - inputs.size()];
      if (is_among(t, wanted)) {  // a repeated input: its first place gets the whole gradient
        grads[i] = zero_gradient(t, g);
        continue;
      }
      wanted.push_back(t);
      places.push_back(i);
    }
    if (wanted.empty()) return grads;
    Grads found;
    if (y.requires_grad())
      found = partial_grads(y, wanted, goes_on, g);
    else  // it does not depend on anything that f uses
      for (const Tensor& t : wanted) found.push_back(zero_gradient(t, g));
    for (std::size_t i = 0; i < places.size(); ++i) grads[places[i]] = std::move(found[i]);
    return grads;
  }
};

}  // namespace

Tensor checkpoint(const Function& f, const TensorList& inputs) {
  if (!grad_enabled()) return result_of(f, inputs);
  RecomputedPart part{f, inputs, {}, {}, std::make_shared<Tape>(), autocast_dtype()};
  Tensor y;
  {
    TensorList given;
    for (const Tensor& in : inputs) given.push_back(cut(in));
    const NoGrad off;
    const std::uint64_t before = newest_sequence();
    const CaptureScope captures;
    const TapeScope first(part.tape.get(), t_second);
    y = result_of(f, given);
    const auto has_own_graph = [&](const Tensor& t) {
      return t.impl()->node && t.impl()->node->sequence > before;
    };
    if (y.requires_grad() || std::any_of(captures.tensors().begin(), captures.tensors().end(), has_own_graph))
      throw Error("a function in checkpoint() made or returned a tensor that has a graph of its own",
                  "its result is computed without one, to be recomputed later",
                  "return its result, and do not switch gradients on within it");
    for (const Tensor& in : inputs) part.captures_input.push_back(is_among(in, captures.tensors()));
    for (const Tensor& t : captures.tensors())
      if (!is_among(t, inputs)) part.captured.push_back(t);
  }
  TensorList all = inputs;
  all.insert(all.end(), part.captured.begin(), part.captured.end());
  y = cut(y);
  if (is_float(y.dtype())) return record("checkpoint", y, std::move(all), std::move(part));
  for (const Tensor& in : all)
    if (in.defined()) mark_cut(y, in, "checkpoint");
  return y;
}

bool recomputing() { return t_second != nullptr; }

RandomDraw::RandomDraw() {
  if (t_second) {
    if (t_second->next < t_second->draws.size()) from_ = t_second->draws[t_second->next];
    ++t_second->next;
  }
  if (t_first) t_first->draws.push_back(into_ = std::make_shared<Rng>(0));
}

Rng RandomDraw::take(Rng& rng, std::uint64_t count) const {
  const Rng at = from_ ? *from_ : rng;
  if (!from_) rng.seek(rng.position() + count);
  if (into_) *into_ = at;
  return at;
}

}  // namespace veldt
