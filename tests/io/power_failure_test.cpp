// The power fails at any moment while files are written: each is as it was or as it was to be.
#include <gtest/gtest.h>

#include "tests/support/power_failure.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"

namespace veldt::io {
namespace {

// Longer than what is written at once, so that a part of it can be there.
std::string version(std::int64_t number) {
  return str("version ", number, "\n") + std::string(300'000, static_cast<char>('a' + number));
}

void expect_a_whole_version(const std::string& path, std::int64_t promised) {
  const std::string found = test::bytes_of(path);
  if (found.empty() && promised < 0) return;
  bool whole = false;
  for (std::int64_t i = std::max<std::int64_t>(promised, 0); i < 3; ++i) whole |= found == version(i);
  EXPECT_TRUE(whole) << "promised " << promised << ", found " << found.size()
                     << " bytes: " << found.substr(0, 20);
}

TEST(PowerFailure, LeavesAFileAsItWasOrAsItWasToBe) {
  if (!test::kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
  const test::TempDir dir = test::TempDir::in_memory();
  test::Journal journal(dir.path());
  {
    const test::Watch watch(journal);
    make_directories(dir / "new/er");
    for (std::int64_t i = 0; i < 3; ++i) {
      write_file(dir / "new/er/file", version(i));
      journal.promise(i);
    }
  }
  int trees = 0;
  journal.replay(20, [&](const std::string& root, std::int64_t promised) {
    expect_a_whole_version(root + "/new/er/file", promised);
    ++trees;
  });
  EXPECT_GT(trees, 20 * 3 * 5);
}

}  // namespace
}  // namespace veldt::io
