// Files: which may be read, and that a file being written is the old one until it is the new one.
#include "veldt/io/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "tests/io/faults.h"
#include "tests/support/system_calls.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/digest.h"
#include "veldt/io/directory.h"

namespace veldt::io {
namespace {

using test::bytes_of;
using test::count_entries;
using test::in_child;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using Kind = IoError::Kind;

TEST(InputFile, ReadsAWholeFileAndStopsAtItsEnd) {
  const TempDir dir;
  put_bytes(dir / "a", "hello");
  InputFile file(dir / "a");
  char buffer[8] = {};
  EXPECT_EQ(file.size(), 5u);
  EXPECT_EQ(file.read(buffer, sizeof buffer), 5u);
  EXPECT_EQ(file.read(buffer, sizeof buffer), 0u);
  file.seek(3);
  EXPECT_EQ(file.read(buffer, sizeof buffer), 2u);
  file.seek(3);
  const IoError error = thrown_by<IoError>([&] { file.read_exactly(buffer, 4); });
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "2 more bytes"));
}

TEST(InputFile, RefusesWhatIsNoPlainFile) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  const std::pair<std::string, const char*> cases[] = {{dir / "absent", "No such file"},
                                                       {dir.path(), "directory"},
                                                       {dir / "fifo", "FIFO"},
                                                       {"/dev/zero", "device"},
                                                       {dir / "absent/b", "No such"},
                                                       {"", "No such file"},
                                                       {std::string(5000, 'a'), "too long"}};
  for (const auto& [path, text] : cases) {
    const IoError error = thrown_by<IoError>([&, &path = path] { InputFile file(path); });
    EXPECT_EQ(error.kind(), Kind::missing) << path;
    EXPECT_TRUE(says(error, text)) << error.what();
  }
}

TEST(InputFile, SaysThatAFileMayNotBeRead) {
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  put_bytes(dir / "secret", "x");
  ASSERT_EQ(::chmod((dir / "secret").c_str(), 0), 0);
  const test::WithoutRoot nobody;
  const IoError error = thrown_by<IoError>([&] { InputFile file(dir / "secret"); });
  EXPECT_EQ(error.kind(), Kind::missing);
  EXPECT_TRUE(says(error, "permission")) << error.what();
}

TEST(ReadFile, RefusesAFileBeyondTheLimit) {
  const TempDir dir;
  put_bytes(dir / "a", "hello");
  EXPECT_EQ(read_file(dir / "a", 5), "hello");
  const IoError error = thrown_by<IoError>([&] { read_file(dir / "a", 4); });
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "5 bytes"));
}

TEST(AtomicFile, GivesTheFileItsNameAtCommitAlone) {
  const TempDir dir;
  put_bytes(dir / "a", "old");
  AtomicFile file(dir / "a");
  file.write("new", 3);
  EXPECT_EQ(bytes_of(dir / "a"), "old");
  file.commit();
  EXPECT_EQ(bytes_of(dir / "a"), "new");
  EXPECT_EQ(count_entries(dir.path()), 1u);
  EXPECT_EQ(thrown_by<IoError>([&] { file.commit(); }).kind(), Kind::unwritable);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TempDir dir;
  { AtomicFile(dir / "a").write("new", 3); }
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

TEST(AtomicFile, WritesBlocksOfAllSizesInOrder) {
  const TempDir dir;
  std::string all;
  AtomicFile file(dir / "a");
  for (std::size_t size : {0, 1, 1000, 262143, 262144, 3, 1000000, 5, 262144, 100000, 200000}) {
    const std::string block(size, static_cast<char>('a' + all.size() % 26));
    file.write(block.data(), block.size());
    all += block;
  }
  file.commit();
  EXPECT_TRUE(bytes_of(dir / "a") == all);
}

TEST(AtomicFile, KeepsModeAndFollowsASymbolicLink) {
  const TempDir dir;
  put_bytes(dir / "real", "old");
  ASSERT_EQ(::chmod((dir / "real").c_str(), 0640), 0);
  std::filesystem::create_symlink("real", dir / "link");
  write_file(dir / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(bytes_of(dir / "real"), "new");
  struct stat info {};
  ASSERT_EQ(::stat((dir / "real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST(AtomicFile, FollowsASymbolicLinkToNothing) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "there");
  std::filesystem::create_symlink("there/second", dir / "link");
  std::filesystem::create_symlink(dir / "there/new", dir / "there/second");
  write_file(dir / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "there/second"));
  EXPECT_EQ(bytes_of(dir / "there/new"), "new");
  std::filesystem::create_symlink("loop", dir / "loop");
  EXPECT_EQ(thrown_by<IoError>([&] { write_file(dir / "loop", "new"); }).kind(), Kind::unwritable);
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "loop"));
}

TEST(AtomicFile, LetsTwoWritersOfOnePathEachWriteAWholeFile) {
  const TempDir dir;
  AtomicFile first(dir / "a"), second(dir / "a");
  first.write("first", 5);
  second.write("2nd", 3);
  first.commit();
  EXPECT_EQ(bytes_of(dir / "a"), "first");
  second.commit();
  EXPECT_EQ(bytes_of(dir / "a"), "2nd");
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(AtomicFile, SweepsLeftoversOfTheDeadAndNothingElse) {
  const TempDir dir;
  const std::string dead = "a.tmp-4711";
  for (const std::string& name : {dead, dead + ".1", dead + ".42"}) put_bytes(dir / name, "half");
  const std::vector<std::string> kept = {"a.tmp-",   "a.tmp-12x", dead + ".bak",
                                         dead + ".", "b.tmp-1",   "aa.tmp-1"};
  for (const std::string& name : kept) put_bytes(dir / name, "keep");
  std::filesystem::create_directory(dir / "a.tmp-3");
  std::filesystem::create_symlink("b.tmp-1", dir / "a.tmp-4");
  ASSERT_EQ(::mkfifo((dir / "a.tmp-5").c_str(), 0600), 0);
  write_file(dir / "a", "new");
  EXPECT_EQ(count_entries(dir.path()), kept.size() + 4);
  for (const std::string& name : kept) EXPECT_TRUE(std::filesystem::exists(dir / name)) << name;
}

// A pid is not enough: in another container it may belong to another process, or to none.
TEST(AtomicFile, KnowsTheLivingByTheirLocks) {
  const TempDir dir;
  const std::string foreign = str("a.tmp-", test::dead_pid());
  std::string name;
  {
    AtomicFile first(dir / "a");
    first.write("first", 5);
    name = list_directory(dir.path()).at(0);
    std::filesystem::rename(dir / name, dir / foreign);  // as if its writer were elsewhere
    put_bytes(dir / "a.tmp-1", "half");                  // process 1 is alive, and has not locked it
    write_file(dir / "a", "second");
    EXPECT_EQ(list_directory(dir.path()), (std::vector<std::string>{"a", foreign}));
    put_bytes(dir / name, "another's");
  }
  EXPECT_EQ(bytes_of(dir / name), "another's");  // what has taken its name is not removed with it
}

// A writer that is alone finds its own number taken when a container with the same number died in its folder.
TEST(AtomicFile, TakesTheNameOfADeadWriterOfItsOwnNumber) {
  const TempDir dir;
  for (const char* end : {"", ".1", ".2"}) put_bytes(dir / str("a.tmp-", ::getpid(), end), "half");
  write_file(dir / "a", "new");
  EXPECT_EQ(list_directory(dir.path()), (std::vector<std::string>{"a"}));
}

// Makers and sweepers of one name at the same time: every commit has to find its file.
TEST(CrashAtomicFile, SurvivesSweepersThatRaceWithIt) {
  const TempDir dir = TempDir::in_memory();
  std::vector<pid_t> writers;
  for (int w = 0; w < 4; ++w) {
    writers.push_back(::fork());
    if (writers.back() != 0) continue;
    int status = 0;
    try {
      for (int i = 0; i < 300; ++i) write_file(dir / "a", std::string(100, static_cast<char>('a' + w)));
    } catch (const Error& error) {
      std::fprintf(stderr, "writer %d: %s\n", w, error.what());
      status = 1;
    }
    ::_exit(status);
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(list_directory(dir.path()), (std::vector<std::string>{"a"}));
  EXPECT_EQ(bytes_of(dir / "a").size(), 100u);
}

TEST(SweepLeftovers, TakesWhatTheDeadHaveLeftOfOneFile) {
  const TempDir dir;
  AtomicFile alive(dir / "a");
  const std::string of_the_living = list_directory(dir.path()).at(0);
  for (const char* name : {"a.tmp-1", "a.tmp-22.3"}) put_bytes(dir / name, "half");
  const std::vector<std::string> others{".tmp-1", "a.gz.tmp-1", of_the_living, "a.tmp-x", "b.tmp-1"};
  for (const std::string& name : others)
    if (name != of_the_living) put_bytes(dir / name, "keep");
  sweep_leftovers(dir / "a");
  EXPECT_THAT(list_directory(dir.path()), ::testing::UnorderedElementsAreArray(others));
  sweep_leftovers(dir / "nothing/a");
}

TEST(AtomicFile, WritesDirectlyToADevice) {
  write_file("/dev/null", "gone");
  const IoError error = thrown_by<IoError>([] { write_file("/dev/full", "x"); });
  EXPECT_EQ(error.kind(), Kind::unwritable);
  EXPECT_TRUE(says(error, "No space left")) << error.what();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(AtomicFile, WritesToAFifo) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  check_writable(dir / "fifo");  // does not wait for a reader
  const pid_t writer = ::fork();
  if (writer == 0) {
    write_file(dir / "fifo", "through");
    ::_exit(0);
  }
  EXPECT_EQ(bytes_of(dir / "fifo"), "through");
  ::waitpid(writer, nullptr, 0);
}

TEST(AtomicFile, RefusesPathsThatCannotBeAFile) {
  const TempDir dir;
  put_bytes(dir / "file", "x");
  const std::pair<std::string, const char*> cases[] = {{dir.path(), "directory"},
                                                       {dir / "none/a", "there is no directory"},
                                                       {dir / "file/a", "Not a directory"},
                                                       {"", "path is empty"},
                                                       {dir / "a/", "directory"},
                                                       {"/proc/nothing", "failed"},
                                                       {dir / std::string(250, 'a'), "too long"}};
  for (const auto& [path, text] : cases) {
    const IoError error = thrown_by<IoError>([&, &path = path] { AtomicFile file(path); });
    EXPECT_EQ(error.kind(), Kind::unwritable) << path;
    EXPECT_TRUE(says(error, text)) << error.what();
    EXPECT_EQ(thrown_by<IoError>([&, &path = path] { check_writable(path); }).kind(), Kind::unwritable)
        << path;
  }
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(AtomicFile, RespectsPermissions) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "closed");
  put_bytes(dir / "protected", "old");
  ASSERT_EQ(::chmod((dir / "protected").c_str(), 0444), 0);
  ASSERT_EQ(::chmod((dir / "closed").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
  const test::WithoutRoot nobody;
  for (const std::string& path : {dir / "closed/a", dir / "protected"}) {
    const IoError error = thrown_by<IoError>([&] { check_writable(path); });
    EXPECT_EQ(error.kind(), Kind::unwritable);
    EXPECT_TRUE(says(error, "Permission denied")) << error.what();
  }
  EXPECT_EQ(bytes_of(dir / "protected"), "old");
  check_writable(dir / "fine");
  EXPECT_EQ(count_entries(dir.path()), 2u);
}

TEST(CrashAtomicFile, ReportsAReadOnlyDisk) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk");
  if (!disk.make_read_only()) GTEST_SKIP() << "mounting needs root";
  const IoError error = thrown_by<IoError>([&] { check_writable(dir / "disk/a"); });
  EXPECT_EQ(error.kind(), Kind::unwritable);
  EXPECT_TRUE(says(error, "Read-only file system")) << error.what();
}

TEST(CrashAtomicFile, KeepsTheOldFileOnAFullDisk) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk");
  if (!disk.active()) GTEST_SKIP() << "mounting needs root";
  write_file(dir / "disk/a", "old");
  const IoError error = thrown_by<IoError>([&] { write_file(dir / "disk/a", std::string(100000, 'x')); });
  EXPECT_EQ(error.kind(), Kind::unwritable);
  EXPECT_TRUE(says(error, "No space left")) << error.what();
  EXPECT_EQ(bytes_of(dir / "disk/a"), "old");
  EXPECT_EQ(count_entries(dir / "disk"), 1u);
  write_file(dir / "disk/a", std::string(30000, 'y'));  // the space is free again
}

TEST(CrashAtomicFile, FinishesShortWritesUpToTheLimitAndLeavesNothingBeyondIt) {
  const TempDir dir;
  const int status = in_child([&] {
    test::limit_file_size(100000);
    write_file(dir / "fits", std::string(100000, 'x'));
    try {
      write_file(dir / "a", std::string(100001, 'x'));
    } catch (const IoError& error) {
      return error.kind() == Kind::unwritable && says(error, "after 100000 bytes") ? 7 : 8;
    }
    return 9;
  });
  EXPECT_EQ(status, 7);
  EXPECT_EQ(list_directory(dir.path()), (std::vector<std::string>{"fits"}));
}

TEST(CrashAtomicFile, SurvivesAKillBeforeCommit) {
  const TempDir dir;
  put_bytes(dir / "a", "old");
  const int status = in_child([&]() -> int {
    AtomicFile file(dir / "a");
    const std::string half(1 << 20, 'x');
    file.write(half.data(), half.size());
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  EXPECT_EQ(status, -SIGKILL);
  EXPECT_EQ(bytes_of(dir / "a"), "old");
  EXPECT_EQ(count_entries(dir.path()), 2u);
  write_file(dir / "a", "new");  // sweeps what the dead one left
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(RemoveFile, TellsWhetherThereWasOne) {
  const TempDir dir;
  put_bytes(dir / "a", "x");
  EXPECT_TRUE(remove_file(dir / "a"));
  EXPECT_FALSE(remove_file(dir / "a"));
  EXPECT_EQ(thrown_by<IoError>([&] { remove_file(dir.path()); }).kind(), Kind::unwritable);
}

TEST(Directory, MakesListsAndNamesParents) {
  const TempDir dir;
  make_directories(dir / "x/y");
  make_directories(dir / "x/y");
  EXPECT_EQ(list_directory(dir / "x"), std::vector<std::string>{"y"});
  EXPECT_TRUE(exists(dir / "x/y"));
  EXPECT_FALSE(exists(dir / "x/z"));
  EXPECT_TRUE(exists(dir / std::string(300, 'x')));
  EXPECT_EQ(thrown_by<IoError>([&] { list_directory(dir / "z"); }).kind(), Kind::missing);
  put_bytes(dir / "file", "x");
  EXPECT_EQ(thrown_by<IoError>([&] { make_directories(dir / "file/z"); }).kind(), Kind::unwritable);
  EXPECT_EQ(thrown_by<IoError>([&] { make_directories(dir / "file"); }).kind(), Kind::unwritable);
  EXPECT_EQ(parent_of("a"), ".");
  EXPECT_EQ(parent_of("/a"), "/");
  EXPECT_EQ(parent_of("b/a"), "b");
}

// The paths that are made durable, in their order.
class Synced final : public test::Watcher {
 public:
  int before(const test::SystemCall& call) override {
    if (call.call == test::Call::sync)
      paths.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(call.fd)));
    return 0;
  }
  std::vector<std::string> paths;
};

// A directory's name is in its parent: fsync of the new directory alone does not keep it.
TEST(Directory, MakesEachDirectoryDurable) {
  if (!test::kCanWatch) GTEST_SKIP() << "the sanitizer has the calls for itself";
  const TempDir dir;
  std::filesystem::create_directory(dir / "there");
  Synced synced;
  {
    const test::Watch watch(synced);
    make_directories(dir / "there/x//y/z/");
    make_directories(dir / "there/x/y");
  }
  EXPECT_EQ(synced.paths, (std::vector<std::string>{dir / "there", dir / "there/x", dir / "there/x/y"}));
  EXPECT_EQ(thrown_by<IoError>([] { make_directories(""); }).kind(), Kind::unwritable);
  EXPECT_EQ(thrown_by<IoError>([&] { make_directories(dir / std::string(5000, 'x')); }).kind(),
            Kind::unwritable);
}

TEST(Digest, IsXxh3With128Bits) {
  // xxhsum -H2 of an empty input, from the reference implementation.
  EXPECT_EQ(digest_of("", 0), "99aa06d3014798d86001c324468d497f");
  const TempDir dir;
  const std::string bytes(3000000, 'v');
  put_bytes(dir / "a", bytes);
  EXPECT_EQ(digest_file(dir / "a").xxh3, digest_of(bytes.data(), bytes.size()));
  EXPECT_EQ(digest_file(dir / "a").bytes, bytes.size());
}

}  // namespace
}  // namespace veldt::io
