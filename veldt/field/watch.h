// Progress and cancellation of long work.
// Tests: tests/field/closing_test.cpp, tests/field/teacher_test.cpp
#pragma once

#include <functional>

namespace veldt::field {

// Called with the share of the work that is done, 0..1.
using Heard = std::function<void(double part)>;
// The same; returning false stops the work.
using Watch = std::function<bool(double part)>;

// For work that is the part from `begin` to `end` of a larger one.
inline Watch within(const Watch& whole, double begin, double end) {
  return [&whole, begin, end](double part) { return whole(begin + (end - begin) * part); };
}

}  // namespace veldt::field
