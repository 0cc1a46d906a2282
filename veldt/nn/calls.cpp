// Calls of modules: where hooks and listeners are told, and errors get their place.
#include <optional>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/module.h"

namespace veldt::nn {
namespace {

constinit thread_local CallListener* t_listener = nullptr;

// The hooks of one call, which keep it if the module loses them meanwhile.
class HookedCall {
 public:
  HookedCall(const Module& module, std::shared_ptr<const ModuleHooks> hooks)
      : module_(module), hooks_(std::move(hooks)) {}

  void begin(TensorList& inputs) const {
    if (hooks_) {
      const std::size_t count = inputs.size();
      hooks_->before.for_each([&](const ForwardPreHook& hook) { hook(module_, inputs); });
      check("inputs", inputs.size(), count);
    }
    if (t_listener) t_listener->on_begin(module_, inputs);
  }

  void end(const TensorList& inputs, TensorList& outputs) const {
    if (hooks_) {
      const std::size_t count = outputs.size();
      hooks_->after.for_each([&](const ForwardHook& hook) { hook(module_, inputs, outputs); });
      check("outputs", outputs.size(), count);
      if (!hooks_->backward.empty())
        for (std::size_t i = 0; i < outputs.size(); ++i)
          if (outputs[i].defined() && outputs[i].requires_grad()) outputs[i] = heard(outputs[i], i);
    }
    if (t_listener) t_listener->on_call(module_, inputs, outputs);
  }

 private:
  // The output as a tensor of its own, with the hooks on its gradient: a module may return what it was given,
  // or a parameter, and other uses of that are none of the hooks' business.
  Tensor heard(const Tensor& output, std::size_t i) const {
    const Tensor own = record(
        "output", output.alias(output.shape(), output.strides(), 0), {output},
        [](const Tensor& g) -> Grads { return {g}; }, false);
    hooks_->backward.for_each([&](const BackwardHook& hook) {
      own.register_hook([hook, i](const Tensor& gradient) { return hook(i, gradient); });
    });
    return own;
  }

  static void check(const char* what, std::size_t now, std::size_t before) {
    if (now != before)
      throw Error(str("a hook left ", now, ' ', what), str("there were ", before),
                  "let it replace tensors of the list alone");
  }

  const Module& module_;
  std::shared_ptr<const ModuleHooks> hooks_;
};

}  // namespace

CallListener::CallListener() : before_(t_listener) { t_listener = this; }
CallListener::~CallListener() { t_listener = before_; }

Tensor Module::forward(const Tensor&) const {
  throw Error(str(title(), " has no forward() of one tensor"), "the module does not override it",
              "override forward(), or call it with all of its inputs: module({x, y})");
}

TensorList Module::forward_list(const TensorList& inputs) const {
  if (inputs.size() != 1)
    throw Error(str(title(), " cannot take ", inputs.size(), " inputs"), "it takes one",
                "give it one tensor, or override forward_list()");
  return {forward(inputs[0])};
}

Tensor Module::operator()(const Tensor& x) const {
  if (hooks_ || t_listener)
    return call({x}, [this](const TensorList& in) { return TensorList{forward(in[0])}; })[0];
  try {
    return forward(x);
  } catch (Error& error) {
    locate(error);
    throw;
  }
}

TensorList Module::operator()(const TensorList& inputs) const {
  return call(inputs, [this](const TensorList& in) { return forward_list(in); });
}

TensorList Module::call(TensorList inputs, BodyRef body) const {
  try {
    const HookedCall hooked(*this, hooks_);
    hooked.begin(inputs);
    TensorList outputs = body.run(body.body, inputs);
    hooked.end(inputs, outputs);
    return outputs;
  } catch (Error& error) {
    locate(error);
    throw;
  }
}

// Copies of a module share the hooks that they had when they were made.
ModuleHooks& Module::own_hooks() {
  auto own = hooks_ ? std::make_shared<ModuleHooks>(*hooks_) : std::make_shared<ModuleHooks>();
  hooks_ = own;
  return *own;
}

HookHandle Module::register_forward_pre_hook(ForwardPreHook hook) {
  return own_hooks().before.add(std::move(hook));
}
HookHandle Module::register_forward_hook(ForwardHook hook) { return own_hooks().after.add(std::move(hook)); }
HookHandle Module::register_backward_hook(BackwardHook hook) {
  return own_hooks().backward.add(std::move(hook));
}

// The innermost module gives its title; each outer one puts its member's name in front.
void Module::locate(Error& error) const {
  Error::Place place = error.place();
  if (place.outermost == this) return;
  if (place.outermost == nullptr) {
    place.title = title();
  } else {
    std::optional<std::string> found;
    for (const NamedModule& inner : named_modules())
      if (inner.module == place.outermost) found = inner.name;
    if (!found) return;  // not a member: its name is unknown here
    place.path = place.path.empty() || found->empty() ? *found + place.path : *found + '.' + place.path;
  }
  place.outermost = this;
  error.set_place(std::move(place));
}

}  // namespace veldt::nn
