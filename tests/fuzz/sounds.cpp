// Sounds, through libsndfile.
#include "tests/fuzz/target.h"
#include "veldt/core/error.h"
#include "veldt/io/sound.h"

namespace veldt::fuzz {
namespace {

void read_sound(const std::string& bytes) {
  const std::string& path = file_of(bytes);
  const io::Sound sound = io::read_sound(path, {.max_samples = 1 << 16});
  const io::SoundInfo info = io::sound_info(path);
  require(info.frames == sound.samples.size(0) && info.channels == sound.samples.size(1) &&
              info.rate == sound.rate,
          "a sound is what it is said to be");
  io::write_sound(scratch("copy.wav"), sound.samples, sound.rate);
  const io::Sound copy = io::read_sound(scratch("copy.wav"));
  require(copy.rate == sound.rate && same(copy.samples, sound.samples),
          "a sound that is written and read again is the same");
}

std::vector<std::string> sound_seeds() {
  std::vector<std::string> seeds = files_in("tests/golden/sounds", "");
  const Tensor samples = Tensor::of({4, 2}, {0, 0.5, -1, 1, 0.25, -0.25, 0, 0.125});
  for (const int bits : {16, 32})
    seeds.push_back(written(
        "a.wav", [&](const std::string& path) { io::write_sound(path, samples, 8000, {.bits = bits}); }));
  return seeds;
}

std::vector<std::string> sound_words() {
  return {"RIFF", "RIFX", "RF64", "WAVE", "fmt ", "fact", "data",
          "LIST", "fLaC", "OggS", "FORM", "AIFF", "COMM", "SSND"};
}

}  // namespace

std::vector<Target> sound_targets() { return {{"sound", read_sound, sound_seeds, sound_words}}; }

}  // namespace veldt::fuzz
