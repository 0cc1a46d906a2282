// metrics.csv and its JSON lines: of whatever the table held before, and only where it can be read.
#include "veldt/train/metrics_file.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"

namespace veldt::train {
namespace {

using test::bytes_of;
using test::TempDir;

// The table is a file that anybody may edit between two runs.
TEST(MetricsFile, WritesJsonLinesOfWhateverTheTableHeld) {
  const TempDir dir;
  io::write_file(dir / "metrics.csv", "step,loss\n1,0.5\n2,\"}\n3,.5x\n4,inf\n5,0x1p3\n");
  MetricsFile file(dir / "metrics.csv");
  file.begin(5);
  file.add({"step", "loss"}, {6, 0.25});
  file.write();
  EXPECT_EQ(bytes_of(dir / "metrics.jsonl"),
            "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":null}\n{\"step\":3,\"loss\":null}\n"
            "{\"step\":4,\"loss\":null}\n{\"step\":5,\"loss\":null}\n{\"step\":6,\"loss\":0.25}\n");
}

TEST(MetricsFile, MeasuresThatCannotBeReadAreAnErrorOfTheirOwn) {
  MetricsFile file(std::string(5000, 'x') + "/metrics.csv");
  EXPECT_THROW(file.begin(3), IoError);
  MetricsFile none("/nowhere/metrics.csv");
  none.begin(3);
}

}  // namespace
}  // namespace veldt::train
