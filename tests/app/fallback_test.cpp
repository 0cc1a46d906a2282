// --fallback: verbs on a device whose backend lacks most kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/app/command.h"
#include "tests/app/small_model.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"

namespace veldt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

// A copy of the command with the small backend in place of the GPU's.
class FallbackFlag : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path library = fs::path(VELDT_BINARY).parent_path() / ".." / "lib" / "libsmall_plugin.so";
    if (!fs::exists(library)) GTEST_SKIP() << "the small backend was not built as a library";
    fs::copy_file(veldt_binary(), dir_ / "veldt");
    fs::copy_file(library, dir_ / "libveldt_cuda.so");
  }
  Ran run(const Words& words, const Words& environment = {}) const {
    return run_veldt(words, {.binary = dir_ / "veldt", .directory = dir_.path(), .environment = environment});
  }

  const TempDir dir_;
};

TEST_F(FallbackFlag, HasTheCpuDoWhatADeviceLacksAndSaysSo) {
  put_bytes(dir_ / "p.png", rings_png());
  const Words f32 = {"--precision", "f32"};
  ASSERT_EQ(run(small_fit("p.png", "cpu.safetensors", 5) + f32).exit_code, 0);
  const Words fit = small_fit("p.png", "small.safetensors", 5) + f32 + Words{"--device", "cuda"};
  const Ran lent = run(fit + Words{"--fallback", "host"});
  ASSERT_EQ(lent.exit_code, 0) << lent.err;
  EXPECT_THAT(lent.err, AllOf(HasSubstr("the cpu did for cuda:0: "), HasSubstr("optimize 5 times"),
                              HasSubstr(" copied)")));
  const auto here = tensors_of(dir_ / "cpu.safetensors"), there = tensors_of(dir_ / "small.safetensors");
  ASSERT_EQ(here.size(), there.size());
  for (const auto& [name, values] : here)
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(there.at(name)[i], values[i], 1e-4) << name;

  const Ran quiet = run(fit + Words{"--fallback", "host", "--quiet"});
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_EQ(quiet.err, "");
  EXPECT_THAT(run(fit, {"VELDT_FALLBACK=host"}).err, HasSubstr("the cpu did for cuda:0: "));
}

TEST_F(FallbackFlag, StopsWithoutItAndNamesWhatIsLacking) {
  put_bytes(dir_ / "p.png", rings_png());
  const Words fit = small_fit("p.png", "m.safetensors", 3) + Words{"--device", "cuda"};
  for (const Words& none : {Words{}, {"--fallback", "none"}}) {
    const Ran ran = run(fit + none);
    EXPECT_EQ(ran.exit_code, 5) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("there is no kernel of "), HasSubstr(" on cuda:0"),
                               HasSubstr("--fallback host")));
    EXPECT_FALSE(fs::exists(dir_ / "m.safetensors"));
  }
  const Ran wrong = run(fit + Words{"--fallback", "hots"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(has_three_lines(wrong.err)) << wrong.err;
}

TEST_F(FallbackFlag, IsForTheRunsOfASweepToo) {
  put_bytes(dir_ / "t.csv", "x,y\n1,2\n2,4\n3,6\n4,8\n5,10\n6,12\n7,14\n8,16\n");
  put_bytes(dir_ / "r.toml",
            "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\nvalidation = 0.25\nbatch = 2\n"
            "[model]\nlayers = [\"Linear(4)\", \"Tanh\", \"Linear(outputs)\"]\n[train]\nepochs = 1\n");
  const Words sweep = {"sweep",     "r.toml", "--data", ".", "--over",   "optimizer.lr=0.1,0.01",
                       "--out",     "s",      "--jobs", "1", "--device", "cuda",
                       "--threads", "1"};
  const Ran ran = run(sweep + Words{"--fallback", "host"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(bytes_of(dir_ / "s/lr=0.1_seed=1/log.txt"), HasSubstr("the cpu did for cuda:0: "));
}

// Drawing only needs products and sines, which the small backend has.
TEST_F(FallbackFlag, SaysNothingOfADeviceThatLacksNothingForTheWork) {
  put_bytes(dir_ / "p.png", rings_png());
  ASSERT_EQ(run(small_fit("p.png", "m.safetensors", 20)).exit_code, 0);
  const Words render = {"render", "m.safetensors", "--size", "32x24", "-o"};
  ASSERT_EQ(run(render + Words{"cpu.png"}).exit_code, 0);
  for (const char* fallback : {"none", "host"}) {
    const Ran ran = run(render + Words{"small.png", "--device", "cuda", "--fallback", fallback});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.err, Not(HasSubstr("the cpu did")));
    EXPECT_LE(max(abs(io::read_image(dir_ / "small.png") - io::read_image(dir_ / "cpu.png"))).item(),
              1.01 / 255);
  }
}

TEST_F(FallbackFlag, IsWhatTheDoctorSpeaksOf) {
  const Ran ran = run({"doctor", "--device", "cuda"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("cuda:0 has no kernels of "), HasSubstr("softmax"),
                             HasSubstr("with --fallback host"), Not(HasSubstr("matmul,"))));
}

}  // namespace
}  // namespace veldt::test
