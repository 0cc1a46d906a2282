// A library that is opened when needed: its functions, or the package that has it.
#include "veldt/io/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"

namespace veldt::io {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

TEST(SharedLibrary, FindsFunctionsOrSaysWhatToInstall) {
  const SharedLibrary c("libc.so.6", "count", "libc6");
  long (*absolute)(long) = nullptr;
  c.find(absolute, "labs");
  EXPECT_EQ(absolute(-3), 3);
  EXPECT_THAT(error_of<Error>([&] { c.find(absolute, "no_such_function"); }),
              AllOf(HasSubstr("libc.so.6 has no no_such_function"), HasSubstr("install a newer one")));
  const std::string error = error_of<Error>([] { SharedLibrary none("libnone.so.7", "roar", "libnone7"); });
  EXPECT_THAT(error, HasSubstr("cannot roar on this machine\n  why: libnone.so.7"));
  EXPECT_THAT(error, HasSubstr("apt-get install libnone7"));
}

}  // namespace
}  // namespace veldt::io
