// What ranks tell each other: the same sums everywhere, in one order, and errors that name who is missing.
#include "veldt/dist/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "veldt/dist/sum_tree.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::dist {
namespace {

using test::run_ranks;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Tensor numbers(std::uint64_t seed, std::int64_t count) {
  Rng rng(seed);
  return randn({count}, rng);
}

// Sums of short lists, of long ones that are shared out, and of some that not every rank gets a part of.
TEST(Communicator, SumsAreTheSameBitsOnEveryRankAndEachTime) {
  for (int size = 1; size <= 5; ++size)
    for (const std::int64_t count : {1, 3, 17, 4095, 5000, 100'003}) {
      std::vector<std::vector<float>> sums(static_cast<std::size_t>(2 * size));
      for (int again = 0; again < 2; ++again)
        EXPECT_THAT(run_ranks(size,
                              [&](Communicator& ranks) {
                                const Tensor x = numbers(static_cast<std::uint64_t>(ranks.rank()), count);
                                ranks.all_reduce(x);
                                sums[static_cast<std::size_t>(again * size + ranks.rank())] =
                                    x.values<float>();
                              }),
                    Each(IsEmpty()));
      EXPECT_THAT(sums, Each(sums.front()));
      double expected = 0;
      for (int r = 0; r < size; ++r)
        expected += numbers(static_cast<std::uint64_t>(r), count).values<float>().back();
      EXPECT_NEAR(sums.front().back(), expected, 1e-5);
    }
}

// As halves they are what the sum of rounded numbers rounds to, and all ranks have the same.
TEST(Communicator, SumsOfHalvesAreRoundedAlike) {
  for (const std::int64_t count : {5, 20'000}) {
    std::mutex mutex;
    std::vector<std::vector<float>> sums;
    EXPECT_THAT(run_ranks(3,
                          [&](Communicator& ranks) {
                            const Tensor x = numbers(static_cast<std::uint64_t>(ranks.rank()), count);
                            ranks.begin_sum({x.view()}, x.view(), 3, {.halves = true}).wait();
                            const std::lock_guard lock(mutex);
                            sums.push_back(x.values<float>());
                          }),
                Each(IsEmpty()));
    EXPECT_THAT(sums, Each(sums.front()));
    Tensor sum;
    for (const int r : {0, 1, 2}) {
      const Tensor half = to(to(numbers(static_cast<std::uint64_t>(r), count), DType::bf16), DType::f32);
      sum = sum.defined() ? sum + half : half;
    }
    EXPECT_EQ(sums.front(), to(to(sum, DType::bf16), DType::f32).values<float>());
  }
}

// The two halves of a sum: the same bits, and for long lists no more bytes.
TEST(Communicator, ScatteredSumsThatAreGatheredAreTheWholeSum) {
  for (const std::int64_t count : {0, 5, 50, 20'000, 20'001})
    for (const bool halves : {false, true})
      EXPECT_THAT(
          run_ranks(3,
                    [&](Communicator& ranks) {
                      const auto own = [&] {
                        return numbers(static_cast<std::uint64_t>(ranks.rank()), count);
                      };
                      const Tensor whole = own(), parts = own(), more = zeros({7});
                      std::uint64_t bytes[] = {ranks.bytes_sent(), 0, 0, 0};
                      ranks.begin_sum({whole.view()}, whole.view(), 3, {.halves = halves}).wait();
                      bytes[1] = ranks.bytes_sent();
                      ranks.begin_sum({parts.view()}, parts.view(), 3, {.halves = halves, .scattered = true})
                          .wait();
                      bytes[2] = ranks.bytes_sent();
                      const Numbers mine = share_of_numbers(count, ranks.rank(), 3);
                      EXPECT_EQ(narrow(parts, 0, mine.begin, mine.size()).values<float>(),
                                narrow(whole, 0, mine.begin, mine.size()).values<float>());
                      ranks.begin_gather({parts.view(), more.view()}).wait();
                      bytes[3] = ranks.bytes_sent();
                      EXPECT_EQ(parts.values<float>(), whole.values<float>());
                      if (count < 20'000) return;
                      const std::uint64_t of_more = ranks.rank() == 2 ? 2 * 7 * sizeof(float) : 0;
                      if (!halves) {
                        EXPECT_EQ(bytes[1] - bytes[0] + of_more, bytes[3] - bytes[1]);
                      }
                      EXPECT_NEAR(static_cast<double>(bytes[2] - bytes[1]),
                                  static_cast<double>(bytes[1] - bytes[0]) / 2, 130);
                    }),
          Each(IsEmpty()));
}

TEST(Communicator, DeliversListsInTheirOrder) {
  EXPECT_THAT(
      run_ranks(3,
                [](Communicator& ranks) {
                  const int me = ranks.rank();
                  const Tensor own = full({4}, me), got = zeros({5});
                  const auto part = [](const Tensor& t, std::int64_t begin, std::int64_t count) {
                    return part_of(t.view(), begin, count);
                  };
                  if (me == 0) {
                    ranks.deliver({}, {{2, part(got, 0, 3)}, {1, part(got, 3, 1)}, {2, part(got, 4, 1)}});
                    EXPECT_EQ(got.values<float>(), (std::vector<float>{2, 2, 2, 1, 2}));
                  } else if (me == 1) {
                    ranks.deliver({{0, part(own, 0, 1)}}, {});
                  } else {
                    ranks.deliver({{0, part(own, 0, 3)}, {0, part(own, 3, 1)}}, {});
                  }
                }),
      Each(IsEmpty()));
}

TEST(Communicator, SumsOfATreeDoNotDependOnTheNumberOfRanks) {
  constexpr std::int64_t kLeaves = 6, kCount = 9000;
  std::vector<std::vector<float>> sums;
  std::mutex mutex;
  for (int size = 1; size <= 6; ++size)
    EXPECT_THAT(run_ranks(size,
                          [&](Communicator& ranks) {
                            std::vector<Tensor> leaves;
                            const Leaves share = share_of_leaves(kLeaves, ranks.rank(), size);
                            std::vector<View> nodes;
                            for (const Leaves node : nodes_within(kLeaves, share)) {
                              // As the tree adds: (0 + 1) + 2, (3 + 4) + 5.
                              Tensor sum = numbers(static_cast<std::uint64_t>(node.begin), kCount);
                              for (std::int64_t i = node.begin + 1; i < node.end; ++i) {
                                if (node.size() == kLeaves && i == 3) break;
                                sum = sum + numbers(static_cast<std::uint64_t>(i), kCount);
                              }
                              if (node.size() == kLeaves)
                                sum = sum + (numbers(3, kCount) + numbers(4, kCount) + numbers(5, kCount));
                              leaves.push_back(sum);
                              nodes.push_back(sum.view());
                            }
                            const Tensor out = zeros({kCount});
                            ranks.begin_sum(nodes, out.view(), kLeaves).wait();
                            const std::lock_guard lock(mutex);
                            sums.push_back(out.values<float>());
                          }),
                Each(IsEmpty()));
  ASSERT_EQ(sums.size(), 21U);
  EXPECT_THAT(sums, Each(sums.front()));
}

TEST(Communicator, MovesTensorsTextsAndBytes) {
  for (int size = 1; size <= 6; ++size)
    EXPECT_THAT(
        run_ranks(
            size,
            [&](Communicator& ranks) {
              const int me = ranks.rank(), last = size - 1;
              Tensor x = full({2}, me);
              ranks.broadcast(x, last);
              EXPECT_EQ(x.values<float>(), (std::vector<float>{1.F * last, 1.F * last}));
              // Rows of another tensor: what is not contiguous is copied back.
              Tensor whole = zeros({2, 3});
              const Tensor column = select(whole, 1, 1);
              column.detach().assign(full({2}, me + 1));
              ranks.all_reduce(column);
              EXPECT_EQ(whole.values<float>()[4], 1.F * size * (size + 1) / 2);
              EXPECT_EQ(whole.values<float>()[3], 0.F);
              const Tensor all = ranks.all_gather(full({1}, me, DType::i64));
              EXPECT_EQ(all.shape(), (Shape{size, 1}));
              EXPECT_EQ(all.values<std::int64_t>().back(), last);
              const std::vector<std::string> texts =
                  ranks.all_gather(std::string(static_cast<std::size_t>(me), 'x'));
              EXPECT_EQ(texts.back().size(), static_cast<std::size_t>(last));
              EXPECT_EQ(ranks.broadcast(me == 0 ? "from the first" : "?"), "from the first");
              const Tensor part = ranks.reduce_scatter(arange(2 * size, DType::f64));
              EXPECT_EQ(part.values<double>(), (std::vector<double>{2.0 * me * size, (2.0 * me + 1) * size}));
              if (size == 1) return;
              ranks.send(full({3}, me), (me + 1) % size);
              const Tensor got = zeros({3});
              ranks.receive(got, (me + last) % size);
              EXPECT_EQ(got.values<float>()[2], 1.F * ((me + last) % size));
              ranks.barrier();
            }),
        Each(IsEmpty()));
}

TEST(Communicator, WorkGoesOnWhileTheCallerDoesOther) {
  EXPECT_THAT(run_ranks(3,
                        [](Communicator& ranks) {
                          const Tensor a = full({100'000}, 1), b = full({7}, ranks.rank());
                          auto first = ranks.begin_sum({a.view()}, a.view(), 3),
                               second = ranks.begin_sum({b.view()}, b.view(), 3);
                          second.wait(), first.wait();
                          EXPECT_EQ(a.values<float>().back(), 3);
                          EXPECT_EQ(b.values<float>().back(), 3);
                        }),
              Each(IsEmpty()));
}

TEST(Communicator, NamesARankThatIsSilent) {
  const InProcess hub(3);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> failures =
      run_ranks(hub, 3,
                [&](Communicator& ranks) {
                  ranks.barrier();
                  if (ranks.rank() == 2) {
                    hub.silence(2);
                    std::this_thread::sleep_for(std::chrono::milliseconds(4000));
                  }
                  const Tensor x = full({5}, 1);
                  ranks.all_reduce(x);
                },
                {.silence = 3});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  const auto is_named =
      AllOf(HasSubstr("rank 2 on localhost (process "), HasSubstr(") is lost"), HasSubstr("for 3 seconds"));
  EXPECT_THAT(failures, ::testing::Contains(is_named));
  // The first to notice tells the other, which may hear that before it notices itself.
  for (const int r : {0, 1})
    EXPECT_THAT(failures[static_cast<std::size_t>(r)], AnyOf(is_named, HasSubstr("has left")));
}

// Where nobody is heard, it is this rank's own network that is at fault.
TEST(Communicator, SaysThatItIsCutOff) {
  const InProcess hub(3);
  const std::vector<std::string> failures = run_ranks(hub, 3,
                                                      [&](Communicator& ranks) {
                                                        ranks.barrier();
                                                        if (ranks.rank() == 2) hub.silence(0), hub.silence(1);
                                                        for (int i = 0; i < 100; ++i) ranks.barrier();
                                                      },
                                                      {.silence = 3});
  EXPECT_THAT(failures[2], HasSubstr("rank 2 on localhost (process "));
  EXPECT_THAT(failures[2], HasSubstr("is cut off from "));
}

// Of several megabytes, which leave in pieces, and of no bytes.
TEST(Communicator, MovesWhatIsLong) {
  const std::int64_t count = 1'500'007;
  const Tensor expected = numbers(5, count);
  EXPECT_THAT(run_ranks(3,
                        [&](Communicator& ranks) {
                          const Tensor x = ranks.rank() == 0 ? expected : zeros({count}), y = zeros({count});
                          ranks.broadcast(x);
                          EXPECT_EQ(x.values<float>(), expected.values<float>());
                          if (ranks.rank() == 1) {
                            ranks.send(x, 2);
                            ranks.send(zeros({0}), 2);
                            ranks.send(full({3}, 7), 2);
                            std::this_thread::sleep_for(std::chrono::milliseconds(300));
                          } else if (ranks.rank() == 2) {
                            const Tensor last = zeros({3});
                            ranks.receive(y, 1);
                            ranks.receive(zeros({0}), 1);
                            ranks.receive(last, 1);
                            EXPECT_EQ(y.values<float>(), expected.values<float>());
                            EXPECT_EQ(last.values<float>().back(), 7);
                          }
                          EXPECT_EQ(ranks.all_gather(x).numel(), 3 * count);
                        }),
              Each(IsEmpty()));
}

// A rank that computes for long is not lost.
TEST(Communicator, WaitsForARankThatIsBusy) {
  EXPECT_THAT(run_ranks(InProcess(2), 2,
                        [](Communicator& ranks) {
                          if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(4000));
                          ranks.barrier();
                        },
                        {.silence = 3}),
              Each(IsEmpty()));
}

// While nobody waits for the communicator, it says itself that a rank is lost.
TEST(Communicator, TellsOfALostRankWhileItsOwnIsBusy) {
  const InProcess hub(2);
  std::mutex mutex;
  std::vector<std::string> told;
  CommunicatorOptions options{.silence = 2, .on_failure = [&](const Error& error) {
                                const std::lock_guard lock(mutex);
                                told.push_back(error.summary());
                              }};
  run_ranks(
      hub, 2,
      [&](Communicator& ranks) {
        hub.silence(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(4000));
        EXPECT_EQ(ranks.size(), 2);
      },
      options);
  EXPECT_THAT(told, ::testing::Contains(HasSubstr("rank 1 on localhost")));
}

TEST(Communicator, NamesRanksThatDoDifferentThings) {
  const std::vector<std::string> failures = run_ranks(InProcess(2), 2,
                                                      [](Communicator& ranks) {
                                                        const Tensor x = full({ranks.rank() + 20'000}, 1);
                                                        ranks.all_reduce(x);
                                                      },
                                                      {.silence = 5});
  EXPECT_THAT(failures, ::testing::Contains(AnyOf(HasSubstr("does something else than rank"),
                                                  HasSubstr("has another length"))));
}

TEST(Communicator, RefusesWhatMakesNoSense) {
  Communicator alone;
  EXPECT_TRUE(alone.alone());
  EXPECT_THAT(test::error_of<ConfigError>([&] { alone.broadcast(zeros({1}), 1); }), HasSubstr("no rank 1"));
  const Tensor x = zeros({2}), y = zeros({3});
  EXPECT_THAT(test::error_of<ConfigError>([&] { alone.begin_sum({}, x.view(), 1); }),
              HasSubstr("has 1 nodes"));
  EXPECT_THAT(test::error_of<ShapeError>([&] { alone.begin_sum({x.view()}, y.view(), 1); }),
              HasSubstr("[3]"));
  EXPECT_THAT(test::error_of<ShapeError>([&] { alone.reduce_scatter(zeros({})); }), HasSubstr("share out"));
  EXPECT_THAT(test::error_of<ConfigError>([&] { alone.send(x, 0); }), HasSubstr("to itself"));
  EXPECT_THAT(test::error_of<ConfigError>([&] { alone.all_reduce(zeros({2}, DType::boolean)); }),
              HasSubstr("truth values"));
}

TEST(Communicator, ChangesWhatAWalkBackNeedsAsOtherFunctionsDo) {
  const std::vector<std::string> failures = run_ranks(2, [](Communicator& ranks) {
    Tensor t = ones({2});
    t.set_requires_grad();
    const Tensor u = t * 2, v = sum(u * u);
    ranks.all_reduce(u.detach());
    v.backward();
  });
  EXPECT_THAT(failures, Each(HasSubstr("changed in place")));
}

}  // namespace
}  // namespace veldt::dist
