// What all ranks of a wire do together: one operation each. Only for files of dist/.
// Tests: tests/dist/communicator_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "veldt/dist/wire.h"

namespace veldt::dist {

// `all`: the bytes of every rank, as many as this one's each, in the order of ranks.
void gather_bytes(Wire& wire, const void* own, char* all, std::size_t bytes);
// Those of `root` get to all.
void broadcast_bytes(Wire& wire, void* data, std::size_t bytes, int root);
// The same of text, of any length on each rank.
std::vector<std::string> gather_texts(Wire& wire, const std::string& own);
std::string broadcast_text(Wire& wire, const std::string& own, int root);

}  // namespace veldt::dist
