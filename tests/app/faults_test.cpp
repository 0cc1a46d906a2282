// Every single call for memory, a thread or a file fails once, while the command fits, trains, resumes and
// draws: it ends with a documented exit code and an error of three lines, its files are complete, and the
// same command then succeeds. VELDT_ALL_FAULTS=1 tries each call; without it at most a few dozen of each
// kind.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "tests/io/faults.h"
#include "tests/support/system_calls.h"
#include "tests/support/threads_scope.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/command.h"
#include "veldt/cli/exit.h"
#include "veldt/field/options.h"
#include "veldt/io/image.h"
#include "veldt/recipe/data.h"
#include "veldt/train/checkpoint.h"

namespace veldt::test {
namespace {

using Words = std::vector<std::string>;
namespace fs = std::filesystem;

// The command in a process of its own, but in this program, whose calls can be made to fail.
struct RanHere {
  int code = 0;
  std::int64_t calls = 0;
  std::string err;
};

RanHere run_here(Words words, const std::string& directory, Call call, std::int64_t n, int error) {
  static auto* const calls = static_cast<std::int64_t*>(
      ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *calls = 0;
  const std::string log = directory + ".err";
  RanHere ran;
  ran.code = in_child([&] {
    ::alarm(120);  // a hang is a death by SIGALRM
    if (::chdir(directory.c_str()) != 0) return 126;
    ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    ::dup2(::open("/dev/null", O_RDWR), STDOUT_FILENO);
    words.insert(words.begin(), "veldt");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const cli::Program& program = app::program();  // made before main() can tell of anything
    FailingCall failing(call, n, error);
    const Watch watch(failing);
    const int code = cli::run_command(program, static_cast<int>(words.size()), argv.data());
    *calls = failing.count();
    return code;
  });
  ran.calls = *calls;
  ran.err = bytes_of(log);
  return ran;
}

// A command in its own directory, a copy of `prepared`.
class Work {
 public:
  Work(Words words, const std::string& prepared) : words_(std::move(words)), prepared_(prepared) {}

  void fails_cleanly_at_each(Call call, int error, std::int64_t most) {
    const RanHere counted = fresh_run(call, kNever, error);
    ASSERT_EQ(counted.code, 0) << counted.err;
    const bool makes_none = call == Call::make_directory && words_.front() == "render";
    ASSERT_EQ(counted.calls == 0, makes_none) << words_.front() << ", kind " << static_cast<int>(call);
    const std::int64_t stride =
        std::getenv("VELDT_ALL_FAULTS") ? 1 : std::max<std::int64_t>(1, counted.calls / most);
    std::int64_t failures = 0;
    for (std::int64_t n = 1; n <= counted.calls; n += stride) {
      SCOPED_TRACE(testing::Message() << words_.front() << ", kind " << static_cast<int>(call) << ", call "
                                      << n << " of " << counted.calls);
      const RanHere ran = fresh_run(call, n, error);
      failures += ran.code != 0;
      check(ran, call);
      if (n % (10 * stride) != 1) continue;
      const bool resumes =
          has_checkpoint(directory_ + "/ck") || has_checkpoint(directory_ + "/run/checkpoints");
      const bool told =
          words_.front() == "render" || std::count(words_.begin(), words_.end(), "--resume") > 0;
      const RanHere again =
          run_here(resumes && !told ? words_ + Words{"--resume"} : words_, directory_, call, kNever, 0);
      EXPECT_EQ(again.code, 0) << again.err;
    }
    // Without a new thread the work is done on the calling thread.
    EXPECT_EQ(failures > 0, !makes_none && call != Call::start_thread);
  }

 private:
  RanHere fresh_run(Call call, std::int64_t n, int error) {
    fs::remove_all(directory_);
    fs::copy(prepared_, directory_, fs::copy_options::recursive);
    return run_here(words_, directory_, call, n, error);
  }

  void check(const RanHere& ran, Call call) const {
    EXPECT_TRUE(ran.code == 0 || (ran.code >= 2 && ran.code <= 9)) << ran.code << "\n" << ran.err;
    const std::size_t at = ran.err.rfind("veldt: error:");
    if (ran.code != 0) {
      EXPECT_TRUE(has_three_lines(ran.err.substr(std::min(at, ran.err.size()))));
    }
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      const std::string path = entry.path(), name = entry.path().filename();
      // Removing a checkpoint needs memory; the next start tries again.
      const bool may_stay = call == Call::allocate && name.starts_with("ckpt-");
      EXPECT_TRUE(may_stay || name.find(".tmp") == std::string::npos) << path << " was left behind";
      if (name.ends_with(".safetensors")) {
        EXPECT_NO_THROW(io::read_safetensors(path));
      }
      if (name.ends_with(".png")) {
        EXPECT_NO_THROW(io::read_image(path));
      }
      if (name.starts_with("ckpt-") && name.find(".tmp") == std::string::npos) {
        EXPECT_NO_THROW(train::verify_checkpoint(path));
      }
    }
  }

  const TempDir dir_ = TempDir::in_memory();
  const std::string directory_ = dir_ / "work";
  const Words words_;
  const std::string prepared_;
};

// The input of each verb, created once.
class SlowFaults : public testing::Test {
 protected:
  SlowFaults() {
    if (!kCanWatch) return;
    fs::create_directories(dir_ / "plain");
    put_bytes(dir_ / "plain/p.png", rings_png());
    std::string rows = "a,b,c\n";
    for (int i = 0; i < 40; ++i) rows += str(i % 7, ",", i % 5, ",", (i % 7) * 2 - i % 5, "\n");
    put_bytes(dir_ / "plain/rows.csv", rows);
    put_bytes(dir_ / "plain/r.toml",
              "[data]\nkind = \"table\"\npath = \"rows.csv\"\ntarget = \"c\"\nbatch = 8\nvalidation = 0.2\n"
              "[model]\nlayers = [\"Linear(4)\", \"Tanh\", \"Linear(outputs)\"]\n[train]\nsteps = 6\n");
    copy("plain", "fitted");
    run(kFit + Words{"--threads", "1"}, "fitted");
    copy("fitted", "stopped");  // a step before the end
    fs::remove(dir_ / "stopped/m.safetensors");
    EXPECT_GT(fs::remove_all(dir_ / "stopped/ck/ckpt-00000004"), 0U);
    copy("plain", "trained");
    run(kTrain + Words{"--threads", "1"}, "trained");
    EXPECT_GT(fs::remove_all(dir_ / "trained/run/checkpoints/ckpt-00000006"), 0U);
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::copy(dir_ / from, dir_ / to, fs::copy_options::recursive);
  }
  void run(const Words& words, const std::string& where) const {
    const RanHere ran = run_here(words, dir_ / where, Call::open, kNever, 0);
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  void all_fail_cleanly_at_each(Call call, int error, std::int64_t most) const {
    if (!kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
    for (const auto& [words, prepared] : std::vector<std::pair<Words, std::string>>{
             {kFit, "plain"},
             {kFit + Words{"--resume"}, "stopped"},
             {{"render", "m.safetensors", "-o", "drawn.png", "--size", "200x100"}, "fitted"},
             {kTrain, "plain"},
             {kTrain + Words{"--resume"}, "trained"}}) {
      // One thread makes the same calls in the same order each time. A GPU is left out, because its driver
      // does not survive a failed allocation.
      const Words here{"--device", "cpu", "--threads", call == Call::start_thread ? "3" : "1"};
      Work(words + here, dir_ / prepared).fails_cleanly_at_each(call, error, most);
    }
  }

  const ThreadsScope threads_{1};  // a process that forks has no threads
  // The prior convolves with oneDNN, and version 2.6 crashes in its own code if an allocation fails.
  const Words kFit{"fit",     "p.png", "-o",      "m.safetensors", "--steps",      "4",  "--width", "64",
                   "--depth", "1",     "--every", "0.1ms",         "--checkpoint", "ck", "--prior", "none"};
  const Words kTrain{"train", "r.toml", "--data", ".", "--out", "run", "--every", "0.1ms"};
  const TempDir dir_ = TempDir::in_memory();
};

TEST_F(SlowFaults, OfMemory) { all_fail_cleanly_at_each(Call::allocate, ENOMEM, 60); }
// Each of them, because there are few: nlohmann's comparison with text, and [] on a null value, must not be
// used where an allocation can fail.
TEST_F(SlowFaults, OfMemoryForJson) {
  if (!kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
  const std::string checkpoint = dir_ / "fitted/ck/ckpt-00000004";
  field::FieldOptions options;
  options.encodings.push_back(field::FrequencyOptions{4});
  recipe::Facts facts;
  facts.inputs = {"a"}, facts.columns = {{1, 2}};
  enum { kDone = 3, kRefused = 4 };
  for (const std::function<void()>& work :
       {std::function([&] { train::read_checkpoint(checkpoint); }),
        std::function([&] { field::to_json(options); }), std::function([&] { recipe::in_json(facts); })}) {
    std::int64_t n = 1;
    for (int code = kRefused; code != kDone; ++n) {
      code = in_child([&] {
        FailingCall failing(Call::allocate, n, ENOMEM);
        const Watch watch(failing);
        try {
          work();
        } catch (const std::exception&) {
          return static_cast<int>(kRefused);
        }
        return static_cast<int>(kDone);
      });
      ASSERT_TRUE(code == kDone || code == kRefused) << code << " at call " << n;
    }
    EXPECT_GT(n, 10);
  }
}
// A function that must not throw, in any library.
TEST_F(SlowFaults, OfMemoryWhereNothingMayBeThrown) {
  const std::string log = dir_ / "terminated";
  void (*const refuses)() = [] { throw std::bad_alloc(); };
  const int code = in_child([&] {
    ::dup2(::open("/dev/null", O_RDWR), STDOUT_FILENO);
    ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    std::string name = "veldt", flag = "--version";
    std::vector<char*> argv{name.data(), flag.data(), nullptr};
    if (cli::run_command(app::program(), 2, argv.data()) != 0) return 99;
    [&]() noexcept { refuses(); }();
    return 98;
  });
  EXPECT_EQ(code, app::kDevice);
  EXPECT_TRUE(has_three_lines(bytes_of(log))) << bytes_of(log);
}
// If any allocation of one of several fits fails, the others are still fitted.
TEST_F(SlowFaults, OfMemoryInOneOfSeveralFits) {
  if (!kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
  fs::copy_file(dir_ / "plain/p.png", dir_ / "plain/q.png");
  const Words words = {"fit",  "p.png",     "q.png", "-o",       "out", "--steps",
                       "2",    "--width",   "8",     "--depth",  "1",   "--prior",
                       "none", "--threads", "1",     "--device", "cpu"};
  const std::string work = dir_ / "work";
  const auto run = [&](std::int64_t n) {
    fs::remove_all(work);
    fs::copy(dir_ / "plain", work);
    return run_here(words, work, Call::allocate, n, ENOMEM);
  };
  const std::int64_t calls = run(kNever).calls;
  int failures = 0;
  for (std::int64_t n = 1; n <= calls; n += calls / 80) {
    const RanHere ran = run(n);
    if (ran.code == 0 || ran.err.find("fitting 32x24") == std::string::npos) continue;
    ++failures;
    EXPECT_EQ(ran.code, app::kDevice) << n << " of " << calls << "\n" << ran.err;
    EXPECT_TRUE(fs::exists(work + "/out/p.safetensors") || fs::exists(work + "/out/q.safetensors"))
        << n << " of " << calls << "\n"
        << ran.err;
  }
  EXPECT_GT(failures, 10);
}
TEST_F(SlowFaults, OfThreads) { all_fail_cleanly_at_each(Call::start_thread, EAGAIN, 40); }
TEST_F(SlowFaults, OfOpening) { all_fail_cleanly_at_each(Call::open, EMFILE, 40); }
TEST_F(SlowFaults, OfWriting) { all_fail_cleanly_at_each(Call::write, ENOSPC, 40); }
TEST_F(SlowFaults, OfSyncing) { all_fail_cleanly_at_each(Call::sync, EIO, 40); }
TEST_F(SlowFaults, OfRenaming) { all_fail_cleanly_at_each(Call::rename, ENOSPC, 40); }
TEST_F(SlowFaults, OfMakingDirectories) { all_fail_cleanly_at_each(Call::make_directory, EACCES, 40); }

}  // namespace
}  // namespace veldt::test
