// Warnings reach a listener, or standard error.
#include "veldt/core/warning.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace veldt {
namespace {

TEST(Warning, IsALineOfStandardErrorUnlessSomeoneListens) {
  testing::internal::CaptureStderr();
  warn("the disk is nearly full");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "veldt: warning: the disk is nearly full\n");

  std::vector<std::string> heard;
  EXPECT_FALSE(set_warning_listener([&](const std::string& text) { heard.push_back(text); }));
  testing::internal::CaptureStderr();
  warn("one");
  EXPECT_TRUE(set_warning_listener({}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(heard, std::vector<std::string>{"one"});
}

TEST(Warning, MayBeHeardByAListenerThatWarns) {
  int heard = 0;
  set_warning_listener([&](const std::string&) {
    if (++heard < 3) warn("again");
  });
  warn("once");
  set_warning_listener({});
  EXPECT_EQ(heard, 3);
}

}  // namespace
}  // namespace veldt
