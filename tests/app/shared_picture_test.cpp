// Which pictures several processes share, and what is said of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/io/faults.h"
#include "tests/io/make_png.h"
#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/inputs.h"
#include "veldt/io/image.h"
#include "veldt/io/sound.h"
#include "veldt/ops/create.h"

namespace veldt::app {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SharedPicture : public testing::Test {
 protected:
  // Whether two ranks share it; what went wrong, if anything did.
  std::vector<std::string> load(const std::string& name, bool in_parts, bool expected) const {
    return test::run_ranks(2, [&](dist::Communicator& ranks) {
      Context context;
      context.quiet = ranks.rank() > 0;
      const field::Signal signal = load_signal(folder_ / name, kMaxPixels, context, ranks, in_parts);
      EXPECT_EQ(signal.ranks() != nullptr, expected) << name;
    });
  }
  const test::TempDir folder_ = test::TempDir::in_memory();
};

TEST_F(SharedPicture, IsOneOf64MegabytesOrOneThatIsAskedFor) {
  io::write_image(folder_ / "small.png", full({20, 30, 3}, 0.25));
  EXPECT_THAT(load("small.png", false, false), Each(IsEmpty()));
  EXPECT_THAT(load("small.png", true, true), Each(IsEmpty()));
  // Four bytes a sample, as 16 bits are kept.
  io::write_image(folder_ / "large.png", full({4096, 4096, 1}, 0.3), {.bits = 16, .compression = 1});
  EXPECT_THAT(load("large.png", false, true), Each(IsEmpty()));
  io::write_image(folder_ / "less.png", full({4095, 4096, 1}, 0.3), {.bits = 16, .compression = 1});
  EXPECT_THAT(load("less.png", false, false), Each(IsEmpty()));
}

TEST_F(SharedPicture, IsReadWholeByAllWhereItHasNoRows) {
  test::put_bytes(folder_ / "large.png",
                  test::make_png({.width = 4096, .height = 4096, .depth = 16, .interlaced = true},
                                 std::vector<int>(std::size_t{4096} * 4096, 7)));
  testing::internal::CaptureStderr();
  EXPECT_THAT(load("large.png", false, false), Each(IsEmpty()));
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      AllOf(HasSubstr("each process has the whole of"), HasSubstr("67.1 MB: what can be read row by row")));
  EXPECT_THAT(load("large.png", true, false), Each(AllOf(HasSubstr("--in-parts cannot be used with"),
                                                         HasSubstr("a PNG that is not interlaced"))));
}

TEST_F(SharedPicture, IsNothingButAPictureWithoutClearPixels) {
  io::write_image(folder_ / "clear.png", Tensor::of({1, 2, 2}, {0.5, 0, 0.5, 1}));
  EXPECT_THAT(load("clear.png", false, false), Each(IsEmpty()));
  EXPECT_THAT(load("clear.png", true, false), Each(HasSubstr("fully transparent pixels")));
  io::write_sound(folder_ / "a.wav", zeros({8, 1}), 8000);
  EXPECT_THAT(load("a.wav", false, false), Each(IsEmpty()));
  EXPECT_THAT(load("a.wav", true, false), Each(HasSubstr("it is a sound")));
  test::put_bytes(folder_ / "a.csv", "x,y,grey\n0,0,7\n");
  EXPECT_THAT(load("a.csv", true, false), Each(HasSubstr("it is a pixel table")));
}

TEST_F(SharedPicture, IsForSeveralProcesses) {
  const test::Ran ran = test::run_veldt({"fit", test::kCub, "-o", folder_ / "a.safetensors", "--in-parts"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--in-parts is for several processes"));
}

}  // namespace
}  // namespace veldt::app
