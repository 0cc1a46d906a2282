// Why a plan is what it is, in words with the numbers that decided.
// Tests: tests/field/explain_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/field/plan.h"
#include "veldt/field/signal.h"

namespace veldt::field {

struct Reason {
  std::string choice;  // the flag's name without dashes ("hidden-omega"), else a word: "kind", "grid"
  std::string value;   // as the flag takes it where one value says it; layers of several widths are listed
  std::string why;     // one clause; "asked for" if it was wished
};

// The choices of plan_for(signal, wishes), which is `plan`; only those that count for its model. Measures the
// signal, which takes milliseconds.
std::vector<Reason> explain(const Signal& signal, const FitOptions& wishes, const FitPlan& plan);

}  // namespace veldt::field
