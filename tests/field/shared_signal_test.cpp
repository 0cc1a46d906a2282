// A picture that ranks share: each has its rows, all together give what the whole picture gives, and what is
// not here is read from the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/field/pictures.h"
#include "tests/support/error_of.h"
#include "tests/support/ranks.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/field/choices.h"
#include "veldt/field/fit.h"
#include "veldt/field/kind.h"
#include "veldt/field/sampling.h"
#include "veldt/field/signal.h"
#include "veldt/field/spectrum.h"
#include "veldt/io/image.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"

namespace veldt::field {
namespace {

using test::run_ranks;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr io::ReadOptions kAsStored{.keep_bytes = true};

// A picture of noise, with no clear pixel, written with so many bits.
class SharedSignal : public testing::Test {
 protected:
  std::string picture(std::int64_t height, std::int64_t width, std::int64_t channels, int bits) const {
    Rng rng(5);
    const std::string path = folder_ / "picture.png";
    io::write_image(path, rand({height, width, channels}, rng) * 0.8 + 0.2, {.bits = bits});
    return path;
  }
  const test::TempDir folder_;
};

void expect_same(const Signal& part, const Signal& whole) {
  ASSERT_EQ(part.rows(), whole.rows());
  ASSERT_EQ(part.columns(), whole.columns());
  ASSERT_EQ(part.channels(), whole.channels());
  EXPECT_EQ(part.bits(), whole.bits());
  EXPECT_EQ(part.points(), whole.points());
  // Up and down, in pieces that are here, that are not, and that are so in part.
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{4}, whole.rows()})
    for (const bool up : {false, true})
      for (std::int64_t i = 0; i + count <= whole.rows(); ++i) {
        const std::int64_t first = up ? whole.rows() - count - i : i;
        ASSERT_EQ(part.read(first, count).values<float>(), whole.read(first, count).values<float>())
            << count << " from " << first;
      }
  std::vector<std::int64_t> points;
  std::vector<double> places;
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    const auto point = static_cast<std::int64_t>(rng.next_below(static_cast<std::uint64_t>(whole.points())));
    points.push_back(point);
    places.push_back(static_cast<double>(point % whole.columns()) +
                     static_cast<double>(Rng::to_unit(rng.next_u32())));
    places.push_back(static_cast<double>(point / whole.columns()) +
                     static_cast<double>(Rng::to_unit(rng.next_u32())));
  }
  const Tensor indices = Tensor::from<std::int64_t>({500}, points);
  EXPECT_EQ(part.at(indices).values<float>(), whole.at(indices).values<float>());
  EXPECT_EQ(part.between(places.data(), 500).values<float>(),
            whole.between(places.data(), 500).values<float>());
}

void expect_same_choices(const Signal& part, const Signal& whole, dist::Communicator& ranks) {
  for (const Axis axis : {Axis::across, Axis::down}) {
    EXPECT_EQ(spectrum_of(part, axis).bandwidth, spectrum_of(whole, axis).bandwidth);
    EXPECT_EQ(spectrum_of(part, axis).centroid, spectrum_of(whole, axis).centroid);
  }
  const PictureFacts a = facts_of(part), b = facts_of(whole);
  EXPECT_EQ(a.colours, b.colours);
  EXPECT_EQ(a.period, b.period);
  const auto shares = [](const PictureFacts& f) {
    return std::vector<double>{f.flat, f.soft, f.hard, f.blended, f.clear, f.partial, f.between};
  };
  EXPECT_EQ(shares(a), shares(b));
  FitOptions wishes;
  wishes.ranks = &ranks;
  EXPECT_EQ(Fitter(part, choices_for(part, wishes)).config(),
            Fitter(whole, choices_for(whole, wishes)).config());
}

TEST_F(SharedSignal, IsTheWholePictureForAllWhoShareIt) {
  for (const int bits : {8, 16})
    for (const std::int64_t channels : {1, 3, 4})
      for (const std::int64_t height : {3, 41}) {  // fewer rows than ranks, too
        const std::string path = picture(height, 90, channels, bits);
        const Signal whole(io::read_image(path, kAsStored));
        for (const int size : {1, 2, 5})
          EXPECT_THAT(run_ranks(size,
                                [&](dist::Communicator& ranks) {
                                  const auto part = Signal::shared(path, kAsStored, ranks);
                                  ASSERT_TRUE(part);
                                  ASSERT_EQ(part->ranks(), &ranks);
                                  expect_same(*part, whole);
                                  expect_same_choices(*part, whole, ranks);
                                  EXPECT_LE(part->samples().size(0), (height + size - 1) / size + 4);
                                }),
                      Each(IsEmpty()));
      }
}

// Drawings have edges and flat ground; their points and levels are those of the whole.
TEST_F(SharedSignal, GivesTheSameBatches) {
  const std::string path = folder_ / "ink.png";
  io::write_image(path, test::ink());
  const Signal whole(io::read_image(path, kAsStored));
  for (const int size : {1, 2, 4})
    EXPECT_THAT(run_ranks(size,
                          [&](dist::Communicator& ranks) {
                            const auto part = Signal::shared(path, kAsStored, ranks);
                            ASSERT_TRUE(part);
                            FitOptions wishes;
                            wishes.model = Model::siren;
                            wishes.batch = 64;
                            wishes.ranks = &ranks;
                            const FitChoices choices = choices_for(whole, wishes);
                            ASSERT_GT(choices.edge_share, 0);
                            const PointSampler a(*part, choices), b(whole, choices);
                            EXPECT_EQ(a.edges(), b.edges());
                            EXPECT_EQ(a.flats(), b.flats());
                            EXPECT_EQ(a.edge_share(), b.edge_share());
                            for (std::int64_t step = 0; step < 5; ++step) {
                              const Batch x = a.batch(step), y = b.batch(step);
                              EXPECT_EQ(x.coordinates.values<float>(), y.coordinates.values<float>());
                              EXPECT_EQ(x.levels.values<float>(), y.levels.values<float>());
                            }
                          }),
                Each(IsEmpty()));
}

// The colour of a fully transparent pixel is that of the nearest visible one, which another rank may have.
TEST_F(SharedSignal, IsNoneOfATransparentPicture) {
  const std::string path = folder_ / "clear.png";
  io::write_image(path, Tensor::of({3, 1, 2}, {0.2, 1, 0.4, 1, 0.6, 0}));
  EXPECT_THAT(
      run_ranks(2, [&](dist::Communicator& ranks) { EXPECT_FALSE(Signal::shared(path, kAsStored, ranks)); }),
      Each(IsEmpty()));
}

TEST_F(SharedSignal, IsFittedByThoseWhoShareIt) {
  const std::string path = picture(8, 8, 1, 8);
  EXPECT_THAT(run_ranks(2,
                        [&](dist::Communicator& ranks) {
                          const auto part = Signal::shared(path, kAsStored, ranks);
                          EXPECT_THAT(test::error_of<ConfigError>([&] { choices_for(*part, {}); }),
                                      HasSubstr("this signal is shared by ranks"));
                        }),
              Each(IsEmpty()));
}

TEST_F(SharedSignal, RefusesWhatTheReaderRefuses) {
  const std::string path = picture(8, 8, 1, 8);
  EXPECT_THAT(
      run_ranks(2, [&](dist::Communicator& ranks) { Signal::shared(path, {.max_pixels = 63}, ranks); }),
      Each(HasSubstr("64 pixels and 63 are allowed")));
}

}  // namespace
}  // namespace veldt::field
