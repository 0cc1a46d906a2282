// Files for TensorBoard: their frame by its vectors, and all of it by the tensorboard package.
#include "veldt/live/event_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/io/faults.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/png_bytes.h"
#include "veldt/ops/create.h"

namespace veldt::live {
namespace {

// RFC 3720, B.4.
TEST(LiveEventFile, TheChecksumIsThatOfIscsi) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
}

TEST(LiveEventFile, TwoFilesOfOneSecondAreTwo) {
  const test::TempDir dir;
  EventFile one(dir.path()), two(dir.path());
  EXPECT_NE(one.path(), two.path());
  EXPECT_THROW(EventFile("/proc/nowhere"), IoError);
}

TEST(LiveEventFile, AFullDiskIsSaid) {
  const test::TempDir dir;
  const test::SmallDisk disk(dir / "disk", "64k");
  if (!disk.active()) GTEST_SKIP() << "mounting a small disk needs root";
  EventFile events(dir / "disk");
  const auto fill = [&] {
    for (std::int64_t step = 0; step < 100; ++step) events.add_text("text", step, std::string(4096, 'x'));
    events.flush();
  };
  EXPECT_THROW(fill(), IoError);
}

TEST(SlowLiveEventFile, TensorboardReadsAllOfIt) {
  if (!test::python_has("tensorboard"))
    GTEST_SKIP() << test::python() << " has no tensorboard; set VELDT_PYTHON";
  const test::TempDir dir;
  {
    EventFile first(dir.path());
    for (std::int64_t step = 0; step < 10; ++step)
      first.add_scalar("loss", step, 1.0 / static_cast<double>(1 + step));
    first.flush();
    EventFile second(dir.path(), 5);  // resumed
    second.add_scalar("loss", 6, 0.25);
    second.add_histogram("weights", 6, Tensor::of({5}, {-1, 0, 0, 0.5, 3}));
    second.add_histogram("constant", 6, full({3}, 2));
    second.add_picture("picture", 6, io::png_bytes(std::vector<std::uint8_t>(18, 9), {3, 2}, 3), {3, 2}, 3);
    second.add_text("sample", 6, "to be, or not to be");
  }
  EXPECT_EQ(test::run_python(std::string(VELDT_SOURCE) + "/tests/live/read_events.py " + dir.path()), 0);
}

}  // namespace
}  // namespace veldt::live
