// The data of a sweep: those that its runs read are looked for, and no others; a complete sweep is shown
// without them; what its rows are ordered by is said where it is not the watched score.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/small_model.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

class SweepOfData : public testing::Test {
 protected:
  void put_table() const {
    std::string table = "x,y\n";
    for (int i = 0; i < 100; ++i)
      table += std::to_string(i % 10) + "," + std::to_string((i % 10) * (i % 10)) + "\n";
    put_bytes(dir_ / "t.csv", table);
  }
  void put_recipe(const std::string& data, const std::string& train) const {
    put_bytes(dir_ / "r.toml", "[data]\n" + data + "[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]\n" +
                                   "[train]\n" + train);
  }
  // Four pictures in a file of CIFAR-10 or CIFAR-100.
  void put_cifar(const std::string& folder, const std::string& name, std::size_t label_bytes) const {
    std::string bytes;
    for (int i = 0; i < 4; ++i)
      bytes += std::string(label_bytes, static_cast<char>(i % 2)) +
               std::string(3 * 32 * 32, static_cast<char>(20 + 40 * i));
    fs::create_directories(dir_ / folder);
    put_bytes(dir_ / (folder + "/" + name), bytes);
  }
  Ran sweep(const std::string& out, const Words& more) const {
    return run_veldt(
        Words{"sweep", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / out, "--threads", "2"} + more);
  }

  const TempDir dir_;
};

// The recipe's own kind is none of them, and its folder is not there.
TEST_F(SweepOfData, OverKindsNeedsThoseKindsAlone) {
  put_recipe("kind = \"mnist\"\nbatch = 4\n", "epochs = 1\n");
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"})
    put_cifar("cifar10", name, 1);
  for (const char* name : {"train.bin", "test.bin"}) put_cifar("cifar100", name, 2);
  const Words words{"--over", "data.kind=cifar10,cifar100"};
  const Ran ran = sweep("s", words + Words{"--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json rows = json::parse(ran.out).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  for (const json& row : rows) EXPECT_EQ(row.at("failed"), 0) << row;
  const json data = json::parse(bytes_of(dir_ / "s/sweep.json")).at("data");
  EXPECT_EQ(data.at("cifar10 cifar10").at("files"), 6);
  EXPECT_EQ(data.at("cifar100 cifar100").at("files"), 2);
  // Each kind's files are part of what the sweep is.
  for (const char* file : {"cifar10/test_batch.bin", "cifar100/test.bin"}) {
    const std::string whole = bytes_of(dir_ / file);
    put_bytes(dir_ / file, whole.substr(0, whole.size() - 1) + "x");
    const Ran other = sweep("s", words + Words{"--resume"});
    EXPECT_EQ(other.exit_code, 2) << file;
    EXPECT_THAT(other.err, HasSubstr("holds a sweep over other data")) << file;
    put_bytes(dir_ / file, whole);
  }
  EXPECT_EQ(sweep("s", words + Words{"--resume"}).exit_code, 0);
  fs::remove_all(dir_ / "cifar100");
  EXPECT_EQ(sweep("s", words + Words{"--resume"}).exit_code, 0);  // it is complete
  fs::create_directories(dir_ / "cifar100");                      // which is empty
  const Ran missing = sweep("t", words);
  EXPECT_EQ(missing.exit_code, 3) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr(dir_ / "cifar100"));
  EXPECT_FALSE(fs::exists(dir_ / "t"));
}

// Of more or fewer of them each is compared with itself.
TEST_F(SweepOfData, MoreDataCanJoin) {
  put_table();
  fs::copy_file(dir_ / "t.csv", dir_ / "u.csv");
  put_recipe("kind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\nvalidation = 0.2\n", "steps = 20\n");
  ASSERT_EQ(sweep("s", {"--over", "data.path=t.csv"}).exit_code, 0);
  ASSERT_EQ(sweep("s", {"--over", "data.path=u.csv,t.csv", "--resume"}).exit_code, 0);
  EXPECT_EQ(sweep("s", {"--over", "data.path=u.csv", "--resume"}).exit_code, 0);
  put_bytes(dir_ / "t.csv", "x,y\n1,2\n2,3\n3,4\n4,5\n5,6\n");
  EXPECT_EQ(sweep("s", {"--over", "data.path=u.csv", "--resume"}).exit_code, 0);
  const Ran other = sweep("s", {"--over", "data.path=u.csv,t.csv", "--resume"});
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("table t.csv were"));
}

// One of the four combinations can never be trained: a warmup that is longer than its run.
TEST_F(SweepOfData, ACompleteSweepIsShownWithoutThem) {
  put_table();
  put_recipe("kind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\nvalidation = 0.2\n", "steps = 20\n");
  const Words words{"--over", "train.steps=20,40", "--over", "optimizer.warmup=5,30"};
  const Ran ran = sweep("s", words);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("refused: optimizer.warmup cannot be 30"));
  const std::string table = bytes_of(dir_ / "s/sweep.csv"),
                    model = dir_ / "s/steps=40_warmup=30_seed=1/model.safetensors";
  const auto time = fs::last_write_time(model);
  fs::remove(dir_ / "t.csv");
  const Ran again = sweep("s", words + Words{"--resume"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, ran.out);
  EXPECT_EQ(bytes_of(dir_ / "s/sweep.csv"), table);
  EXPECT_EQ(fs::last_write_time(model), time);
  // What is still to be trained needs them.
  const Ran more = sweep("s", words + Words{"--seeds", "2", "--resume"});
  EXPECT_EQ(more.exit_code, 3) << more.err;
  EXPECT_THAT(more.err, HasSubstr(dir_ / "t.csv"));
  EXPECT_EQ(bytes_of(dir_ / "s/sweep.csv"), table);
  // Other data are still told from those.
  put_bytes(dir_ / "t.csv", "x,y\n1,2\n2,3\n3,4\n4,5\n5,6\n");
  const Ran other = sweep("s", words + Words{"--seeds", "2", "--resume"});
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("other data"));
}

TEST_F(SweepOfData, SaysWhyRowsAreNotOrderedByTheWatchedScore) {
  put_table();
  const Words losses{"--over", "train.loss=mse,l1"};
  const std::string of_losses = "because losses of different kinds cannot be compared",
                    held_back = "because the recipe holds nothing back for validation";
  // A series is judged by its loss: to hold more of it back would change nothing.
  put_recipe("kind = \"series\"\npath = \"t.csv\"\ncolumn = \"y\"\ncontext = 4\ntest = 0.2\n",
             "steps = 10\n");
  const Ran series = sweep("series", losses);
  ASSERT_EQ(series.exit_code, 0) << series.err;
  EXPECT_THAT(series.err, HasSubstr("the rows are ordered by test_mae, " + of_losses));
  EXPECT_THAT(series.err, Not(HasSubstr(held_back)));
  put_recipe("kind = \"series\"\npath = \"t.csv\"\ncolumn = \"y\"\ncontext = 4\nvalidation = 0.2\n",
             "steps = 10\n");
  const Ran untested = sweep("untested", losses);
  ASSERT_EQ(untested.exit_code, 0) << untested.err;
  EXPECT_THAT(untested.err, HasSubstr("the rows are ordered by val_loss, because there is no other"));
  // A table of numbers is judged by mae, of which a validation set would have another.
  put_recipe("kind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\ntest = 0.2\n", "steps = 10\n");
  const Ran table = sweep("table", losses);
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.err, HasSubstr("the rows are ordered by test_mae, " + held_back));
  const Ran validated = sweep("validated", losses + Words{"--set", "data.validation=0.2"});
  ASSERT_EQ(validated.exit_code, 0) << validated.err;
  EXPECT_THAT(validated.err, Not(HasSubstr("the rows are ordered by")));
}

}  // namespace
}  // namespace veldt::test
