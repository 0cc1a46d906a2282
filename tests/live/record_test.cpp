// Records: curves that stay short, and files that say what was saved, or are refused.
#include "veldt/live/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/png_bytes.h"

namespace veldt::live {
namespace {

TEST(LiveSeries, ALongRunKeepsMeansOfNeighboursInOrder) {
  Series s{.name = "loss"};
  for (std::int64_t step = 1; step <= 100'000; ++step) s.add(step, 0.5 * static_cast<double>(step), 3);
  EXPECT_LT(s.steps.size(), Series::kMostPoints);
  EXPECT_GT(s.steps.size(), Series::kMostPoints / 4);
  EXPECT_EQ(s.merged, 64);
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    EXPECT_EQ(s.values[i], 3);
    EXPECT_EQ(s.steps[i], static_cast<std::int64_t>(i + 1) * s.merged);
  }
}

TEST(LiveSeries, AStepThatIsNotLaterIsLeftOut) {
  Series s;
  s.add(5, 1, 1);
  s.add(5, 2, 2);
  s.add(4, 3, 3);
  EXPECT_EQ(s.values, (std::vector<double>{1}));
}

Record example() {
  Record r{.title = "cub", .state = "running", .device = "cpu", .step = 20, .total_steps = 100};
  r.seconds = 2.5;
  r.facts = {{"settings", "optimizer", "adam"}};
  Series loss{.name = "loss", .group = "loss"};
  loss.add(10, 1, 0.5);
  loss.add(20, 2, std::numeric_limits<double>::infinity());
  r.series = {loss};
  const std::vector<std::uint8_t> pixels(12, 7);
  r.pictures = {{"picture", 10, 1, io::png_bytes(pixels, {2, 2}, 3)}};
  r.texts = {{"sample", 20, "to be,\n\"or\" not"}};
  r.notes = {{20, 2, "slow", true}};
  r.layers = {{"0", "Linear", "[n, 3]", 12}};
  r.confusion = {{"a", "b"}, {5, 1, 0, 4}};
  r.worst = {{"7", "a", "b", 0.01, r.pictures[0].png.text()}};
  return r;
}

TEST(LiveRecord, AFileHoldsAll) {
  const test::TempDir dir;
  save_record(example(), dir.path());
  const Record r = load_record(dir.path());
  EXPECT_EQ(to_json(r), to_json(example()));
  EXPECT_EQ(r.pictures.at(0).png.text(), example().pictures[0].png.text());
  EXPECT_EQ(r.series.at(0).values.at(0), 0.5);
  EXPECT_TRUE(std::isnan(r.series.at(0).values.at(1)));  // JSON knows no infinity
  EXPECT_EQ(r.confusion->counts, (std::vector<std::int64_t>{5, 1, 0, 4}));
  EXPECT_TRUE(r.notes.at(0).is_warning);
}

// The last point of a curve that is merged is older than the newest value.
TEST(LiveRecord, ARunThatHasDivergedComesBackAsThat) {
  Record r;
  r.series.emplace_back(Series{.name = "loss"});
  for (std::int64_t step = 1; step <= 2048; ++step) r.series[0].add(step, 1, 0.5);
  r.series[0].add(2049, 1, std::numeric_limits<double>::quiet_NaN());
  ASSERT_GT(r.series[0].merged, 1);
  ASSERT_EQ(r.series[0].values.back(), 0.5);
  std::string text = to_json(r);
  EXPECT_TRUE(std::isnan(record_from_json(text).series.at(0).newest));
  const std::string newest = "\"newest\":null,";
  ASSERT_NE(text.find(newest), std::string::npos);
  text.erase(text.find(newest), newest.size());
  EXPECT_EQ(record_from_json(text).series.at(0).newest, 0.5);
}

TEST(LiveRecord, BytesThatAreNoTextAreWrittenAsEscapes) {
  Record r;
  r.texts = {{"sample", 0, "a\xff\x1b[31m"}};
  EXPECT_EQ(record_from_json(to_json(r)).texts.at(0).text, "a\\xff\\x1b[31m");
}

TEST(LiveRecord, ACutForgetsWhatIsLater) {
  Record r = example();
  r.cut_after(15);
  EXPECT_EQ(r.series.at(0).steps, (std::vector<std::int64_t>{10}));
  EXPECT_EQ(r.pictures.size(), 1);
  EXPECT_TRUE(r.texts.empty());
  EXPECT_TRUE(r.notes.empty());
  EXPECT_FALSE(r.confusion);
  EXPECT_EQ(r.step, 15);
  r.cut_after(5);
  EXPECT_TRUE(r.series.empty());
}

TEST(LiveRecord, OtherTextsAreRefused) {
  const std::string head = R"({"format":"veldt.record","version":1,)";
  for (const std::string& text : {
           std::string("not JSON"),
           std::string("{}"),
           std::string("[]"),
           head + R"("series":[{"name":"a","steps":[1],"seconds":[1],"values":[]}]})",
           head + R"("series":[{"name":"a","steps":[2,1],"seconds":[1,1],"values":[1,1]}]})",
           head + R"("series":[{"name":"a","steps":[-1],"seconds":[1],"values":[1]}]})",
           head + R"("series":[{"name":"a","steps":[1e300],"seconds":[1],"values":[1]}]})",
           head + R"("series":{}})",
           head + R"("status":7})",
           head + R"("status":{"step":"x"}})",
           head + R"("pictures":[{"name":"picture","png":"AAAA"}]})",
           head + R"("pictures":[{"name":"picture","png":"!"}]})",
           head + R"("outcome":{"confusion":{"classes":["a"],"counts":[1,2]}}})",
           head + R"("outcome":{"confusion":{"classes":["a"],"counts":[-1]}}})",
       })
    EXPECT_THROW(record_from_json(text), IoError) << text;
  EXPECT_THROW(record_from_json(R"({"format":"veldt.record","version":2})"), IoError);
  EXPECT_NO_THROW(record_from_json(R"({"format":"veldt.record","version":1})"));
}

}  // namespace
}  // namespace veldt::live
