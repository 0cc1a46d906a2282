// The reading half of sound.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/magic.h"
#include "veldt/io/shared_library.h"
#include "veldt/io/sound.h"

#if VELDT_HAVE_SNDFILE
#include <sndfile.h>
#endif

namespace veldt::io {

#if VELDT_HAVE_SNDFILE
namespace {

// The functions of libsndfile, found when the first sound is read.
struct SoundLibrary {
  decltype(&::sf_open_virtual) open_virtual = nullptr;
  decltype(&::sf_readf_float) readf_float = nullptr;
  decltype(&::sf_close) close = nullptr;
  decltype(&::sf_strerror) strerror = nullptr;
  decltype(&::sf_command) command = nullptr;

  SoundLibrary() {
    const SharedLibrary file("libsndfile.so.1", "read sounds", "libsndfile1");
    file.find(open_virtual, "sf_open_virtual");
    file.find(readf_float, "sf_readf_float");
    file.find(close, "sf_close");
    file.find(strerror, "sf_strerror");
    file.find(command, "sf_command");
  }
};

const SoundLibrary& library() {
  static const SoundLibrary found;
  return found;
}

IoError damaged(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, "cannot read the sound " + path, why, "copy or make the file again"};
}

// The file that libsndfile's callbacks read from.
struct SoundSource {
  explicit SoundSource(const std::string& path) : file(path) {}

  InputFile file;
  std::uint64_t at = 0;
  std::exception_ptr thrown;
};

sf_count_t on_length(void* user) {
  return static_cast<sf_count_t>(
      std::min<std::uint64_t>(static_cast<SoundSource*>(user)->file.size(), INT64_MAX));
}

sf_count_t on_tell(void* user) { return static_cast<sf_count_t>(static_cast<SoundSource*>(user)->at); }

sf_count_t on_seek(sf_count_t offset, int whence, void* user) {
  auto& source = *static_cast<SoundSource*>(user);
  const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? on_tell(user) : on_length(user);
  // A file may claim any offset.
  sf_count_t to = 0;
  if (__builtin_add_overflow(from, offset, &to) || to < 0 || to > on_length(user)) return -1;
  try {
    source.file.seek(static_cast<std::uint64_t>(to));
    source.at = static_cast<std::uint64_t>(to);
    return to;
  } catch (...) {
    source.thrown = std::current_exception();
    return -1;
  }
}

sf_count_t on_read(void* to, sf_count_t count, void* user) {
  auto& source = *static_cast<SoundSource*>(user);
  if (count <= 0) return 0;
  try {
    const std::size_t got = source.file.read(to, static_cast<std::size_t>(count));
    source.at += got;
    return static_cast<sf_count_t>(got);
  } catch (...) {
    source.thrown = std::current_exception();
    return 0;
  }
}

// The chunks of a WAV must lie within it: libsndfile would read a truncated file without an error.
void check_wav(InputFile& file) {
  std::array<unsigned char, 12> head{};
  const auto size_at = [&head](std::size_t at) {
    return std::uint64_t{head[at]} | std::uint64_t{head[at + 1]} << 8 | std::uint64_t{head[at + 2]} << 16 |
           std::uint64_t{head[at + 3]} << 24;
  };
  const auto is = [&head](std::size_t at, const char* name) {
    return std::equal(name, name + 4, head.begin() + static_cast<std::ptrdiff_t>(at));
  };
  if (file.read(head.data(), 12) == 12 && is(0, "RIFF") && is(8, "WAVE")) {
    std::uint64_t at = 12;
    constexpr int kMaxParts = 4096;  // before the samples; programs write about a dozen
    for (int part = 0; at + 8 <= file.size(); ++part) {
      if (part == kMaxParts)
        throw damaged(file.path(), str("it has more than ", kMaxParts, " parts before its samples"));
      file.seek(at);
      if (file.read(head.data(), 8) < 8) break;
      const std::uint64_t size = size_at(4);
      if (size > file.size() - at - 8)
        throw damaged(file.path(),
                      str("a part of it claims ", size, " bytes, and ", file.size() - at - 8, " are left"));
      if (is(0, "data")) break;  // after the samples programs write other data
      at += 8 + size + size % 2;
    }
  }
  file.seek(0);
}

class SoundFile {
 public:
  explicit SoundFile(const std::string& path) : source_(path) {
    check_wav(source_.file);
    SF_VIRTUAL_IO callbacks{on_length, on_seek, on_read, nullptr, on_tell};
    handle_ = library().open_virtual(&callbacks, SFM_READ, &info_, &source_);
    if (!handle_) fail(refusal());
    if (info_.frames < 0 || info_.channels < 1 || info_.samplerate < 1 || info_.frames == 0) {
      const std::string why = info_.frames == 0 ? "there is no sample in it"
                                                : str("it claims ", info_.frames, " frames, ", info_.channels,
                                                      " channels and a rate of ", info_.samplerate);
      library().close(handle_);
      throw damaged(path, why);
    }
  }
  ~SoundFile() { library().close(handle_); }
  SoundFile(const SoundFile&) = delete;
  SoundFile& operator=(const SoundFile&) = delete;

  const SF_INFO& info() const { return info_; }
  std::string format() const { return name_of(SF_FORMAT_TYPEMASK) + ", " + name_of(SF_FORMAT_SUBMASK); }
  // Up to `frames` more, fewer only at the end.
  std::int64_t read(float* to, std::int64_t frames) {
    const sf_count_t got = library().readf_float(handle_, to, frames);
    if (source_.thrown) std::rethrow_exception(source_.thrown);
    return got;
  }
  [[noreturn]] void fail(const std::string& why) {
    if (source_.thrown) std::rethrow_exception(source_.thrown);
    throw damaged(source_.file.path(), why);
  }

 private:
  // libsndfile's message, or, if it does not recognise a sound, what the file seems to be.
  std::string refusal() {
    const std::string words = library().strerror(nullptr);
    std::string head(kMagicBytes, '\0');
    source_.file.seek(0);
    head.resize(source_.file.read(head.data(), head.size()));
    return is_sound(head) ? str("libsndfile says: ", words) : seems_to_be(head);
  }
  std::string name_of(int mask) const {
    SF_FORMAT_INFO format{};
    format.format = info_.format & mask;
    const bool known = library().command(nullptr, SFC_GET_FORMAT_INFO, &format, sizeof format) == 0;
    return known && format.name ? format.name : "unknown";
  }

  SoundSource source_;
  SF_INFO info_{};
  SNDFILE* handle_ = nullptr;
};

}  // namespace

SoundInfo sound_info(const std::string& path) {
  const SoundFile file(path);
  return {.format = file.format(),
          .frames = file.info().frames,
          .channels = file.info().channels,
          .rate = file.info().samplerate};
}

Sound read_sound(const std::string& path, const ReadSoundOptions& options) {
  SoundFile file(path);
  const std::int64_t frames = file.info().frames, channels = file.info().channels;
  if (frames > options.max_samples / channels)
    throw IoError(IoError::Kind::malformed, str(path, " is too long"),
                  str("it claims ", frames, " frames of ", channels, " channels, and ", options.max_samples,
                      " samples are allowed"),
                  "cut it into parts");
  // The number of frames is only a claim, so memory grows with the frames that are read.
  constexpr std::int64_t kFrames = 1 << 14;
  std::vector<float> samples;
  for (std::int64_t done = 0; done < frames;) {
    const std::int64_t wanted = std::min(kFrames, frames - done);
    samples.resize(static_cast<std::size_t>((done + wanted) * channels));
    const std::int64_t got = file.read(samples.data() + done * channels, wanted);
    if (got < wanted)
      file.fail(str("it claims ", frames, " frames, and ends after ", done + std::max<std::int64_t>(got, 0)));
    done += got;
  }
  const auto bad = std::find_if(samples.begin(), samples.end(), [](float v) { return !std::isfinite(v); });
  if (bad != samples.end())
    file.fail(str("the sample of frame ", (bad - samples.begin()) / channels, " is ", *bad));
  return {.samples = Tensor::from<float>({frames, channels}, samples), .rate = file.info().samplerate};
}

#else

namespace {

Error without_libsndfile() {
  return {"this Veldt cannot read sounds", "it was built where libsndfile was not installed",
          "install libsndfile1-dev and build Veldt again"};
}

}  // namespace

SoundInfo sound_info(const std::string&) { throw without_libsndfile(); }
Sound read_sound(const std::string&, const ReadSoundOptions&) { throw without_libsndfile(); }

#endif

}  // namespace veldt::io
