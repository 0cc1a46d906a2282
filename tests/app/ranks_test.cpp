// What a verb does that a launcher has started, by the variables that it sets: without MPI's processes.
#include "veldt/app/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"

namespace veldt::app {
namespace {

using ::testing::HasSubstr;

class LaunchedVerb : public ::testing::Test {
 protected:
  void SetUp() override { TearDown(); }
  void TearDown() override {
    for (const char* name : {"PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"})
      ::unsetenv(name);
  }
  static void launch(const char* rank, const char* size) {
    ::setenv("PMI_RANK", rank, 1), ::setenv("PMI_SIZE", size, 1);
  }
};

TEST_F(LaunchedVerb, OfOneProcessIsAlone) {
  launch("0", "1");
  Context context;
  Ranks ranks(context);
  EXPECT_TRUE(ranks.alone());
  EXPECT_TRUE(ranks.is_first());
  EXPECT_EQ(ranks.in_words(), "");
  EXPECT_EQ(ranks.as_first("x"), "x");
  ranks.must_agree({{"a", 1}});
  ranks.must_be_alone("this");
  EXPECT_EQ(ranks.run([] { return 3; }), 3);
  check_launch("info");
}

TEST_F(LaunchedVerb, ForOneProcessIsRefused) {
  launch("0", "4");
  EXPECT_THAT(
      test::error_of<UsageError>([] { check_launch("info"); }),
      ::testing::AllOf(HasSubstr("'veldt info' is for one process"), HasSubstr("MPICH has started 4")));
  for (const char* verb : {"train", "fit", "render"}) EXPECT_NO_THROW(check_launch(verb));
}

}  // namespace
}  // namespace veldt::app
