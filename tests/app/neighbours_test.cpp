// The environment: other processes and containers in the same folder, users that move it away, terminals that
// close, disks that fill up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/app/process.h"
#include "tests/app/pseudo_terminal.h"
#include "tests/app/small_model.h"
#include "tests/io/faults.h"
#include "veldt/io/directory.h"
#include "veldt/io/safetensors.h"
#include "veldt/train/checkpoint.h"

namespace veldt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr int kNoNamespace = 77;

// In a separate PID namespace, where this one's processes have no pid; kNoNamespace if none can be created.
int exit_code_elsewhere(const Words& words) {
  return in_child([&words] {
    if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return kNoNamespace;
    const Ran ran = run_veldt(words);
    if (ran.exit_code != 0) std::fprintf(stderr, "%s", ran.err.c_str());
    return ran.exit_code < 0 ? 128 - ran.exit_code : ran.exit_code;
  });
}

std::vector<std::string> temporaries(const std::string& directory) {
  std::vector<std::string> names = io::list_directory(directory);
  std::erase_if(names, [](const std::string& name) { return name.find(".tmp-") == std::string::npos; });
  return names;
}

// Until its writer has locked it, a temporary file has no owner. This locks it for a moment, while the writer
// is stopped, because the writer would give up a file that is locked.
bool is_locked(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  ::close(fd);
  return locked;
}

class Neighbours : public testing::Test {
 protected:
  Neighbours() {
    put_bytes(dir_ / "p.png", rings_png());
    EXPECT_EQ(run_veldt(small_fit(dir_ / "p.png", model_, 5) + Words{"--quiet"}).exit_code, 0);
    fs::create_directory(out_);
  }
  Words render(int size) const {
    return {"render", model_, "-o", out_ + "/p.png", "--size", std::to_string(size), "--quiet"};
  }
  Words fit(int steps, const Words& more = {}, const char* every = "30ms") const {
    return small_fit(dir_ / "p.png", out_ + "/m.safetensors", steps) +
           Words{"--checkpoint", checkpoints_, "--every", every} + more;
  }
  // Waits until the other process has drawn half of a picture, and stops it.
  bool stops_midway(const Process& process) const {
    return comes_true([&] {
      process.stop();
      const Words begun = temporaries(out_);
      const bool began = std::any_of(begun.begin(), begun.end(),
                                     [&](const std::string& name) { return is_locked(out_ + "/" + name); });
      if (!began) process.send(SIGCONT);
      return began;
    });
  }

  const TempDir dir_, log_;
  const std::string model_ = dir_ / "m.safetensors", out_ = dir_ / "out", checkpoints_ = dir_ / "out/ck";
};

TEST_F(Neighbours, DrawTheSamePictureAtTheSameTime) {
  for (const bool elsewhere : {false, true}) {
    SCOPED_TRACE(elsewhere);
    Process first(render(6000), log_);
    ASSERT_TRUE(stops_midway(first));
    const int code = elsewhere ? exit_code_elsewhere(render(8)) : run_veldt(render(8)).exit_code;
    if (code == kNoNamespace) GTEST_SKIP() << "a PID namespace needs rights that are not there";
    EXPECT_EQ(code, 0);
    EXPECT_EQ(io::list_directory(out_).size(), 2u);  // the small picture, and what is half drawn
    first.send(SIGCONT);
    EXPECT_EQ(first.wait(), 0) << first.err();
    EXPECT_EQ(io::list_directory(out_), (Words{"p.png"}));
    EXPECT_THAT(run_veldt({"info", out_ + "/p.png"}).out, HasSubstr("6000"));
  }
}

TEST_F(Neighbours, CleanUpBehindTheDeadOfAllNamespaces) {
  for (const bool elsewhere : {false, true}) {
    SCOPED_TRACE(elsewhere);
    {
      Process killed(render(3000), log_);
      ASSERT_TRUE(stops_midway(killed));
      killed.send(SIGKILL);
      EXPECT_EQ(killed.wait(), -SIGKILL);
    }
    EXPECT_EQ(temporaries(out_).size(), 1u);
    const int code = elsewhere ? exit_code_elsewhere(render(8)) : run_veldt(render(8)).exit_code;
    if (code == kNoNamespace) GTEST_SKIP() << "a PID namespace needs rights that are not there";
    EXPECT_EQ(code, 0);
    EXPECT_EQ(io::list_directory(out_), (Words{"p.png"}));
  }
}

TEST_F(Neighbours, DoNotTrainInOneFolder) {
  Process first(fit(1'000'000'000), log_);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << first.err();
  EXPECT_EQ(run_veldt(fit(10, {"--resume"})).exit_code, 2);
  const int code = exit_code_elsewhere(fit(10, {"--resume"}));
  EXPECT_TRUE(code == 2 || code == kNoNamespace) << code;
  first.send(SIGTERM);
  EXPECT_EQ(first.wait(), 143) << first.err();
}

TEST_F(Neighbours, MoveTheFolderAwayAndTheRunGoesOn) {
  Process first(fit(1'000'000'000), log_);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << first.err();
  const std::string away = dir_ / "away";
  fs::rename(checkpoints_, away);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << first.err();
  const auto warns = [&] {
    return first.err().find("moved away or removed while the run") != std::string::npos;
  };
  EXPECT_TRUE(comes_true(warns)) << first.err();
  const Ran second = run_veldt(fit(10, {"--resume"}));  // the new folder is the run's own as well
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("in use"));
  first.send(SIGTERM);
  EXPECT_EQ(first.wait(), 143) << first.err();
  for (const std::string& directory : {away, checkpoints_}) {
    train::CheckpointDir whole(directory);
    EXPECT_TRUE(whole.load_newest().has_value());
  }
}

TEST_F(Neighbours, HaveTakenThePlaceOfAMovedFolder) {
  Process first(fit(1'000'000'000), log_);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << first.err();
  first.send(SIGSTOP);
  fs::rename(checkpoints_, dir_ / "away");
  const TempDir log;
  Process second(fit(1'000'000'000), log);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << second.err();
  first.send(SIGCONT);
  const auto has_said_so = [&] { return first.err().find("another run has its place") != std::string::npos; };
  ASSERT_TRUE(comes_true(has_said_so)) << first.err();
  first.send(SIGTERM);
  EXPECT_EQ(first.wait(), 6);
  EXPECT_THAT(first.err(), HasSubstr("the last checkpoint could not be written"));
  EXPECT_NO_THROW(io::read_safetensors(out_ + "/m.safetensors"));
  second.send(SIGTERM);
  EXPECT_EQ(second.wait(), 143) << second.err();
}

// A training that ends or is stopped without space for its last checkpoint keeps its network.
TEST_F(Neighbours, HaveTakenThePlaceOfATrainingsCheckpoints) {
  put_bytes(dir_ / "rows.csv", "a,b\n0,1\n1,3\n2,5\n3,7\n");
  for (const bool asked : {true, false}) {
    SCOPED_TRACE(asked);
    const std::string run = dir_ / (asked ? "asked" : "ended");
    put_bytes(dir_ / "r.toml", std::string("[data]\nkind = \"table\"\npath = \"rows.csv\"\ntarget = \"b\"\n"
                                           "batch = 4\n[model]\nlayers = [\"Linear(outputs)\"]\n"
                                           "[train]\ntime = \"") +
                                   (asked ? "1h\"\n" : "3s\"\n"));
    Process process({"train", dir_ / "r.toml", "--data", dir_ / "", "--out", run, "--every", "20ms"}, log_);
    ASSERT_TRUE(comes_true([&] { return has_checkpoint(run + "/checkpoints"); })) << process.err();
    process.send(SIGSTOP);
    fs::rename(run + "/checkpoints", run + "/away");
    const train::CheckpointDir other(run + "/checkpoints");
    process.send(SIGCONT);
    const auto says_so = [&] { return process.err().find("another run has its place") != std::string::npos; };
    ASSERT_TRUE(comes_true(says_so)) << process.err();
    if (asked) process.send(SIGTERM);
    EXPECT_EQ(process.wait(), 6) << process.err();
    EXPECT_THAT(process.err(), HasSubstr("the last checkpoint could not be written"));
    EXPECT_NO_THROW(io::read_safetensors(run + "/model.safetensors"));
  }
}

TEST_F(Neighbours, HaveFilledTheDisk) {
  const std::string disk_path = dir_ / "disk";
  const SmallDisk disk(disk_path, "100k");
  if (!disk.active()) GTEST_SKIP() << "mounting a small disk needs root";
  const int steps = 30000;  // long enough for checkpoints to fill it
  const Ran ran = run_veldt(small_fit(dir_ / "p.png", model_, steps) +
                            Words{"--checkpoint", disk_path, "--every", "20ms", "--keep", "50"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("made room for a new one"));
  EXPECT_THAT(ran.err, testing::Not(HasSubstr("training continues")));
  EXPECT_THAT(train::CheckpointDir(disk_path).steps(), testing::ElementsAre(steps));
}

TEST_F(Neighbours, HangUp) {
  const int steps = 4000;
  const Words whole = small_fit(dir_ / "p.png", dir_ / "whole.safetensors", steps);
  ASSERT_EQ(run_veldt(whole).exit_code, 0);
  Process process(fit(steps), log_);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << process.err();
  for (int i = 0; i < 3; ++i) process.send(SIGHUP);  // from the terminal, the shell and the session
  ASSERT_EQ(process.wait(), 129) << process.err();
  EXPECT_THAT(process.err(), HasSubstr("--resume"));
  EXPECT_TRUE(fs::exists(out_ + "/m.safetensors"));
  EXPECT_EQ(temporaries(out_).size(), 0u);
  // Rarely saved: where others write to the same disk, a checkpoint can take a second.
  ASSERT_EQ(run_veldt(fit(steps, {"--resume"}, "1h")).exit_code, 0);
  EXPECT_EQ(tensors_of(out_ + "/m.safetensors"), tensors_of(dir_ / "whole.safetensors"));
}

TEST_F(Neighbours, CloseTheTerminal) {
  OnTerminal process(fit(1'000'000'000));
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); }));
  process.close();
  EXPECT_EQ(process.wait(), 129);
  EXPECT_TRUE(fs::exists(out_ + "/m.safetensors"));
  EXPECT_TRUE(train::CheckpointDir(checkpoints_).load_newest().has_value());
}

// nohup: a signal that was ignored from the start stays ignored.
TEST_F(Neighbours, DoNotHangUpOnARunThatIgnoresIt) {
  ::signal(SIGHUP, SIG_IGN);
  Process process(fit(1'000'000'000), log_);
  ::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << process.err();
  process.send(SIGHUP);
  const std::string before = newest_checkpoint(checkpoints_);
  ASSERT_TRUE(comes_true([&] { return newest_checkpoint(checkpoints_) > before; })) << "it goes on";
  process.send(SIGTERM);
  EXPECT_EQ(process.wait(), 143) << process.err();
}

}  // namespace
}  // namespace veldt::test
