// What only real messages show: started by mpirun (tests/dist/mpi_test.sh).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/dist/communicator.h"
#include "veldt/dist/mpi.h"
#include "veldt/ops/create.h"

namespace veldt::dist {
namespace {

// Open MPI 4.1 writes past the end of a place that is too short for what another rank sends.
TEST(UnderMpi, MessagesOfOtherLengthsAreErrors) {
  const std::optional<Launch> launch = find_launch(std::getenv);
  if (!launch || launch->size < 2) GTEST_SKIP() << "not started by mpirun";
  EXPECT_THAT(
      test::error_of([&] {
        Communicator ranks(mpi(launch->kind));
        const Tensor x = ones({100'000});
        for (int i = 0; i < 3; ++i) ranks.all_reduce(x);
        if (ranks.rank() == 0)
          ranks.all_reduce(x);
        else
          ranks.all_gather(ones({3}));
        ranks.barrier();
      }),
      ::testing::AnyOf(::testing::HasSubstr("did not come as it should"),
                       ::testing::HasSubstr("does something else"), ::testing::HasSubstr("has left")));
}

}  // namespace
}  // namespace veldt::dist
