// The reasons of a fit's choices, in words and with the deciding numbers.
// Tests: tests/field/reasons_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/field/choices.h"

namespace veldt::field {

struct Reason {
  std::string choice;  // the flag's name without dashes ("first-omega"), else a word: "kind", "grid"
  std::string value;   // as the flag takes it if it is one value; layers of several widths are listed
  std::string why;     // one clause; "asked for" if the user chose it
};

// The choices of choices_for(), in reading order; only those that apply to its model.
std::vector<Reason> reasons_of(const FitChoices& choices);

}  // namespace veldt::field
