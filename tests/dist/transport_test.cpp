// Ranks that are threads: messages arrive in order, whole, and by their tags.
#include "veldt/dist/in_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_of.h"

namespace veldt::dist {
namespace {

using ::testing::HasSubstr;

TEST(InProcess, MessagesOfATagArriveInTheirOrder) {
  const InProcess hub(2);
  const auto a = hub.transport(0)(), b = hub.transport(1)();
  std::string first(3, ' '), second(3, ' '), other(2, ' ');
  const auto one = b->receive(0, 1, first.data(), 3), two = b->receive(0, 1, second.data(), 3),
             three = b->receive(0, 2, other.data(), 2);
  EXPECT_FALSE(b->done(one));
  a->send(1, 2, "xy", 2), a->send(1, 1, "abc", 3), a->send(1, 1, "def", 3);
  EXPECT_TRUE(b->done(three));
  EXPECT_FALSE(b->done(two));  // it gets the second message, and the first is still there
  EXPECT_TRUE(b->done(one));
  EXPECT_TRUE(b->done(two));
  EXPECT_EQ(first + second + other, "abcdefxy");
}

TEST(InProcess, WhatIsGivenUpDoesNotArrive) {
  const InProcess hub(2);
  const auto a = hub.transport(0)(), b = hub.transport(1)();
  std::string first(3, ' '), second(3, ' ');
  const auto one = b->receive(0, 1, first.data(), 3), two = b->receive(0, 1, second.data(), 3);
  EXPECT_TRUE(b->cancel(one));
  a->send(1, 1, "abc", 3);
  EXPECT_TRUE(b->done(two));  // as if the first had never been
  EXPECT_EQ(first + second, "   abc");
}

TEST(InProcess, RefusesWhatDoesNotFit) {
  EXPECT_THAT(test::error_of<ConfigError>([] { InProcess none(0); }), HasSubstr("0 ranks"));
  const InProcess hub(2);
  EXPECT_THAT(test::error_of<ConfigError>([&] { hub.transport(2); }), HasSubstr("no rank 2"));
  const auto a = hub.transport(0)(), b = hub.transport(1)();
  char place[4];
  const auto ticket = b->receive(0, 1, place, 4);
  a->send(1, 1, "abc", 3);
  EXPECT_THAT(test::error_of([&] { b->done(ticket); }), HasSubstr("3 bytes, and 4 were expected"));
}

}  // namespace
}  // namespace veldt::dist
