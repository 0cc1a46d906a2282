// Walks the dicts and lists of a checkpoint. A few bytes can describe a tree of any size, since parts are
// shared, or a circle: so depth, steps and names are bounded.
#include "veldt/io/torch_state.h"

#include <algorithm>
#include <set>

#include "veldt/core/error.h"
#include "veldt/io/suggest.h"

namespace veldt::io {
namespace {

constexpr int kMaxStateDepth = 32;
constexpr std::size_t kMaxStateSteps = kMaxPickleValues;
constexpr std::size_t kMaxStateTensors = std::size_t{1} << 18;
constexpr std::size_t kMaxStateName = 1000;  // bytes
constexpr std::size_t kMostLeftOut = 100;

// Where training programs put the state of a network, the likelier first.
constexpr const char* kStateKeys[] = {"state_dict", "model_state_dict", "model_state",    "model",
                                      "net",        "network",          "net_state_dict", "module",
                                      "weights",    "params",           "state"};

// The parts of a pickle's containers, and what they hold.
class StateParts {
 public:
  StateParts(const TorchPickle& torch, const std::string& file)
      : torch_(torch), pickle_(torch.pickle()), file_(file) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw IoError(IoError::Kind::malformed, "cannot read " + file_, why, "save the state_dict alone");
  }

  bool is_container(const PickleValue& value) const {
    return value.kind == PickleKind::dict || value.kind == PickleKind::list ||
           value.kind == PickleKind::tuple;
  }

  // Calls each(key, value) of a dict's items with text or whole numbers as keys, or of a list's, with their
  // index.
  template <class Each> void items(const PickleValue& value, const Each& each) const {
    const bool is_dict = value.kind == PickleKind::dict;
    for (std::size_t i = 0; i < value.items.size(); i += is_dict ? 2 : 1) {
      if (!is_dict) {
        each(std::to_string(i), value.items[i]);
        continue;
      }
      const PickleValue& key = pickle_[value.items[i]];
      if (key.kind == PickleKind::text) each(key.text, value.items[i + 1]);
      if (key.kind == PickleKind::integer) each(std::to_string(key.integer), value.items[i + 1]);
    }
  }

  // The tensors in a part, however deep. `depth`: of it in the file.
  std::size_t tensors_in(PickleRef part, int depth = 0) {
    const PickleValue& value = pickle_[part];
    if (++steps_ > kMaxStateSteps) fail("its dicts have more parts than any network");
    if (torch_.is_tensor(value)) return 1;
    if (!is_container(value)) return 0;
    if (depth == kMaxStateDepth)
      fail(str("its dicts nest more than ", kMaxStateDepth, " levels deep, or in circles"));
    std::size_t found = 0;
    const std::size_t step = value.kind == PickleKind::dict ? 2 : 1;
    for (std::size_t i = step - 1; i < value.items.size(); i += step)
      found += tensors_in(value.items[i], depth + 1);
    return found;
  }

  // Not those in its parts.
  std::size_t tensors_at_top(const PickleValue& value) const {
    std::size_t found = 0;
    items(value,
          [&](const std::string&, PickleRef item) { found += torch_.is_tensor(pickle_[item]) ? 1 : 0; });
    return found;
  }

  bool is_of_optimizer(const PickleValue& value) const {
    return pickle_.find(value, "param_groups") != nullptr && pickle_.find(value, "state") != nullptr;
  }

  PickleRef find_key(PickleRef part, const std::string& wanted) const {
    PickleRef found = 0;
    items(pickle_[part], [&](const std::string& key, PickleRef item) {
      if (key == wanted) found = item;
    });
    return found;
  }

  // A value in a few words.
  std::string in_words(PickleRef ref) {
    const PickleValue& value = pickle_[ref];
    switch (value.kind) {
      case PickleKind::none: return "None";
      case PickleKind::boolean: return value.integer != 0 ? "True" : "False";
      case PickleKind::integer: return std::to_string(value.integer);
      case PickleKind::real: return str(value.real);
      case PickleKind::text: return str("'", value.text.substr(0, 60), value.text.size() > 60 ? "..'" : "'");
      case PickleKind::global: return value.text;
      case PickleKind::object:
        return torch_.is_tensor(value) ? "a tensor" : std::string(pickle_.class_of(value));
      case PickleKind::large: return "a large integer";
      case PickleKind::bytes: return str(value.text.size(), " bytes");
      case PickleKind::set: return str("a set of ", value.items.size());
      case PickleKind::persistent: return "a storage";
      case PickleKind::list:
      case PickleKind::tuple:
      case PickleKind::dict: break;
    }
    if (const std::size_t tensors = tensors_in(ref); tensors > 0)
      return str(is_of_optimizer(value) ? "an optimizer's state, " : "", tensors,
                 tensors == 1 ? " tensor" : " tensors");
    return value.kind == PickleKind::dict ? str("a dict of ", value.items.size() / 2)
                                          : str("a list of ", value.items.size());
  }

 protected:
  const TorchPickle& torch_;
  const Pickle& pickle_;
  const std::string& file_;
  std::size_t steps_ = 0;
};

class StateWalk : StateParts {
 public:
  StateWalk(const TorchPickle& torch, const std::string& file) : StateParts(torch, file) {}

  TorchState find(const std::string& take) {
    PickleRef part = pickle_.root;
    if (!take.empty())
      part = given(take);
    else
      part = conventional(part);
    if (torch_.is_tensor(pickle_[part]))
      state_.tensors.push_back({"tensor", part});
    else
      collect(part, {}, 0);
    if (state_.tensors.empty())
      throw IoError(IoError::Kind::malformed, str(file_, " holds no tensors", in_taken()),
                    str("what it holds is ", in_words(pickle_.root)),
                    "save a state_dict: torch.save(model.state_dict(), ..)");
    return std::move(state_);
  }

 private:
  std::string in_taken() const { return state_.taken.empty() ? "" : str(" in ", state_.taken); }

  // The part of these keys, "ema.module".
  PickleRef given(const std::string& take) {
    PickleRef part = pickle_.root;
    std::string rest = take;
    while (!rest.empty()) {
      PickleRef next = find_key(part, rest);  // a key may have dots itself
      std::size_t end = rest.size();
      while (next == 0 && (end = rest.rfind('.', end - 1)) != std::string::npos && end > 0)
        next = find_key(part, rest.substr(0, end));
      if (next == 0) refuse_key(part, take);
      rest = end >= rest.size() ? std::string() : rest.substr(end + 1);
      part = next;
    }
    list_others(pickle_.root, take.substr(0, take.find('.')));
    state_.taken = take;
    return part;
  }

  [[noreturn]] void refuse_key(PickleRef part, const std::string& take) const {
    std::vector<std::string> keys;
    items(pickle_[part], [&](const std::string& key, PickleRef) {
      if (keys.size() < kMostLeftOut) keys.push_back(key.substr(0, 60));
    });
    const std::string near = nearest_of(take, keys);
    std::string all;
    for (std::size_t i = 0; i < std::min<std::size_t>(keys.size(), 12); ++i)
      all += str(i == 0 ? "" : ", ", keys[i]);
    throw ConfigError(str("there is nothing to take at ", take, " in ", file_),
                      str("its keys there are ", all, keys.size() > 12 ? ".." : ""),
                      near.empty() ? std::string("take one of these") : str("did you mean ", near, "?"));
  }

  // The part that holds the state by the habits of training programs; else all.
  PickleRef conventional(PickleRef part) {
    for (int depth = 0; depth < 3; ++depth) {
      const PickleValue& value = pickle_[part];
      if (value.kind != PickleKind::dict) break;
      const std::size_t beside = tensors_at_top(value);  // a generator's state, say
      PickleRef next = 0;
      for (const char* key : kStateKeys) {
        // Below the first level only what says so itself: {"model": {"encoder": .., "net": ..}} is one state.
        const bool says_so = std::string_view(key).ends_with("state_dict");
        const PickleRef found = depth > 0 && !says_so ? 0 : find_key(part, key);
        if (found == 0 || is_of_optimizer(pickle_[found]) || !is_container(pickle_[found])) continue;
        const std::size_t tensors = tensors_in(found);
        if (tensors == 0 || (tensors <= beside && !says_so)) continue;
        next = found;
        list_others(part, key);
        state_.taken += str(state_.taken.empty() ? "" : ".", key);
        break;
      }
      if (next == 0) break;
      part = next;
    }
    return part;
  }

  void leave_out(const std::string& name, PickleRef value) {
    if (state_.left_out.size() < kMostLeftOut)
      state_.left_out.push_back({name.substr(0, 200), in_words(value)});
  }

  void list_others(PickleRef part, const std::string& taken) {
    const std::string before = state_.taken.empty() ? "" : state_.taken + ".";
    items(pickle_[part], [&](const std::string& key, PickleRef item) {
      if (key != taken) leave_out(before + key, item);
    });
  }

  void collect(PickleRef part, const std::string& prefix, int depth) {
    const PickleValue& value = pickle_[part];
    if (depth == kMaxStateDepth)
      fail(str("its dicts nest more than ", kMaxStateDepth, " levels deep, or in circles"));
    items(value, [&](const std::string& key, PickleRef item) {
      if (++steps_ > kMaxStateSteps) fail("its dicts have more parts than any network");
      const PickleValue& found = pickle_[item];
      const bool is_tensor = torch_.is_tensor(found);
      const bool holds = !is_tensor && is_container(found) && tensors_in(item, depth + 1) > 0;
      if (prefix.size() + key.size() > kMaxStateName) {
        if (holds || is_tensor) fail(str("it names a tensor with more than ", kMaxStateName, " bytes"));
        return;
      }
      const std::string name = prefix + key;
      if (is_tensor)
        add(name, item);
      else if (!holds || (depth == 0 && is_of_optimizer(found)))
        leave_out(name, item);
      else
        collect(item, name + ".", depth + 1);
    });
    for (std::size_t i = 0; value.kind == PickleKind::dict && i < value.items.size(); i += 2)
      if (const PickleKind kind = pickle_[value.items[i]].kind;
          kind != PickleKind::text && kind != PickleKind::integer)
        leave_out(prefix + "(a key that is no text)", value.items[i + 1]);
  }

  void add(const std::string& name, PickleRef value) {
    if (state_.tensors.size() == kMaxStateTensors)
      fail(str("it has more than the ", kMaxStateTensors, " tensors that are allowed"));
    if (name.empty()) fail("a tensor has no name");
    if (!names_.insert(name).second) fail(str("it has two tensors of the name ", name));
    state_.tensors.push_back({name, value});
  }

  TorchState state_;
  std::set<std::string> names_;
};

}  // namespace

TorchState find_state(const TorchPickle& torch, const std::string& file, const std::string& take) {
  return StateWalk(torch, file).find(take);
}

}  // namespace veldt::io
