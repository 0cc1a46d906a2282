// What the opcodes of pickles do to the stack, the memo and the values, within their limits.
#include "veldt/io/pickle_stack.h"

#include <algorithm>

#include "veldt/core/error.h"

namespace veldt::io {
namespace {

constexpr std::size_t kMaxUnknown = 16;
constexpr std::size_t kMaxGlobalBytes = 1000;
constexpr PickleRef kNothing = 0xffffffff;  // in a place of the memo

}  // namespace

PickleStack::PickleStack(PickleInput& input, const std::function<bool(std::string_view)>& knows)
    : input_(input), knows_(knows) {
  pickle_.values.resize(4);
  pickle_.values[kFalse].kind = pickle_.values[kTrue].kind = PickleKind::boolean;
  pickle_.values[kTrue].integer = 1;
  pickle_.values[kNoItems].kind = PickleKind::tuple;
}

// ---- the stack ----

void PickleStack::count(std::size_t more) {
  counted_ += more;
  if (counted_ > kMaxPickleValues) fail(str("it has more than ", kMaxPickleValues, " values"));
}

void PickleStack::push(PickleRef ref) {
  count(1);
  stack_.push_back(ref);
}

PickleValue& PickleStack::push_new(PickleKind kind) {
  push(static_cast<PickleRef>(pickle_.values.size()));
  pickle_.values.emplace_back().kind = kind;
  return pickle_.values.back();
}

void PickleStack::need(std::size_t values) const {
  const std::size_t bottom = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - bottom < values) fail("its stack is too short for an opcode");
}

PickleRef PickleStack::top() {
  need(1);
  return stack_.back();
}

PickleRef PickleStack::pop() {
  const PickleRef ref = top();
  stack_.pop_back();
  return ref;
}

std::vector<PickleRef> PickleStack::pop_many(std::size_t values) {
  need(values);
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(values);
  std::vector<PickleRef> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  return items;
}

void PickleStack::mark() {
  count(1);
  marks_.push_back(stack_.size());
}

std::vector<PickleRef> PickleStack::pop_to_mark() {
  if (marks_.empty()) fail("an opcode finds no mark");
  std::vector<PickleRef> items = pop_many(stack_.size() - marks_.back());
  marks_.pop_back();
  return items;
}

void PickleStack::drop() {
  if (!marks_.empty() && marks_.back() == stack_.size())
    marks_.pop_back();
  else
    pop();
}

// ---- values ----

void PickleStack::push_whole(const std::optional<PickleInteger>& whole) {
  if (!whole) fail("a number is damaged");
  if (whole->small) return push_integer(*whole->small);
  push_new(PickleKind::large).text = whole->bytes;
}

void PickleStack::push_real(const std::optional<double>& value) {
  if (!value) fail("a number is damaged");
  push_new(PickleKind::real).real = *value;
}

void PickleStack::push_text(PickleKind kind, std::optional<std::string> text) {
  if (!text) fail("a text is damaged");
  push_new(kind).text = std::move(*text);
}

void PickleStack::push_items(PickleKind kind, std::vector<PickleRef> items) {
  if (kind == PickleKind::tuple && items.empty()) return push(kNoItems);
  if (kind == PickleKind::dict && items.size() % 2 != 0) fail("a dict has a key without a value");
  push_new(kind).items = std::move(items);
}

void PickleStack::add_items(const std::vector<PickleRef>& items, bool pairs) {
  if (pairs && items.size() % 2 != 0) fail("a dict has a key without a value");
  PickleValue& to = of(top());
  const bool takes =
      to.kind == PickleKind::object ||
      (pairs ? to.kind == PickleKind::dict : to.kind == PickleKind::list || to.kind == PickleKind::set);
  if (!takes) fail("values are added to what is no container");
  count(items.size());
  to.items.insert(to.items.end(), items.begin(), items.end());
}

void PickleStack::push_global(const std::string& module, const std::string& name) {
  if (module.size() + name.size() > kMaxGlobalBytes) fail("a global's name is too long");
  std::string dotted = str(module, '.', name);
  std::vector<std::string>& unknown = pickle_.unknown;
  if (!knows_(dotted) && unknown.size() < kMaxUnknown &&
      std::find(unknown.begin(), unknown.end(), dotted) == unknown.end())
    unknown.push_back(dotted);
  push_new(PickleKind::global).text = std::move(dotted);
}

void PickleStack::push_object() {
  const PickleRef arguments = pop(), callee = pop();
  if (of(arguments).kind != PickleKind::tuple) fail("the arguments of a call are no tuple");
  if (of(callee).kind == PickleKind::global && push_container(of(callee).text, arguments)) return;
  PickleValue& object = push_new(PickleKind::object);
  object.callee = callee;
  object.arguments = arguments;
}

void PickleStack::set_state() {
  const PickleRef state = pop();
  PickleValue& value = of(top());
  const PickleKind kind = value.kind;
  if (kind != PickleKind::object && kind != PickleKind::dict && kind != PickleKind::list &&
      kind != PickleKind::set)
    fail("a value that can have none gets a state");
  value.state = state;
}

// Python's containers, which are written as calls of their class.
bool PickleStack::push_container(std::string_view name, PickleRef arguments) {
  for (const std::string_view module : {"builtins.", "__builtin__.", "collections."})
    if (name.starts_with(module)) {
      name.remove_prefix(module.size());
      break;
    }
  const std::vector<PickleRef>& given = of(arguments).items;
  PickleKind kind = PickleKind::list;
  std::vector<PickleRef> items;
  if (name == "OrderedDict" || name == "dict" || name == "Counter" || name == "defaultdict") {
    kind = PickleKind::dict;
    // The only argument of a defaultdict makes the values that are missing.
    if (!given.empty() && name != "defaultdict") items = pairs_of(given[0]);
  } else if (name == "set" || name == "frozenset" || name == "list" || name == "tuple" || name == "deque") {
    kind = name.ends_with("set") ? PickleKind::set : name == "tuple" ? PickleKind::tuple : PickleKind::list;
    if (!given.empty()) items = of(given[0]).items;
  } else {
    return false;
  }
  count(items.size());
  push_new(kind).items = std::move(items);
  return true;
}

// Key, value, key, value .. of a dict, or of a list of pairs.
std::vector<PickleRef> PickleStack::pairs_of(PickleRef from) {
  if (of(from).kind == PickleKind::dict) return of(from).items;
  std::vector<PickleRef> items;
  for (const PickleRef pair : of(from).items) {
    if (of(pair).items.size() != 2) fail("a dict is made of what are no pairs");
    items.insert(items.end(), of(pair).items.begin(), of(pair).items.end());
  }
  return items;
}

// ---- the memo ----

// Python numbers what it puts one by one, from 0 or 1, and each has taken a byte at least.
void PickleStack::put(std::uint64_t index) {
  if (index > input_.taken() || index >= kMaxPickleValues)
    fail(str("it puts number ", index, " into its memo"));
  if (index >= memo_.size()) memo_.resize(index + 1, kNothing);
  memo_[index] = top();
  ++memoized_;
}

void PickleStack::get(std::uint64_t index) {
  if (index >= memo_.size() || memo_[index] == kNothing) fail(str("its memo has no number ", index));
  push(memo_[index]);
}

}  // namespace veldt::io
