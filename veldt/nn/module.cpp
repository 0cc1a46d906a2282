// The walks over a module's fields: names and state, devices and modes, the printed tree.
#include "veldt/nn/module.h"

#include <cxxabi.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <typeinfo>

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {
namespace {

// Made by nn::parameter(), or a plain leaf that requires a gradient.
bool is_trained(const Tensor& t) { return is_parameter(t) || t.requires_grad(); }

// Calls a function for each tensor, or each module, of the tree.
class TreeWalk : public Fields {
 public:
  using TensorFn = std::function<void(const std::string& path, Tensor&)>;
  using ModuleFn = std::function<void(const std::string& path, int depth, Module&)>;
  explicit TreeWalk(TensorFn tensor, ModuleFn module = {}, bool all = false)
      : tensor_(std::move(tensor)), module_(std::move(module)), all_(all) {}
  void unsaved(Tensor& t) override {
    if (all_ && t.defined()) tensor_("", t);
  }

 protected:
  void on_tensor(const std::string& path, Tensor& t) override {
    if (tensor_) tensor_(path, t);
  }
  void on_module(const std::string& path, int depth, Module& m) override {
    if (module_) module_(path, depth, m);
  }

 private:
  TensorFn tensor_;
  ModuleFn module_;
  bool all_;  // unsaved tensors too
};

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// Streams of Dropout and similar layers: torch keeps them elsewhere.
bool is_random_stream(const std::string& name, const Tensor& tensor) {
  return tensor.dtype() == DType::i64 && (name == "rng" || name.ends_with(".rng"));
}

// The count of a batch norm's steps too, which torch's files have since 0.4.1 alone.
bool may_be_missing(const std::string& name, const Tensor& tensor) {
  return is_random_stream(name, tensor) || name.ends_with("num_batches_tracked");
}

// Pairs the module's tensors with those of `state`; mismatches go into the report.
std::vector<std::pair<Tensor, Tensor>> match(const NamedTensors& own, const NamedTensors& state,
                                             LoadReport& report) {
  std::map<std::string, Tensor> given;
  for (const auto& [name, tensor] : state) given.emplace(name, tensor);
  std::vector<std::pair<Tensor, Tensor>> pairs;
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end() || !found->second.defined()) {
      if (!may_be_missing(name, tensor)) report.missing.push_back(name);
    } else if (found->second.shape() != tensor.shape()) {
      report.mismatched.push_back(
          str(name, ": ", tensor.shape(), " in the module, ", found->second.shape(), " in the state"));
    } else {
      pairs.emplace_back(tensor, found->second);
    }
    if (found != given.end()) given.erase(found);
  }
  for (const auto& [name, tensor] : state)
    if (given.contains(name)) report.unexpected.push_back(name);
  return pairs;
}

[[noreturn]] void refuse(const LoadReport& report) {
  std::string why;
  const auto part = [&](const char* kind, const std::vector<std::string>& names) {
    if (!names.empty()) why += str(why.empty() ? "" : "; ", kind, " ", join(names));
  };
  part("missing:", report.missing);
  part("unexpected:", report.unexpected);
  part("of another shape:", report.mismatched);
  throw Error(str("the state does not fit the module: ", report.missing.size(), " tensors missing, ",
                  report.unexpected.size(), " unexpected, ", report.mismatched.size(), " of another shape"),
              why, "build the module with the options it was saved with, or load with strict = false");
}

}  // namespace

std::size_t Fields::enter(std::string_view name) {
  const std::size_t outer = path_.size();
  if (outer > 0 && !name.empty()) path_ += '.';
  path_ += name;
  return outer;
}

Fields& Fields::operator()(std::string_view name, Tensor& tensor) {
  if (!tensor.defined()) return *this;
  const std::size_t outer = enter(name);
  on_tensor(path_, tensor);
  path_.resize(outer);
  return *this;
}

Fields& Fields::operator()(std::string_view name, Module& module) {
  const std::size_t outer = enter(name);
  ++depth_;
  on_module(path_, depth_, module);
  module.fields(*this);
  --depth_;
  path_.resize(outer);
  return *this;
}

void Fields::on_module(const std::string&, int, Module&) {}

double Module::flops(const Shape&, const Shape&) const { return 0; }

void Module::fields(Fields&) {}

std::string Module::title() const {
  int status = 0;
  char* name = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
  const std::string full = status == 0 ? name : typeid(*this).name();
  std::free(name);
  const std::size_t scope = full.rfind("::", full.find('<'));
  return scope == std::string::npos ? full : full.substr(scope + 2);
}

// fields() returns references, so it is not const; the visitors of const functions only read.
void Module::visit(Fields& visitor) const { const_cast<Module*>(this)->fields(visitor); }

std::vector<NamedModule> Module::named_modules() const {
  std::vector<NamedModule> out{{"", const_cast<Module*>(this)}};
  std::set<const Module*> seen{this};
  TreeWalk walk({}, [&](const std::string& path, int, Module& m) {
    if (seen.insert(&m).second) out.push_back({path, &m});
  });
  visit(walk);
  return out;
}

std::vector<NamedModule> Module::children() const {
  std::vector<NamedModule> out;
  TreeWalk walk({}, [&](const std::string& path, int depth, Module& m) {
    if (depth == 1) out.push_back({path, &m});
  });
  visit(walk);
  return out;
}

Module& Module::apply(const std::function<void(Module&)>& fn) {
  for (const NamedModule& child : children()) child.module->apply(fn);
  fn(*this);
  return *this;
}

NamedTensors Module::named_parameters() const {
  NamedTensors out;
  std::set<const TensorImpl*> seen;
  TreeWalk walk([&](const std::string& path, Tensor& t) {
    if (!is_trained(t) || !seen.insert(t.impl()).second) return;
    if (!is_parameter(t)) mark_parameter(t);
    mark_listed(t);
    out.push_back({path, t});
  });
  visit(walk);
  return out;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> out;
  for (auto& [name, tensor] : named_parameters()) out.push_back(std::move(tensor));
  return out;
}

NamedTensors Module::trained_parameters(std::string_view prefix) const {
  NamedTensors out = named_parameters();
  std::erase_if(out,
                [&](const NamedTensor& p) { return !p.tensor.requires_grad() || !is_below(p.name, prefix); });
  return out;
}

NamedTensors Module::named_buffers() const {
  NamedTensors out;
  TreeWalk walk([&](const std::string& path, Tensor& t) {
    if (!is_trained(t)) out.push_back({path, t});
  });
  visit(walk);
  return out;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  std::set<const TensorImpl*> seen;
  TreeWalk walk([&](const std::string&, Tensor& t) {
    if (is_trained(t) && seen.insert(t.impl()).second) count += t.numel();
  });
  visit(walk);
  return count;
}

NamedTensors Module::state_dict() const {
  NamedTensors out;
  std::set<std::string> names;
  TreeWalk walk([&](const std::string& path, Tensor& t) {
    if (!names.insert(path).second)
      throw Error(str(title(), " has two tensors named ", path), "a fields() gives the same name twice",
                  "give each member a name of its own");
    out.push_back({path, t.detach()});
  });
  visit(walk);
  return out;
}

LoadReport Module::load_state_dict(const NamedTensors& state, bool strict) {
  LoadReport report;
  auto pairs = match(this->state_dict(), state, report);
  if (strict && !report.complete()) refuse(report);
  for (auto& [own, given] : pairs) own.assign(given);
  return report;
}

Module& Module::to(DType dtype) {
  if (!is_float(dtype))
    throw ConfigError(str("a module cannot be converted to ", dtype),
                      "its parameters are floating point numbers", "use f32 or f64");
  const auto convert = [&](const std::string&, Tensor& t) {
    if (!is_float(t.dtype()) || t.dtype() == dtype) return;
    replace_values(t, veldt::to(t.detach(), dtype));
    t.set_grad({});
  };
  TreeWalk walk(convert, {}, true);
  visit(walk);
  return *this;
}

Module& Module::to(Device device) {
  const auto move = [&](const std::string& path, Tensor& t) {
    if (t.device() == device || is_random_stream(path, t)) return;  // streams are counted on the host
    replace_values(t, veldt::to(t.detach(), device));
    t.set_grad({});
  };
  TreeWalk walk(move, {}, true);
  visit(walk);
  return *this;
}

Module& Module::requires_grad(bool on, std::string_view prefix) {
  bool any = false;
  TreeWalk walk(
      [&](const std::string& path, Tensor& t) {
        if (!is_trained(t) || !is_below(path, prefix)) return;
        any = true;
        if (!is_parameter(t)) mark_parameter(t);  // so that a frozen one is still known as a parameter
        t.set_requires_grad(on);
      },
      [&](const std::string& path, int, Module& m) {
        if (on && is_below(path, prefix)) m.frozen_ = false;
      });
  visit(walk);
  if (on && prefix.empty()) frozen_ = false;
  if (!any && !prefix.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : named_parameters()) names.push_back(name);
    throw ConfigError(str("no parameter's name begins with ", prefix), str("there are ", join(names)),
                      "give one of these, or what they have before a dot");
  }
  return *this;
}

Module& Module::freeze(std::string_view prefix) {
  requires_grad(false, prefix);
  TreeWalk walk({}, [&](const std::string& path, int, Module& m) {
    if (is_below(path, prefix)) m.frozen_ = true;
  });
  visit(walk);
  if (prefix.empty()) frozen_ = true;
  return *this;
}

Module& Module::train(bool on) {
  training_ = on;
  TreeWalk walk({}, [on](const std::string&, int, Module& m) { m.training_ = on; });
  visit(walk);
  return *this;
}

std::string Module::description() const {
  std::string out = title() + "\n";
  std::vector<std::string> parents{""};  // the path of the module at each depth
  TreeWalk walk({}, [&](const std::string& path, int depth, Module& m) {
    parents.resize(static_cast<std::size_t>(depth));
    const std::string& parent = parents.back();
    const std::string name = parent.empty() ? path : path.substr(parent.size() + 1);
    out += std::string(2 * static_cast<std::size_t>(depth), ' ') + name + ": " + m.title() + "\n";
    parents.push_back(path);
  });
  visit(walk);
  return out + str(parameter_count(), " parameters\n");
}

namespace {

// The handles and modules that a module holds.
std::set<const void*> members_of(const Module& module) {
  std::set<const void*> members;
  TreeWalk walk([&](const std::string&, Tensor& t) { members.insert(&t); },
                [&](const std::string&, int, Module& m) { members.insert(&m); });
  const_cast<Module&>(module).fields(walk);
  return members;
}

Tensor own_copy(const Tensor& t) {
  Tensor copy = empty(t.shape(), t);
  copy.assign(t.detach());
  if (is_parameter(t)) mark_parameter(copy);
  if (t.requires_grad()) copy.set_requires_grad();
  return copy;
}

}  // namespace

void Module::separate_from(const Module& original) {
  const std::set<const void*> others = members_of(original);
  const auto check = [&](const std::string& path, const void* member) {
    if (others.contains(member))
      throw Error(str(title(), " cannot be cloned: ", path, " is shared with the copy"),
                  "the module holds it by a pointer, which a copy shares",
                  "override unshare() and give the pointer a copy of what it points to");
  };
  std::map<const TensorImpl*, Tensor> copies;  // tied tensors stay tied
  TreeWalk walk(
      [&](const std::string& path, Tensor& t) {
        check(path, &t);
        const auto [at, is_new] = copies.emplace(t.impl(), Tensor());
        if (is_new) at->second = own_copy(t);
        t = at->second;
      },
      [&](const std::string& path, int, Module& m) {
        check(path, &m);
        m.unshare();
      },
      true);
  unshare();
  visit(walk);
}

Tensor parameter(const Tensor& initial) {
  Tensor leaf = initial.detach();
  leaf.set_requires_grad();
  mark_parameter(leaf);
  return leaf;
}

}  // namespace veldt::nn
