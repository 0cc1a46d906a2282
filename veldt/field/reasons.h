// Why the choices of a fit are what they are, in words with the numbers that decided.
// Tests: tests/field/reasons_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/field/choices.h"

namespace veldt::field {

struct Reason {
  std::string choice;  // the flag's name without dashes ("hidden-omega"), else a word: "kind", "grid"
  std::string value;   // as the flag takes it where one value says it; layers of several widths are listed
  std::string why;     // one clause; "asked for" if it was wished
};

// What choices_for() chose, in the order in which it is to be read; only those that count for
// its model.
std::vector<Reason> reasons_of(const FitChoices& choices);

}  // namespace veldt::field
