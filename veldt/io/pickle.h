// Python's pickles, as untrusted data: what a program of pickle opcodes would build, without running
// anything. A pickle is a list of instructions for a small stack machine; this one makes values of
// numbers, texts and containers, and keeps "call this with that" as a value too, for the caller to
// interpret. It calls nothing, imports nothing, and refuses names that the caller does not know.
// Protocols 0 to 5. Source: CPython's Lib/pickletools.py, which describes each opcode. Only for the
// files of io.
// Tests: tests/io/pickle_test.cpp, tests/fuzz/torch.cpp
#pragma once

#include <functional>
#include <string_view>

#include "veldt/io/pickle_input.h"
#include "veldt/io/pickle_value.h"

namespace veldt::io {

// Reads one pickle, from its first opcode to STOP. `knows` says whether a dotted name
// ("collections.OrderedDict") is known: values of other names are kept like any, and their names listed in
// `unknown`, so that the caller can refuse them all at once. Who gets some has no use for the values, which
// may end early. Throws IoError malformed for what no pickle is: unknown or damaged opcodes, a stack that is
// too short, references to nothing, sizes beyond the file; for more than kMaxPickleValues; and for opcodes
// that tensors do not need (extension codes, buffers outside of the pickle).
Pickle read_pickle(PickleInput& input, const std::function<bool(std::string_view)>& knows);

}  // namespace veldt::io
