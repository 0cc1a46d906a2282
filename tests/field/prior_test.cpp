// A prior keeps its promises for any weights: means are the pixels, flats stay flat, tiles cannot be told
// from the whole. What is not a prior is refused.
#include "veldt/field/prior.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/io/image.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Weights that add details as large as the picture's.
Prior wild_prior(PriorOptions options = {.width = 8, .depth = 2}) {
  Rng rng(3);
  Prior prior(options, rng);
  for (Tensor& p : prior.parameters()) p.assign(rand(p.shape(), rng, -0.4, 0.4));
  return prior;
}

Tensor random_picture(const Shape& shape, std::uint64_t seed = 1) {
  Rng rng(seed);
  return rand(shape, rng);
}

double farthest(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

TEST(Prior, MeansOfSamplesAreThePixelsForAnyWeights) {
  const Tensor pixels = random_picture({3, 37, 41});
  for (const int turns : {1, 4, 8}) {
    const Tensor drawn = redraw(wild_prior(), pixels, turns);
    EXPECT_EQ(drawn.shape(), Shape({3, 148, 164}));
    EXPECT_LT(farthest(avg_pool2d(drawn, 4), pixels), 1e-6) << turns << " turns";
    EXPECT_GT(farthest(drawn, repeat_interleave(repeat_interleave(pixels, 4, 1), 4, 2)), 0.1);
  }
}

TEST(Prior, MostOfATwoTonePixelIsOfItsToneForAnyWeights) {
  const Tensor pixels = round(random_picture({1, 33, 40}));
  const Tensor drawn = redraw(wild_prior({.width = 8, .depth = 2, .two_tone = true}), pixels, 8);
  EXPECT_EQ(farthest(round(avg_pool2d(drawn, 4)), pixels), 0);
  EXPECT_GT(farthest(avg_pool2d(drawn, 4), pixels), 0.2);
}

TEST(Prior, WhatIsFlatStaysFlatForAnyWeights) {
  for (const double level : {0.0, 0.3, 1.0})
    EXPECT_LT(farthest(redraw(wild_prior(), full({1, 9, 5}, level)), full({1, 36, 20}, level)), 1e-6);
}

// Not only up to rounding: whites stay white next to anything.
TEST(Prior, TheMiddleOfFiveByFiveEqualPixelsIsFlat) {
  Tensor pixels = random_picture({1, 12, 15});
  for (std::int64_t y = 4; y < 9; ++y)
    for (std::int64_t x = 5; x < 10; ++x) pixels.data<float>()[y * 15 + x] = 0.7f;
  const Tensor drawn = redraw(wild_prior(), pixels, 8);
  const auto inside = [&](std::int64_t top, std::int64_t left) {
    return contiguous(narrow(narrow(drawn, 1, 4 * top, 4), 2, 4 * left, 4));
  };
  EXPECT_LT(farthest(inside(6, 7), full({1, 4, 4}, 0.7)), 1e-6);
  EXPECT_GT(farthest(inside(6, 6), full({1, 4, 4}, 0.7)), 1e-3);
}

TEST(Prior, ASampleDependsOnWhatIsWithinReachAlone) {
  const Prior prior = wild_prior();
  EXPECT_EQ(prior.reach(), 8);
  const Tensor pixels = random_picture({1, 40, 40});
  Tensor changed = contiguous(pixels.detach() * 1);
  changed.data<float>()[20 * 40 + 20] += 0.5f;
  const Tensor difference = max_pool2d(abs(redraw(prior, pixels) - redraw(prior, changed)), 4);
  const float* d = difference.data<float>();
  for (std::int64_t y = 0; y < 40; ++y)
    for (std::int64_t x = 0; x < 40; ++x)
      if (std::max(std::abs(y - 20), std::abs(x - 20)) > 8) {
        EXPECT_EQ(d[y * 40 + x], 0) << y << ' ' << x;
      }
  EXPECT_GT(d[12 * 40 + 20], 0);
}

TEST(Prior, TilesCannotBeToldFromTheWhole) {
  const NoGrad off;
  const Prior prior = wild_prior();
  const Tensor pixels = random_picture({1, kRedrawTile + 40, 2 * kRedrawTile + 3});
  EXPECT_LT(farthest(redraw(prior, pixels), squeeze(prior(unsqueeze(pixels, 0)), 0)), 1e-5);
}

TEST(Prior, AWindowHasTheBitsOfTheWhole) {
  const Prior prior = wild_prior();
  const Tensor pixels = random_picture({2, 150, 130});
  const Tensor whole = redraw(prior, pixels, 4);
  for (const Window& w :
       {Window{0, 0, 150, 130}, Window{96, 0, 54, 130}, Window{93, 17, 10, 100}, Window{149, 129, 1, 1}})
    EXPECT_EQ(
        contiguous(narrow(narrow(whole, 1, 4 * w.top, 4 * w.height), 2, 4 * w.left, 4 * w.width)).bytes(),
        redraw(prior, pixels, w, 4).bytes());
}

TEST(Prior, AnyNumberOfThreadsGivesTheSameBits) {
  const Prior prior = wild_prior({.width = 16, .depth = 2});
  const Tensor pixels = random_picture({2, 130, 110});
  std::vector<std::vector<std::byte>> results;
  for (const int n : {1, 2, 5}) {
    const test::ThreadsScope scope(n);
    results.push_back(redraw(prior, pixels, 4).bytes());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Prior, WithEightTurnsATurnedPictureIsDrawnTurned) {
  const Prior prior = wild_prior();
  const Tensor pixels = random_picture({1, 14, 23});
  const Tensor drawn = redraw(prior, pixels, 8);
  EXPECT_LT(farthest(redraw(prior, contiguous(transpose(pixels, 1, 2)), 8), transpose(drawn, 1, 2)), 1e-5);
  for (const int side : {1, 2})
    EXPECT_LT(farthest(redraw(prior, flip(pixels, {side}), 8), flip(drawn, {side})), 1e-5);
  EXPECT_LT(farthest(redraw(prior, flip(pixels, {1, 2}), 4), flip(redraw(prior, pixels, 4), {1, 2})), 1e-5);
  EXPECT_GT(farthest(redraw(prior, flip(pixels, {1}), 4), flip(redraw(prior, pixels, 4), {1})), 1e-3);
}

// A band of a large picture takes the memory of its tiles, not of the picture.
TEST(Prior, MemoryDoesNotGrowWithThePicture) {
  const Prior prior = wild_prior();
  const auto beside = [&](std::int64_t width) {
    const Tensor pixels = random_picture({1, 2 * kRedrawTile, width});
    Pool& memory = pool(Device{});
    memory.reset_peak();
    const std::size_t before = memory.stats().bytes_in_use;
    const Tensor band = redraw(prior, pixels, Window{0, 0, kRedrawTile, width});
    return memory.stats().peak_bytes - before - Pool::size_class(static_cast<std::size_t>(band.numel()) * 4);
  };
  const test::ThreadsScope scope(1);
  const std::size_t few = beside(4 * kRedrawTile);
  EXPECT_LE(beside(20 * kRedrawTile), few);
}

TEST(Prior, RefusesWhatIsNoPicture) {
  const Prior prior = wild_prior();
  const Tensor pixels = zeros({1, 4, 6});
  EXPECT_THROW(redraw(prior, zeros({4, 6})), ShapeError);
  EXPECT_THROW(redraw(prior, zeros({1, 0, 6})), ShapeError);
  EXPECT_THROW(redraw(prior, zeros({1, 4, 6}, DType::u8)), ShapeError);
  EXPECT_THROW(redraw(prior, pixels, 2), ConfigError);
  for (const Window& w : {Window{0, 0, 5, 6}, Window{-1, 0, 2, 2}, Window{0, 6, 1, 1}, Window{0, 0, 0, 1},
                          Window{1, 1, 1, std::numeric_limits<std::int64_t>::max()}})
    EXPECT_THROW(redraw(prior, pixels, w), ShapeError);
  EXPECT_THROW(redraw(prior, full({1, 4, 6}, NAN)), Error);
  EXPECT_THROW(Prior({.width = 0}), ConfigError);
  EXPECT_THROW(Prior({.depth = 3}), ConfigError);
}

TEST(PriorFile, IsReadAsItWasWritten) {
  const test::TempDir dir;
  const Prior prior = wild_prior({.width = 6, .depth = 4});
  save_prior(dir / "a", prior, {{"made_by", "a test"}});
  EXPECT_EQ(io::read_safetensors_header(dir / "a").metadata.at("made_by"), "a test");
  const Prior read = load_prior(dir / "a");
  EXPECT_EQ(read.options(), prior.options());
  const NamedTensors before = prior.state_dict(), after = read.state_dict();
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(to(before[i].tensor.detach(), DType::f16).bytes(), to(after[i].tensor, DType::f16).bytes());
  save_prior(dir / "b", read, {{"made_by", "a test"}});
  EXPECT_EQ(test::bytes_of(dir / "a"), test::bytes_of(dir / "b"));
}

TEST(PriorFile, SaysThatItIsForTwoTones) {
  const test::TempDir dir;
  const PriorOptions options = {.width = 2, .depth = 0, .two_tone = true};
  save_prior(dir / "a", wild_prior(options));
  EXPECT_EQ(load_prior(dir / "a").options(), options);
  EXPECT_EQ(io::read_safetensors_header(dir / "a").metadata.at("format_version"), "2");
}

TEST(PriorFile, OfTheDefaultSizeIsBelow400KB) {
  const test::TempDir dir;
  save_prior(dir / "a", Prior());
  EXPECT_LT(test::bytes_of(dir / "a").size(), 400'000u);
}

TEST(PriorFile, ThatComesWithVeldtDrawsALionBetterThanItsPixels) {
  const Prior prior = load_prior(VELDT_SOURCE "/assets/prior.safetensors");
  const Tensor lion = movedim(io::read_image(VELDT_SOURCE "/assets/cub_1024.png"), 2, 0);
  const Tensor truth = contiguous(narrow(narrow(lion, 1, 384, 256), 2, 384, 256));
  const Tensor pixels = avg_pool2d(truth, 4);
  const auto error = [&](const Tensor& drawn) { return mean(square(drawn - truth)).item(); };
  const Tensor squares = repeat_interleave(repeat_interleave(pixels, 4, 1), 4, 2);
  EXPECT_LT(error(redraw(prior, pixels)), 0.2 * error(squares));
}

TEST(PriorFile, ThatComesWithVeldtDrawsATwoToneLionBetterThanItsPixels) {
  const Prior prior = load_prior(VELDT_SOURCE "/assets/prior_two_tone.safetensors");
  EXPECT_TRUE(prior.options().two_tone);
  const Tensor truth = movedim(io::read_image(VELDT_SOURCE "/assets/cub_1024.png"), 2, 0);
  const Tensor pixels = round(avg_pool2d(truth, 8));
  const auto error = [&](const Tensor& drawn) { return mean(square(drawn - avg_pool2d(truth, 2))).item(); };
  const Tensor squares = repeat_interleave(repeat_interleave(pixels, 4, 1), 4, 2);
  EXPECT_LT(error(redraw(prior, pixels)), 0.5 * error(squares));
}

// Loads a file that differs from a prior's in one thing.
using Change = std::function<void(NamedTensors&, std::map<std::string, std::string>&)>;
void load_changed(const Change& change) {
  const test::TempDir dir;
  save_prior(dir / "a", wild_prior({.width = 2, .depth = 2}));
  io::SafeTensors file = io::read_safetensors(dir / "a");
  file.metadata.erase("veldt.xxh3");
  change(file.tensors, file.metadata);
  io::write_safetensors(dir / "b", file.tensors, file.metadata);
  load_prior(dir / "b");
}
std::string refusal(const Change& change) {
  return test::error_of<IoError>([&] { load_changed(change); });
}

TEST(PriorFile, IsRefusedForMetadataThatCannotBe) {
  const auto with = [](const std::string& name, const std::string& value) {
    return refusal([&](auto&, auto& metadata) { metadata[name] = value; });
  };
  EXPECT_THAT(with("kind", "veldt.image_field"), HasSubstr("does not say that its kind is veldt.prior"));
  EXPECT_THAT(with("format_version", "3"),
              HasSubstr("it has format version 3, and this Veldt reads 1 and 2"));
  EXPECT_THAT(with("width", "2x"), HasSubstr("its width is '2x', which is not a whole number"));
  EXPECT_THAT(with("width", ""), HasSubstr("its width is ''"));
  EXPECT_THAT(with("width", "99999999999999999999"), HasSubstr("which is not a whole number"));
  EXPECT_THAT(with("width", "4000000000"), HasSubstr("it has a width of 4000000000 and a depth of 2"));
  EXPECT_THAT(with("depth", "-2"), HasSubstr("a depth of -2"));
  EXPECT_THAT(with("depth", "1"), HasSubstr("a depth of 1"));
  EXPECT_THAT(refusal([](auto&, auto& metadata) { metadata.erase("depth"); }),
              HasSubstr("its metadata has no depth"));
}

TEST(PriorFile, IsRefusedForTensorsThatDoNotFit) {
  const auto head = [](NamedTensors& tensors) -> Tensor& {
    for (NamedTensor& t : tensors)
      if (t.name == "head.weight") return t.tensor;
    throw std::runtime_error("no head.weight");
  };
  EXPECT_NO_THROW(load_changed([](auto&, auto&) {}));
  EXPECT_THAT(refusal([](auto& tensors, auto&) { tensors.pop_back(); }),
              HasSubstr("it holds 6 tensors, and its sizes need 7"));
  EXPECT_THAT(refusal([](auto& tensors, auto&) {
                tensors.push_back({"more", zeros({1})});
              }),
              HasSubstr("it holds 8 tensors"));
  EXPECT_THAT(refusal([](auto& tensors, auto&) { tensors[0].name = "other"; }), HasSubstr("it holds no "));
  EXPECT_THAT(refusal([&](auto& tensors, auto&) {
                head(tensors) = zeros({2, 1, 5, 5});
              }),
              HasSubstr("head.weight is F32 [2, 1, 5, 5], and should be F16 [2, 1, 5, 5]"));
  EXPECT_THAT(refusal([&](auto& tensors, auto&) {
                head(tensors) = zeros({2, 1, 5, 4}, DType::f16);
              }),
              HasSubstr("head.weight is F16 [2, 1, 5, 4]"));
  EXPECT_THAT(refusal([](auto&, auto& metadata) { metadata["depth"] = "4"; }),
              HasSubstr("its sizes need 11"));
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_THAT(refusal([&](auto& tensors, auto&) {
                  head(tensors) = full({2, 1, 5, 5}, bad, DType::f16);
                }),
                HasSubstr("head.weight holds a number that is not finite"));
}

// A changed byte is found by the digests, or it is in their name, and then nothing else has changed.
TEST(PriorFile, IsRefusedWhenItIsDamaged) {
  const test::TempDir dir = test::TempDir::in_memory();
  const auto weights = [](const Prior& prior) {
    std::vector<std::vector<std::byte>> all;
    for (const auto& [name, tensor] : prior.state_dict()) all.push_back(tensor.bytes());
    return all;
  };
  save_prior(dir / "a", wild_prior({.width = 2, .depth = 0}));
  const auto right = weights(load_prior(dir / "a"));
  const std::string whole = test::bytes_of(dir / "a");
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    test::put_bytes(dir / "b", flipped);
    try {
      EXPECT_EQ(weights(load_prior(dir / "b")), right) << "byte " << i;
    } catch (const IoError&) {
      ++refused;
    }
    test::put_bytes(dir / "b", whole.substr(0, i));
    EXPECT_THROW(load_prior(dir / "b"), IoError) << i << " bytes";
  }
  EXPECT_GT(refused, static_cast<int>(whole.size() / 3 - 10));
  EXPECT_THROW(load_prior(dir / "missing"), IoError);
}

TEST(PriorFile, IsNotWrittenWithWeightsBeyondF16) {
  const test::TempDir dir;
  Prior prior = wild_prior();
  prior.parameters()[0].assign(full(prior.parameters()[0].shape(), 1e6));
  EXPECT_THAT(test::error_of([&] { save_prior(dir / "a", prior); }), StartsWith("cannot write the prior"));
  EXPECT_EQ(test::count_entries(dir.path()), 0u);
}

}  // namespace
}  // namespace veldt::field
