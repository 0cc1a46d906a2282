// Sums over ranks, in the order of a tree (sum_tree.h). Only for files of dist/.
// Tests: tests/dist/communicator_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/core/view.h"
#include "veldt/dist/wire.h"

namespace veldt::dist {

// `mine`: a list of numbers for each node of this rank's share of `leaves` leaves, all as long as `out`,
// which may be one of them; contiguous, on the CPU. What is in `out` afterwards is the sum over all leaves,
// on every rank the same bits. Each rank adds up a part of the list and gives it to all: 2 (n - 1) / n of its
// bytes leave a rank of n that has one node, the least that is possible. A short list is added up by every
// rank. `scattered`: nothing is given back, so that a rank has the sums of its share_of_numbers() alone.
void sum_over_ranks(Wire& wire, const std::vector<View>& mine, const View& out, std::int64_t leaves,
                    bool halves = false, bool scattered = false);
// Each rank's share_of_numbers() of each list goes to all.
void gather_shares(Wire& wire, const std::vector<View>& lists);

}  // namespace veldt::dist
