// How whoever waits for a long work follows it.
// Tests: tests/field/closing_test.cpp, tests/field/teacher_test.cpp
#pragma once

#include <functional>

namespace veldt::field {

// Hears which part of a work is done, 0..1.
using Heard = std::function<void(double part)>;
// The same; false stops the work.
using Watch = std::function<bool(double part)>;

// For a work that is the part from `begin` to `end` of another one.
inline Watch within(const Watch& whole, double begin, double end) {
  return [&whole, begin, end](double part) { return whole(begin + (end - begin) * part); };
}

}  // namespace veldt::field
