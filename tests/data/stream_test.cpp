// Examples without numbers: the same batches wherever one begins.
#include "veldt/data/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

// epoch * 1000 + 0..size-1; counts what is read.
struct Counting {
  std::int64_t size;
  std::shared_ptr<int> opened = std::make_shared<int>(0), read = std::make_shared<int>(0);

  Stream operator()(std::int64_t epoch) const {
    ++*opened;
    return [epoch, *this, i = std::int64_t{0}]() mutable -> std::optional<Example> {
      if (i == size) return std::nullopt;
      ++*read;
      return Example{full({}, static_cast<double>(epoch * 1000 + i++))};
    };
  }
};

std::vector<std::vector<float>> all_of(StreamLoader& loader, std::int64_t epoch) {
  std::vector<std::vector<float>> found;
  while (const auto batch = loader.batch(epoch, std::ssize(found)))
    found.push_back((*batch)[0].values<float>());
  return found;
}

TEST(StreamLoader, GivesWhatComesUntilNothingDoes) {
  const Counting stream{5};
  StreamLoader loader(stream, {.batch = 2});
  EXPECT_THAT(all_of(loader, 0), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  EXPECT_EQ(*stream.read, 5);
  EXPECT_EQ(*stream.opened, 1);
  EXPECT_THAT(all_of(loader, 3).front(), ElementsAre(3000, 3001));
  EXPECT_EQ(loader.batch(3, 9), std::nullopt);
  StreamLoader full_ones(stream, {.batch = 2, .drop_last = true});
  EXPECT_EQ(all_of(full_ones, 0).size(), 2u);
  StreamLoader none(Counting{0});
  EXPECT_EQ(none.batch(0, 0), std::nullopt);
}

TEST(StreamLoader, ShufflesWithinItsBuffer) {
  StreamLoader loader(Counting{200}, {.batch = 200, .shuffle_buffer = 20, .seed = 7});
  const std::vector<float> order = all_of(loader, 0).at(0);
  int early = 0, late = 0;
  for (int at = 0; at < 200; ++at) {
    early = std::max(early, static_cast<int>(order[static_cast<std::size_t>(at)]) - at);
    late = std::max(late, at - static_cast<int>(order[static_cast<std::size_t>(at)]));
  }
  EXPECT_EQ(early, 19);
  EXPECT_GT(late, 19);
  std::vector<float> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 200; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
  // Another epoch, another seed: another order.
  std::vector<float> next = all_of(loader, 1).at(0);
  for (float& x : next) x -= 1000;
  EXPECT_NE(next, order);
  StreamLoader other(Counting{200}, {.batch = 200, .shuffle_buffer = 20, .seed = 8});
  EXPECT_NE(all_of(other, 0).at(0), order);
}

TEST(StreamLoader, MayBeginAnywhere) {
  int transformed = 0;
  StreamOptions options{.batch = 7, .shuffle_buffer = 10, .seed = 3};
  options.transform = [&](Example e, Rng& rng) -> Example {
    ++transformed;
    return {e[0] + rand({}, rng)};
  };
  StreamLoader whole(Counting{50}, options);
  const auto expected = all_of(whole, 2);
  ASSERT_EQ(expected.size(), 8u);
  transformed = 0;
  const Counting stream{50};
  StreamLoader resumed(stream, options);
  EXPECT_EQ((*resumed.batch(2, 5))[0].values<float>(), expected[5]);
  EXPECT_EQ(transformed, 7);  // none of those before
  EXPECT_EQ((*resumed.batch(2, 7))[0].values<float>(), expected[7]);
  EXPECT_EQ(*stream.opened, 1);
  EXPECT_EQ((*resumed.batch(2, 0))[0].values<float>(), expected[0]);
  EXPECT_EQ(*stream.opened, 2);
}

TEST(StreamLoader, BeginsAgainAfterAnError) {
  bool broken = true;
  StreamLoader loader(
      [&](std::int64_t) -> Stream {
        return [&broken, i = 0]() mutable -> std::optional<Example> {
          if (i == 3 && broken) throw ConfigError("line 4 is torn", "it is planted", "mend it");
          return i < 6 ? std::optional(Example{full({}, i++)}) : std::nullopt;
        };
      },
      {.batch = 2});
  EXPECT_TRUE(loader.batch(0, 0));
  EXPECT_THAT(error_of<ConfigError>([&] { loader.batch(0, 1); }), HasSubstr("line 4 is torn"));
  broken = false;
  EXPECT_THAT((*loader.batch(0, 1))[0].values<float>(), ElementsAre(2, 3));
}

TEST(StreamLoader, RefusesNumbersThatMakeNoBatches) {
  EXPECT_THAT(error_of<ConfigError>([] { StreamLoader(Counting{1}, {.batch = 0}); }),
              HasSubstr("batches of 0"));
  EXPECT_THROW(StreamLoader(Counting{1}, {.shuffle_buffer = 0}), ConfigError);
  StreamLoader loader(Counting{1});
  EXPECT_THROW(loader.batch(0, -1), ConfigError);
}

}  // namespace
}  // namespace veldt::data
