// The values of a pickle: numbers, texts, containers, and calls that nobody makes. Only for the files of io.
// Tests: tests/io/pickle_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace veldt::io {

// More than any real checkpoint has; a value takes a hundred bytes, however short its opcode is.
inline constexpr std::size_t kMaxPickleValues = std::size_t{1} << 21;

enum class PickleKind : std::uint8_t {
  none,
  boolean,     // integer: 0 or 1
  integer,     // integer
  large,       // an integer beyond 64 bits; text: its bytes in two's complement, 16 of them, or "" for more
  real,        // real
  text,        // text in UTF-8, or what Python 2 called a string
  bytes,       // text
  list,        // items
  tuple,       // items
  set,         // items
  dict,        // items: key, value, key, value ..; state: attributes of its own
  global,      // text: "module.name"
  object,      // callee(arguments): what a call or a class would make; state; items: what was added to it
  persistent,  // arguments: of something that lies outside of the pickle
};

using PickleRef = std::uint32_t;  // the number of a value in its Pickle; 0 is None

struct PickleValue {
  PickleKind kind = PickleKind::none;
  PickleRef callee = 0, arguments = 0, state = 0;
  std::int64_t integer = 0;
  double real = 0;
  std::string text = {};
  std::vector<PickleRef> items = {};
};

// A pickle's values. They may refer to each other in any way, in circles too: who walks them bounds his
// steps.
class Pickle {
 public:
  const PickleValue& operator[](PickleRef ref) const { return values[ref]; }
  const PickleValue& top() const { return values[root]; }
  // The value of a text key in a dict, or null.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
  // The dotted name of what an object's class or function is; "" for another kind of value.
  std::string_view class_of(const PickleValue& value) const;

  std::vector<PickleValue> values;
  PickleRef root = 0;
  std::vector<std::string> unknown;  // names that the caller does not know, the first 16
};

}  // namespace veldt::io
