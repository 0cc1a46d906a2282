// Entries that a backend lacks: an error that names the entry, or, if the program allows it, work of the cpu
// on copies, which is counted.
// Tests: tests/tensor/fallback_test.cpp, tests/train/small_backend_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/core/backend.h"

namespace veldt {

// Whether entries that a backend lacks are done by the cpu, from now on and for all threads. Each call then
// copies its inputs to the host and its outputs back, including gaps between elements; otherwise it throws
// NoKernel.
void set_host_fallback(bool on);

// The names of the entries for which a backend, from backend(), has no function of its own, in the order of
// core/entries.inc.
std::vector<const char*> lacking(const Backend&);
bool lacks(const Backend&, Entry);
bool lacks_any(const Backend&);

// Work done by the cpu for another device since the program began.
struct FallbackCount {
  std::string device, entry;  // "mine:0", "softmax"
  std::int64_t calls = 0;
  double bytes = 0;  // copied, both ways
};
// The most calls first.
std::vector<FallbackCount> fallback_counts();
// "the cpu did for mine:0: softmax 12 times, convolve 6 times (3.1 MiB copied)"; empty if it did nothing.
std::string fallback_text();

// `real` with a function for each entry: its own, or one that does the above. Both are never freed.
const Backend& completed(const Backend& real, const Backend& cpu);

}  // namespace veldt
