// The points of a step: each pixel as often as it should be, neighbours together.
#include "veldt/field/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "tests/field/pictures.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

using Pixels = std::vector<std::int64_t>;

TEST(BandOrder, HasEveryPixelOnce) {
  for (const std::int64_t width : {1, 2, 7, 24})
    for (const std::int64_t height : {1, 3, 10, 25})
      for (const double run : {1.0, 4.0, 30.0, 1e6}) {
        const BandOrder order(width, height, run);
        Pixels pixels, all(static_cast<std::size_t>(width * height));
        for (std::int64_t i = 0; i < width * height; ++i) pixels.push_back(order.pixel(i));
        EXPECT_TRUE(run > 1 || std::is_sorted(pixels.begin(), pixels.end()));
        std::sort(pixels.begin(), pixels.end());
        std::iota(all.begin(), all.end(), 0);
        EXPECT_EQ(pixels, all) << width << 'x' << height << " by " << run;
      }
}

TEST(BandOrder, MakesSquaresOfRuns) {
  const BandOrder order(40, 32, 16);
  for (std::int64_t first = 0; first < 40 * 32; first += 16) {
    std::set<std::int64_t> rows, columns;
    for (std::int64_t i = first; i < first + 16; ++i) {
      rows.insert(order.pixel(i) / 40);
      columns.insert(order.pixel(i) % 40);
    }
    EXPECT_EQ(rows.size(), 4u);
    EXPECT_EQ(columns.size(), 4u);
  }
}

FitChoices choices_with(Sampling sampling, std::int64_t batch) {
  FitOptions options;
  options.steps = 1;
  options.sampling = sampling;
  options.batch = batch;
  options.model = Model::siren;
  return choices_for(test::disc(), options);
}

// The pixels whose centres a batch's points are.
Pixels pixels_of(const Batch& batch, std::int64_t side) {
  Pixels pixels;
  const std::vector<float> at = batch.coordinates.values<float>();
  const auto place = [&](float x) {
    return (static_cast<double>(x) + 1) / 2 * static_cast<double>(side) - 0.5;
  };
  for (std::size_t i = 0; i < at.size(); i += 2) {
    const double column = place(at[i]), row = place(at[i + 1]);
    EXPECT_NEAR(column, std::round(column), 1e-4);
    EXPECT_NEAR(row, std::round(row), 1e-4);
    pixels.push_back(std::llround(row) * side + std::llround(column));
  }
  return pixels;
}

TEST(PointSampler, StratifiedShowsEachPixelOnceAndAPartOfEachBlockInEveryStep) {
  const PointSampler sampler(test::disc(), choices_with(Sampling::stratified, 64));  // runs of 9
  Pixels seen;
  for (std::int64_t step = 0; step < 9; ++step) {
    const Pixels pixels = pixels_of(sampler.batch(step), 24);
    std::vector<int> blocks(9);  // of 8x8 pixels, so 7.1 of the batch in each
    for (const std::int64_t p : pixels) ++blocks[static_cast<std::size_t>(p / 24 / 8 * 3 + p % 24 / 8)];
    for (const int n : blocks) EXPECT_NEAR(n, 7, 4);
    seen.insert(seen.end(), pixels.begin(), pixels.end());
  }
  std::sort(seen.begin(), seen.end());
  Pixels all(576);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

// A pixel of 2 x 2 samples leaves a batch of 64 points 16 pixels, one of each 6 x 6: bands of 6 rows, which
// have 4 of them each. Bands of the 3 rows of 9 pixels would have 2.
TEST(PointSampler, StratifiedGoesByBlocksOfAFootprintsPixels) {
  FitChoices choices = choices_with(Sampling::stratified, 64);
  choices.field.footprint = 2;
  choices.edge_share = 0;
  const PointSampler sampler(test::disc(), choices);
  for (std::int64_t step = 0; step < 360; ++step) {
    const std::vector<float> at = sampler.batch(step).coordinates.values<float>();
    ASSERT_EQ(at.size(), 64u * 2);
    std::vector<int> blocks(16);
    for (std::size_t i = 0; i < at.size(); i += 8) {
      const auto place = [](float x) { return static_cast<std::size_t>((x + 1) / 2 * 24); };
      ++blocks[place(at[i + 1]) / 6 * 4 + place(at[i]) / 6];
    }
    // Runs that start within a block, at the epoch's turn, reach into the next one.
    for (const int n : blocks) EXPECT_LE(n, 2);
  }
}

TEST(PointSampler, MovesOtherPointsBetweenThePixelsInEachStep) {
  FitChoices choices = choices_with(Sampling::stratified, 576);  // all of the picture
  choices.between_share = 0.25;
  const PointSampler sampler(test::disc(), choices);
  const std::vector<float> centres =
      PointSampler(test::disc(), choices_with(Sampling::uniform, 576)).batch(0).coordinates.values<float>();
  std::vector<int> moved(576);
  for (std::int64_t step = 0; step < 40; ++step) {
    const std::vector<float> at = sampler.batch(step).coordinates.values<float>();
    int now = 0;
    for (std::size_t i = 0; i < 576; ++i)
      if (at[2 * i] != centres[2 * i]) ++moved[i], ++now;
    EXPECT_NEAR(now, 144, 2);
  }
  for (const int times : moved) EXPECT_NEAR(times, 10, 9);  // never none of them, never all
}

std::vector<FitChoices> choices_of_parts() {
  std::vector<FitChoices> all;
  for (const Sampling sampling : {Sampling::uniform, Sampling::stratified, Sampling::error})
    all.push_back(choices_with(sampling, 101));
  all.push_back(choices_with(Sampling::uniform, 101));
  all.back().between_share = 0.4;
  all.push_back(choices_with(Sampling::uniform, 200));
  all.back().edge_share = 0.5;
  all.back().field.footprint = 3;
  return all;
}

TEST(PointSampler, PartsOfABatchMakeTheWhole) {
  for (const FitChoices& choices : choices_of_parts()) {
    const PointSampler sampler(test::disc(), choices);
    for (const std::int64_t step : {0, 5})
      for (const std::int64_t of : {1, 3, 7}) {
        const Batch whole = sampler.batch(step);
        const std::int64_t samples = choices.field.footprint * choices.field.footprint;
        EXPECT_EQ(whole.edges, sampler.edges());
        EXPECT_EQ(whole.flats, sampler.flats());
        // Edges and flat pixels of all parts, each in their order.
        std::vector<Tensor> edges, flats, edge_levels, flat_levels, weights;
        for (std::int64_t first = 0; first < of; first += 2) {
          const data::Parts own{first, std::min(first + 2, of), of};
          for (const Batch& part : sampler.parts(step, own)) {
            const std::int64_t of_edges = part.edges * samples;
            edges.push_back(slice(part.coordinates, 0, 0, of_edges));
            flats.push_back(slice(part.coordinates, 0, of_edges, part.coordinates.size(0)));
            edge_levels.push_back(slice(part.levels, 0, 0, part.edges));
            flat_levels.push_back(slice(part.levels, 0, part.edges, part.levels.size(0)));
            if (part.weights.defined()) {
              weights.push_back(part.weights);
              EXPECT_EQ(part.ranks.values<std::int64_t>(), whole.ranks.values<std::int64_t>());
            }
          }
        }
        edges.insert(edges.end(), flats.begin(), flats.end());
        edge_levels.insert(edge_levels.end(), flat_levels.begin(), flat_levels.end());
        EXPECT_EQ(cat(edges, 0).values<float>(), whole.coordinates.values<float>());
        EXPECT_EQ(cat(edge_levels, 0).values<float>(), whole.levels.values<float>());
        if (whole.weights.defined()) {
          EXPECT_EQ(cat(weights, 0).values<float>(), whole.weights.values<float>());
        }
      }
  }
}

}  // namespace
}  // namespace veldt::field
