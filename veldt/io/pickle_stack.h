// The state of the machine that reads a pickle: values by number, a stack and a memo of such numbers.
// Values are never freed, so nothing recurses; everything that grows is counted. Only for pickle.cpp.
// Tests: tests/io/pickle_test.cpp, tests/fuzz/torch.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/io/pickle_input.h"
#include "veldt/io/pickle_text.h"
#include "veldt/io/pickle_value.h"

namespace veldt::io {

class PickleStack {
 public:
  // Values that many opcodes of one byte make, shared.
  static constexpr PickleRef kNone = 0, kFalse = 1, kTrue = 2, kNoItems = 3;

  PickleStack(PickleInput& input, const std::function<bool(std::string_view)>& knows);

  PickleInput& input() { return input_; }
  [[noreturn]] void fail(const std::string& why) const { input_.fail(why); }
  PickleValue& of(PickleRef ref) { return pickle_.values[ref]; }
  Pickle& pickle() { return pickle_; }

  void push(PickleRef ref);
  PickleValue& push_new(PickleKind kind);
  PickleRef top();
  PickleRef pop();
  std::vector<PickleRef> pop_many(std::size_t values);
  void mark();
  std::vector<PickleRef> pop_to_mark();
  // Drops the topmost value, or the mark if it is on top.
  void drop();

  void push_integer(std::int64_t value) { push_new(PickleKind::integer).integer = value; }
  void push_whole(const std::optional<PickleInteger>& whole);
  void push_real(const std::optional<double>& value);
  void push_text(PickleKind kind, std::optional<std::string> text);
  void push_items(PickleKind kind, std::vector<PickleRef> items);
  // To the container on top: values, or keys and values.
  void add_items(const std::vector<PickleRef>& items, bool pairs);
  void push_global(const std::string& module, const std::string& name);
  // Class or function and its arguments are on the stack, and replaced by the object, or the container of
  // Python's own, that they stand for.
  void push_object();
  // What is on top of a value becomes its state.
  void set_state();

  void put(std::uint64_t index);
  void put_next() { put(memoized_); }
  void get(std::uint64_t index);

 private:
  void count(std::size_t more);
  void need(std::size_t values) const;
  bool push_container(std::string_view name, PickleRef arguments);
  std::vector<PickleRef> pairs_of(PickleRef from);

  PickleInput& input_;
  const std::function<bool(std::string_view)>& knows_;
  Pickle pickle_;
  std::vector<PickleRef> stack_, memo_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::size_t counted_ = 0, memoized_ = 0;
};

}  // namespace veldt::io
