// A reference to anything that can be called.
#include "veldt/core/function_ref.h"

#include <gtest/gtest.h>

#include <array>

namespace veldt {
namespace {

int twice(int x) { return 2 * x; }
int apply(FunctionRef<int(int)> f, int x) { return f(x); }

TEST(FunctionRef, CallsLambdasFunctionsAndItsOwnCopies) {
  int calls = 0;
  const auto count = [&calls](int x) { return ++calls, x + 1; };
  EXPECT_EQ(apply(count, 4), 5);
  EXPECT_EQ(apply(twice, 4), 8);
  EXPECT_EQ(apply([big = std::array<int, 100>{7}](int x) { return big[0] * x; }, 3), 21);
  const FunctionRef<int(int)> ref = count;
  const FunctionRef<int(int)> copy = ref;
  EXPECT_EQ(copy(1), 2);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace veldt
