// Pictures as bodies of packed photographs: their size, their error, and that every one comes back.
#include "veldt/pack/pack_photograph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veldt/codec/photograph.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"

namespace veldt::pack {
namespace {

// Soft shapes of several sizes and colours.
std::vector<std::uint8_t> soft_picture(Size size) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x)
      for (int c = 0; c < 3; ++c) {
        const auto u = static_cast<double>(x), v = static_cast<double>(y);
        const double wave = std::sin(u / 9 + c) * std::cos(v / 13 - c) + 0.5 * std::sin((u + v) / 31);
        const double shape = std::hypot(u - 40, v - 30) < 20 ? 0.6 : 0;
        pixels.push_back(static_cast<std::uint8_t>(std::clamp(127 + 60 * wave + 90 * shape, 0.0, 255.0)));
      }
  return pixels;
}

double psnr(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i] - b[i], 2);
  return -10 * std::log10(sum / static_cast<double>(a.size()) / 65025);
}

TEST(PackPhotograph, IsAsLargeAsAskedAndAsGoodAsItSays) {
  const Size size{96, 64};
  const std::vector<std::uint8_t> pixels = soft_picture(size);
  const PackedPhotograph packed = pack_photograph(size, pixels, {.bits_a_pixel = 3, .steps = 80});
  EXPECT_LT(static_cast<double>(packed.body.size()) * 8 / (96 * 64), 3 * 1.3);
  EXPECT_GT(packed.psnr, 27);
  const codec::PhotographReader reader(packed.body, size, "a.vp", false);
  EXPECT_NEAR(psnr(reader.pixels({0, 0, 96, 64}), pixels), packed.psnr, 1e-6);
}

TEST(PackPhotograph, TakesAnySize) {
  for (const Size size : {Size{1, 1}, Size{1, 40}, Size{65, 2}}) {
    const PackedPhotograph packed = pack_photograph(size, soft_picture(size), {.steps = 5});
    const codec::PhotographReader reader(packed.body, size, "a.vp", false);
    EXPECT_EQ(reader.pixels({0, 0, size.width, size.height}).size(),
              static_cast<std::size_t>(3 * size.width * size.height));
  }
}

TEST(PackPhotograph, IsTheSameOnAnyNumberOfThreads) {
  const int before = num_threads();
  std::vector<std::string> bodies;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    bodies.push_back(pack_photograph({67, 63}, soft_picture({67, 63}), {.steps = 2}).body);
  }
  set_num_threads(before);
  EXPECT_EQ(bodies[0], bodies[1]);
}

// As odd as pictures can be: the analysis has seen none.
TEST(PackPhotograph, AFlatPictureTakesFewBytes) {
  const Size size{50, 35};
  const std::vector<std::uint8_t> black(3 * 50 * 35);
  const PackedPhotograph small = pack_photograph(size, black, {.bits_a_pixel = 0.1, .steps = 60});
  const PackedPhotograph large = pack_photograph(size, black, {.bits_a_pixel = 2, .steps = 60});
  EXPECT_LE(small.body.size(), large.body.size());
  EXPECT_LT(small.body.size(), 120u);
  EXPECT_LE(small.psnr, large.psnr);
}

TEST(PackPhotograph, EndsEarlyWithWhatItHas) {
  const Size size{32, 32};
  std::int64_t last = 0, looks = 0;
  const PackedPhotograph packed =
      pack_photograph(size, soft_picture(size), {.steps = 1000}, [&](const PackProgress& p) {
        EXPECT_TRUE(p.step == last || p.step == last + 1);
        last = p.step;
        looks += p.step == 0;
        return p.step < 7;
      });
  EXPECT_EQ(last, 7);
  EXPECT_GT(looks, 1);
  const codec::PhotographReader reader(packed.body, size, "a.vp", false);
  EXPECT_NEAR(psnr(reader.pixels({0, 0, 32, 32}), soft_picture(size)), packed.psnr, 1e-6);
}

TEST(PackPhotograph, StoppedAtTheFirstLookItIsWhatTheAnalysisFound) {
  const Size size{70, 40};
  int heard = 0;
  const PackedPhotograph packed =
      pack_photograph(size, soft_picture(size), {.steps = 1000}, [&](const PackProgress& p) {
        EXPECT_EQ(p.step, 0);
        ++heard;
        return false;
      });
  EXPECT_EQ(heard, 1);
  const codec::PhotographReader reader(packed.body, size, "a.vp", false);
  EXPECT_NEAR(psnr(reader.pixels({0, 0, 70, 40}), soft_picture(size)), packed.psnr, 1e-6);
  EXPECT_GT(packed.psnr, 15);
}

TEST(PackPhotograph, RefusesOptionsThatMakeNoSense) {
  for (const double bpp : {0.0, 9.0, -1.0, std::nan("")})
    EXPECT_THROW(pack_photograph({2, 2}, soft_picture({2, 2}), {.bits_a_pixel = bpp}), ConfigError);
  EXPECT_THROW(pack_photograph({2, 2}, soft_picture({2, 2}), {.steps = 0}), ConfigError);
}

}  // namespace
}  // namespace veldt::pack
