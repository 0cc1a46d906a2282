// veldt export of quantised networks as headers: what it writes and refuses, and LeNet's classes of real
// digits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/file.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/trained.h"
#include "veldt/recipe/trainer.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

void runs(const Words& words) {
  const Ran ran = run_veldt(words);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
}

TEST(NetworkHeader, HoldsATablesNetwork) {
  const TempDir dir;
  std::string rows = "wide,high,y\n";
  for (int i = 0; i < 120; ++i)
    rows += str(i * 37 % 41 + 100, ',', i * 23 % 29, ',', i * 37 % 41 * 3 + 5, '\n');
  put_bytes(dir / "t.csv", rows);
  put_bytes(dir / "t.toml",
            "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\ntest = 0.25\n[model]\n"
            "layers = [\"Linear(8)\", \"ReLU\", \"Linear(outputs)\"]\n[optimizer]\nlr = 1e-2\n[train]\nsteps "
            "= 60\n");
  runs({"train", dir / "t.toml", "--data", dir / "", "--out", dir / "run", "--quiet"});
  const Ran floats = run_veldt({"export", dir / "run", "-o", dir / "x.h"});
  EXPECT_EQ(floats.exit_code, 2);
  EXPECT_THAT(floats.err, HasSubstr("quantize it first"));
  const std::string q = dir / "q.safetensors";
  runs({"quantize", dir / "run", "--data", dir / "", "-o", q, "--quiet"});
  EXPECT_THAT(run_veldt({"export", q, "-o", dir / "x.h", "--batch", "2"}).err, HasSubstr("--batch"));
  EXPECT_THAT(run_veldt({"export", q, "-o", dir / "x.h", "--size", "50"}).err, HasSubstr("of tiles"));
  const Ran ran = run_veldt({"export", q, "-o", dir / "x.h", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json told = json::parse(ran.out);
  EXPECT_EQ(told.at("namespace"), "x_net");
  EXPECT_EQ(told.at("multiplications"), 2 * 8 + 8);
  const std::string text = io::read_file(dir / "x.h");
  EXPECT_EQ(told.at("bytes"), text.size());
  EXPECT_THAT(text, HasSubstr("row after row: columns of the table, wide, high."));
  EXPECT_THAT(run_veldt({"export", q, "-o", dir / "x.h"}).out,
              HasSubstr("void x_net::run(const float* levels"));
  // In the table's units on both sides.
  put_bytes(dir / "main.cpp", R"(#include "x.h"
#include <cstdio>
int main() {
  static x_net::Arena arena;
  const float levels[] = {120, 9};
  float result;
  x_net::run(levels, &result, arena);
  std::printf("%.6g", static_cast<double>(result));
}
)");
  ASSERT_EQ(std::system(str(VELDT_CXX, " -std=c++11 -Wall -Wextra -Wpedantic -Werror ", dir / "main.cpp -o ",
                            dir / "main && ", dir / "main > ", dir / "out")
                            .c_str()),
            0);
  const double wanted = recipe::load(q).predict(Tensor::of({1, 2}, {120, 9}))[0];
  EXPECT_NEAR(std::stod(io::read_file(dir / "out")), wanted, 1);
}

TEST(SlowNetworkHeader, LeNetFindsTheSameClassesOfDigits) {
  const std::string data = VELDT_DATA;
  if (!std::filesystem::exists(data + "/mnist")) GTEST_SKIP() << "there is no MNIST in VELDT_DATA";
  const TempDir dir;
  const std::string q = dir / "digits.safetensors";
  runs({"train", str(VELDT_SOURCE, "/recipes/mnist.toml"), "--data", data, "--out", dir / "run", "--quiet",
        "--set", "train.steps=60"});
  runs({"quantize", dir / "run", "--data", data, "-o", q, "--no-layers", "--quiet"});
  runs({"export", q, "-o", dir / "digits.h"});
  recipe::Trained trained = recipe::load(q);
  const recipe::Data digits = recipe::load_data(trained.recipe, data, &trained.facts);
  data::Loader loader = recipe::measuring_loader(trained.recipe, digits, digits.test);
  const NoGrad off;
  std::string levels;
  std::vector<std::int64_t> wanted;
  for (std::int64_t b = 0; wanted.size() < 500; ++b) {
    const Tensor x = loader.batch(b).at(0);
    for (const float v : x.values<float>()) levels += str(v, ",");
    for (const std::int64_t found : argmax(trained.model(x), 1).values<std::int64_t>())
      wanted.push_back(found);
  }
  put_bytes(dir / "levels.inc", levels);
  put_bytes(dir / "main.cpp", str(R"(#include "digits.h"
#include <cstdio>
static const float levels[][784] = {
#include "levels.inc"
};
int main() {
  static digits_net::Arena arena;
  float results[digits_net::kOutputs];
  for (int i = 0; i < )",
                                  wanted.size(), R"(; ++i) {
    digits_net::run(levels[i], results, arena);
    std::printf("%s\n", digits_net::name_of(digits_net::found_class(arena)));
  }
}
)"));
  ASSERT_EQ(std::system(str(VELDT_CXX, " -std=c++20 -O2 -Wall -Wextra -Wpedantic -Werror ",
                            dir / "main.cpp -o ", dir / "main && ", dir / "main > ", dir / "out")
                            .c_str()),
            0);
  std::istringstream out(io::read_file(dir / "out"));
  std::size_t other = 0;
  for (const std::int64_t one : wanted) {
    std::string found;
    std::getline(out, found);
    other += found == trained.facts.classes[static_cast<std::size_t>(one)] ? 0u : 1u;
  }
  EXPECT_LE(other, 1u);  // of two classes that are as likely
}

}  // namespace
}  // namespace veldt::test
