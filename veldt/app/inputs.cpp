// Opens a picture, table, sound or model, recognised by its first bytes.
#include "veldt/app/frame.h"
#include "veldt/app/inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "veldt/cli/exit.h"
#include "veldt/app/progress_line.h"
#include "veldt/cli/terminal.h"
#include "veldt/core/error.h"
#include "veldt/io/clip.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/io/magic.h"
#include "veldt/io/pixel_csv.h"
#include "veldt/io/sound.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/pack/packed_field.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

bool ends_with_any(const std::string& path, std::initializer_list<std::string_view> endings) {
  std::string lower = path;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return lower.ends_with(e); });
}

bool looks_like_table(std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);  // its reader explains the byte order mark
  return bytes.starts_with("x,y") || bytes.starts_with("X,Y") || bytes.starts_with("x, y");
}

void note_left_out(const std::string& path, const io::ImageInfo& info, const Context& context) {
  if (const std::string left_out = io::left_out(info); !left_out.empty() && !context.quiet)
    print_note(fmt::format("{} {}", on_one_line(path), left_out));
}

}  // namespace

std::string first_bytes(const std::string& path) {
  io::InputFile file(path);
  std::string bytes(io::kMagicBytes, '\0');
  bytes.resize(file.read(bytes.data(), bytes.size()));
  return bytes;
}

bool is_sound_name(const std::string& path) {
  return ends_with_any(path, {".wav", ".flac", ".ogg", ".oga", ".aiff", ".aif", ".mp3"});
}

FileKind kind_of_file(const std::string& path) {
  const std::string bytes = first_bytes(path);
  if (io::picture_format(bytes)) return FileKind::picture;
  if (io::is_sound(bytes)) return FileKind::sound;
  if (bytes.size() > 8 && bytes[8] == '{') return FileKind::safetensors;
  if (looks_like_table(bytes)) return FileKind::pixel_csv;
  // A zip archive, or a pickle of protocol 2 to 5.
  const bool is_pickle = bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
  if (bytes.starts_with("PK\x03\x04") || is_pickle) return FileKind::state;
  if (io::is_onnx(bytes)) return FileKind::onnx;
  if (!io::known_content(bytes).empty()) return FileKind::unknown;
  if (io::is_picture_name(path)) return FileKind::picture;
  if (is_sound_name(path)) return FileKind::sound;
  if (ends_with_any(path, {".safetensors"})) return FileKind::safetensors;
  if (ends_with_any(path, {".pt", ".pth", ".npz"})) return FileKind::state;
  if (ends_with_any(path, {".csv", ".tsv"})) return FileKind::pixel_csv;
  if (ends_with_any(path, {".onnx"})) return FileKind::onnx;
  return FileKind::unknown;
}

void refuse_file(const std::string& path) {
  const std::string bytes = first_bytes(path);
  const std::string_view content = io::known_content(bytes);
  if (content.starts_with("a PNG"))  // else its reader would have taken it
    throw IoError(IoError::Kind::malformed, fmt::format("cannot read {}", path), io::seems_to_be(bytes),
                  "copy or download it again as a binary file");
  if (kind_of_file(path) == FileKind::onnx)
    throw IoError(IoError::Kind::malformed, fmt::format("cannot use {}", path), "it is an ONNX graph",
                  "run it with veldt run, or look at it with veldt info");
  const bool drawn = content.ends_with("PDF") || content.ends_with("SVG");
  throw IoError(IoError::Kind::malformed, fmt::format("cannot read {}", path), io::seems_to_be(bytes),
                drawn ? fmt::format("convert it to {} first", io::kWrittenPictures)
                      : fmt::format("give a picture ({}), a sound ({}), a pixel table (.csv) or a network "
                                    "(.safetensors, .pt, .npz, .onnx)",
                                    io::kPictureFormats, io::kSoundFormats));
}

bool is_packed(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) &&
         io::picture_format(first_bytes(path)) == io::ImageFormat::packed;
}

field::Field load_field(const std::string& path) {
  return is_packed(path) ? pack::packed_field(io::read_file(path), path) : field::Field::load(path);
}

Tensor load_picture(const std::string& path, std::int64_t max_pixels, const Context& context,
                    bool keep_bytes) {
  switch (kind_of_file(path)) {
    case FileKind::picture: {
      io::Picture read = io::read_picture(path, {.max_pixels = max_pixels, .keep_bytes = keep_bytes});
      note_left_out(path, read.info, context);
      return std::move(read.image);
    }
    case FileKind::pixel_csv: return io::read_pixel_csv(path, {.max_pixels = max_pixels});
    case FileKind::sound:
      throw IoError(IoError::Kind::malformed, fmt::format("{} is not a picture", path), "it is a sound",
                    fmt::format("give a picture ({})", io::kPictureFormats));
    case FileKind::safetensors:
      throw IoError(IoError::Kind::malformed, fmt::format("{} is not a picture", path),
                    "it is a safetensors file", "draw it first: veldt render");
    case FileKind::onnx:
      throw IoError(IoError::Kind::malformed, fmt::format("{} is not a picture", path), "it is an ONNX graph",
                    "run it on a picture: veldt run");
    case FileKind::state:
      throw IoError(IoError::Kind::malformed, fmt::format("{} is not a picture", path),
                    fmt::format("{}, and may hold a network's tensors", io::seems_to_be(first_bytes(path))),
                    fmt::format("give a picture ({})", io::kPictureFormats));
    case FileKind::unknown: break;
  }
  refuse_file(path);
}

field::Signal load_signal(const std::string& path, std::int64_t max_pixels, const Context& context,
                          bool still) {
  const FileKind kind = kind_of_file(path);
  if (kind == FileKind::picture && !still && io::is_clip(path)) {
    const io::Clip clip = io::read_clip(path, {.max_pixels = max_pixels});
    return field::Signal::clip(clip.frames, clip.seconds);
  }
  if (kind != FileKind::sound) return load_picture(path, max_pixels, context, true);
  const io::Sound sound = io::read_sound(path, {.max_samples = max_pixels});
  return field::Signal::sound(sound.samples, sound.rate);
}

field::Signal load_signal(const std::string& path, std::int64_t max_pixels, const Context& context,
                          dist::Communicator& ranks, bool in_parts, bool still) {
  const FileKind kind = kind_of_file(path);
  const auto whole = [&](const std::string& why) {
    if (in_parts)
      throw UsageError(
          fmt::format("--in-parts cannot be used with {}", path), why,
          "leave it out, or convert the picture to a PNG that is not interlaced, without transparent pixels");
    return load_signal(path, max_pixels, context, still);
  };
  if (kind != FileKind::picture)
    return whole(fmt::format("it is {}", kind == FileKind::sound       ? "a sound"
                                         : kind == FileKind::pixel_csv ? "a pixel table"
                                                                       : "not a picture"));
  if (!still && io::is_clip(path)) return whole("it is animated");
  const io::ImageInfo info = io::image_info(path);
  const double bytes = static_cast<double>(info.width) * static_cast<double>(info.height) *
                       static_cast<double>(info.channels * (info.bit_depth > 8 ? 4 : 1));
  if (bytes < kSharedBytes && !in_parts) return load_signal(path, max_pixels, context, still);
  const auto noted = [&](const std::string& why) {
    field::Signal signal = whole(why);
    if (!context.quiet)
      print_note(fmt::format("each process has the whole of {} in memory, {:.3g} MB: {}", on_one_line(path),
                             bytes / 1e6, why));
    return signal;
  };
  if (!info.by_rows)
    return noted(
        "what can be read row by row is a PNG that is not interlaced, a JPEG of one scan that is not turned, "
        "and a PNM");
  std::optional<field::Signal> signal =
      field::Signal::shared(path, {.max_pixels = max_pixels, .keep_bytes = true}, ranks);
  if (!signal) return noted("it has fully transparent pixels, whose colours come from any part of it");
  note_left_out(path, info, context);
  return std::move(*signal);
}

Tensor over_white(const Tensor& picture) {
  const std::int64_t colors = picture.size(2) - 1;
  if (colors != 1 && colors != 3) return picture;
  const Tensor alpha = slice(picture, 2, colors, colors + 1);
  return slice(picture, 2, 0, colors) * alpha + (1 - alpha);
}

Tensor grey_repeated(const Tensor& picture, std::int64_t channels) {
  if (picture.size(2) != 1 || channels == 1) return picture;
  return contiguous(expand(picture, {picture.size(0), picture.size(1), channels}));
}

std::string channels_in_words(std::int64_t channels) {
  constexpr const char* kWords[] = {"grey", "grey and alpha", "RGB", "RGB and alpha"};
  return channels >= 1 && channels <= 4 ? kWords[channels - 1] : fmt::format("{} channels", channels);
}

void check_output(const std::string& output, const std::string& flag, const std::vector<std::string>& inputs,
                  Context& context) {
  io::check_writable(output);
  struct stat to {
  }, other{};
  for (const std::string& input : inputs)
    if (input == output || (stat(output.c_str(), &to) == 0 && stat(input.c_str(), &other) == 0 &&
                            to.st_dev == other.st_dev && to.st_ino == other.st_ino))
      throw UsageError(fmt::format("{} would overwrite {}", flag, input), "both are the same file",
                       "write to another file");
  if (stat(output.c_str(), &to) != 0 || fstat(STDOUT_FILENO, &other) != 0 || to.st_dev != other.st_dev ||
      to.st_ino != other.st_ino || S_ISCHR(other.st_mode))
    return;
  if (context.json)
    throw UsageError(fmt::format("{} and --json cannot both go to stdout", flag),
                     "one would be written into the other", "leave out --json, or write to a file");
  context.out.close();
}

void check_alpha(const std::string& output) {
  const io::ImageFormat format = io::format_for_name(output);
  if (io::holds_alpha(format)) return;
  throw UsageError(fmt::format("cannot write {} with alpha", output),
                   fmt::format("a {} has none", io::name_of(format)),
                   "choose a background, for example --background white, or write a PNG or WebP");
}

int bits_for_copy(const std::string& input, const std::string& output, std::optional<std::int64_t> wished) {
  if (wished) return static_cast<int>(*wished);
  if (io::format_for_name(output) != io::ImageFormat::png) return 8;
  return kind_of_file(input) == FileKind::picture && io::image_info(input).bit_depth > 8 ? 16 : 8;
}

Tensor draw_field(const field::ImageField& field, std::int64_t width, std::int64_t height,
                  const Context& context) {
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  NoGrad off;
  Tensor picture = empty({height, width, field.options().channels});
  field.render_bands({width, height}, {}, [&](const Tensor& rows, std::int64_t first) {
    slice(picture, 0, first, first + rows.size(0)).assign(rows);
    line.update_rows(first + rows.size(0), height, "drawing row");
    return true;
  });
  line.finish();
  return picture;
}

}  // namespace veldt::app
