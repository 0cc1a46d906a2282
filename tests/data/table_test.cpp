// Rows of tables as examples, columns as series.
#include "veldt/data/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/faults.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/data/sequences.h"
#include "veldt/ops/binary.h"

namespace veldt::data {
namespace {

using test::error_of;
using test::says;
using test::thrown_by;
using testing::ElementsAre;
using testing::HasSubstr;

// A table, in a folder that is gone with it.
struct TableFile {
  explicit TableFile(const std::string& text) { test::put_bytes(path, text); }
  test::TempDir dir = test::TempDir::in_memory();
  std::string path = dir / "a.csv";
};

TEST(Table, GivesItsRowsAsExamples) {
  const TableFile file("a,y,b\n1,2,3\n4,5,6\n");
  const DatasetPtr set = table(file.path, {.target = "y"});
  ASSERT_EQ(set->size(), 2);
  EXPECT_THAT(set->get(1)[0].values<float>(), ElementsAre(4, 6));
  EXPECT_THAT(set->get(1)[1].values<float>(), ElementsAre(5));
  EXPECT_EQ(set->get(1)[1].shape(), (Shape{1}));
  EXPECT_THAT(table(file.path, {.inputs = {"b", "a"}, .target = "y"})->get(0)[0].values<float>(),
              ElementsAre(3, 1));
  const Example alone = table(file.path, {})->get(0);
  EXPECT_EQ(alone.size(), 1u);
  EXPECT_THAT(alone[0].values<float>(), ElementsAre(1, 2, 3));
}

TEST(Table, NumbersItsClasses) {
  const TableFile file("x,kind\n1,lion\n2,cub\n3,lion\n");
  const DatasetPtr set = table(file.path, {.target = "kind", .classes = true});
  EXPECT_THAT(set->classes(), ElementsAre("cub", "lion"));
  EXPECT_EQ(set->get(0)[1].shape(), Shape{});
  EXPECT_EQ(set->get(0)[1].item(), 1);
  EXPECT_EQ(set->get(1)[1].item(), 0);
  const TableFile numbered("x,kind\n1,10\n2,9\n3,-1\n");
  EXPECT_THAT(table(numbered.path, {.target = "kind", .classes = true})->classes(),
              ElementsAre("-1", "9", "10"));
}

TEST(Table, NamesTheCellThatIsNoNumber) {
  for (const auto& [text, words] : {std::pair("a,y\n1,2\n,3\n", "column a is empty"),
                                    std::pair("a,y\n1,2\nnan,3\n", "column a holds 'nan'"),
                                    std::pair("a,y\n1,2\n3,lion\n", "column y holds 'lion'"),
                                    std::pair("a,y\n1,2\n3,inf\n", "column y holds 'inf'")}) {
    const TableFile file(text);
    const IoError error = thrown_by<IoError>([&] { table(file.path, {.target = "y"}); });
    EXPECT_EQ(error.kind(), IoError::Kind::malformed);
    EXPECT_TRUE(says(error, "line 3") && says(error, words)) << error.what();
  }
  const TableFile file("a,kind\n1,lion\n2,\n");
  EXPECT_THAT(error_of<IoError>([&] { table(file.path, {.target = "kind", .classes = true}); }),
              HasSubstr("column kind is empty"));
}

TEST(Table, SaysWhatItCannotGive) {
  const TableFile file("a,y\n1,2\n");
  EXPECT_THAT(error_of<IoError>([&] { table(file.path, {.target = "z"}); }), HasSubstr("choose from a, y"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                table(file.path, {.inputs = {"a", "y"}, .target = "y"});
              }),
              HasSubstr("column y cannot be an input and the target"));
  EXPECT_THAT(error_of<ConfigError>([&] { table(file.path, {.classes = true}); }), HasSubstr("no target"));
  EXPECT_EQ(thrown_by<IoError>([] { table("/nowhere/a.csv", {.target = "y"}); }).kind(),
            IoError::Kind::missing);
}

TEST(SeriesFile, HasValuesAndTimes) {
  const TableFile file("Month,a,b\n1949-01,1,2\n1949-02,3,4\n1949-03,5,6\n");
  const Series both = series(file.path, {"b", "a"});
  EXPECT_EQ(both.values.shape(), (Shape{3, 2}));
  EXPECT_THAT(both.values.values<float>(), ElementsAre(2, 1, 4, 3, 6, 5));
  EXPECT_THAT(both.times, ElementsAre("1949-01", "1949-02", "1949-03"));
  EXPECT_EQ(series_windows(both.values, 2)->size(), 1);
  const TableFile bare("x\n1\n2\n");
  EXPECT_TRUE(series(bare.path, {"x"}).times.empty());
  EXPECT_EQ(series(bare.path, {"x"}).values.shape(), (Shape{2, 1}));
  EXPECT_THAT(error_of<ConfigError>([&] { series(file.path, {}); }), HasSubstr("no column"));
  EXPECT_THAT(error_of<IoError>([&] { series(file.path, {"Month"}); }), HasSubstr("'1949-01'"));
}

TEST(SeriesFile, ReadsRealOnes) {
  const std::string data = VELDT_DATA;
  if (data.empty()) GTEST_SKIP() << "VELDT_DATA is not set";
  for (const auto& [name, column, rows, last] : {std::tuple("airline-passengers", "Passengers", 144, 432.0f),
                                                 std::tuple("monthly-sunspots", "Sunspots", 2820, 33.4f),
                                                 std::tuple("daily-min-temperatures", "Temp", 3650, 13.0f)}) {
    const Series read = series(data + "/timeseries/" + name + ".csv", {column});
    EXPECT_EQ(read.values.shape(), (Shape{rows, 1}));
    EXPECT_EQ(read.values.data<float>()[rows - 1], last);
    EXPECT_EQ(read.times.size(), static_cast<std::size_t>(rows));
  }
}

TEST(Moments, AreThoseOfEachFeature) {
  const DatasetPtr set =
      from_tensors({Tensor::of({4, 3}, {1, 7, 1e6f, 3, 7, 1e6f + 2, 5, 7, 1e6f, 7, 7, 1e6f + 2})});
  const Moments found = moments(*set);
  EXPECT_THAT(found.mean.values<float>(), ElementsAre(4, 7, 1e6f + 1));
  EXPECT_THAT(found.deviation.values<float>(), ElementsAre(std::sqrt(5.0f), 1, 1));
  const DatasetPtr scored =
      mapped(set, [found](Example e) -> Example { return {(e[0] - found.mean) / found.deviation}; });
  const Moments after = moments(*scored);
  EXPECT_NEAR(after.mean.data<float>()[0], 0, 1e-6);
  EXPECT_NEAR(after.deviation.data<float>()[0], 1, 1e-6);
  EXPECT_THAT(error_of<ShapeError>([&] { moments(*set, 1); }), HasSubstr("number 1 was asked for"));
  EXPECT_THAT(error_of<ConfigError>([] {
                moments(*from_tensors({Tensor::of({0, 2}, {})}));
              }),
              HasSubstr("without examples"));
  const DatasetPtr unlike = from_function(2, [](std::int64_t i) -> Example {
    return {Tensor::from<float>({i + 1}, std::vector<float>(static_cast<std::size_t>(i + 1), 0))};
  });
  EXPECT_THAT(error_of<ShapeError>([&] { moments(*unlike); }), HasSubstr("it has [2], the first one [1]"));
}

}  // namespace
}  // namespace veldt::data
