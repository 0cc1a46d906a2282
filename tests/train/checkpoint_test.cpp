// Checkpoints come back whole after kills, full disks, flipped bits, moved folders and a second run in the
// same place.
#include "veldt/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/io/faults.h"
#include "tests/support/system_calls.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/directory.h"
#include "veldt/io/digest.h"
#include "veldt/io/file.h"

namespace veldt::train {
namespace {

using test::bytes_of;
using test::count_entries;
using test::in_child;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = IoError::Kind;

CheckpointData data_of(std::int64_t step, std::int64_t size = 4) {
  CheckpointData data{.step = step};
  const std::vector<float> values(static_cast<std::size_t>(size), static_cast<float>(step));
  data.model = {{"0.weight", Tensor::from<float>({size}, values)}, {"0.bias", Tensor::of({1}, {0.5})}};
  data.optim = {{"m", Tensor::from<float>({size}, values)}};
  data.model_metadata = {{"kind", "test"}};
  data.state_json = str(R"({"step":)", step, "}");
  return data;
}

void expect_step(const std::optional<CheckpointData>& data, std::int64_t step) {
  ASSERT_TRUE(data.has_value());
  EXPECT_EQ(data->step, step);
  EXPECT_EQ(data->model.at(0).tensor.values<float>()[0], static_cast<float>(step));
  EXPECT_EQ(data->optim.at(0).tensor.values<float>()[0], static_cast<float>(step));
  EXPECT_EQ(data->state_json, str(R"({"step":)", step, "}"));
}

void flip(const std::string& path, std::size_t at) {
  std::string bytes = bytes_of(path);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 4);
  put_bytes(path, bytes);
}

TEST(CheckpointDir, BringsBackWhatWasSaved) {
  const TempDir dir;
  CheckpointDir checkpoints(dir / "runs/x");
  EXPECT_EQ(checkpoints.load_newest(), std::nullopt);
  checkpoints.save(data_of(871));
  EXPECT_THAT(io::list_directory(dir / "runs/x"), ElementsAre(".lock", "ckpt-00000871"));
  EXPECT_THAT(io::list_directory(dir / "runs/x/ckpt-00000871"),
              ElementsAre("MANIFEST.json", "model.safetensors", "optim.safetensors", "state.json"));
  std::vector<std::string> warnings;
  const auto loaded = checkpoints.load_newest(&warnings);
  expect_step(loaded, 871);
  EXPECT_EQ(loaded->model.at(0).name, "0.weight");
  EXPECT_EQ(loaded->model_metadata, data_of(871).model_metadata);
  EXPECT_TRUE(warnings.empty());
}

TEST(CheckpointDir, KeepsTheNewestOnes) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path(), 2);
  for (const std::int64_t step : {9, 10, 123456789, 1234567890}) checkpoints.save(data_of(step));
  EXPECT_THAT(checkpoints.steps(), ElementsAre(123456789, 1234567890));
  expect_step(checkpoints.load_newest(), 1234567890);
  EXPECT_EQ(count_entries(dir.path()), 3u);
}

TEST(CheckpointDir, ReplacesACheckpointOfTheSameStep) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path(), 1);
  checkpoints.save(data_of(5));
  CheckpointData again = data_of(5);
  again.state_json = "{}";
  checkpoints.save(again);
  EXPECT_EQ(checkpoints.load_newest()->state_json, "{}");
  EXPECT_EQ(count_entries(dir.path()), 2u);
}

TEST(CheckpointDir, LeavesLaterStepsOfAnotherRunAlone) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path(), 1);
  checkpoints.save(data_of(100));
  checkpoints.save(data_of(50));
  EXPECT_THAT(checkpoints.steps(), ElementsAre(50, 100));
}

TEST(CheckpointDir, RefusesToKeepNone) {
  const TempDir dir;
  EXPECT_THROW(CheckpointDir(dir.path(), 0), ConfigError);
}

TEST(CheckpointDir, CannotBeMadeWhereAFileIs) {
  const TempDir dir;
  put_bytes(dir / "file", "x");
  EXPECT_EQ(thrown_by<IoError>([&] { CheckpointDir(dir / "file"); }).kind(), Kind::unwritable);
}

TEST(CheckpointDir, IsForOneProcessAtATime) {
  const TempDir dir;
  {
    const CheckpointDir first(dir.path());
    const int status = in_child([&] {
      try {
        CheckpointDir second(dir.path());
      } catch (const ConfigError& error) {
        return says(error, str("process ", ::getppid(), " holds its lock")) ? 7 : 8;
      }
      return 9;
    });
    EXPECT_EQ(status, 7);
    EXPECT_THROW(CheckpointDir(dir.path()), ConfigError);
  }
  CheckpointDir after(dir.path());  // the lock went with its holder
}

// The lock is held, so that nobody writes them, whatever their process number means here.
TEST(CheckpointDir, SweepsOrphansThatAreProvablyOurs) {
  const TempDir dir;
  const std::string dead = str(".tmp-", test::dead_pid()), alive = str(".tmp-", ::getppid());
  const auto make = [&](const std::string& name, const std::string& file) {
    io::make_directories(dir / name);
    if (!file.empty()) put_bytes(dir / (name + "/" + file), "half");
  };
  make("ckpt-00000007" + dead, "model.safetensors");
  make("ckpt-00000008" + dead, str("optim.safetensors", dead));
  make("ckpt-00000006" + dead, "");
  make("ckpt-00000009" + dead, "thesis.tex");
  make("ckpt-00000010" + alive, "model.safetensors");
  make("ckpt-7" + dead, "model.safetensors");
  make("ckpt-00000011.tmp-x", "model.safetensors");
  make("ckpt-abc", "model.safetensors");
  put_bytes(dir / "notes.txt", "mine");
  CheckpointDir checkpoints(dir.path());
  std::vector<std::string> kept = {
      ".lock", "ckpt-00000009" + dead, "ckpt-00000011.tmp-x", "ckpt-7" + dead, "ckpt-abc", "notes.txt"};
  EXPECT_THAT(io::list_directory(dir.path()), ::testing::UnorderedElementsAreArray(kept));
  EXPECT_TRUE(checkpoints.steps().empty());
}

TEST(CheckpointDir, IsMadeAndLockedAnewWhenItWasMovedAway) {
  const TempDir dir;
  CheckpointDir checkpoints(dir / "run");
  checkpoints.save(data_of(1));
  for (const bool moved : {true, false}) {
    if (moved)
      std::filesystem::rename(dir / "run", dir / "away");
    else
      std::filesystem::remove_all(dir / "run");
    std::vector<std::string> warnings;
    checkpoints.save(data_of(2), &warnings);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_THAT(warnings[0], HasSubstr("moved away or removed"));
    EXPECT_THAT(checkpoints.steps(), ElementsAre(2));
    EXPECT_THROW(CheckpointDir(dir / "run"), ConfigError);  // the lock is ours again
    warnings.clear();
    checkpoints.save(data_of(3), &warnings);
    EXPECT_TRUE(warnings.empty());
  }
  EXPECT_THAT(CheckpointDir(dir / "away").steps(), ElementsAre(1));
}

TEST(CheckpointDir, StopsWhenAnotherRunHasItsPlace) {
  const TempDir dir;
  CheckpointDir checkpoints(dir / "run");
  checkpoints.save(data_of(1));
  std::filesystem::rename(dir / "run", dir / "away");
  {
    CheckpointDir other(dir / "run");
    other.save(data_of(7));
    const IoError error = thrown_by<IoError>([&] { checkpoints.save(data_of(2)); });
    EXPECT_EQ(error.kind(), Kind::unwritable);
    EXPECT_TRUE(says(error, "another run has its place")) << error.what();
    EXPECT_TRUE(says(error, str("process ", ::getpid()))) << error.what();
    EXPECT_THAT(other.steps(), ElementsAre(7));
  }
  // Nobody holds its lock any longer, and what it holds is another run's all the same.
  for (const std::int64_t step : {8, 9}) {
    const IoError error = thrown_by<IoError>([&] { checkpoints.save(data_of(step)); });
    EXPECT_TRUE(says(error, "another run has its place")) << error.what();
    EXPECT_TRUE(says(error, "a checkpoint of step 7")) << error.what();
    EXPECT_THAT(CheckpointDir(dir / "run").steps(), ElementsAre(7));
  }
  std::filesystem::rename(dir / "run", dir / "other");
  std::vector<std::string> warnings;
  checkpoints.save(data_of(10), &warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("created again"));
  EXPECT_THAT(checkpoints.steps(), ElementsAre(10));
}

TEST(CheckpointDir, GoesOnInACopyOfItself) {
  const TempDir dir;
  { CheckpointDir(dir / "run").save(data_of(1)); }
  CheckpointDir checkpoints(dir / "run", 2);
  checkpoints.save(data_of(2));
  std::filesystem::rename(dir / "run", dir / "away");
  std::filesystem::copy(dir / "away", dir / "run", std::filesystem::copy_options::recursive);
  std::vector<std::string> warnings;
  checkpoints.save(data_of(3), &warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("moved away or removed"));
  EXPECT_THAT(warnings[0], testing::Not(HasSubstr("created again")));
  EXPECT_THAT(checkpoints.steps(), ElementsAre(2, 3));
}

// As after a kill while a checkpoint was replaced by another of its step, on a disk without exchange.
TEST(CheckpointDir, NamesTheOlderOneAgainAfterAKillWhileItWasReplaced) {
  const TempDir dir;
  { CheckpointDir(dir.path()).save(data_of(5)); }
  const std::string name = dir / "ckpt-00000005", aside = name + ".tmp-0";
  std::filesystem::copy(name, name + str(".tmp-", test::dead_pid()));
  std::filesystem::rename(name, aside);
  expect_step(CheckpointDir(dir.path()).load_newest(), 5);
  EXPECT_EQ(count_entries(dir.path()), 2u);
  std::filesystem::copy(name, aside);  // a kill after the newer one had its name
  expect_step(CheckpointDir(dir.path()).load_newest(), 5);
  std::filesystem::create_directory(dir / "ckpt-00000006.tmp-0");  // half removed
  EXPECT_THAT(CheckpointDir(dir.path()).steps(), ElementsAre(5));
  EXPECT_EQ(count_entries(dir.path()), 2u);
}

TEST(CheckpointDir, DoesNotHideACheckpointWithAStrangersFile) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path(), 1);
  checkpoints.save(data_of(1));
  put_bytes(dir / "ckpt-00000001/thesis.tex", "mine");
  for (const std::int64_t step : {2, 3}) checkpoints.save(data_of(step));
  EXPECT_THAT(checkpoints.steps(), ElementsAre(1, 3));
  verify_checkpoint(checkpoints.path_of(1));
}

TEST(StepOfCheckpoint, IsThatOfNamesThatVeldtGives) {
  EXPECT_EQ(step_of_checkpoint("ckpt-00000871"), 871);
  EXPECT_EQ(step_of_checkpoint("ckpt-1234567890"), 1234567890);
  for (const char* name : {"ckpt-notes", "ckpt-7", "ckpt-00000007.tmp-1", "ckpt-", "x", "ckpt-00000007.bak"})
    EXPECT_EQ(step_of_checkpoint(name), std::nullopt) << name;
}

TEST(CheckpointDir, FallsBackToAnOlderOneAndSaysSo) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path(), 3);
  for (const std::int64_t step : {1, 2, 3}) checkpoints.save(data_of(step));
  flip(dir / "ckpt-00000003/model.safetensors", bytes_of(dir / "ckpt-00000003/model.safetensors").size() - 1);
  std::vector<std::string> warnings;
  expect_step(checkpoints.load_newest(&warnings), 2);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("ckpt-00000003"));
  EXPECT_THAT(warnings[0], HasSubstr("tensor 0.bias"));
}

TEST(CheckpointDir, DoesNotCountADamagedOneAsKept) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path(), 1);
  checkpoints.save(data_of(100));
  checkpoints.save(data_of(90));
  flip(dir / "ckpt-00000100/state.json", 3);
  expect_step(checkpoints.load_newest(), 90);
  checkpoints.save(data_of(95));
  EXPECT_THAT(checkpoints.steps(), ElementsAre(95));
}

TEST(CheckpointDir, NamesFileAndTensorIfNoneIsWhole) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path());
  checkpoints.save(data_of(1));
  flip(dir / "ckpt-00000001/optim.safetensors", bytes_of(dir / "ckpt-00000001/optim.safetensors").size() - 1);
  const IoError error = thrown_by<IoError>([&] { checkpoints.load_newest(); });
  EXPECT_EQ(error.kind(), Kind::corrupt);
  EXPECT_TRUE(says(error, "optim.safetensors")) << error.what();
  EXPECT_TRUE(says(error, "tensor m")) << error.what();
}

TEST(CheckpointDir, NamesBothVersionsOfANewerOneAndDoesNotFallBack) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path());
  checkpoints.save(data_of(1));
  checkpoints.save(data_of(2));
  // As a later Veldt would write it: the digest is that of the text without it, keys sorted, no spaces.
  const std::string body = R"({"files":{},"format":"veldt-checkpoint","step":2,"version":7)";
  const std::string plain = body + "}";
  put_bytes(dir / "ckpt-00000002/MANIFEST.json",
            body + R"(,"xxh3":")" + io::digest_of(plain.data(), plain.size()) + "\"}");
  const IoError error = thrown_by<IoError>([&] { checkpoints.load_newest(); });
  EXPECT_EQ(error.kind(), Kind::corrupt);
  EXPECT_TRUE(says(error, "version 7")) << error.what();
  EXPECT_TRUE(says(error, "up to 1")) << error.what();
}

TEST(VerifyCheckpoint, ListsStepVersionAndFiles) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path());
  checkpoints.save(data_of(12));
  const CheckpointInfo info = verify_checkpoint(checkpoints.path_of(12));
  EXPECT_EQ(info.step, 12);
  EXPECT_EQ(info.version, 1);
  EXPECT_EQ(info.files.size(), 3u);
  EXPECT_EQ(info.files.at("state.json"), data_of(12).state_json.size());
  EXPECT_EQ(thrown_by<IoError>([&] { verify_checkpoint(dir / "ckpt-00000013"); }).kind(), Kind::missing);
}

TEST(VerifyCheckpoint, RefusesAManifestThatNestsDeep) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path());
  checkpoints.save(data_of(1));
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  put_bytes(checkpoints.path_of(1) + "/MANIFEST.json", R"({"format":"veldt-checkpoint","a":)" + deep + "}");
  EXPECT_EQ(thrown_by<IoError>([&] { verify_checkpoint(checkpoints.path_of(1)); }).kind(), Kind::corrupt);
}

// With the digest that it should have.
TEST(VerifyCheckpoint, RefusesAManifestOfNumbersThatAreNoneOfItsOwn) {
  const TempDir dir;
  CheckpointDir checkpoints(dir.path());
  checkpoints.save(data_of(1));
  const std::string path = checkpoints.path_of(1);
  const auto whole = nlohmann::json::parse(bytes_of(path + "/MANIFEST.json"));
  const auto verify = [&](const char* pointer, const nlohmann::json& value) {
    auto manifest = whole;
    manifest[nlohmann::json::json_pointer(pointer)] = value;
    manifest.erase("xxh3");
    const std::string plain = manifest.dump();
    manifest["xxh3"] = io::digest_of(plain.data(), plain.size());
    put_bytes(path + "/MANIFEST.json", manifest.dump());
    verify_checkpoint(path);
  };
  verify("/version", 1);
  const std::uint64_t bytes = whole["files"]["state.json"]["bytes"];
  const std::pair<const char*, nlohmann::json> cases[] = {
      {"/version", 1.5},  {"/version", 4294967297},
      {"/version", true}, {"/step", 1e300},
      {"/step", -1},      {"/files/state.json/bytes", static_cast<double>(bytes)}};
  for (const auto& one : cases) {
    const IoError error = thrown_by<IoError>([&] { verify(one.first, one.second); });
    EXPECT_EQ(error.kind(), Kind::corrupt) << one.first << one.second;
  }
}

TEST(VerifyCheckpoint, NoticesEveryFlippedByteCutAndMissingFile) {
  const TempDir dir = TempDir::in_memory();
  CheckpointDir checkpoints(dir.path());
  checkpoints.save(data_of(1, 1));
  const std::string path = checkpoints.path_of(1);
  for (const std::string& name : io::list_directory(path)) {
    const std::string file = path + "/" + name, whole = bytes_of(file);
    const auto expect_corrupt = [&](std::size_t at) {
      const IoError error = thrown_by<IoError>([&] { verify_checkpoint(path); });
      ASSERT_EQ(error.kind(), Kind::corrupt) << name << " " << at;
      ASSERT_TRUE(says(error, name)) << error.what();
    };
    for (std::size_t i = 0; i < whole.size(); i += 3) {
      put_bytes(file, whole.substr(0, i));
      expect_corrupt(i);
      put_bytes(file, whole);
      flip(file, i);
      // White space of the manifest may change without harm; nothing else may.
      if (name != "MANIFEST.json" || whole[i] != ' ') expect_corrupt(i);
    }
    std::filesystem::remove(file);
    expect_corrupt(0);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    expect_corrupt(0);
    std::filesystem::remove(file);
    put_bytes(file, whole);
  }
  verify_checkpoint(path);
}

TEST(CrashCheckpoint, LeavesTheOldOnesOnAFullDiskAndSavesAgainLater) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk", "128k");
  if (!disk.active()) GTEST_SKIP() << "mounting needs root";
  CheckpointDir checkpoints(dir / "disk", 2);
  checkpoints.save(data_of(1));
  const std::vector<std::string> before = io::list_directory(dir / "disk");
  for (const std::int64_t size : {12700, 20000, 40000, 5000000}) {  // full in the manifest, optim, model
    const IoError error = thrown_by<IoError>([&] { checkpoints.save(data_of(2, size)); });
    EXPECT_EQ(error.kind(), Kind::unwritable);
    EXPECT_TRUE(says(error, "No space left")) << error.what();
    EXPECT_EQ(io::list_directory(dir / "disk"), before);
    expect_step(checkpoints.load_newest(), 1);
  }
  checkpoints.save(data_of(3));
  expect_step(checkpoints.load_newest(), 3);
}

// Old checkpoints are worth less than a new one: with room for two, the run's last step is what a kill
// leaves.
TEST(CrashCheckpoint, GivesUpOldOnesForANewOneOnAFullDisk) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk", "128k");
  if (!disk.active()) GTEST_SKIP() << "mounting needs root";
  CheckpointDir checkpoints(dir / "disk", 4);
  std::vector<std::string> warnings;
  for (std::int64_t step = 1; step < 12; ++step) {
    checkpoints.save(data_of(step, 3000), &warnings);
    verify_checkpoint(checkpoints.path_of(step));
  }
  EXPECT_THAT(checkpoints.steps(), ElementsAre(11));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("made room for a new one"));
  // With room for one alone, that one stays.
  EXPECT_THROW(checkpoints.save(data_of(12, 20000)), io::DiskFull);
  expect_step(checkpoints.load_newest(), 11);
}

// A disk without room for the first so many checkpoints, that counts who reads one of step 10.
struct FullDisk final : test::Watcher {
  explicit FullDisk(int failures) : left(failures) {}
  int before(const test::SystemCall& call) override {
    if (call.call == test::Call::open &&
        std::string_view(call.path).find("ckpt-00000010/") != std::string::npos)
      ++reads;
    return call.call == test::Call::write && left-- > 0 ? ENOSPC : 0;
  }
  int left, reads = 0;
};

TEST(CrashCheckpoint, GivesUpDamagedOnesBeforeWholeOnesOnAFullDisk) {
  if (!test::kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
  const TempDir dir;
  CheckpointDir checkpoints(dir.path(), 5);
  for (const std::int64_t step : {5, 10, 20}) checkpoints.save(data_of(step));
  flip(dir / "ckpt-00000020/state.json", 3);
  expect_step(checkpoints.load_newest(), 10);
  const auto save_with = [&](int failures, std::int64_t step) {
    std::vector<std::string> warnings;
    FullDisk disk(failures);
    const test::Watch watch(disk);
    checkpoints.save(data_of(step), &warnings);
    return warnings;
  };
  EXPECT_THAT(save_with(1, 30), ElementsAre(HasSubstr("1 damaged checkpoint made room")));
  EXPECT_THAT(checkpoints.steps(), ElementsAre(5, 10, 30));  // and so many are kept as before
  EXPECT_THAT(save_with(1, 40), ElementsAre(HasSubstr("2 older checkpoints made room")));
  EXPECT_THAT(checkpoints.steps(), ElementsAre(40));
}

TEST(CrashCheckpoint, GivesUpAllThatItCanForANewOneOnAFullDisk) {
  if (!test::kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
  const TempDir dir;
  CheckpointDir checkpoints(dir.path(), 5);
  for (const std::int64_t step : {5, 10, 20}) checkpoints.save(data_of(step));
  flip(dir / "ckpt-00000020/state.json", 3);
  expect_step(checkpoints.load_newest(), 10);
  std::vector<std::string> warnings;
  FullDisk disk(2);
  const test::Watch watch(disk);
  checkpoints.save(data_of(30), &warnings);
  EXPECT_EQ(warnings.size(), 2u);
  EXPECT_THAT(checkpoints.steps(), ElementsAre(30));
}

TEST(CrashCheckpoint, DoesNotReadTheOnlyOneOnAFullDisk) {
  if (!test::kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
  const TempDir dir;
  CheckpointDir checkpoints(dir.path());
  checkpoints.save(data_of(10));
  FullDisk disk(3);
  {
    const test::Watch watch(disk);
    for (int i = 0; i < 3; ++i) EXPECT_THROW(checkpoints.save(data_of(30)), io::DiskFull);
  }
  EXPECT_EQ(disk.reads, 0);
  EXPECT_THAT(checkpoints.steps(), ElementsAre(10));
}

TEST(CrashCheckpoint, NeverGivesUpTheNewestWholeOne) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk", "128k");
  if (!disk.active()) GTEST_SKIP() << "mounting needs root";
  CheckpointDir checkpoints(dir / "disk", 5);
  for (const std::int64_t step : {1, 2, 3}) checkpoints.save(data_of(step, 1000));
  flip(dir / "disk/ckpt-00000003/model.safetensors",
       bytes_of(dir / "disk/ckpt-00000003/model.safetensors").size() - 1);
  EXPECT_EQ(thrown_by<IoError>([&] { checkpoints.save(data_of(4, 1000000)); }).kind(), Kind::unwritable);
  EXPECT_THAT(checkpoints.steps(), ElementsAre(2, 3));
  expect_step(checkpoints.load_newest(), 2);
}

// Makes one file of the checkpoint the largest in turn, and every limit below its size fail its writing.
TEST(CrashCheckpoint, LeavesNothingHalfWrittenWhicheverFileFails) {
  const TempDir dir;
  { CheckpointDir(dir.path()).save(data_of(1)); }
  for (const int largest : {0, 1, 2}) {
    const int status = in_child([&] {
      const std::vector<float> values(1000, 2.0f);
      CheckpointData data = data_of(2);
      if (largest == 0) data.model[0].tensor = Tensor::from<float>({1000}, values);
      if (largest == 1) data.optim[0].tensor = Tensor::from<float>({1000}, values);
      if (largest == 2) data.state_json.resize(4000, ' ');
      CheckpointDir checkpoints(dir.path());
      for (rlim_t limit = 3990; limit > 0; limit -= std::min<rlim_t>(limit, 190)) {
        test::limit_file_size(limit);
        const IoError error = thrown_by<IoError>([&] { checkpoints.save(data); });
        if (error.kind() != Kind::unwritable || count_entries(dir.path()) != 2) return 8;
      }
      return 7;
    });
    EXPECT_EQ(status, 7) << largest;
  }
  expect_step(CheckpointDir(dir.path()).load_newest(), 1);
}

TEST(CrashCheckpoint, IsAlwaysWholeWhenKilledAtRandomMoments) {
  const TempDir dir;
  std::mt19937 random(7);
  const auto start = std::chrono::steady_clock::now();
  { CheckpointDir(dir.path(), 2).save(data_of(0, 20000)); }
  const auto one_save = std::chrono::steady_clock::now() - start;
  std::int64_t newest = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      CheckpointDir checkpoints(dir.path(), 2);
      for (std::int64_t step = checkpoints.steps().back() + 1;; ++step)
        checkpoints.save(data_of(step, 20000));
    }
    std::this_thread::sleep_for(one_save * (random() % 300) / 100);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CheckpointDir checkpoints(dir.path(), 2);
    std::vector<std::string> warnings;
    const auto found = checkpoints.load_newest(&warnings);
    EXPECT_TRUE(warnings.empty()) << warnings[0];
    ASSERT_TRUE(found.has_value());
    expect_step(found, std::max(found->step, newest));
    newest = found->step;
    // The lock, the kept ones, and those that kills in a row left just before they were to go.
    EXPECT_LE(count_entries(dir.path()), 8u);
    for (const std::string& name : io::list_directory(dir.path()))
      EXPECT_EQ(name.find(".tmp-"), std::string::npos);
  }
  EXPECT_GT(newest, 3);
  CheckpointDir(dir.path(), 2).save(data_of(newest + 1, 20000));
  EXPECT_EQ(count_entries(dir.path()), 3u);  // the next save puts it right
}

TEST(CrashCheckpoint, FailsBeforeTrainingOnAReadOnlyDisk) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk");
  if (!disk.make_read_only()) GTEST_SKIP() << "mounting needs root";
  for (const char* path : {"disk", "disk/run"}) {
    const IoError error = thrown_by<IoError>([&] { CheckpointDir(dir / path); });
    EXPECT_EQ(error.kind(), Kind::unwritable);
    EXPECT_TRUE(says(error, "Read-only")) << error.what();
  }
}

}  // namespace
}  // namespace veldt::train
