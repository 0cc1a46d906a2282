// "did you mean": the known word nearest to a mistyped one.
// Tests: tests/io/suggest_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace veldt::io {

// How many letters must be inserted, removed, replaced or swapped with their neighbour (optimal string
// alignment, Damerau 1964).
int edit_distance(std::string_view a, std::string_view b);

// The nearest known word, or the only one that begins with `word`, or the only one that has its four letters
// or more within; empty if none is near.
std::string nearest_of(std::string_view word, const std::vector<std::string>& known);

}  // namespace veldt::io
