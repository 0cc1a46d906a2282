// Spans and their sums, and the events that Chrome's trace viewer reads.
#include "veldt/dist/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/ranks.h"
#include "veldt/ops/create.h"

namespace veldt::dist {
namespace {

TEST(Timeline, AddsUpWhatStepsWaitFor) {
  Timeline t;
  t.begin_step();
  t.add(Timeline::Lane::messages, "sum", 1, 5, 100);
  t.add(Timeline::Lane::messages, "broadcast", 5, 9, 50);
  t.add(Timeline::Lane::waiting, "sums of gradients", 4, 5);
  EXPECT_EQ(t.summary().steps, 0);
  t.begin_step();
  EXPECT_EQ(t.summary().steps, 1);
  EXPECT_EQ(t.summary().bytes, 100U);
  EXPECT_DOUBLE_EQ(t.summary().hidden(), 0.75);
  t.add(Timeline::Lane::waiting, "sums of gradients", 5, 20);  // for slower ranks
  EXPECT_EQ(t.summary().hidden(), 0);
  t.restart();
  EXPECT_TRUE(t.spans().empty());
  EXPECT_EQ(t.summary().hidden(), 0);
}

TEST(Timeline, IsATraceOfChromes) {
  const std::string text =
      trace_events({{Timeline::Lane::messages, "sum", 0.5, 0.75, 12}}, 3, "rank 3 on \"x\\");
  const auto events = nlohmann::json::parse("[" + text + "]");
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].at("args").at("name"), "rank 3 on \"x\\");
  EXPECT_EQ(events[4].at("ts"), 500'000);
  EXPECT_EQ(events[4].at("dur"), 250'000);
  EXPECT_EQ(events[4].at("tid"), 2);
}

TEST(Timeline, OfACommunicatorHasItsWork) {
  Timeline t;
  const InProcess hub(2);
  test::run_ranks(hub, 2, [](Communicator& ranks) { ranks.all_reduce(full({10}, 1)); }, {.timeline = &t});
  int sums = 0;
  for (const Timeline::Span& span : t.spans()) sums += span.name == "sum" ? 1 : 0;
  EXPECT_EQ(sums, 2);  // of both ranks
  EXPECT_EQ(t.summary().bytes, 80U);
}

}  // namespace
}  // namespace veldt::dist
