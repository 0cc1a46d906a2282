// veldt doctor: its findings on a working machine, and on one with simulated problems.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/machine.h"
#include "veldt/core/cores.h"

namespace veldt::test {
namespace {

using nlohmann::json;

json finding(const json& report, const std::string& name) {
  for (const json& check : report.at("checks"))
    if (check.at("name") == name) return check;
  ADD_FAILURE() << "no check is called " << name;
  return {};
}

TEST(Doctor, FindsThisMachineWell) {
  const Ran ran = run_veldt({"doctor", "--time", "50ms", "--json", "--threads", "1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report.at("ok"), true);
  for (const json& check : report.at("checks")) EXPECT_EQ(check.at("ok"), true) << check;
  EXPECT_EQ(finding(report, "threads").at("threads"), 1);
  EXPECT_GT(finding(report, "arithmetic").at("gflops").get<double>(), 0.01);
  EXPECT_GT(finding(report, "bandwidth").at("gbytes_per_second").get<double>(), 0.01);
  EXPECT_EQ(finding(report, "directories").at("directories").size(), 3u);
  EXPECT_TRUE(finding(report, "libraries").at("versions").contains("libpng"));
}

TEST(Doctor, PrintsALineForEachCheckWithinEightyColumns) {
  const Ran ran = run_veldt({"doctor", "--time", "50ms"});
  EXPECT_EQ(ran.err, "");
  std::size_t begin = 0;
  for (std::size_t end = ran.out.find('\n'); end != std::string::npos; end = ran.out.find('\n', begin)) {
    const std::string line = ran.out.substr(begin, end - begin);
    EXPECT_TRUE(line.starts_with("OK    ") || line.starts_with("      ")) << line;
    EXPECT_LE(line.size(), 80u) << line;
    begin = end + 1;
  }
}

TEST(Doctor, ExitsWithOneForWhatFails) {
  const TempDir dir;
  put_bytes(dir / "veldt.toml", "[fit]\nstesp = 3\n");
  const Ran ran = run_veldt({"doctor", "--time", "10ms", "--json"},
                            {.directory = dir.path(), .environment = {"TMPDIR=" + (dir / "none")}});
  EXPECT_EQ(ran.exit_code, 1);
  const json report = json::parse(ran.out);
  EXPECT_EQ(report.at("ok"), false);
  EXPECT_NE(finding(report, "settings").at("detail").get<std::string>().find("veldt.toml:2"),
            std::string::npos);
  EXPECT_EQ(finding(report, "PNG").at("ok"), false);
  EXPECT_EQ(finding(report, "matrix product").at("ok"), true);
}

TEST(Doctor, ObeysTheSettingsOfThreads) {
  const Ran ran = run_veldt({"doctor", "--time", "10ms", "--json"}, {.environment = {"VELDT_THREADS=1"}});
  EXPECT_EQ(finding(json::parse(ran.out), "threads").at("threads"), 1);
}

TEST(Doctor, ObeysTheThreadsOfOpenMp) {
  const auto threads = [](const std::string& setting) -> int {
    return finding(
               json::parse(run_veldt({"doctor", "--time", "10ms", "--json"}, {.environment = {setting}}).out),
               "threads")
        .at("threads");
  };
  EXPECT_EQ(threads("OMP_NUM_THREADS=1"), 1);
  EXPECT_EQ(threads("OMP_NUM_THREADS=3,2"), 3);
  EXPECT_EQ(threads("OMP_NUM_THREADS=many"), cores_of_this_process().usable());
}

TEST(Doctor, ExitsWithFiveForADeviceThatIsMissing) {
  const Ran ran = run_veldt({"doctor", "--device", "cuda"});
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_TRUE(has_three_lines(ran.err));
}

TEST(Machine, KnowsItsProcessorsAndMemory) {
  const app::Machine machine = app::this_machine();
  EXPECT_GE(machine.allowed, 1);
  EXPECT_GE(machine.cores, 1);
  EXPECT_LE(machine.cores, machine.allowed);
  EXPECT_GT(machine.memory, machine.memory_free);
  EXPECT_GT(machine.memory_free, 0);
}

class ControlGroup : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(dir_ / path).parent_path());
    put_bytes(dir_ / path, text);
  }
  void SetUp() override { put("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n"); }
  const TempDir dir_;
};

TEST_F(ControlGroup, OfVersionTwoTheTightestOfItsParentsCounts) {
  put("proc/self/cgroup", "0::/work/job\n");
  put("sys/fs/cgroup/work/job/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/work/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/work/job/memory.max", "1000000000\n");
  put("sys/fs/cgroup/work/memory.max", "max\n");
  const app::Machine machine = app::this_machine(dir_.path());
  EXPECT_EQ(machine.cpu_quota, 1.5);
  EXPECT_EQ(machine.memory_limit, 1000000000);
  EXPECT_EQ(machine.memory, 8000000 * std::int64_t{1024});
}

TEST_F(ControlGroup, OfVersionOneHasATreeForEachController) {
  put("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n0::/\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");  // what stands for none
  const app::Machine machine = app::this_machine(dir_.path());
  EXPECT_EQ(machine.cpu_quota, 0.5);
  EXPECT_FALSE(machine.memory_limit);
}

TEST_F(ControlGroup, MayBeMissingOrNonsense) {
  EXPECT_FALSE(app::this_machine(dir_.path()).cpu_quota);
  put("proc/self/cgroup", "\n::\n0:\n0::relative\n0::/a//b\n");
  put("sys/fs/cgroup/a/cpu.max", "ten of them\n");
  EXPECT_FALSE(app::this_machine(dir_.path()).cpu_quota);
}

TEST(Machine, WiderInstructionSetsDoMore) {
  EXPECT_EQ(app::flops_a_cycle("AVX3_DL"), 64);
  EXPECT_EQ(app::flops_a_cycle("AVX2"), 32);
  EXPECT_EQ(app::flops_a_cycle("SSE4"), 8);
}

}  // namespace
}  // namespace veldt::test
