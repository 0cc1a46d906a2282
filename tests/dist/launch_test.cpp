// Launchers by what they put into the environment.
#include "veldt/dist/mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"

namespace veldt::dist {
namespace {

using ::testing::HasSubstr;

std::optional<Launch> launch_of(const std::map<std::string, const char*>& variables) {
  return find_launch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

TEST(Launch, IsKnownByItsVariables) {
  EXPECT_FALSE(launch_of({}));
  EXPECT_FALSE(launch_of({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}));  // a script of sbatch
  const auto open = launch_of({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  ASSERT_TRUE(open);
  EXPECT_EQ(open->kind, Mpi::openmpi);
  EXPECT_EQ(open->rank, 2);
  EXPECT_EQ(open->size, 4);
  const auto slurm = launch_of({{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_NTASKS", "9"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->kind, Mpi::openmpi);
  EXPECT_EQ(slurm->size, 3);
  const auto mpich = launch_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
  ASSERT_TRUE(mpich);
  EXPECT_EQ(mpich->kind, Mpi::mpich);
}

TEST(Launch, RefusesNumbersThatAreNone) {
  EXPECT_THAT(test::error_of<ConfigError>([] {
                launch_of({{"PMI_RANK", "x"}, {"PMI_SIZE", "1"}});
              }),
              HasSubstr("PMI_RANK is 'x'"));
  EXPECT_THAT(test::error_of<ConfigError>([] {
                launch_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "1"}});
              }),
              HasSubstr("contradict"));
}

}  // namespace
}  // namespace veldt::dist
