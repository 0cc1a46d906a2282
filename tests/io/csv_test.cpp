// Tables of numbers: columns by name, text beside them, and the line and column of every fault.
#include "veldt/io/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"

namespace veldt::io {
namespace {

using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using ::testing::ElementsAre;
using Kind = IoError::Kind;

CsvTable read_text(const std::string& text, const std::vector<std::string>& columns = {}) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a.csv", text);
  return read_csv(dir / "a.csv", columns);
}

TEST(ReadCsv, ReadsNumbersUnderTheirNames) {
  const CsvTable table = read_text("a,b\n1,2.5\r\n-3e2, +4 \n");
  EXPECT_THAT(table.columns, ElementsAre("a", "b"));
  EXPECT_EQ(table.values.shape(), (Shape{2, 2}));
  EXPECT_THAT(table.values.values<float>(), ElementsAre(1, 2.5f, -300, 4));
  EXPECT_EQ(read_text("a,b\n1,2").values.shape(), (Shape{1, 2}));
  EXPECT_EQ(read_text("a\n").values.shape(), (Shape{0, 1}));
}

TEST(ReadCsv, TakesSemicolonsAndTabsWhereTheFirstLineHasNoComma) {
  for (const char* text : {"a;\"b;\"\n1;2.5\n3;4\n", "a\t\"b;\"\n1\t2.5\n3\t4\n"}) {
    const CsvTable table = read_text(text);
    EXPECT_EQ(table.columns.size(), 2u);
    EXPECT_THAT(table.values.values<float>(), ElementsAre(1, 2.5f, 3, 4));
  }
  const IoError error = thrown_by<IoError>([] { read_text("a;b\n1;2,5\n"); });
  EXPECT_TRUE(says(error, "column b holds '2,5'")) << error.what();
  EXPECT_THAT(read_text("a;b,c\n1,2\n").columns, ElementsAre("a;b", "c"));
}

TEST(ReadCsv, TakesTheColumnsThatAreNamedAndLeavesTheOthers) {
  const char* text = "\xef\xbb\xbf\"the \"\"day\"\"\",x,\"y, or so\"\n1949-01,1,\"2\"\n\"a\nb\",3,4\n";
  const CsvTable table = read_text(text, {"y, or so", "x"});
  EXPECT_THAT(table.values.values<float>(), ElementsAre(2, 1, 4, 3));
  const IoError error = thrown_by<IoError>([&] { read_text(text); });
  EXPECT_TRUE(says(error, "line 2") && says(error, "column the \"day\" holds '1949-01'")) << error.what();
}

TEST(ReadCsv, ReadsTextBesideNumbers) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a.csv", "day,x,kind,y\n1949-01,1,lion,2\n1949-02,3, cub ,4\n");
  EXPECT_THAT(csv_columns(dir / "a.csv"), ElementsAre("day", "x", "kind", "y"));
  const CsvTable table = read_csv(dir / "a.csv", {}, {"kind", "day"});
  EXPECT_THAT(table.columns, ElementsAre("x", "y"));
  EXPECT_THAT(table.values.values<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(table.texts, ElementsAre(ElementsAre("lion", " cub "), ElementsAre("1949-01", "1949-02")));
  EXPECT_THROW(read_csv(dir / "a.csv", {"x"}, {"x"}), ConfigError);
  put_bytes(dir / "a.csv", "x,kind\n1,lion\n2,\"\"\n");
  const IoError error = thrown_by<IoError>([&] { read_csv(dir / "a.csv", {"x"}, {"kind"}); });
  EXPECT_TRUE(says(error, "line 3") && says(error, "column kind is empty")) << error.what();
}

TEST(ReadCsv, NamesLineAndColumnOfWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"a,b\n1,2\n3\n", "line 3\n  why: the line has 1 field and the header has 2"},
      {"a,b\n1,2,3\n", "has 3 fields"},
      {"a,b\n1,\n", "column b is empty"},
      {"a,b\n1,2\n\n", "line 3"},
      {"a\nnan\n", "'nan'"},
      {"a\ninf\n", "'inf', which is not a finite number"},
      {"a\n1e50\n", "'1e50', which is beyond the range of a 32-bit number"},
      {"a\n1e300\n", "'1e300', which is beyond"},
      {"a\n-1e400\n", "'-1e400', which is beyond"},
      {"a\n1e400x\n", "'1e400x', which is not a finite number"},
      {"a\n1 2\n", "'1 2'"},
      {"a,a\n1,2\n", "two columns have the name a"},
      {"a\n\"1\n", "not closed"},
      {"a\n\"1\"2\n", "after its closing quote"},
      {"a\n1\r2\n", "line 2\n  why: a carriage return"},
      {"\"a\nor so\"\n\"1\n2\"\n", "line 3\n  why: column a"},
      {"\"a\"\"\n\"\"\",b\n1,2\n3\n", "line 4"}};
  for (const auto& [text, words] : cases) {
    const IoError error = thrown_by<IoError>([&, &text = text] { read_text(text); });
    EXPECT_EQ(error.kind(), Kind::malformed) << text;
    EXPECT_TRUE(says(error, words)) << error.what();
  }
  EXPECT_TRUE(says(thrown_by<IoError>([] { read_text("a,b\n1,2\n", {"c"}); }), "choose from a, b"));
  EXPECT_TRUE(says(thrown_by<IoError>([] { read_text("\n", {"c"}); }), "a line that names its columns"));
  for (const char* empty : {"", "\xef\xbb\xbf"})
    EXPECT_TRUE(says(thrown_by<IoError>([&] { read_text(empty, {"c"}); }), "why: the file is empty"));
  const std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_text(png, {"c"}); }),
                   "is not a text table\n  why: it seems to be a PNG"));
  EXPECT_EQ(read_text("P5,BM\n1,2\n").values.numel(), 2);  // as pictures begin
  EXPECT_THROW(read_text("a\n1\n", {"a", "a"}), ConfigError);
  // The columns of a table with two of one name may have come from its own first line.
  const IoError two = thrown_by<IoError>([] { read_text("a,b,b\n1,2,3\n", {"a", "b", "b"}); });
  EXPECT_TRUE(says(two, "line 1") && says(two, "two columns have the name b")) << two.what();
  EXPECT_EQ(thrown_by<IoError>([] { read_csv("/nowhere/a.csv"); }).kind(), Kind::missing);
}

TEST(ReadCsv, ReadsARealTable) {
  const std::string data = VELDT_DATA;
  if (data.empty()) GTEST_SKIP() << "VELDT_DATA is not set";
  const CsvTable table = read_csv(data + "/timeseries/airline-passengers.csv", {"Passengers"});
  EXPECT_EQ(table.values.shape(), (Shape{144, 1}));
  EXPECT_EQ(table.values.data<float>()[143], 432);
}

}  // namespace
}  // namespace veldt::io
