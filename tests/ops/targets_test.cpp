// The forward suites once more on every instruction set that this machine has, each in a process of its own:
// kernels are chosen once a process.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "veldt/core/error.h"
#include "veldt/cpu/instruction_set.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

constexpr const char* kVariable = "VELDT_TEST_TARGET";

// Runs before main(), and so before any kernel is chosen.
const std::string& wanted_target() {
  static const std::string name = [] {
    const char* value = std::getenv(kVariable);
    const std::string wanted = value ? value : "";
    for (const cpu::InstructionSet set : cpu::instruction_sets())
      if (cpu::name_of(set) == wanted) cpu::use_instruction_set(set);
    return wanted;
  }();
  return name;
}
[[maybe_unused]] const bool g_chosen = !wanted_target().empty();

std::vector<std::string> targets() {
  std::vector<std::string> names;
  for (const cpu::InstructionSet set : cpu::instruction_sets()) names.push_back(cpu::name_of(set));
  return names;
}

TEST(InstructionSet, IsTheOneAskedForElseTheBest) {
  const std::string wanted = wanted_target().empty() ? targets().front() : wanted_target();
  const std::string reason = choose_device("cpu").reason;
  EXPECT_NE(reason.find(wanted), std::string::npos) << reason;
}

class EveryInstructionSet : public testing::TestWithParam<std::string> {};

TEST_P(EveryInstructionSet, PassesTheForwardSuites) {
  if (targets().size() == 1) GTEST_SKIP() << "there is one instruction set, which all other tests are on";
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      str(kVariable, '=', GetParam(), " '", program, "' --gtest_brief=1 --gtest_color=no ",
          "'--gtest_filter=InstructionSet.*:OpTable/Lengths.*:OpTable/Specials.*:OpTable/Sweep.*:OpTable/"
          "Accuracy.*:OpTable/AccuracyOfDoubles.*:",
          "OpTable/Forward.*/sum:OpTable/Forward.*/max:OpTable/Forward.*/min:OpTable/Forward.*/argmax:",
          "OpTable/Forward.*/where:OpTable/Forward.*/cumsum:Order.*:Topk.*:MemoryOrder.*:",
          "OpTable/Forward.*/matmul:OpTable/Forward.*/linear:OpTable/Forward.*/grid_encoding:",
          "OpTable/FirstGradient.InSingle*/grid_encoding:Pooling.OfLong*:GroupNorm.*:NormGradients.Fused*:",
          "SoftmaxGradient.*:Attention.Fused*:MlpLoss.Keeps*' 2>&1");
  FILE* child = popen(command.c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::string output;
  for (char part[4096]; std::fgets(part, sizeof part, child);) output += part;
  const int status = pclose(child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << '\n' << output;
}

INSTANTIATE_TEST_SUITE_P(Cpu, EveryInstructionSet, testing::ValuesIn(targets()),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace veldt::test
