// The opcodes of pickles, and what each does to the machine's stack.
#include "veldt/io/pickle.h"

#include <bit>

#include "veldt/core/error.h"
#include "veldt/io/pickle_stack.h"
#include "veldt/io/pickle_text.h"

namespace veldt::io {
namespace {

// A function for each kind of opcodes: false if this one is not of the kind.

bool do_number(PickleStack& stack, unsigned op) {
  PickleInput& input = stack.input();
  switch (op) {
    case 'N': stack.push(PickleStack::kNone); return true;
    case 0x88: stack.push(PickleStack::kTrue); return true;
    case 0x89: stack.push(PickleStack::kFalse); return true;
    case 'K': stack.push_integer(static_cast<std::int64_t>(input.byte())); return true;
    case 'M': stack.push_integer(static_cast<std::int64_t>(input.little_endian(2))); return true;
    case 'J': stack.push_integer(static_cast<std::int32_t>(input.little_endian(4))); return true;
    case 'I':
    case 'L': {
      std::string line = input.line();
      if (op == 'I' && (line == "00" || line == "01")) {  // booleans of protocols 0 and 1
        stack.push(line == "01" ? PickleStack::kTrue : PickleStack::kFalse);
        return true;
      }
      if (line.ends_with('L')) line.pop_back();
      stack.push_whole(pickle_decimal(line));
      return true;
    }
    case 0x8a: stack.push_whole(pickle_long(input.take(input.byte()))); return true;
    case 0x8b: stack.push_whole(pickle_long(input.take(input.little_endian(4)))); return true;
    case 'F': stack.push_real(pickle_real(input.line())); return true;
    case 'G': {
      std::uint64_t bits = 0;
      for (int i = 0; i < 8; ++i) bits = bits << 8 | input.byte();
      stack.push_real(std::bit_cast<double>(bits));
      return true;
    }
    default: return false;
  }
}

bool do_text(PickleStack& stack, unsigned op) {
  PickleInput& input = stack.input();
  const auto counted = [&](PickleKind kind, int length_bytes) {
    stack.push_text(kind, input.take(input.little_endian(length_bytes)));
    return true;
  };
  switch (op) {
    case 'U':
    case 0x8c: return counted(PickleKind::text, 1);
    case 'X':
    case 'T': return counted(PickleKind::text, 4);
    case 0x8d: return counted(PickleKind::text, 8);
    case 'C': return counted(PickleKind::bytes, 1);
    case 'B': return counted(PickleKind::bytes, 4);
    case 0x8e:
    case 0x96: return counted(PickleKind::bytes, 8);
    case 'S': stack.push_text(PickleKind::text, pickle_quoted(input.line())); return true;
    case 'V': stack.push_text(PickleKind::text, pickle_unicode(input.line())); return true;
    default: return false;
  }
}

bool do_container(PickleStack& stack, unsigned op) {
  switch (op) {
    case '(': stack.mark(); return true;
    case ']': stack.push_new(PickleKind::list); return true;
    case '}': stack.push_new(PickleKind::dict); return true;
    case 0x8f: stack.push_new(PickleKind::set); return true;
    case ')': stack.push(PickleStack::kNoItems); return true;
    case 'l': stack.push_items(PickleKind::list, stack.pop_to_mark()); return true;
    case 't': stack.push_items(PickleKind::tuple, stack.pop_to_mark()); return true;
    case 0x91: stack.push_items(PickleKind::set, stack.pop_to_mark()); return true;
    case 'd': stack.push_items(PickleKind::dict, stack.pop_to_mark()); return true;
    case 0x85: stack.push_items(PickleKind::tuple, stack.pop_many(1)); return true;
    case 0x86: stack.push_items(PickleKind::tuple, stack.pop_many(2)); return true;
    case 0x87: stack.push_items(PickleKind::tuple, stack.pop_many(3)); return true;
    case 'a': stack.add_items(stack.pop_many(1), false); return true;
    case 'e':
    case 0x90: stack.add_items(stack.pop_to_mark(), false); return true;
    case 's': stack.add_items(stack.pop_many(2), true); return true;
    case 'u': stack.add_items(stack.pop_to_mark(), true); return true;
    default: return false;
  }
}

std::uint64_t memo_index(PickleStack& stack) {
  const auto value = pickle_decimal(stack.input().line());
  if (!value || !value->small || *value->small < 0) stack.fail("a number of its memo is damaged");
  return static_cast<std::uint64_t>(*value->small);
}

// The stack, the memo, and what is around opcodes.
bool do_reference(PickleStack& stack, unsigned op) {
  PickleInput& input = stack.input();
  switch (op) {
    case '0': stack.drop(); return true;
    case '1': stack.pop_to_mark(); return true;
    case '2': stack.push(stack.top()); return true;
    case 'p': stack.put(memo_index(stack)); return true;
    case 'q': stack.put(input.byte()); return true;
    case 'r': stack.put(input.little_endian(4)); return true;
    case 0x94: stack.put_next(); return true;
    case 'g': stack.get(memo_index(stack)); return true;
    case 'h': stack.get(input.byte()); return true;
    case 'j': stack.get(input.little_endian(4)); return true;
    case 0x80:
      if (input.byte() > 5) stack.fail("its protocol is newer than 5");
      return true;
    case 0x95:
      if (input.little_endian(8) > input.left()) stack.fail("a frame is longer than the file");
      return true;
    case 0x82:
    case 0x83:
    case 0x84: stack.fail("it has an extension code, which stands for a name in somebody's registry");
    case 0x97:
    case 0x98: stack.fail("it has a buffer that is kept elsewhere");
    default: return false;
  }
}

void push_persistent(PickleStack& stack) {
  const PickleRef id = stack.pop();
  stack.push_new(PickleKind::persistent).arguments = id;
}

bool do_call(PickleStack& stack, unsigned op) {
  PickleInput& input = stack.input();
  switch (op) {
    case 'c': {
      const std::string module = input.line();
      stack.push_global(module, input.line());
      return true;
    }
    case 0x93: {
      const PickleRef name = stack.pop(), module = stack.pop();
      if (stack.of(name).kind != PickleKind::text || stack.of(module).kind != PickleKind::text)
        stack.fail("a global's name is not text");
      const std::string of_module = stack.of(module).text, of_name = stack.of(name).text;
      stack.push_global(of_module, of_name);
      return true;
    }
    case 'i': {  // an instance of protocol 0: its class by name, its arguments above the mark
      const std::string module = input.line(), name = input.line();
      std::vector<PickleRef> arguments = stack.pop_to_mark();
      stack.push_global(module, name);
      stack.push_items(PickleKind::tuple, std::move(arguments));
      stack.push_object();
      return true;
    }
    case 'o': {  // one of protocol 1: its class is the first above the mark
      std::vector<PickleRef> parts = stack.pop_to_mark();
      if (parts.empty()) stack.fail("an object has no class");
      stack.push(parts.front());
      parts.erase(parts.begin());
      stack.push_items(PickleKind::tuple, std::move(parts));
      stack.push_object();
      return true;
    }
    case 'R':
    case 0x81: stack.push_object(); return true;
    case 0x92:  // the same with keyword arguments, which nothing known has
      stack.pop();
      stack.push_object();
      return true;
    case 'b': stack.set_state(); return true;
    case 'P':
      stack.push_text(PickleKind::text, input.line());
      push_persistent(stack);
      return true;
    case 'Q': push_persistent(stack); return true;
    default: return false;
  }
}

}  // namespace

Pickle read_pickle(PickleInput& input, const std::function<bool(std::string_view)>& knows) {
  PickleStack stack(input, knows);
  try {
    for (unsigned op = input.byte(); op != '.'; op = input.byte())
      if (!do_number(stack, op) && !do_text(stack, op) && !do_container(stack, op) &&
          !do_reference(stack, op) && !do_call(stack, op))
        stack.fail(str("opcode ", op, " is not known"));
    stack.pickle().root = stack.pop();
  } catch (const IoError&) {  // the unknown names are the better reason
    if (stack.pickle().unknown.empty()) throw;
  }
  return std::move(stack.pickle());
}

}  // namespace veldt::io
