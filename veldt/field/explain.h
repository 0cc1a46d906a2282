// Why a plan is what it is, in words with the numbers that decided.
// Tests: tests/field/explain_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/field/plan.h"

namespace veldt::field {

struct Reason {
  std::string choice;  // the flag's name without dashes ("hidden-omega"), else a word: "kind", "grid"
  std::string value;   // as the flag takes it where one value says it; layers of several widths are listed
  std::string why;     // one clause; "asked for" if it was wished
};

// The choices of a plan of plan_for() in the order in which they are to be read; only those that count for
// its model.
std::vector<Reason> explain(const FitPlan& plan);

}  // namespace veldt::field
