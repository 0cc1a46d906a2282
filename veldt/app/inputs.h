// What a file holds, by its first bytes and not by its name; and pictures and sounds from any file that holds
// one.
// Tests: tests/app/pictures_test.cpp, tests/app/shared_picture_test.cpp, tests/app/verbs_test.cpp,
// tests/app/bad_input_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"
#include "veldt/field/image_field.h"
#include "veldt/field/signal.h"
#include "veldt/tensor/tensor.h"

namespace veldt::app {

// state: another file of a network's tensors, of PyTorch or NumPy.
enum class FileKind : std::uint8_t { picture, sound, safetensors, state, pixel_csv, onnx, unknown };

// So many as io/magic.h asks for. Throws IoError missing.
std::string first_bytes(const std::string& path);
// Whether this is the name of a sound file.
bool is_sound_name(const std::string& path);
// The name's ending decides where the first bytes do not, so that a damaged file is reported by its own
// reader. Throws IoError missing for what is not a plain file.
FileKind kind_of_file(const std::string& path);

// For a file that no reader accepts: what it seems to be, and what to give instead. Throws IoError malformed.
[[noreturn]] void refuse_file(const std::string& path);

// Whether it is a packed picture, by its first bytes; false for what is no plain file.
bool is_packed(const std::string& path);
// The field of a model file or of a packed picture. Throws as field::Field::load() and pack::packed_field().
field::Field load_field(const std::string& path);

// The default of --max-pixels.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

// A picture, or a pixel table, as f32 [height, width, channels] in 0..1; a picture of bytes as u8 if
// `keep_bytes`. A note says what is left out. Throws IoError.
Tensor load_picture(const std::string& path, std::int64_t max_pixels, const Context& context,
                    bool keep_bytes = false);

// A picture, a pixel table, an animated picture or a sound, its samples as they are stored; the limit on
// pixels also applies to a sound's samples and to all frames together. `still`: of an animated picture the
// first. Throws IoError.
field::Signal load_signal(const std::string& path, std::int64_t max_pixels, const Context& context,
                          bool still = false);
// The same for several processes. They share a picture of kSharedBytes or more, if its file can be read row
// by row and no pixel is fully transparent; else a note says that each has it whole. `in_parts`: they share
// any picture. Throws UsageError for one that they cannot share then, and for a sound.
field::Signal load_signal(const std::string& path, std::int64_t max_pixels, const Context& context,
                          dist::Communicator& ranks, bool in_parts, bool still = false);
inline constexpr std::int64_t kSharedBytes = std::int64_t{64} << 20;

// Colours laid over white where there is alpha: [h, w, 2 or 4] -> [h, w, 1 or 3]; other pictures as they are.
Tensor over_white(const Tensor& picture);
// Grey repeated to `channels`; other pictures as they are.
Tensor grey_repeated(const Tensor& picture, std::int64_t channels);
// "grey", "grey and alpha", "RGB", "RGB and alpha"
std::string channels_in_words(std::int64_t channels);

// Call before the work starts: throws UsageError if `output` (given by `flag`) is one of the inputs, or is
// stdout while --json writes there; IoError unwritable as io::check_writable(). When a file is written to
// stdout, the summary is left out (context.out is closed), so that it does not end up in the file.
void check_output(const std::string& output, const std::string& flag, const std::vector<std::string>& inputs,
                  Context& context);

// Throws UsageError if no file of this name has alpha.
void check_alpha(const std::string& output);

// Bits per sample of a picture made of another: those wished for, or those of `input`, where a file of this
// name can have them.
int bits_for_copy(const std::string& input, const std::string& output,
                  std::optional<std::int64_t> wished = {});

// The whole field at a size, with a progress line if it takes longer than two seconds.
Tensor draw_field(const field::ImageField& field, std::int64_t width, std::int64_t height,
                  const Context& context);

}  // namespace veldt::app
