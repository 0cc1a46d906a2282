// Keepers: the folder has what the board has, and a disk that refuses stops nothing.
#include "veldt/live/keeper.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"

namespace veldt::live {
namespace {

TEST(LiveKeeper, TheFolderFollowsTheBoard) {
  const test::TempDir dir;
  const auto board = std::make_shared<Board>();
  Keeper keeper(board, dir.path(), 0.05);
  board->set_state("running");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!std::filesystem::exists(dir / kRecordFile) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(load_record(dir.path()).state, "running");
  board->set_state("done");
  keeper.write();
  EXPECT_EQ(load_record(dir.path()).state, "done");
  EXPECT_EQ(keeper.take_failure(), "");
}

TEST(LiveKeeper, AFailureIsToldOnce) {
  const test::TempDir dir;
  const auto board = std::make_shared<Board>();
  Keeper keeper(board, dir / "nowhere", 1000);
  keeper.write();
  const std::string why = keeper.take_failure();
  EXPECT_THAT(why, testing::HasSubstr("nowhere"));
  EXPECT_EQ(why.find('\n'), std::string::npos);
  board->set_state("running");
  keeper.write();
  EXPECT_EQ(keeper.take_failure(), "");
}

TEST(LiveKeeper, LeavesTheRestOfADiskToCheckpoints) {
  const test::TempDir dir;
  const test::SmallDisk disk(dir / "disk", "1m");
  if (!disk.active()) GTEST_SKIP() << "mounting a small disk needs root";
  Keeper keeper(std::make_shared<Board>(), dir / "disk", 1000);
  keeper.write();
  EXPECT_THAT(keeper.take_failure(), testing::HasSubstr("less than 4 MiB left"));
  EXPECT_TRUE(std::filesystem::is_empty(dir / "disk"));
}

}  // namespace
}  // namespace veldt::live
