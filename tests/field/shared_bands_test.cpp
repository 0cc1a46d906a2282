// A drawing's bands on several ranks: the same bits as in one drawing, in their order, and an end that all
// know of.
#include "veldt/field/shared_bands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/field/pictures.h"
#include "tests/support/ranks.h"
#include "veldt/field/fit.h"
#include "veldt/field/image_field.h"
#include "veldt/field/sound_field.h"
#include "veldt/ops/create.h"

namespace veldt::field {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::IsEmpty;

using Bands = std::map<std::int64_t, std::vector<float>>;

// A field, and a drawing of it.
struct Drawn {
  std::string name;
  DrawShare draw;
};

Drawn picture(const std::string& name, const Field& field, Size size, RenderOptions how = {}) {
  return {name, [field, size, how](const BandShare& share, const Field::Band& band) {
            RenderOptions own = how;
            own.share = share;
            field.render_bands(size, own, band);
          }};
}

Field sound(bool closed) {
  FieldOptions options = test::small_options(1, 200'000);
  options.dimensions = 1;
  options.head = Head::plain;
  options.rate = 8000;
  options.closing = closed ? 1 : 0;
  Field field(options, 4);
  if (closed) field.set_closing(Closing(full({1, 200'000, 1, 1}, 0.125, DType::f16)));
  return field;
}
Drawn played(const std::string& name, const Field& field, std::int64_t rate) {
  return {name, [sound = SoundField(field), rate](const BandShare& share, const Field::Band& band) {
            sound.render_bands({.rate = rate, .share = share}, band);
          }};
}

std::vector<Drawn> drawings() {
  FieldOptions wide = test::small_options(700, 500, 3);
  FieldOptions squares = test::small_options(600, 400);
  squares.squares = true;
  squares.period = 2;
  FieldOptions large = test::small_options(90, 70, 4);
  large.widths = {300, 16};  // no fused kernel
  return {picture("larger", Field(wide, 1), {1400, 900}),
          picture("shrunk", Field(wide, 1), {433, 311}),
          picture("a part, shrunk", Field(wide, 1), {450, 360}, {.region = {0.1, 0.2, 0.7, 0.75}}),
          picture("with samples", Field(wide, 1), {700, 500}, {.supersample = 2}),
          picture("squares", Field(squares, 1), {777, 555}),
          picture("alpha, in wide layers", Field(large, 1), {601, 503}),
          played("a sound", sound(false), 8000),
          played("a sound, faster", sound(false), 11025),
          played("a closed sound", sound(true), 16000)};
}

Bands all_of(const DrawShare& draw, const BandShare& share = {}) {
  Bands all;
  draw(share, [&](const Tensor& rows, std::int64_t first) {
    all.emplace(first, rows.values<float>());
    return true;
  });
  return all;
}

TEST(SharedBands, AreThoseOfTheWhole) {
  for (const Drawn& drawn : drawings()) {
    const Bands whole = all_of(drawn.draw);
    ASSERT_GT(whole.size(), 2u) << drawn.name;
    for (const int of : {2, 3}) {
      Bands joined;
      for (int first = 0; first < of; ++first) {
        const Bands part = all_of(drawn.draw, {first, of});
        EXPECT_LE(part.size(),
                  (whole.size() + static_cast<std::size_t>(of) - 1) / static_cast<std::size_t>(of));
        joined.insert(part.begin(), part.end());
      }
      EXPECT_TRUE(joined == whole) << drawn.name << " in " << of;
    }
  }
}

TEST(SharedBands, ComeToTheFirstRankInTheirOrder) {
  for (const Drawn& drawn : drawings()) {
    const Bands whole = all_of(drawn.draw);
    for (int size = 1; size <= 4; ++size) {
      std::vector<std::pair<std::int64_t, std::vector<float>>> taken;
      EXPECT_THAT(
          run_ranks(size,
                    [&](dist::Communicator& ranks) {
                      EXPECT_TRUE(share_bands(ranks, drawn.draw, [&](const Tensor& rows, std::int64_t first) {
                        EXPECT_EQ(ranks.rank(), 0);
                        taken.emplace_back(first, rows.values<float>());
                        return true;
                      }));
                    }),
          Each(IsEmpty()));
      const std::vector<std::pair<std::int64_t, std::vector<float>>> wanted(whole.begin(), whole.end());
      EXPECT_TRUE(taken == wanted) << drawn.name << " on " << size;
    }
  }
}

// The drawing has fewer bands than there are ranks, or as many.
TEST(SharedBands, MayBeFewerThanRanks) {
  const Drawn small = picture("small", Field(test::small_options(24, 24), 1), {24, 24});
  EXPECT_THAT(run_ranks(3,
                        [&](dist::Communicator& ranks) {
                          std::int64_t rows_taken = 0;
                          EXPECT_TRUE(share_bands(ranks, small.draw, [&](const Tensor& rows, std::int64_t) {
                            rows_taken += rows.size(0);
                            return true;
                          }));
                          EXPECT_EQ(rows_taken, ranks.rank() == 0 ? 24 : 0);
                        }),
              Each(IsEmpty()));
}

// A rank that sends what no drawing has is named, before there is memory for it.
TEST(SharedBands, AreOfAPossibleSize) {
  const std::vector<std::vector<std::int64_t>> bad{
      {0, 0, 4, 1, 1, 1}, {0, 0, -1, 1, 1, 1}, {0, 0, 2, 1, -5, 1}, {0, 0, 3, 1 << 20, 1 << 20, 1 << 20}};
  for (const std::vector<std::int64_t>& words : bad) {
    const auto failures = run_ranks(2, [&](dist::Communicator& ranks) {
      if (ranks.rank() == 0) {
        share_bands(ranks, drawings()[1].draw, [](const Tensor&, std::int64_t) { return true; });
        return;
      }
      ranks.receive(zeros({1}, DType::i64), 0);
      ranks.send(Tensor::from<std::int64_t>({6}, words), 0);
    });
    EXPECT_THAT(failures[0], testing::HasSubstr("has sent a band of no possible size"));
  }
}

TEST(SharedBands, EndOnAllRanksWhereOneIsAskedTo) {
  const Drawn drawn = drawings()[0];
  const std::size_t whole = all_of(drawn.draw).size();
  for (int asked = 0; asked < 3; ++asked)
    for (int at = 1; at < 4; ++at) {
      EXPECT_THAT(run_ranks(3,
                            [&](dist::Communicator& ranks) {
                              std::size_t taken = 0;
                              int seen = 0;
                              EXPECT_FALSE(share_bands(
                                  ranks, drawn.draw, [&](const Tensor&, std::int64_t) { return ++taken > 0; },
                                  [&] { return ranks.rank() == asked && ++seen == at; }));
                              EXPECT_LT(taken, whole);
                              ranks.barrier();  // which is of use as before
                            }),
                  Each(IsEmpty()));
      EXPECT_THAT(run_ranks(3,
                            [&](dist::Communicator& ranks) {
                              int taken = 0;
                              EXPECT_FALSE(share_bands(ranks, drawn.draw, [&](const Tensor&, std::int64_t) {
                                return ++taken < at + asked;
                              }));
                              EXPECT_EQ(taken, ranks.rank() == 0 ? at + asked : 0);
                            }),
                  Each(IsEmpty()));
    }
}

}  // namespace
}  // namespace veldt::field
