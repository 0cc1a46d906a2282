// veldt doctor: what it finds on a machine that works, and on one that is made not to.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/machine.h"

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

TEST(Machine, WiderInstructionSetsDoMore) {
  EXPECT_EQ(app::flops_a_cycle("AVX3_DL"), 64);
  EXPECT_EQ(app::flops_a_cycle("AVX2"), 32);
  EXPECT_EQ(app::flops_a_cycle("SSE4"), 8);
}

}  // namespace
}  // namespace veldt::test
