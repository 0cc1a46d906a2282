// Which family a picture is packed by, and that it comes back.
#include "veldt/pack/pack.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veldt/codec/unpack.h"
#include "veldt/core/error.h"
#include "veldt/ops/reduce.h"

namespace veldt::pack {
namespace {

Tensor picture_of(std::int64_t height, std::int64_t width, std::int64_t channels,
                  int (*level)(std::int64_t)) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < height * width * channels; ++i)
    bytes.push_back(static_cast<std::uint8_t>(level(i)));
  return Tensor::from<std::uint8_t>({height, width, channels}, bytes);
}

int two_tones(std::int64_t i) { return i / 300 % 2 == 0 ? 0 : 255; }
int any(std::int64_t i) { return static_cast<int>(i * i * 7 + i % 13 * 31) & 255; }

TEST(Pack, FewColoursAreExactAndOthersAreNot) {
  const Tensor drawing = picture_of(30, 100, 1, two_tones);
  const Packed exact = pack(drawing, {});
  EXPECT_EQ(exact.family, codec::Family::drawing);
  EXPECT_TRUE(std::isinf(exact.psnr));
  const codec::Unpacked back = codec::unpack(exact.bytes, "a.vp");
  EXPECT_EQ(back.pixels, drawing.values<std::uint8_t>());
  // As large as a page or a screen.
  EXPECT_EQ(pack(picture_of(1100, 1100, 1, two_tones), {.photograph = {.steps = 1}}).family,
            codec::Family::drawing);
  // Of 500 colours, in runs.
  const auto screen = [](std::int64_t i) {
    return static_cast<int>(i / 3 / 7 % 500 * (1 + i % 3) / 2) & 255;
  };
  EXPECT_EQ(pack(picture_of(900, 1200, 3, screen), {.photograph = {.steps = 1}}).family,
            codec::Family::drawing);
  EXPECT_EQ(pack(picture_of(30, 100, 3, any), {.photograph = {.steps = 3}}).family,
            codec::Family::photograph);
}

TEST(SlowPack, WhatHasAlphaIsTriedAtLargerSizes) {
  // Of 450 colours in stripes, more pixels than are always tried.
  const auto stripes = [](std::int64_t i) {
    return static_cast<int>(i / 2400 + i % 4 * (i / 360'000)) & 255;
  };
  const PackOptions options{.photograph = {.bits_a_pixel = 0.2, .steps = 1}};
  EXPECT_EQ(pack(picture_of(450, 600, 4, stripes), options).family, codec::Family::drawing);
  EXPECT_EQ(pack(picture_of(450, 600, 3, stripes), options).family, codec::Family::photograph);
}

TEST(Pack, OptionsOutOfRangeAreRefusedBeforeAnythingIsDone) {
  const Tensor drawing = picture_of(16, 16, 1, two_tones);
  EXPECT_THROW(pack(drawing, {.photograph = {.bits_a_pixel = 1e9}}), ConfigError);
  EXPECT_THROW(pack(drawing, {.photograph = {.steps = 0}}), ConfigError);
  EXPECT_THROW(pack(drawing, {.photograph = {.psnr = 61}}), ConfigError);
  EXPECT_NO_THROW(pack(drawing, {.wanted = Wanted::exact, .photograph = {.steps = 0}}));
}

TEST(Pack, DoesAsItIsTold) {
  const Tensor drawing = picture_of(20, 30, 1, two_tones);
  EXPECT_EQ(pack(drawing, {.wanted = Wanted::photograph, .photograph = {.steps = 3}}).family,
            codec::Family::photograph);
  const Packed exact = pack(picture_of(20, 30, 4, any), {.wanted = Wanted::exact});
  EXPECT_EQ(exact.family, codec::Family::drawing);
  EXPECT_EQ(codec::unpack(exact.bytes, "a.vp").family, codec::Family::drawing);
}

TEST(Pack, APhotographKeepsItsAlpha) {
  for (const std::int64_t channels : {2, 4}) {
    const Tensor picture = picture_of(20, 30, channels, any);
    const Packed packed =
        pack(picture, {.wanted = Wanted::photograph, .photograph = {.bits_a_pixel = 8, .steps = 3}});
    EXPECT_EQ(packed.family, codec::Family::photograph);
    const std::vector<std::uint8_t> before = picture.values<std::uint8_t>(),
                                    after = codec::unpack(packed.bytes, "a.vp").pixels;
    const auto step = static_cast<std::size_t>(channels);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = step - 1; i < before.size(); i += step) ASSERT_EQ(after[i], before[i]) << i;
  }
}

TEST(Pack, TellsOfExactRows) {
  std::int64_t told = 0;
  pack(picture_of(20, 30, 4, any), {.wanted = Wanted::exact}, [&](const PackProgress& p) {
    EXPECT_TRUE(p.exact);
    EXPECT_EQ(p.step, ++told);
    EXPECT_EQ(p.steps, 20);
    return true;
  });
  EXPECT_EQ(told, 20);
}

TEST(Pack, RefusesOtherTensorsAndSizes) {
  for (const double bits : {-1.0, 0.001, 9.0})
    EXPECT_THROW(pack(picture_of(20, 30, 4, any),
                      {.wanted = Wanted::photograph, .photograph = {.bits_a_pixel = bits, .steps = 3}}),
                 ConfigError)
        << bits;
  EXPECT_THROW(pack(Tensor::from<std::uint8_t>({2, 2}, std::vector<std::uint8_t>(4)), {}), ShapeError);
  EXPECT_THROW(pack(Tensor::from<float>({1, 1, 1}, std::vector<float>(1)), {}), ShapeError);
}

}  // namespace
}  // namespace veldt::pack
