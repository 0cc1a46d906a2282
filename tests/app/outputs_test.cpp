// Disks that are full or may not be written to: exit code 6, and nothing half-written.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/pseudo_terminal.h"
#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

void expect_refused(const Ran& ran) {
  EXPECT_EQ(ran.exit_code, 6) << ran.err;
  EXPECT_TRUE(has_three_lines(ran.err));
}

// Each verb that writes a file, into `directory`. The tables and pictures are larger than a disk of 16 KB.
std::vector<std::vector<std::string>> writers(const std::string& directory, const std::string& table) {
  return {{"csv", "encode", kCub, "-o", directory + "/t.csv"},
          {"csv", "decode", table, "-o", directory + "/p.png"},
          {"compare", table, VELDT_SOURCE "/assets/cub.png", "--diff", directory + "/d.png"},
          {"fit", kCub, "-o", directory + "/m.safetensors", "--steps", "1", "--quiet"}};
}

// 200 x 200 pixels that do not compress.
std::string noisy_table() {
  std::string text = "x,y,grey\n";
  std::uint32_t state = 1;
  for (int y = 0; y < 200; ++y)
    for (int x = 0; x < 200; ++x) {
      state = state * 1664525u + 1013904223u;
      text += std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(state >> 24) + "\n";
    }
  return text;
}

class Outputs : public testing::Test {
 protected:
  void SetUp() override { put_bytes(table_, noisy_table()); }
  const TempDir dir_;
  const std::string table_ = dir_ / "noise.csv";
  const std::string disk_path_ = dir_ / "disk";
};

TEST_F(Outputs, AFullDiskLeavesNothing) {
  const SmallDisk disk(disk_path_, "16k");
  if (!disk.active()) GTEST_SKIP() << "mounting a small disk needs root";
  for (const auto& words : writers(disk_path_, table_)) {
    SCOPED_TRACE(words[0] + " " + words[1]);
    expect_refused(run_veldt(words));
    EXPECT_EQ(count_entries(disk_path_), 0u);
  }
}

TEST_F(Outputs, AFullDiskKeepsWhatWasThere) {
  const SmallDisk disk(disk_path_, "16k");
  if (!disk.active()) GTEST_SKIP() << "mounting a small disk needs root";
  put_bytes(disk_path_ + "/t.csv", "older");
  expect_refused(run_veldt({"csv", "encode", kCub, "-o", disk_path_ + "/t.csv"}));
  EXPECT_EQ(bytes_of(disk_path_ + "/t.csv"), "older");
  EXPECT_EQ(count_entries(disk_path_), 1u);
}

TEST_F(Outputs, AReadOnlyDiskIsRefusedBeforeAnyWork) {
  const SmallDisk disk(disk_path_);
  if (!disk.make_read_only()) GTEST_SKIP() << "mounting a read-only disk needs root";
  for (const auto& words : writers(disk_path_, table_)) {
    SCOPED_TRACE(words[0] + " " + words[1]);
    expect_refused(run_veldt(words));
  }
  // An hour of steps would run into the time limit.
  expect_refused(run_veldt({"fit", kCub, "-o", disk_path_ + "/m.safetensors", "--time", "1h"}));
}

TEST_F(Outputs, APictureThatMayNotBeWrittenStaysAsItIs) {
  const std::string output = dir_ / "kept.csv";
  put_bytes(output, "older");
  ::chmod(output.c_str(), 0444);
  ::chmod(dir_.path().c_str(), 0777);
  const RunOptions nobody{.as_nobody = ::geteuid() == 0};
  if (run_veldt({"--version"}, nobody).exit_code != 0)
    GTEST_SKIP() << "nobody may not run " << veldt_binary();
  expect_refused(run_veldt({"csv", "decode", table_, "-o", output}, nobody));
  EXPECT_EQ(bytes_of(output), "older");
}

// A network may write anything from its training data: it must not control a terminal.
TEST_F(Outputs, TextOfANetworkCommandsNoTerminal) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "\x1b[2J\n\t";
  put_bytes(dir_ / "t.txt", text);
  put_bytes(dir_ / "r.toml", R"toml(
[data]
kind = "text"
path = "t.txt"
context = 4
[model]
layers = ["Embedding(2)", "Linear(outputs)"]
[train]
steps = 1
)toml");
  const std::vector<std::string> train = {"train", dir_ / "r.toml", "--data", dir_ / "",
                                          "--out", dir_ / "run",    "--quiet"};
  const std::vector<std::string> predict = {"predict", dir_ / "run/model.safetensors"};
  const auto expect_harmless = [](const std::string& shown) {
    EXPECT_EQ(shown.find('\x1b'), std::string::npos) << shown;
    EXPECT_NE(shown.find("\\x1b"), std::string::npos) << shown;
    EXPECT_NE(shown.find('\n'), std::string::npos);
    EXPECT_NE(shown.find('\t'), std::string::npos);
  };
  OnTerminal training(train);
  expect_harmless(training.shown());
  ASSERT_EQ(training.wait(), 0);
  OnTerminal predicting(predict);
  expect_harmless(predicting.shown());
  EXPECT_EQ(predicting.wait(), 0);
  const Ran piped = run_veldt(predict);
  EXPECT_NE(piped.out.find('\x1b'), std::string::npos);  // byte for byte
  EXPECT_EQ(bytes_of(dir_ / "run/sample.txt").find("\\x1b"), std::string::npos);
}

}  // namespace
}  // namespace veldt::test
