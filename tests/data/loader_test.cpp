// Batches: the same on any thread and from any start.
#include "veldt/data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <thread>

#include "tests/support/error_of.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

DatasetPtr counted(std::int64_t size) { return from_tensors({arange(0, static_cast<double>(size))}); }

std::vector<float> first(const Batch& batch) { return batch[0].values<float>(); }

// All numbers of batches from..to - 1.
std::vector<std::vector<float>> run(Loader& loader, std::int64_t from, std::int64_t to) {
  std::vector<std::vector<float>> found;
  for (std::int64_t i = from; i < to; ++i) found.push_back(first(loader.batch(i)));
  return found;
}

LoaderOptions noisy(int workers) {
  LoaderOptions options{.batch = 5, .shuffle = true, .seed = 3};
  options.transform = [](Example e, Rng& rng) -> Example { return {e[0] + randn({}, rng)}; };
  options.workers = workers;
  return options;
}

TEST(Loader, StacksExamplesInOrder) {
  Loader loader(from_tensors({Tensor::of({3, 2}, {1, 2, 3, 4, 5, 6}), to(arange(0, 3), DType::i64)}),
                {.batch = 2});
  EXPECT_EQ(loader.batches(), 2);
  const Batch whole = loader.batch(0), rest = loader.batch(1), again = loader.batch(2);
  EXPECT_EQ(whole[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(first(whole), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(rest[1].dtype(), DType::i64);
  EXPECT_THAT(rest[1].values<std::int64_t>(), ElementsAre(2));
  EXPECT_EQ(first(again), first(whole));
  std::vector<std::size_t> sizes;
  for (const Batch& batch : loader.epoch(1)) sizes.push_back(first(batch).size() / 2);
  EXPECT_THAT(sizes, ElementsAre(2, 1));
}

TEST(Loader, DropsAShortBatchIfAsked) {
  Loader loader(counted(7), {.batch = 3, .drop_last = true});
  EXPECT_EQ(loader.batches(), 2);
  EXPECT_THAT(first(loader.batch(2)), ElementsAre(0, 1, 2));
}

TEST(Loader, GivesTheSameBatchesForAnyNumberOfWorkers) {
  Loader alone(counted(23), noisy(0));
  const auto expected = run(alone, 0, 20);
  for (const int workers : {1, 4}) {
    Loader loader(counted(23), noisy(workers));
    EXPECT_EQ(run(loader, 0, 20), expected) << workers;
  }
  const test::ThreadsScope scope(1);
  Loader one_thread(counted(23), noisy(2));
  EXPECT_EQ(run(one_thread, 0, 20), expected);
}

TEST(Loader, MayBeginAnywhere) {
  Loader whole(counted(23), noisy(2)), resumed(counted(23), noisy(2));
  const auto expected = run(whole, 0, 20);
  EXPECT_EQ(run(resumed, 13, 20), std::vector(expected.begin() + 13, expected.end()));
  EXPECT_EQ(run(resumed, 2, 6), std::vector(expected.begin() + 2, expected.begin() + 6));
}

TEST(Loader, ShowsEachExampleOnceAnEpochInAnotherOrder) {
  Loader loader(counted(23), {.batch = 5, .shuffle = true, .seed = 9});
  std::vector<std::vector<float>> epochs(2);
  for (std::int64_t e = 0; e < 2; ++e)
    for (const Batch& batch : loader.epoch(e))
      for (const float x : first(batch)) epochs[static_cast<std::size_t>(e)].push_back(x);
  for (const auto& epoch : epochs) EXPECT_EQ(std::set<float>(epoch.begin(), epoch.end()).size(), 23u);
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(Loader, GivesEachExampleAChanceOfItsOwn) {
  Loader loader(counted(8), noisy(1));
  std::set<float> noise;
  for (std::int64_t e = 0; e < 3; ++e)
    for (const Batch& batch : loader.epoch(e))
      for (const float x : first(batch)) noise.insert(x);
  EXPECT_EQ(noise.size(), 24u);
}

// Checks repeatedly, for a minute at most.
bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(Loader, WorksAheadAsFarAsAskedAndNoFurther) {
  std::atomic<std::int64_t> made = 0, wanted = 0;
  std::atomic<bool> too_early = false;
  const DatasetPtr set = from_function(10000, [&](std::int64_t i) -> Example {
    if (i >= wanted) too_early = true;
    ++made;
    return {full({}, static_cast<double>(i))};
  });
  {
    Loader loader(set, {.batch = 10, .workers = 2, .ahead = 3});
    for (std::int64_t i = 0; i < 30; ++i) {
      wanted = 10 * (i + 4);  // the batch that is asked for and the three after it
      loader.batch(i);
      ASSERT_TRUE(comes_true([&] { return made >= wanted; })) << made;
    }
  }
  EXPECT_EQ(made, 330);
  EXPECT_FALSE(too_early);
}

TEST(Loader, CountsTheTimeThatItsCallerWaitsForABatch) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  constexpr double kShut = 0.1;
  std::atomic<std::int64_t> at = -1, open = 0;  // the example that is begun; those before `open` can be made
  const DatasetPtr set = from_function(100, [&](std::int64_t i) -> Example {
    at = i;
    EXPECT_TRUE(comes_true([&] { return i < open; }));
    return {full({}, static_cast<double>(i))};
  });
  Loader loader(set, {.batch = 1, .workers = 1, .ahead = 3});
  EXPECT_EQ(loader.waited(), 0);
  std::thread opener([&] {
    EXPECT_TRUE(comes_true([&] { return at == 0; }));  // the caller waits by now
    std::this_thread::sleep_for(std::chrono::duration<double>(kShut));
    open = 3;
  });
  const auto start = Clock::now();
  loader.batch(0);
  EXPECT_LE(loader.waited(), seconds_since(start));
  opener.join();
  EXPECT_GE(loader.waited(), kShut);

  ASSERT_TRUE(comes_true([&] { return at == 3; }));  // 1 and 2 are ready
  double least = kShut;
  for (const std::int64_t ready : {1, 2}) {
    const double before = loader.waited();
    loader.batch(ready);
    least = std::min(least, loader.waited() - before);
  }
  EXPECT_LT(least, kShut / 10);
  open = 100;
}

TEST(Loader, NamesTheExampleThatFails) {
  const auto failing = [](const char* what) {
    return from_function(10, [what](std::int64_t i) -> Example {
      if (i == 7) throw Error(what, "it is planted", "mend it");
      return {full({i == 4 ? 2 : 3}, 1.0)};
    });
  };
  for (const int workers : {0, 2}) {
    Loader loader(failing("no such thing"), {.batch = 2, .workers = workers});
    EXPECT_THAT(error_of<ShapeError>([&] { loader.batch(2); }),
                testing::AllOf(HasSubstr("f32 [2]"), HasSubstr("f32 [3]")));
    EXPECT_THAT(error_of<Error>([&] { loader.batch(3); }), HasSubstr("example 7: no such thing"));
    EXPECT_EQ(first(loader.batch(4)).size(), 6u);  // and goes on
  }
}

TEST(Loader, NamesTheExampleThatThrowsAnythingElse) {
  for (const int workers : {0, 2}) {
    Loader loader(from_function(10,
                                [](std::int64_t i) -> Example {
                                  if (i == 7) throw std::runtime_error("boom");
                                  if (i == 8) throw std::bad_alloc();
                                  return {zeros({3})};
                                }),
                  {.batch = 2, .workers = workers});
    EXPECT_THAT(error_of<Error>([&] { loader.batch(3); }),
                testing::AllOf(HasSubstr("example 7: "), HasSubstr("why: boom")));
    EXPECT_THROW(loader.batch(4), std::bad_alloc);  // of which no text can be made
  }
}

TEST(Loader, NamesTheExampleWithANumberThatIsNotFinite) {
  const Tensor x = zeros({6, 2, 3});
  select(select(x, 0, 4), 0, 1).assign(full({3}, std::numeric_limits<double>::quiet_NaN()));
  const DatasetPtr set = from_tensors({x, arange(6)});
  for (const int workers : {0, 2}) {
    Loader loader(set, {.batch = 3, .workers = workers, .check_finite = true});
    EXPECT_NO_THROW(loader.batch(0));
    const std::string error = error_of<IoError>([&] { loader.batch(1); });
    EXPECT_THAT(error, HasSubstr("example 4 holds a number that is not finite"));
    EXPECT_THAT(error, HasSubstr("tensor 0 has nan at [1, 0] of f32 [2, 3]\n"));
  }
  Loader changed(set, {.batch = 2,
                       .transform = [](Example e, Rng&) -> Example { return {e[0] / 0.0}; },
                       .check_finite = true});
  EXPECT_THAT(error_of<IoError>([&] { changed.batch(0); }), HasSubstr("[2, 3], after its transform"));
  Loader trusting(set, {.batch = 3});
  EXPECT_NO_THROW(trusting.batch(1));
}

TEST(Loader, CollatesAsAsked) {
  LoaderOptions options{.batch = 3};
  options.collate = [](std::vector<Example> examples, Rng& rng) -> Batch {
    return {full({static_cast<std::int64_t>(examples.size())}, rng.next_uniform())};
  };
  Loader loader(counted(7), options);
  const auto batches = run(loader, 0, 3);
  EXPECT_EQ(batches[2].size(), 1u);
  EXPECT_NE(batches[0], batches[1]);
}

TEST(Loader, RefusesWhatMakesNoBatches) {
  EXPECT_THAT(error_of<ConfigError>([] { Loader(counted(0)); }), HasSubstr("needs a batch"));
  EXPECT_THAT(error_of<ConfigError>([] { Loader(counted(5), {.batch = 0}); }),
              HasSubstr("batch = 0\n  why: the least is 1"));
  EXPECT_THAT(error_of<ConfigError>([] { Loader(counted(5), {.batch = 6, .drop_last = true}); }),
              HasSubstr("keep the last"));
  EXPECT_THAT(error_of<ConfigError>([] { Loader(counted(5)).batch(-1); }), HasSubstr("no batch -1"));
}

TEST(Sampler, DrawsByWeight) {
  const Sampler sampler = weighted({1, 0, 3}, 40000, 5);
  std::map<std::int64_t, int> count;
  for (std::int64_t p = 0; p < sampler.size; ++p) ++count[sampler.at(0, p)];
  EXPECT_EQ(count[1], 0);
  EXPECT_NEAR(count[2] / 30000.0, 1, 0.02);
  EXPECT_THAT(error_of<ConfigError>([] { weighted({1, -1}, 3, 0); }), HasSubstr("weight of -1"));
  EXPECT_THAT(error_of<ConfigError>([] { weighted({0, 0}, 3, 0); }), HasSubstr("their sum is 0"));
}

TEST(Sampler, DrawsApartFromTheTransforms) {
  LoaderOptions options{.batch = 64, .sampler = weighted({1, 1}, 64, 0)};
  options.transform = [](Example e, Rng& rng) -> Example {
    return {e[0] + (rng.next_uniform() < 0.5f ? 10.0 : 0.0)};
  };
  Loader loader(counted(2), options);
  const std::vector<float> drawn = first(loader.batch(0));
  EXPECT_EQ(std::set<float>(drawn.begin(), drawn.end()).size(), 4u);  // both outcomes for either example
}

TEST(Sampler, MayNotLeaveTheSet) {
  Loader loader(counted(2), {.batch = 4, .sampler = in_order(4)});
  EXPECT_THAT(error_of<ConfigError>([&] { loader.batch(0); }), HasSubstr("asks for example 2"));
}

TEST(Loader, MakesNothingBeyondAnEpochThatIsWalked) {
  std::atomic<int> made = 0;
  const DatasetPtr set = from_function(8, [&](std::int64_t i) -> Example {
    ++made;
    return {full({}, static_cast<double>(i))};
  });
  for (int times = 1; times <= 20; ++times) {
    {
      Loader loader(set, {.batch = 2, .workers = 2, .ahead = 4});
      for (const Batch& batch : loader.epoch(0)) static_cast<void>(batch);
    }  // which waits for what was begun
    ASSERT_EQ(made, 8 * times);
  }
}

TEST(Sampler, SharesItsExamplesAmongProcesses) {
  std::set<std::int64_t> seen;
  for (int rank = 0; rank < 3; ++rank) {
    const Sampler part = share_of(shuffled(20, 4), rank, 3);
    EXPECT_EQ(part.size, 6);
    for (std::int64_t p = 0; p < part.size; ++p) EXPECT_TRUE(seen.insert(part.at(2, p)).second);
  }
  EXPECT_THAT(error_of<ConfigError>([] { share_of(in_order(20), 3, 3); }), HasSubstr("no share 3 of 3"));
}

}  // namespace
}  // namespace veldt::data
