// torch.ao.quantization beside Veldt: LeNet of the same weights, on the same digits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "tests/app/command.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/file.h"

namespace veldt::test {
namespace {

TEST(SlowQuantizePeers, LoseAsLittleAsEachOther) {
  if (!std::filesystem::exists(str(VELDT_DATA, "/mnist"))) GTEST_SKIP() << "there is no MNIST in VELDT_DATA";
  if (!python_has("torch.ao.quantization.quantize_fx, safetensors, numpy"))
    GTEST_SKIP() << python() << " has no torch and safetensors; set VELDT_PYTHON";
  const TempDir dir;
  const Ran done = run_veldt({"train", str(VELDT_SOURCE, "/recipes/mnist.toml"), "--data", VELDT_DATA,
                              "--out", dir / "run", "--quiet", "--set", "train.steps=150"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  ASSERT_EQ(run_python(str("-B -W ignore ", VELDT_SOURCE, "/bench/peers/quantise.py ", VELDT_BINARY, ' ',
                           dir / "run", ' ', VELDT_DATA, " > ", dir / "out")),
            0);
  const std::string out = io::read_file(dir / "out");
  std::printf("%s", out.c_str());
  double bytes[2], before[2], after[2], ratio[2];
  ASSERT_EQ(
      std::sscanf(
          out.c_str(),
          "torch.ao %lf bytes %lf -> %lf %lf times as fast\nveldt %lf bytes %lf -> %lf %lf times as fast",
          &bytes[0], &before[0], &after[0], &ratio[0], &bytes[1], &before[1], &after[1], &ratio[1]),
      8)
      << out;
  EXPECT_NEAR(before[0], before[1], 2e-4);
  EXPECT_GT(before[1], 0.9);
  // Half a percent; and no worse than the other by more than a quarter of one.
  for (const double score : after) EXPECT_GT(score, before[1] - 0.005);
  EXPECT_GT(after[1], after[0] - 0.0025);
}

}  // namespace
}  // namespace veldt::test
