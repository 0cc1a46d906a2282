// Endings that programs know.
#include "veldt/app/output_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "veldt/app/inputs.h"
#include "veldt/cli/exit.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"

namespace veldt::app {
namespace {

bool has_known_ending(const std::string& path) {
  constexpr std::string_view kEndings[] = {".safetensors", ".pt",  ".pth",  ".onnx", ".ckpt", ".h5",
                                           ".npz",         ".npy", ".gguf", ".html", ".svg",  ".pdf",
                                           ".glsl",        ".h",   ".csv",  ".json", ".zip",  ".apng"};
  const std::string ending = io::ending_of(path);
  return io::is_picture_name(path) || is_sound_name(path) ||
         std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings);
}

}  // namespace

void check_ending(const std::string& output, const std::string& flag, const WrittenFile& written,
                  const std::string& instead) {
  const std::string ending = io::ending_of(output);
  if (ending == written.ending || !has_known_ending(output)) return;
  std::string fix = fmt::format("name it {}", written.ending);
  if (!instead.empty())
    fix += ", and " + instead;
  else if (written.exported.find(' ' + ending + ' ') != std::string_view::npos)
    fix += fmt::format(", and make a {} of it with veldt export", ending);
  throw UsageError(fmt::format("{} cannot be {}", flag, output),
                   fmt::format("{} is written, and a {} is another kind of file", written.what, ending), fix);
}

}  // namespace veldt::app
