// Sounds: what libsndfile wrote is read, what Veldt writes is read by others, and what is no sound is
// refused.
#include "veldt/io/sound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/io/faults.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/ops/create.h"

// libsndfile 1.2.0 does not give back what libvorbis set up for an Ogg that it then refuses.
#ifdef __SANITIZE_ADDRESS__
extern "C" const char* __lsan_default_suppressions() {
  return "leak:vorbis_info_init\n";
}  // NOLINT: its name
#endif

namespace veldt::io {
namespace {

using test::bytes_of;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using Kind = IoError::Kind;

const std::string kSounds = VELDT_SOURCE "/tests/golden/sounds/";

// Reading needs libsndfile; a build without it skips what reads.
class ReadSound : public testing::Test {
 protected:
  void SetUp() override {
    try {
      sound_info(kSounds + "mono_16.wav");
    } catch (const Error& error) {
      if (dynamic_cast<const IoError*>(&error)) throw;
      GTEST_SKIP() << error.what();
    }
  }
};
using WriteAndReadSound = ReadSound;

// The formula of sounds.py.
float golden(std::int64_t frame, std::int64_t channel) {
  return static_cast<float>(
      std::round(8000 * std::sin(0.05 * static_cast<double>(channel + 1) * static_cast<double>(frame))) /
      32768);
}

Tensor tones(std::int64_t frames, std::int64_t channels) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < frames; ++i)
    for (std::int64_t c = 0; c < channels; ++c) values.push_back(golden(i, c));
  return Tensor::from<float>({frames, channels}, values);
}

void put32(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes.at(at + i) = static_cast<char>(value >> (8 * i));
}

// A WAV of floats that Veldt wrote: RIFF 12, fmt 26, fact 12, data 8 bytes, samples from 58 on.
constexpr std::size_t kDataSize = 54, kSamples = 58;
std::string float_wav(const Tensor& samples = tones(50, 1)) {
  const TempDir dir;
  write_sound(dir / "s.wav", samples, 8000);
  return bytes_of(dir / "s.wav");
}

TEST_F(ReadSound, ReadsEveryFormatAsItWasWritten) {
  struct Case {
    const char* name;
    std::int64_t channels;
    double allowed;
    const char* format;
  };
  for (const Case& c : {Case{"mono_16.wav", 1, 0, "16 bit"}, Case{"stereo_24.wav", 2, 0, "24 bit"},
                        Case{"stereo_8.wav", 2, 1.0 / 128, "8 bit"}, Case{"mono_float.wav", 1, 0, "float"},
                        Case{"mono_double.wav", 1, 0, "float"}, Case{"stereo.flac", 2, 0, "FLAC"},
                        Case{"stereo.ogg", 2, 0.03, "Vorbis"}, Case{"mono.aiff", 1, 0, "AIFF"}}) {
    const Sound sound = read_sound(kSounds + c.name);
    EXPECT_EQ(sound.rate, 8000);
    ASSERT_EQ(sound.samples.shape(), (Shape{2000, c.channels})) << c.name;
    const std::vector<float> got = sound.samples.values<float>();
    double largest = 0;
    for (std::int64_t i = 0; i < 2000 * c.channels; ++i)
      largest = std::max(largest, std::abs(static_cast<double>(got[static_cast<std::size_t>(i)] -
                                                               golden(i / c.channels, i % c.channels))));
    EXPECT_LE(largest, c.allowed) << c.name;
    const SoundInfo info = sound_info(kSounds + c.name);
    EXPECT_EQ(info.frames, 2000);
    EXPECT_EQ(info.channels, c.channels);
    EXPECT_NE(info.format.find(c.format), std::string::npos) << info.format;
  }
}

TEST_F(ReadSound, RefusesWhatIsMissingOrNoSound) {
  const TempDir dir;
  EXPECT_EQ(thrown_by<IoError>([&] { read_sound(dir / "none.wav"); }).kind(), Kind::missing);
  EXPECT_EQ(thrown_by<IoError>([&] { read_sound(dir.path()); }).kind(), Kind::missing);
  put_bytes(dir / "empty.wav", "");
  const IoError empty = thrown_by<IoError>([&] { read_sound(dir / "empty.wav"); });
  EXPECT_EQ(empty.kind(), Kind::malformed);
  EXPECT_TRUE(says(empty, "empty.wav") && says(empty, "the file is empty")) << empty.what();
  put_bytes(dir / "text.wav", "this is a shopping list: milk, bread\n");
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_sound(dir / "text.wav"); }), "text"));
}

TEST_F(ReadSound, RefusesASoundWithoutAFrame) {
  const TempDir dir;
  std::string bytes = float_wav().substr(0, kSamples);
  put32(bytes, kDataSize, 0);
  put_bytes(dir / "s.wav", bytes);
  const IoError error = thrown_by<IoError>([&] { read_sound(dir / "s.wav"); });
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "no sample")) << error.what();
}

TEST_F(ReadSound, RefusesSizesThatTheFileDoesNotHave) {
  const TempDir dir;
  const std::string whole = float_wav();
  for (const std::uint32_t size : {201u, 0x7fffffffu, 0xffffffffu}) {
    std::string bytes = whole;
    put32(bytes, kDataSize, size);
    put_bytes(dir / "s.wav", bytes);
    EXPECT_TRUE(says(thrown_by<IoError>([&] { read_sound(dir / "s.wav"); }), str(size))) << size;
  }
  for (std::size_t length = 1; length < whole.size(); length += 7) {
    put_bytes(dir / "s.wav", whole.substr(0, length));
    EXPECT_EQ(thrown_by<IoError>([&] { read_sound(dir / "s.wav"); }).kind(), Kind::malformed) << length;
  }
  const std::string flac = bytes_of(kSounds + "stereo.flac");
  put_bytes(dir / "s.flac", flac.substr(0, flac.size() / 2));
  EXPECT_EQ(thrown_by<IoError>([&] { read_sound(dir / "s.flac"); }).kind(), Kind::malformed);
  // The 36 bits of a FLAC that say how many frames there are.
  std::string claims = flac;
  for (std::size_t i = 22; i < 26; ++i) claims.at(i) = '\x7f';
  put_bytes(dir / "s.flac", claims);
  EXPECT_EQ(thrown_by<IoError>([&] { read_sound(dir / "s.flac"); }).kind(), Kind::malformed);
}

TEST_F(ReadSound, RefusesSamplesThatAreNoNumbers) {
  const TempDir dir;
  for (const std::uint32_t bits : {0x7fc00000u, 0x7f800000u}) {  // NaN, infinity
    std::string bytes = float_wav();
    put32(bytes, kSamples + 4 * 20, bits);
    put_bytes(dir / "s.wav", bytes);
    EXPECT_TRUE(says(thrown_by<IoError>([&] { read_sound(dir / "s.wav"); }), "frame 20")) << bits;
  }
}

TEST_F(ReadSound, RefusesMoreSamplesThanAllowed) {
  const TempDir dir;
  write_sound(dir / "s.wav", tones(50, 2), 8000);
  EXPECT_NO_THROW(read_sound(dir / "s.wav", {.max_samples = 100}));
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_sound(dir / "s.wav", {.max_samples = 99}); }), "50 frames"));
}

// Flipped bits of headers: an error or some sound, but no crash and no endless work.
TEST_F(ReadSound, OutlivesDamage) {
  const TempDir dir;
  int refused = 0;
  for (const char* name : {"mono_16.wav", "stereo.flac", "stereo.ogg", "mono.aiff"}) {
    const std::string whole = bytes_of(kSounds + name);
    for (std::size_t i = 0; i < 120; ++i) {
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
      put_bytes(dir / "s", flipped);
      try {
        const Sound sound = read_sound(dir / "s");
        EXPECT_GT(sound.samples.numel(), 0);
      } catch (const IoError& error) {
        EXPECT_EQ(error.kind(), Kind::malformed);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(WriteAndReadSound, FloatsComeBackBitForBit) {
  const TempDir dir;
  const Tensor loud = Tensor::of({3, 2}, {0.1, -7.5, 1e-30, 0, 1, -1});
  write_sound(dir / "s.wav", loud, 192000);
  const Sound sound = read_sound(dir / "s.wav");
  EXPECT_EQ(sound.samples.values<float>(), loud.values<float>());
  EXPECT_EQ(sound.rate, 192000);
}

TEST_F(WriteAndReadSound, SixteenBitsComeBackAndAreCutToFullScale) {
  const TempDir dir;
  write_sound(dir / "s.wav", tones(500, 3), 8000, {.bits = 16});
  EXPECT_EQ(read_sound(dir / "s.wav").samples.values<float>(), tones(500, 3).values<float>());
  write_sound(dir / "s.wav", Tensor::of({4, 1}, {1.5, -1.5, 1, -1}), 8000, {.bits = 16});
  const float top = 32767.0f / 32768;
  EXPECT_EQ(read_sound(dir / "s.wav").samples.values<float>(), (std::vector<float>{top, -1, top, -1}));
}

TEST(WriteSound, GivesTheSameBytesEachTime) { EXPECT_EQ(float_wav(), float_wav()); }

TEST(WriteSound, InPartsIsTheSameFile) {
  const TempDir dir;
  const Tensor all = tones(100, 2);
  SoundWriter writer(dir / "s.wav", 100, 2, 8000);
  for (const std::int64_t at : {0, 30, 31})
    writer.write(all.data<float>() + 2 * at, at == 0 ? 30 : at == 30 ? 1 : 69);
  writer.finish();
  write_sound(dir / "t.wav", all, 8000);
  EXPECT_EQ(bytes_of(dir / "s.wav"), bytes_of(dir / "t.wav"));
}

TEST(WriteSound, LeavesNothingUnlessItIsWhole) {
  const TempDir dir;
  {
    SoundWriter writer(dir / "s.wav", 4, 1, 8000);
    writer.write(tones(3, 1).data<float>(), 3);
    EXPECT_THROW(writer.finish(), ShapeError);
    EXPECT_THROW(writer.write(tones(3, 1).data<float>(), 2), ShapeError);
  }
  EXPECT_THROW(write_sound(dir / "s.wav", Tensor::of({2, 1}, {0, NAN}), 8000), Error);
  EXPECT_EQ(test::count_entries(dir.path()), 0u);
  EXPECT_EQ(thrown_by<IoError>([&] { write_sound(dir / "no/s.wav", tones(2, 1), 8000); }).kind(),
            Kind::unwritable);
}

TEST(WriteSound, RefusesWhatAWavCannotHold) {
  const TempDir dir;
  EXPECT_THROW(write_sound(dir / "s.wav", Tensor::of({2}, {0, 1}), 8000), ShapeError);
  EXPECT_THROW(write_sound(dir / "s.wav", zeros({2, 1}, DType::f64), 8000), ShapeError);
  EXPECT_THROW(write_sound(dir / "s.wav", empty({0, 1}), 8000), ShapeError);
  EXPECT_THROW(write_sound(dir / "s.wav", tones(2, 1), 0), ConfigError);
  EXPECT_THROW(write_sound(dir / "s.wav", tones(2, 1), 8000, {.bits = 24}), ConfigError);
  EXPECT_THROW(write_sound(dir / "s.flac", tones(2, 1), 8000), ConfigError);
  EXPECT_THROW(SoundWriter(dir / "s.wav", std::int64_t{1} << 31, 1, 8000), ShapeError);
  EXPECT_EQ(test::count_entries(dir.path()), 0u);
}

}  // namespace
}  // namespace veldt::io
