#include "veldt/core/error.h"

#include <gtest/gtest.h>

namespace veldt {
namespace {

struct Point {
  int x, y;
};
std::ostream& operator<<(std::ostream& out, const Point& p) {
  return out << "(" << p.x << ", " << p.y << ")";
}

TEST(Str, WritesEachArgumentAsAStreamDoes) {
  const char local[] = "abc";
  const char* const pointer = "def";
  EXPECT_EQ(str(local, pointer, std::string("g\0h", 3), std::string_view("ijk").substr(1)),
            std::string("abcdefg\0hjk", 11));
  EXPECT_EQ(str(-3, ' ', 7u, ' ', std::int64_t{1} << 40, ' ', true, ' ', 0.1f, ' ', 1e300),
            "-3 7 1099511627776 1 0.1 1e+300");
  EXPECT_EQ(str("at ", Point{1, 2}), "at (1, 2)");
  EXPECT_EQ(str(""), "");
}

TEST(Error, JoinsItsThreeSentences) {
  const std::string why = "the inner sizes differ";
  const ShapeError error(str("matmul cannot multiply ", 3, " by ", 4), why, "flatten");
  EXPECT_STREQ(error.what(), "matmul cannot multiply 3 by 4\n  why: the inner sizes differ\n  fix: flatten");
  EXPECT_EQ(error.summary(), "matmul cannot multiply 3 by 4");
  EXPECT_EQ(error.why(), why);
  EXPECT_EQ(error.fix(), "flatten");
}

TEST(Error, NamesTheLastPlaceItWasGiven) {
  Error error("it broke", "it was old", "buy another");
  error.set_place({"", "Linear(2, 8)", nullptr});
  EXPECT_EQ(error.summary(), "it broke, in Linear(2, 8)");
  error.set_place({"body.2", "Linear(2, 8)", &error});
  EXPECT_STREQ(error.what(), "it broke, in body.2 (Linear(2, 8))\n  why: it was old\n  fix: buy another");
  EXPECT_EQ(error.place().outermost, &error);
}

TEST(Error, IsCaughtAsItselfWithItsKind) {
  try {
    throw IoError(IoError::Kind::corrupt, "a", "b", "c");
  } catch (const Error& error) {
    const Error copy = error;  // as std::current_exception may make
    EXPECT_STREQ(copy.what(), "a\n  why: b\n  fix: c");
    const auto* io = dynamic_cast<const IoError*>(&error);
    ASSERT_NE(io, nullptr);
    EXPECT_EQ(io->kind(), IoError::Kind::corrupt);
  }
}

}  // namespace
}  // namespace veldt
